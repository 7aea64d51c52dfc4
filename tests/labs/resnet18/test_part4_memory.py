"""Part 4 judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder import checks
from autograder.labs.resnet18.part4_memory import part
from autograder.model import Failed, Observation, Pair, Passed
from tests.labs.bench import Bench, failing

OUTSIDE = {"keeps_memory_flat", "needs_less_memory"}  # memory of a process of its own
bench = Bench("resnet18", part, without=OUTSIDE)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(bench.source))


STEP = "        optimizer.step()\n        optimizer.zero_grad()\n"
CLIPPED = f"        torch.nn.utils.clip_grad_norm_(model.parameters(), 7.5)\n{STEP}"
GROUP = "            step(group)\n            group = 0\n"
UNCERTAIN = {
    "usually the second": (
        (STEP, CLIPPED),
    ),  # only the epoch of two parameter groups has a gradient so long
    "more step after the last group": (
        (STEP, STEP.replace("zero_grad()", "zero_grad(set_to_none=False)")),
        (GROUP, f"{GROUP}        if index + 1 == len(loader):\n            step(1)\n"),
    ),
}


@pytest.mark.parametrize(("words", "pairs"), UNCERTAIN.items())
def test_a_cause_is_told_as_no_more_than_is_known(judge, words, pairs):
    found = judge(bench.changed(*pairs), only=["equals_a_large_batch"])["equals_a_large_batch"]

    assert words in found.why


def seen_from_outside(answer, student, baseline, idle=20):
    """A run of so many MB on each side, and an idle worker of *idle* MB beside a trusted one of 20."""
    still = Observation("idle", "ok")
    run = Pair(
        replace(answer, peak_bytes=student * 10**6), replace(answer, peak_bytes=baseline * 10**6)
    )
    return run, Pair(replace(still, peak_bytes=idle * 10**6), replace(still, peak_bytes=20 * 10**6))


@pytest.mark.parametrize(
    ("student", "idle", "kind", "measured"),
    [
        pytest.param(45, 20, Passed, "25 MB where the baseline takes 100 MB", id="a quarter"),
        pytest.param(110, 20, Failed, "90 MB where the baseline takes 100 MB", id="nearly all"),
        pytest.param(10, 20, Passed, "0 MB where", id="less than idle"),
        pytest.param(110, 80, Failed, "90 MB where", id="libraries of its own"),
        pytest.param(310, 300, Failed, "290 MB where", id="a ballast while idle"),
    ],
)
@pytest.mark.parametrize(
    ("check", "probe"), [("keeps_memory_flat", "large_group"), ("needs_less_memory", "large_step")]
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(check, probe, student, idle, kind, measured):
    run = seen_from_outside(bench.baseline_answer(probe), student, 120, idle)

    found = part.checks[check].judge(*run)

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)


@pytest.mark.parametrize(
    ("check", "probe", "array"), [("keeps_memory_flat", "large_group", "weights"), ("needs_less_memory", "large_step", "numbers")]
)  # fmt: skip
@pytest.mark.parametrize("number", [np.nan, 7.0])
def test_little_memory_with_other_numbers_is_no_saving(check, probe, array, number):
    run, idle = seen_from_outside(bench.baseline_answer(probe), 30, 120)
    wrong = replace(
        run.student,
        arrays={**run.student.arrays, array: np.full_like(run.student.arrays[array], number)},
    )

    found = part.checks[check].judge(replace(run, student=wrong), idle)

    assert isinstance(found, Failed)
    assert "your code returns wrong results" in found.why


HEADER = "model,throughput,epoch_time,peak_memory_mb,saved_mb,loss,slowdown,device\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param("", "there are no rows", id="a header only"),
        pytest.param("Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,5,4,,1,2.3,1.3x,AMD\n", "'1.3x'", id="a unit"),
        pytest.param("Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,5,4,,1,2.3,1.3,AMD\n", "the first row / throughput is 2", id="another slowdown"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_fails(rows, words):
    found = part.checks["csv_is_consistent"].judge(
        checks.read((HEADER + rows).encode(), "checkpointing_results.csv")
    )

    assert isinstance(found, Failed)
    assert words in found.measured


@pytest.mark.parametrize(
    ("slowdown", "measured"),
    [
        pytest.param(1.3, "2 rows", id="slower"),
        pytest.param(0.52, "2 rows; checkpointing came out faster (0.52) but computes more: repeat the measurement", id="faster"),
    ],
)  # fmt: skip
def test_a_measurement_that_cannot_be_is_told_and_costs_nothing(slowdown, measured):
    rows = f"Standard,10,2,,7,2.3,1,AMD\nWith Checkpointing,{10 / slowdown},{2 * slowdown},,1,2.3,{slowdown},AMD\n"
    table = checks.read((HEADER + rows).encode(), "checkpointing_results.csv")

    assert Passed(measured) == part.checks["csv_is_consistent"].judge(table)
