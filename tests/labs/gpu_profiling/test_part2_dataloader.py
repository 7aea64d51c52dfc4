"""Part 2 of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from autograder import checks
from autograder.labs.gpu_profiling.part2_dataloader import part
from autograder.model import Failed, Passed
from tests.labs.bench import ROOT, Bench, failing, says
from tests.labs.scripted_profiles import HOME, before_and_after, trace_of
from tests.labs.scripted_recordings import of_torch

PROFILES = {"profiles_are_of_both", "waits_less_for_data"}  # read in a process of their own
bench = Bench("gpu_profiling", part, without=PROFILES)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_samples_are_compared_before_a_clock_is_asked(judge):
    source = bench.changed(
        (
            "    return DataLoader(\n        dataset,\n",
            "    return DataLoader(\n        dataset if len(dataset) != 45 else [dataset[0]] * 45,\n",
        )
    )
    fails = {"loading_is_faster": "44 of 45 samples were none of this epoch's"}

    says(failing(judge(source, only=fails)), fails)


def test_seconds_that_do_not_fit_cost_the_table_too(judge):
    """Whoever is graded is told of the measurement first, and of the table when that is right."""
    source = bench.entry("stream_in_milliseconds")
    fails = {
        "counts_what_it_times": "is right",
        "measures_each_configuration": "but samples / seconds is",
    }

    says(failing(judge(source, only=fails)), fails)


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
    assert words in " ".join(f"{it.measured} {it.why}" for it in found if isinstance(it, Failed))


def test_a_cut_table_has_no_best_row():
    """Both files of one run, or neither."""
    results = checks.read(
        (bench.reference / "dataloader_results.csv").read_bytes(), "dataloader_results.csv"
    )

    found = part.checks["csv_is_consistent"].judge(replace(results, rows=results.rows[:-1]))

    assert "is missing" in found.measured


def test_the_handout_names_every_check_and_every_column():
    text = (ROOT / "assignments/gpu_profiling/part2_dataloader.md").read_text(encoding="utf-8")

    assert [] == [name for name in part.checks if f"| `{name}` |" not in text]
