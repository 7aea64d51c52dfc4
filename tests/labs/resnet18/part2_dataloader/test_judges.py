"""Tables about data loading, against a clock whose every move is known: each mistake is said in words of its own."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import jsonschema
import pytest

from autograder.checks.table_form import samples_problem
from autograder.labs.resnet18.part2_dataloader import judges, tables
from autograder.labs.resnet18.part2_dataloader.judges import COMPARED, SWEEP, Script, Setting
from autograder.model import Observation, Pair

ROOT = Path(__file__).parents[4]
SCHEMAS = ROOT / "assignments/resnet18/schemas"
# 100 samples: 10 + 4 s with none, 2 + 4 s and 2 s of start with two, 5 + 4 s and 6 s of start with six workers.
SCRIPT = Script(
    samples=100,
    batches=10,
    workers=[0, 2, 6],
    pace=[1.0, 0.2, 0.5],
    start=1.0,
    work=0.4,
)


def swept(at=None, **other):
    """Three right rows of a sweep, with what is asked for changed in one of them."""
    rows = []
    for workers in (0, 2, 6):
        epoch = SCRIPT.epoch(Setting(workers))
        total, wait = epoch.seconds, epoch.wait
        rows.append(
            dict(zip(SWEEP.names, (workers, 100 / total, total, wait, 25.0, "a CPU"), strict=True))
        )
    if at is not None:
        rows[at] |= other
    return rows


def compared(at=None, **other):
    """Four right rows of a comparison with two workers."""
    rows = []
    for name, setting in zip(COMPARED.rows, judges.settings(2), strict=True):
        epoch = SCRIPT.epoch(setting)
        total, wait = epoch.seconds, epoch.wait
        rate = 100 / total
        rows.append(
            dict(
                zip(
                    COMPARED.names,
                    (name, setting.workers, rate, total, wait, rate / (100 / 14), "a CPU"),
                    strict=True,
                )
            )
        )
    if at is not None:
        rows[at] |= other
    return rows


def slower(row, seconds):
    """The same row, had its epoch taken *seconds*."""
    return row | {"throughput": 100 / seconds, "epoch_time": seconds}


def sweep_problem(rows, workers=None):
    """What is said of a sweep, of its form first."""
    wrong = SWEEP.problem(rows, workers)
    if not wrong and workers is None:
        wrong = judges.numbers_problem(rows)
    return wrong or judges.sweep_problem(rows)


def compared_problem(rows):
    """What is said of a comparison, of its form first."""
    return (
        COMPARED.problem(rows) or judges.workers_problem(rows) or samples_problem(rows, judges.SAME)
    )


def sweep_figures(rows):
    """What is said of a sweep beside the clock."""
    settings = [Setting(row["num_workers"]) for row in rows]
    return judges.figures_problem(SWEEP, rows, settings, SCRIPT)


def compared_figures(rows):
    """What is said of a comparison beside the clock."""
    return judges.figures_problem(COMPARED, rows, judges.settings(2), SCRIPT)


def test_right_rows_have_no_problem():
    assert "" == sweep_problem(swept())
    assert "" == sweep_problem(swept(), [0, 2, 6])
    assert "" == sweep_figures(swept())
    assert "" == compared_problem(compared())
    assert "" == compared_figures(compared())


OWN = [
    {"samples": 100.0, "throughput": 9.0, "epoch_time": 10.0, "data_wait": 5.0},
    {"samples": 100.0, "throughput": 8.0, "epoch_time": 20.0, "data_wait": 15.0},
]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param(OWN, True, id="the same"),
        pytest.param(OWN[:1], False, id="fewer"),
        pytest.param([{**OWN[0], "throughput": 9.2}, OWN[1]], False, id="another figure"),
        pytest.param([{**OWN[0], "data_wait": None}, OWN[1]], False, id="no number"),
        pytest.param([{}, {}], False, id="nothing"),
    ],
)
def test_rows_may_be_what_the_students_own_measurement_says(own, expected):
    assert expected == judges.as_measured(OWN, own)


def test_the_rest_of_a_sweep_follows_from_figures_however_wrong():
    rows = [{**row, "num_workers": 0, "without_wait": 20.0, "device": "a CPU"} for row in OWN]

    assert ["", ""] == [judges.without_problem(row, 100.0) for row in rows]
    assert "without_wait of num_workers 0 is 9" in judges.without_problem(
        {**rows[0], "without_wait": 9.0}, 100.0
    )


def test_a_wait_longer_than_its_epoch_is_told_of_the_measurement_and_not_of_the_sweep():
    row = {**OWN[0], "num_workers": 0, "device": "a CPU"}
    waits = {**row, "data_wait": row["epoch_time"] + 0.1, "without_wait": -1000.0}

    assert "" == judges.without_problem(waits, 100.0)


def test_the_rest_of_a_comparison_follows_from_figures_however_wrong():
    rows = [{**row, "throughput": 2 * row["throughput"]} for row in compared()]

    assert "" == judges.workers_problem(rows, 2)
    assert "and 6 in three rows" in judges.workers_problem(rows, 6)
    assert "" == COMPARED.ratio_problem(rows)
    assert "throughput of the first row is" in COMPARED.ratio_problem(
        [*rows[:3], {**rows[3], "speedup": 9.0}]
    )


def test_two_decimals_are_enough():
    rounded = [
        {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()} for row in swept()
    ]

    assert "" == sweep_problem(rounded)


def test_two_decimals_of_a_short_epoch_are_enough():
    """0.12 s may have been 0.1249: that is 4 %, and nobody's mistake."""
    epochs = {
        0: (0.1249, 0.0951),
        2: (0.0651, 0.0151),
        4: (0.1151, 0.0849),
    }  # seconds, of which for data
    rows = [
        {
            "num_workers": number,
            "throughput": round(2560 / seconds, 2),
            "epoch_time": round(seconds, 2),
            "data_wait": round(wait, 2),
            "without_wait": round(2560 / (seconds - wait), 2),
            "device": "a T4",
        }
        for number, (seconds, wait) in epochs.items()
    ]

    assert "" == sweep_problem(rows)
    rows[1]["epoch_time"] = 0.08
    assert "samples in one row and" in sweep_problem(rows)


