"""Part 2 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder import checks
from autograder.labs.resnet18.part2_dataloader import part
from autograder.model import Bar, Failed, Passed
from tests.labs.bench import ROOT, Bench, failing

SCHEMAS = ROOT / "assignments" / "resnet18" / "schemas"
BAR = Bar(1.3, "seed")
bench = Bench("resnet18", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


AHEAD = '    ahead = {"persistent_workers": True, "prefetch_factor": 4} if num_workers else {}\n'
SHUFFLE = "        shuffle=True,\n        num_workers=num_workers,\n"
MEASURED = "        seen = second_epoch(make_loader(num_workers=number), step, device)\n"

# What is replaced -> {check: words in its measured or why}.
MISTAKES = {
    "the last batch is dropped": (
        [(SHUFFLE, f"        drop_last=True,\n{SHUFFLE}")],
        {"every_sample_once": "in the first epoch: 40 samples", "works_without_workers": "40 samples came out of"},
    ),
    "in order": (
        [(SHUFFLE, "        num_workers=num_workers,\n")],
        {"shuffles_each_epoch": "of the samples follow their neighbour"},
    ),
    "shuffled once": (
        [(SHUFFLE, "        sampler=torch.randperm(len(dataset)).tolist(),\n        num_workers=num_workers,\n")],
        {"shuffles_each_epoch": "two epochs have one order"},
    ),
    "without the seed": (
        [("        generator=torch.Generator().manual_seed(seed),\n", "")],
        {"order_follows_the_seed": "the seed does not decide"},
    ),
    "one seed for all": (
        [("manual_seed(seed)", "manual_seed(0)")],
        {"order_follows_the_seed": "another seed, the same order"},
    ),
    "workers that begin alike": (
        [("        **ahead,\n", "        worker_init_fn=lambda worker: torch.manual_seed(0),\n        **ahead,\n")],
        {"augments_afresh": "24 different numbers of torch in 48 samples"},
    ),
    "batches that are lost": (
        [(SHUFFLE, "        sampler=range(10),\n        num_workers=num_workers,\n")],
        {"augments_afresh": "20 samples of 48", "every_sample_once": "10 samples came out"},
    ),
    "a list": (
        [("    return DataLoader(\n", "    return [dataset[:]] or DataLoader(\n")],
        {"asks_for_what_helps": "no DataLoader was made"},
    ),
    "workers of its own": (
        [("num_workers=num_workers,\n        pin", "num_workers=1,\n        pin"), (AHEAD, "    ahead = {}\n")],
        {"asks_for_what_helps": "for cpu with 0 workers num_workers is 1"},
    ),
    "pinned on a CPU": (
        [('pin_memory=device.type == "cuda",\n', "pin_memory=True,\n")],
        {"asks_for_what_helps": "for cpu with 0 workers pin_memory is True"},
    ),
    "workers that leave": (
        [(AHEAD, "    ahead = {}\n")],
        {"asks_for_what_helps": "for cpu with 3 workers persistent_workers is False"},
    ),
    "options that need workers": (
        [(AHEAD, AHEAD.replace(" if num_workers else {}", ""))],
        {"works_without_workers": "ValueError", "asks_for_what_helps": "ValueError"},
    ),
    "other samples where it is timed": (
        [("    return DataLoader(\n        dataset,", "    return DataLoader(\n        dataset if len(dataset) != 45 else [dataset[0]] * 45,")],
        {"loading_is_faster": "44 of 45 samples were none of this epoch's"},
    ),
    "each batch twice": (
        [("        step(images, labels)\n", "        step(images, labels)\n        step(images, labels)\n")],
        {"honest_throughput": "or in another order"},
    ),
    "the clock starts late": (
        [("        step(images, labels)\n", "        start = start if samples else time.perf_counter()\n        step(images, labels)\n")],
        {"honest_throughput": "the first fetch is left out"},
    ),
    "an epoch in milliseconds": (
        [('        "epoch_time": epoch_time,\n', '        "epoch_time": 1000 * epoch_time,\n')],
        {"honest_throughput": "epoch_time is"},
    ),
    "batches for samples": (
        [('        "samples": samples,\n', '        "samples": len(loader),\n')],
        {"honest_throughput": "samples is"},
    ),
    "labels stay": (
        [("labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)", "labels = images.to(device, non_blocking=True), labels")],
        {"moves_without_waiting": "step got tensors on: cpu, meta"},
    ),
    "copies that block": (
        [("images.to(device, non_blocking=True)", "images.to(device)")],
        {"moves_without_waiting": "3 of 6 copies wait"},
    ),
    "no steps": (
        [("        step(images, labels)\n", "")],
        {"moves_without_waiting": "nowhere", "honest_throughput": "step was given 0 samples"},
    ),
    "the first epoch": (
        [("    measure_loading(loader, step, device)\n    return", "    return")],
        {"sweep_is_honest": "it is the first epoch's", "compares_four": "it is the first epoch's"},
    ),
    "no rows": (
        [("    plt.close(figure)\n    return rows\n    ### END SOLUTION\n\n\ndef best", "    plt.close(figure)\n    return []\n    ### END SOLUTION\n\n\ndef best")],
        {"sweep_is_honest": "the rows are none", "csv_says_what_was_measured": "rows in the file, 0 returned"},
    ),
    "no file": (
        [('.to_csv(Path(folder) / "worker_sweep.csv", index=False)', ".to_csv(index=False)")],
        {"csv_says_what_was_measured": "no worker_sweep.csv in folder"},
    ),
    "no picture": (
        [('    figure.savefig(Path(folder) / "num_workers_comparison.png", dpi=150)\n', "")],
        {"figures_show_the_rows": "no num_workers_comparison.png in folder"},
    ),
    "a second figure without a unit": (
        [('    panels = {"throughput": "Throughput (samples/s)"', '    panels = {"throughput": "Throughput"')],
        {"figures_show_the_rows": "the panel of throughput does not say what it shows"},
    ),
    "the best without the wait": (
        [('(-row["throughput"], row', '(-row["without_wait"], row')],
        {"best_is_the_fastest": "that is the best without the wait for data"},
    ),
    "the most workers": (
        [('key=lambda row: (-row["throughput"], row["num_workers"])', 'key=lambda row: -row["num_workers"]')],
        {"best_is_the_fastest": "another row has a higher throughput"},
    ),
    "nothing chosen": (
        [('    return min(rows, key=lambda row: (-row["throughput"], row["num_workers"]))["num_workers"]\n', "    return None\n")],
        {"best_is_the_fastest": "it has to be the num_workers of a row"},
    ),
    "the most of equal ones": (
        [('(-row["throughput"], row["num_workers"])', '(-row["throughput"], -row["num_workers"])')],
        {"best_is_the_fastest": "that is as fast, with more workers"},
    ),
    "the mean of both epochs": (
        [
            (
                "    measure_loading(loader, step, device)\n    return measure_loading(loader, step, device)",
                "    one, two = [measure_loading(loader, step, device) for _ in range(2)]\n    return {name: (one[name] + two[name]) / 2 for name in one}",
            )
        ],
        {
            "sweep_is_honest": "it is of both epochs",
            "compares_four": "it is of both epochs",
        },
    ),
    "no better configuration": (
        [("workers, pinned, stays)", "workers, pinned, pinned)")],
        {"compares_four": "workers start anew in it"},
    ),
    "nothing without workers": (
        [('**({"persistent_workers": True, "prefetch_factor": 4} if best else {})', '"persistent_workers": True')],
        {"survives_a_best_of_zero": "ValueError"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_check_that_shows_it(judge, pairs, fails):
    """The corpus states all that a mistake fails; here is what the check says."""
    found = failing(judge(bench.changed(*pairs), only=fails))

    assert set(fails) == set(found)
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}"


SWEEP = "num_workers,throughput,epoch_time,data_wait,without_wait,device\n0,10,10,5,20,AMD\n2,20,5,0,20,AMD\n4,18,5.56,0.5,19.8,AMD\n"
COMPARED = "configuration,num_workers,throughput,epoch_time,data_wait,speedup,device\n"
ROWS = "Baseline,0,10,10,5,1,AMD\n+ workers,2,20,5,0,2,AMD\n+ pin_memory,2,20,5,0,2,AMD\n+ persistent workers,2,25,4,0,2.5,AMD\n"


@pytest.mark.parametrize(
    ("swept", "compared", "words"),
    [
        pytest.param(SWEEP, COMPARED + ROWS, "", id="right"),
        pytest.param(SWEEP.replace("2,20,5,0", "2,20x,5,0"), COMPARED + ROWS, "worker_sweep.csv: throughput of 2 is '20x'", id="a unit"),
        pytest.param(SWEEP, COMPARED, "dataloader_results.csv: the rows are none", id="a header only"),
        pytest.param(SWEEP, COMPARED + ROWS.replace("AMD", "T4"), "not of one run: the rows are from two machines", id="two machines"),
        pytest.param(SWEEP, COMPARED + ROWS.replace(",10,10,", ",10,20,").replace(",5,0", ",10,0").replace(",4,0", ",8,0"), "not of one run: throughput x epoch_time is 100 samples in one row and 200", id="other data"),
        pytest.param(SWEEP, COMPARED + ROWS.replace(",2,2", ",4,2"), "2 workers are the fastest of the sweep, and 4 were", id="another best"),
    ],
)  # fmt: skip
def test_files_that_contradict_each_other_fail(swept, compared, words):
    files = [
        checks.read(text.encode(), name)
        for text, name in ((swept, "worker_sweep.csv"), (compared, "dataloader_results.csv"))
    ]

    found = part.checks["csv_is_consistent"].judge(*files)

    assert isinstance(found, Failed if words else Passed)
    assert words in getattr(found, "why", "")


def test_two_figures_are_two_pictures():
    """A copy under the other name is not the other figure."""
    one, other = (
        bench.handed_in(name)
        for name in ("num_workers_comparison.png", "dataloader_optimization.png")
    )
    judge = part.checks["plots_are_pictures"].judge

    assert isinstance(judge(one, other), Passed)
    assert "they are one picture" == judge(one, one).why


def test_the_run_that_was_disturbed_least_is_kept(tmp_path, capsys):
    """Rows and files are of one run, the one whose epochs took the least time in all."""
    from given import quietest

    left = iter([(1.0, 5.0), (2.0, 3.0), (4.0, 4.0)])

    def experiment(folder):
        rows = [{"epoch_time": seconds} for seconds in next(left)]
        Path(folder, "rows.csv").write_text(str(rows), encoding="utf-8")
        return rows

    found = quietest(experiment, times=3, folder=str(tmp_path))

    assert [{"epoch_time": 2.0}, {"epoch_time": 3.0}] == found
    assert str(found) == (tmp_path / "rows.csv").read_text(encoding="utf-8")
    assert "run 2 of 3: its epochs took 5.00 s in all" in capsys.readouterr().out


def test_the_handout_names_the_columns_and_every_check():
    text = (ROOT / "assignments" / "resnet18" / "part2_dataloader.md").read_text(encoding="utf-8")

    assert [] == [name for name in part.checks if f"| `{name}` |" not in text]
    for schema in ("worker_sweep", "dataloader_results"):
        columns = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))[
            "required"
        ]
        assert [] == [name for name in columns if f"`{name}`" not in text]
