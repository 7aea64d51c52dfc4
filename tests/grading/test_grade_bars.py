"""One submission -> Result: bars of speed and of memory, and bars that this device does not have."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.batch import lanes
from autograder.errors import OwedError, SpoiltError
from autograder.grading import evidence
from autograder.grading.grade import grade
from autograder.model import Compared, Failed, NeedsRoom, Observation, Owed, Pair, Passed
from tests.grading.graded_toy import adds_up, graded
from tests.toy import FakeWorkers, good, toy_kit, toy_session, toy_submission


@pytest.mark.parametrize(
    ("tier", "bars", "reason"),
    [
        ("cpu", None, "faster needs a GPU"),
        ("gpu", None, "faster has no bar for device tier 'gpu': `perflab calibrate toy`"),
        ("t4", None, evidence.NO_CLOCK),
    ],
)
def test_a_bar_that_cannot_be_shown_here_is_owed_with_advice(tier, bars, reason):
    """No bar is never a pass and never a zero."""
    _, checks, _ = graded(tier=tier, kit=toy_kit(bars))

    assert ("unavailable", reason) == (checks["faster"].outcome, checks["faster"].reason)


@pytest.mark.parametrize("tier", ["cpu", "t4"])
def test_what_needs_two_gpus_is_owed_with_one(tier):
    """A session grades on one device."""
    kit = toy_kit({"t4": 1.5, "cpu": 1.5})
    part = kit.config.parts["part1_toy"]
    checks = {**part.checks, "faster": replace(part.checks["faster"], gpus=2)}
    parts = {**kit.config.parts, "part1_toy": replace(part, checks=checks)}
    _, results, _ = graded(tier=tier, kit=replace(kit, config=replace(kit.config, parts=parts)))

    faster = results["faster"]
    assert ("unavailable", "faster needs 2 GPUs") == (faster.outcome, faster.reason)


def test_the_bar_stands_in_the_title():
    """A student reads the number, or that this device has none."""
    on_t4, on_cpu = graded()[1]["faster"].title, graded(tier="cpu")[1]["faster"].title

    assert ("It is at least 1.50x as fast.", "It is at least the bar of this device as fast.") == (
        on_t4,
        on_cpu,
    )


class FakeClock:
    """Says the same about every speedup, and remembers what it was asked."""

    def __init__(self, found):
        self.found, self.asked = found, []

    def __call__(self, probe, student, baseline, bar):
        self.asked.append((probe.name, student.side, baseline.side, bar))
        return self.found


def timed(found, **options):
    clock = FakeClock(found)
    session = replace(toy_session(FakeWorkers(options.get("answers", {}))), clock=clock)
    result = grade(toy_submission(), toy_kit(options.get("bars")), session, seed=7)
    return result, next(c for c in result.parts[0].checks if c.id == "faster"), clock


RULINGS = {
    "proved": (Compared("PASS", "1.7x", 1.0), ("passed", 2.0, "1.7x; the bar is 1.50x", "")),
    "proved in part": (
        Compared("FAIL", "1.3x", 0.5),
        ("partial", 1.0, "1.3x; the bar is 1.50x", ""),
    ),
    "below": (Compared("FAIL", "1.0x"), ("failed", 0.0, "1.0x; the bar is 1.50x", "")),
    "undecided": (
        Compared("INCONCLUSIVE", "1.5x", undecided="too noisy"),
        ("inconclusive", 0.0, "1.5x", "too noisy"),
    ),
    "not believed": (
        Compared("FAIL", "", ended="refused", error="showed a different output"),
        ("failed", 0.0, "what your code sent to the grader was refused", "refused"),
    ),
    "not the work": (
        Compared(
            "FAIL",
            "",
            ended="refused",
            error="in a timed window 1 was returned where the baseline returns 2",
            kind="other results",
        ),
        ("failed", 0.0, "different results from the baseline's", "refused"),
    ),
    "out of memory": (
        Compared("FAIL", "", ended="memory", error="used"),
        ("failed", 0.0, "too much memory", "memory"),
    ),
}


@pytest.mark.parametrize(("found", "expected"), RULINGS.values(), ids=RULINGS)
def test_what_the_clock_says_becomes_an_outcome(found, expected):
    """And the points add up."""
    result, check, _ = timed(found)

    why = check.reason or check.cause
    assert expected == (check.outcome, check.points, check.measured, why)
    assert adds_up(result)


def test_an_undecided_speedup_is_settled_again():
    assert Owed("part1_toy.faster", 2.0, "again") in timed(RULINGS["undecided"][0])[0].owed


def test_the_clock_runs_once_for_a_probe_and_a_bar():
    """`much_faster` reads the same probe and asks for the same bar."""
    assert [("amp", "student", "baseline", 1.5)] == timed(RULINGS["proved"][0])[2].asked


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"bars": {}}, id="no bar for this device"),
        pytest.param(
            {"answers": {("single", "student"): good("single", -1)}}, id="a check it needs failed"
        ),
        pytest.param(
            {"answers": {("amp", "student"): Observation("amp", "raised", error="x")}},
            id="it does not run",
        ),
    ],
)
def test_nothing_is_timed_in_vain(options):
    """A worker costs seconds, and a classmate waits."""
    assert [] == timed(RULINGS["proved"][0], **options)[2].asked


def test_work_without_a_tolerance_is_not_timed():
    """Its windows could not be held against the baseline's."""
    kit = toy_kit()
    part = kit.lab.parts[0]
    part.probes["amp"] = replace(part.probes["amp"], within=None)
    clock = FakeClock(RULINGS["proved"][0])
    result = grade(toy_submission(), kit, replace(toy_session(FakeWorkers()), clock=clock), seed=7)
    check = next(c for c in result.parts[0].checks if c.id == "faster")

    assert ("unavailable", evidence.NO_TOLERANCE, []) == (check.outcome, check.reason, clock.asked)