SWEPT = {
    "no rows": ([], None, "there are no rows"),
    "two rows": (swept()[:2], None, "the rows are of 0, 2 workers, but should be of 0 and at least two"),
    "without 0": (swept()[1:] + swept()[2:], None, "the rows are of 2, 6, 6 workers"),
    "backwards": (swept()[::-1], None, "the rows are of 6, 2, 0 workers"),
    "others than asked for": (swept(), [0, 2, 4], "num_workers of row 3 is 6; expected from row 3 on, in that order: 4"),
    "text for a number": (swept(1, throughput="12"), None, "throughput of 2 is '12'"),
    "no throughput": (swept(1, throughput=0.0), None, " of num_workers 2 is "),
    "NaN": (swept(1, epoch_time=float("nan")), None, " of num_workers 2 is "),
    "a wait longer than its epoch": (swept(1, data_wait=9.0), None, "data_wait of num_workers 2 is 9 s"),
    "no device": (swept(1, device=" "), None, "the device is not named"),
    "a number for a device": (swept(1, device=1.0), None, "the device is not named"),
    "two machines": (swept(1, device="a T4"), None, "the rows are from two machines, 'a CPU' and 'a T4'"),
    "another without_wait": (swept(1, without_wait=12.5), None, "without_wait of num_workers 2 is 12.5 samples/s, but"),
    "all of it waiting": (swept(1, data_wait=8.0), None, "without_wait of num_workers 2 is 25"),
    "another epoch": (swept(1, throughput=20.0, without_wait=40.0), None, "is 100 samples in one row and 160 in another"),
}  # fmt: skip


def test_two_figures_that_are_alike_do_not_always_leave_out_the_wait():
    copied = [{**row, "without_wait": row["throughput"]} for row in swept()]
    brief = {"data_wait": 0.01, "without_wait": 20.0, "throughput": 20.0}
    other = [{**row, **brief, "epoch_time": s} for row, s in zip(swept(), (5, 5, 8), strict=True)]

    assert "without_wait of num_workers 0 is" in sweep_problem(copied)
    assert "is 100 samples in one row and 160 in another" in sweep_problem(other)


@pytest.mark.parametrize(("rows", "workers", "words"), SWEPT.values(), ids=SWEPT)
def test_sweeps_that_contradict_themselves(rows, workers, words):
    assert words in sweep_problem(rows, workers)


COMPARISONS = {
    "no rows": ([], "there are no rows"),
    "other names": (
        compared(1, configuration="workers"),
        "configuration of row 2 is workers; expected",
    ),
    "no seconds": (
        compared(1, epoch_time=0.0),
        "epoch_time of + workers is 0, and has to be above 0",
    ),
    "a baseline with workers": (
        compared(0, num_workers=2),
        "num_workers are 2, 2, 2, 2, but must be 0 for Baseline",
    ),
    "two numbers of workers": (compared(3, num_workers=6), "num_workers are 0, 2, 2, 6"),
    "over the slowest": (
        compared(0, speedup=1.2),
        "speedup of Baseline is 1.2, but throughput / throughput of the first row is 1",
    ),
    "another epoch": (
        compared(1, epoch_time=4.0, data_wait=1.0),
        "is 100 samples in one row and 50 in another",
    ),
}


@pytest.mark.parametrize(("rows", "words"), COMPARISONS.values(), ids=COMPARISONS)
def test_comparisons_that_contradict_themselves(rows, words):
    assert words in compared_problem(rows)


TIMES = {  # seconds that the epoch of two workers would have taken; 8 s passed
    "without the wait": (4.0, "the time leaves out the wait for data"),
    "the first epoch": (11.0, "it is of the first epoch"),
    "the first epoch, without its steps": (7.0, "it is of the first epoch, which took no step"),
    "both epochs": (9.5, "it is of both epochs"),
    "the mean of two rates": (1 / (0.5 / 11 + 0.5 / 8), "it is of both epochs"),
    "without the start": (6.0, "it leaves out the start of the workers"),
    "batches": (80.0, "batches are counted, and not samples"),
    "no workers": (14.0, "pass num_workers on"),
    "anything": (7.4, "samples/s where 12.5 is right"),
}


