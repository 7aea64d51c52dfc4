"""Part 2 judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder import checks
from autograder.labs.resnet18.part2_dataloader import part
from autograder.model import Failed, Passed
from tests.labs.bench import ROOT, Bench, failing, says

SCHEMAS = ROOT / "assignments" / "resnet18" / "schemas"
bench = Bench("resnet18", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_samples_are_compared_before_a_clock_is_asked(judge):
    source = bench.changed(
        (
            "    return DataLoader(\n        dataset,",
            "    return DataLoader(\n        dataset if len(dataset) != 45 else [dataset[0]] * 45,",
        )
    )
    fails = {"loading_is_faster": "44 of 45 samples were none of this epoch's"}

    says(failing(judge(source, only=fails)), fails)


SWEEP = "num_workers,throughput,epoch_time,data_wait,without_wait,device\n0,10,10,5,20,AMD\n2,20,5,0,20,AMD\n4,18,5.56,0.5,19.8,AMD\n"
COMPARED = "configuration,num_workers,throughput,epoch_time,data_wait,speedup,device\n"
ROWS = "Baseline,0,10,10,5,1,AMD\n+ workers,2,20,5,0,2,AMD\n+ pin_memory,2,20,5,0,2,AMD\n+ persistent workers,2,25,4,0,2.5,AMD\n"


@pytest.mark.parametrize(
    ("swept", "compared", "words"),
    [
        pytest.param(SWEEP, COMPARED + ROWS, "", id="right"),
        pytest.param(SWEEP.replace("2,20,5,0", "2,20x,5,0"), COMPARED + ROWS, "worker_sweep.csv: throughput of 2 is '20x'", id="a unit"),
        pytest.param(SWEEP, COMPARED, "dataloader_results.csv: there are no rows", id="a header only"),
        pytest.param(SWEEP, COMPARED + ROWS.replace("AMD", "T4"), "not of one run: the rows are from two machines", id="two machines"),
        pytest.param(SWEEP, COMPARED + ROWS.replace(",10,10,", ",10,20,").replace(",5,0", ",10,0").replace(",4,0", ",8,0"), "not of one run: throughput x epoch_time is 100 samples in one row and 200", id="other data"),
        pytest.param(SWEEP, COMPARED + ROWS.replace(",2,2", ",4,2"), "2 workers are the fastest of the sweep, but 4 were", id="another best"),
    ],
)  # fmt: skip
def test_files_that_contradict_each_other_fail(swept, compared, words):
    files = [
        checks.read(text.encode(), name)
        for text, name in ((swept, "worker_sweep.csv"), (compared, "dataloader_results.csv"))
    ]

    found = part.checks["csv_is_consistent"].judge(*files)

    assert isinstance(found, Failed if words else Passed)
    assert words in found.measured


def test_two_figures_are_two_pictures():
    """A copy under the other name is not the other figure."""
    one, other = (
        bench.handed_in(name)
        for name in ("num_workers_comparison.png", "dataloader_optimization.png")
    )
    judge = part.checks["plots_are_pictures"].judge

    assert isinstance(judge(one, other), Passed)
    assert "both files hold the same picture" == judge(one, one).why


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
