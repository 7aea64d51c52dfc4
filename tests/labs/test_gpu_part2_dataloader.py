"""Part 2 of gpu_profiling judged whole: right work passes on any seed, each mistake fails the checks that show it."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from autograder import checks
from autograder.labs.gpu_profiling.part2_dataloader import part
from autograder.model import Failed, Passed, Unavailable
from tests.labs.bench import ROOT, Bench, failing, says
from tests.labs.scripted_profiles import HOME, before_and_after, of_torch, trace_of

PROFILES = {"profiles_are_of_both", "waits_less_for_data"}  # read in a process of their own
bench = Bench("gpu_profiling", part, without=PROFILES)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


SHUFFLE = "        shuffle=True,\n        num_workers=num_workers,\n"
RETURN = "    return DataLoader(\n        dataset,\n"

# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "the least seconds": (
        [('max(rows, key=lambda row: row["throughput"])', 'min(rows, key=lambda row: row["seconds"])')],
        {"best_is_the_fastest": "samples/s"},
    ),
    "the last batch is dropped": (
        [(SHUFFLE, f"        drop_last=True,\n{SHUFFLE}")],
        {"every_sample_once": "in the first epoch: 40 samples", "works_without_workers": "40 samples came out of"},
    ),
    "shuffled once": (
        [(SHUFFLE, "        sampler=torch.randperm(len(dataset)).tolist(),\n        num_workers=num_workers,\n")],
        {"shuffles_each_epoch": "two epochs have one order"},
    ),
    "a list": ([(RETURN, f"    return [dataset[:]]\n{RETURN}")], {"fills_the_blanks": "no DataLoader was made"}),
    "workers that leave": (
        [("persistent_workers=num_workers > 0", "persistent_workers=False")],
        {"fills_the_blanks": "for cpu with 3 workers persistent_workers is False"},
    ),
    "other samples where it is timed": (
        [(RETURN, "    return DataLoader(\n        dataset if len(dataset) != 45 else [dataset[0]] * 45,\n")],
        {"loading_is_faster": "44 of 45 samples were none of this epoch's"},
    ),
    "in eval": ([("    model.train()\n", "    model.eval()\n")], {"follows_the_script": "not in train()"}),
    "labels stay": (
        [("            labels = labels.to(device, non_blocking=True)\n        with", "        with")],
        {"waits_for_nothing": "24 tensors were moved in 24 batches"},
    ),
    "a look at the loss": (
        [("        losses.append(loss.detach())\n", "        losses.append(loss.detach())\n        print(loss.item())\n")],
        {"waits_for_nothing": "24 of 24 batches waited"},
    ),
    "copies that block": (
        [("            images.to(device, non_blocking=True)\n            labels.to", "            images.to(device)\n            labels.to")],
        {"times_the_copies": "of 10 copies wait until they are done"},
    ),
    "seconds of the epoch": (
        [('"seconds": seconds, "thr', '"seconds": 1000 * seconds, "thr')],
        {"counts_what_it_times": "and", "measures_each_configuration": "but samples / seconds is"},
    ),
    "another order": (
        [("in product(batch_sizes, workers, pins)", "in ((b, w, p) for w, b, p in product(workers, batch_sizes, pins))")],
        {"measures_each_configuration": "12 rows: "},
    ),
    "no rows": (
        [("index=False)\n    return rows\n", "index=False)\n    return []\n")],
        {"measures_each_configuration": "there are no rows", "csv_says_what_was_measured": "12 rows in the file, 0 returned"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "dataloader_results.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no dataloader_results.csv in folder"},
    ),
    "a name for the best": (
        [('    return {name: best[name] for name in ("batch_size", "num_workers", "pin_memory")}\n', '    return {"best": str(best)}\n')],
        {"best_is_the_fastest": "it is no row of the table"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    says(failing(judge(bench.changed(*pairs), only=fails)), fails)


def test_what_the_corpus_hands_in_is_what_is_made():
    """python -m tests.labs.scripted_profiles writes it."""
    for name, (_, _, _, files) in before_and_after().items():
        for file, data in files.items():
            here = (HOME / name / file).read_bytes()
            assert (
                data.encode() == here
                if isinstance(data, str)
                else gzip.decompress(data) == gzip.decompress(here)
            ), name


WAITS = {
    "less": (of_torch(wait=30_000), of_torch(workers="MultiProcessing", wait=1_000), ""),
    "more": (of_torch(wait=1_000), of_torch(workers="MultiProcessing", wait=30_000), "the workers do not keep up"),
    "mended before": (of_torch(workers="MultiProcessing"), of_torch(workers="MultiProcessing"), "has workers, and the script's"),
    "not mended": (of_torch(), of_torch(), "its DataLoader has no workers"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "words"), WAITS.values(), ids=WAITS)
def test_after_is_of_workers_and_waits_less(before, after, words, tmp_path):
    traces = [trace_of(data, tmp_path) for data in (before, after)]
    found = [
        part.checks[name].judge(*traces) for name in ("profiles_are_of_both", "waits_less_for_data")
    ]

    assert (words == "") == all(isinstance(it, Passed) for it in found)
    assert words in " ".join(getattr(it, "why", "") for it in found)


def test_a_cut_table_has_no_best_row():
    """Both files of one run, or neither."""
    results = checks.read(
        (bench.reference / "dataloader_results.csv").read_bytes(), "dataloader_results.csv"
    )

    found = part.checks["csv_is_consistent"].judge(replace(results, rows=results.rows[:-1]))

    assert "is missing" in found.why


def test_the_handout_names_every_check_and_every_column():
    text = (ROOT / "assignments/gpu_profiling/part2_dataloader.md").read_text(encoding="utf-8")

    assert [] == [name for name in part.checks if f"| `{name}` |" not in text]


@pytest.mark.parametrize("number", [np.nan, 1e308, 0.0])
@pytest.mark.parametrize(
    "name", [name for name, check in part.checks.items() if set(check.reads) & set(part.probes)]
)
def test_whatever_a_worker_sends_becomes_a_verdict(name, number):
    for found in bench.spoilt(name, number):
        assert isinstance(found, Passed | Failed | Unavailable)