@pytest.mark.parametrize(("seconds", "words"), TIMES.values(), ids=TIMES)
def test_a_sweep_that_the_clock_did_not_see(seconds, words):
    rows = swept()
    rows[1] = slower(rows[1], seconds)

    assert words in sweep_figures(rows)


LAST = {  # of workers that stay and read ahead; 5.6 s passed
    "neither": (8.0, "persistent_workers and prefetch_factor were not passed on"),
    "not kept": (7.6, "persistent_workers was not passed on"),
    "not ahead": (6.0, "prefetch_factor was not passed on"),
    "the first epoch": (10.6, "it is of the first epoch"),
}


@pytest.mark.parametrize(("seconds", "words"), LAST.values(), ids=LAST)
def test_a_comparison_that_the_clock_did_not_see(seconds, words):
    rows = compared()
    rows[3] = slower(rows[3], seconds)

    assert words in compared_figures(rows)


OTHERS = {
    "another epoch_time": (
        swept(2, epoch_time=20.0),
        "epoch_time in the row of num_workers 6 is 20 s: more than the epoch was timed (15 is right)",
    ),
    "another wait": (
        swept(2, data_wait=5.0),
        "data_wait in the row of num_workers 6 is 5 s where 11 is right",
    ),
}


@pytest.mark.parametrize(("rows", "words"), OTHERS.values(), ids=OTHERS)
def test_other_figures_that_the_clock_did_not_see(rows, words):
    assert words in sweep_figures(rows)


def test_without_workers_all_settings_are_one():
    assert {Setting(0)} == set(judges.settings(0))


@pytest.mark.parametrize(
    ("rates", "best"),
    [
        pytest.param({0: 5.0, 2: 9.0, 4: 7.0}, 2, id="in the middle"),
        pytest.param({0: 9.0, 2: 5.0}, 0, id="none"),
        pytest.param({4: 9.0, 2: 9.0, 0: 1.0}, 2, id="equally fast"),
    ],
)
def test_the_fastest_has_the_fewest_workers(rates, best):
    assert best == judges.fastest(
        [{"num_workers": n, "throughput": rate} for n, rate in rates.items()]
    )


@pytest.mark.parametrize("name", ["worker_sweep", "dataloader_results"])
def test_the_schema_is_what_is_judged(name):
    """The rows that are right here, and those of the reference, are what the schema says, and nothing else is."""
    validator = jsonschema.Draft202012Validator(
        json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    )
    columns, right = {
        "worker_sweep": (SWEEP, swept()),
        "dataloader_results": (COMPARED, compared()),
    }[name]
    with (ROOT / f"reference/resnet18/{name}.csv").open(newline="") as file:
        written = [
            {k: v if k in ("configuration", "device") else float(v) for k, v in row.items()}
            for row in csv.DictReader(file)
        ]

    for row in (*right, *written):
        validator.validate(row)
        assert list(columns.names) == list(row) == validator.schema["required"]
        assert not validator.is_valid({**row, "device": ""})


def made(*epochs, pins=0):
    """Loaders that began so many epochs; the last of them pin memory."""
    return [{"epochs": n, "pins": int(at >= len(epochs) - pins)} for at, n in enumerate(epochs)]


@pytest.mark.parametrize(
    ("found", "pins", "words"),
    [
        pytest.param(made(2, 2, 2, 2), 0, "", id="each measured"),
        pytest.param(made(2, 2, 0, 3, 2), 0, "", id="one that was made and not used"),
        pytest.param(made(2, 2, 2), 0, "3 loaders had a second epoch", id="a row that was copied"),
        pytest.param(made(2, 1, 2, 2), 0, "3 loaders had a second epoch", id="a first epoch only"),
        pytest.param(
            made(2, 2, 2, 2, pins=2),
            0,
            "2 loaders pin memory, and 0 is right",
            id="pinned for nothing",
        ),
        pytest.param(made(2, 2, 2, 2, pins=2), 2, "", id="pinned for a GPU"),
        pytest.param(
            made(2, 2, 2, 2, pins=1),
            2,
            "1 loaders pin memory, and 2 is right",
            id="dropped in the last",
        ),
        pytest.param([{}] * 4, 0, "0 loaders had a second epoch", id="no figures"),
    ],
)
def test_each_configuration_is_a_loader_that_was_measured(found, pins, words):
    said = judges.made_problem(found, pins)

    assert words in said
    assert bool(words) == bool(said)


def test_an_index_is_shown_where_it_is_wrong():
    sweeps = [[(0, 30.0), (10, 20.0)], [(10, 20.0), (0, 10.0), (12, 40.0)]]
    asked = [[{"num_workers": it, "throughput": rate} for it, rate in rows] for rows in sweeps]
    own, script = (
        Observation("choices", "ok", it) for it in ({"chosen": [0, 2]}, {"asked": asked})
    )

    verdict = tables.best_is_the_fastest(Pair(own, script))

    assert "returned 2, expected 12" in verdict.measured