def with_a_memory_bar():
    """The toy lab, whose "equal" asks for its work in 800 bytes, where the baseline took 1000."""
    kit = toy_kit()

    def judge(both: Pair):
        if both.room_bytes != 800:
            otherwise = Failed("900 of 1000; in 800 it did not finish", "why", "try")
            return NeedsRoom("both", 1000, 800, otherwise)
        return (
            Passed("equal")
            if both.student.values == both.baseline.values
            else Failed("not equal", "", "")
        )

    part = kit.lab.parts[0]
    part.checks["equal"] = replace(part.checks["equal"], judge=judge)
    return kit


def squeezed(answer):
    """Grade it where *answer* comes of that."""
    asked = []

    def squeeze(student, baseline, full, room):
        asked.append((student.side, baseline.side, student.probe, full, room))
        if isinstance(answer, Exception):
            raise answer
        return answer

    session = replace(toy_session(FakeWorkers()), squeeze=answer and squeeze)
    found = (
        grade(toy_submission(), with_a_memory_bar(), session, seed=7, only="equal")
        .parts[0]
        .checks[-1]
    )
    assert [("student", "baseline", "both", 1000, 800)] * bool(answer) == asked
    return found.outcome, found.measured or found.reason


SQUEEZED = {
    "it finished": (good("both"), ("passed", "equal")),
    "it finished with other numbers": (good("both", 3.0), ("failed", "not equal")),
    "it did not finish": (
        Observation("both", "raised", error="OutOfMemoryError"),
        ("failed", "900 of 1000; in 800 it did not finish: OutOfMemoryError"),
    ),
    "it answered in another form": (
        Observation("both", "ok", {"y": 1.0}),
        (
            "failed",
            "900 of 1000; in 800 it did not finish: the worker's answer was refused: $ does not have its declared form",
        ),
    ),
    "this machine cannot": (OwedError("no driver"), ("unavailable", "no driver")),
    "it was spoilt": (
        SpoiltError("somebody else used it"),
        ("inconclusive", "somebody else used it"),
    ),
    "practice": (
        None,
        (
            "unavailable",
            "a grading run decides, which leaves the work no more of the GPU than the bar says",
        ),
    ),
}


@pytest.mark.parametrize(("answer", "expected"), SQUEEZED.values(), ids=SQUEEZED)
def test_a_memory_bar_of_a_gpu_is_decided_by_a_run_in_less(answer, expected):
    """Judged again on what was answered then, so that doing less when memory is short is no saving."""
    assert expected == squeezed(answer)


def test_a_judge_that_asks_again_and_again_is_a_fault_of_ours():
    kit = with_a_memory_bar()
    part = kit.lab.parts[0]
    asks = NeedsRoom("both", 1000, 800, Failed("900 of 1000", "why", "try"))
    part.checks["equal"] = replace(part.checks["equal"], judge=lambda both: asks)
    session = replace(toy_session(FakeWorkers()), squeeze=lambda *_: good("both"))
    check = grade(toy_submission(), kit, session, seed=7, only="equal").parts[0].checks[-1]

    assert "error" == check.outcome
    assert "asks for 800 bytes after a first run" in check.reason


def test_a_run_in_less_waits_for_its_turn():
    """While other lanes work nobody takes the whole of a GPU."""
    work = SimpleNamespace(kit=with_a_memory_bar(), parts=(), only="equal")
    session = replace(toy_session(FakeWorkers()), clock=lambda *_: None)
    result = lanes._here(work, session, lanes.Errand(toy_submission(), 7, None, False, ""))

    assert ("inconclusive", "clock") == (
        result.parts[0].checks[-1].outcome,
        result.parts[0].checks[-1].cause,
    )
    assert result.waits_for_the_clock
