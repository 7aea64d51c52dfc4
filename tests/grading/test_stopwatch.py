"""The clock of a run: window sizes, pools, verdicts and pairs that do not count; with workers and time that are simulated."""

from __future__ import annotations

import pytest

from autograder.clock.pairs import FEW, GLANCE, TIMED
from autograder.errors import MovedError, SpoiltError
from autograder.grading import stopwatch as module
from autograder.grading.stopwatch import (
    CHECK_SECONDS,
    LONGEST_WINDOW_SECONDS,
    MOST_BYTES,
    WINDOW_SECONDS,
)
from autograder.sandbox.watch import Stopped
from tests import timed_toy
from tests.grading.simulated_worker import PROBE, SimulatedWorker, compared, job


@pytest.mark.parametrize(
    ("ratio", "decision", "credit"),
    [
        pytest.param(1.7, "PASS", 1.0, id="above the bar"),
        pytest.param(1.3, "FAIL", 0.6, id="on the way"),
        pytest.param(1.0, "FAIL", 0.0, id="the baseline itself"),
        pytest.param(0.5, "FAIL", 0.0, id="slower"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_the_ratio_is_judged_by_the_bar(watch, ratio, decision, credit, device):
    """By alternating windows on a CPU, by one process after the other on a GPU."""
    found = compared(watch()[0], ratio, device=device)

    assert (decision, credit, "ok") == (found.decision, found.credit, found.ended)


@pytest.mark.parametrize("slower", [2.0, 5.0, 35.0])
def test_however_slow_a_student_is_there_is_a_verdict(watch, slower):
    """The first pair shows it; the next ones have less to do, so that a first look fits into the time allowed."""
    stopwatch, machine = watch()
    compared(stopwatch, 1.7)
    began, most = machine.time, max(machine.calls)
    machine.calls.clear()
    found = compared(stopwatch, 1 / slower)

    assert ("FAIL", 3) == (found.decision, len(found.evidence["pairs"]))
    assert machine.time - began < CHECK_SECONDS
    assert (most, pytest.approx(most / slower, rel=0.1)) == (max(machine.calls), min(machine.calls))


def test_what_is_timed_is_told_pair_by_pair(watch, caplog):
    """The examination of the machine first, which takes a minute or two; a second submission is timed at once."""
    caplog.set_level("INFO", "autograder")
    stopwatch, _ = watch()
    compared(stopwatch, 1.7)
    told = dict.fromkeys(message.partition(", pair ")[0] for message in caplog.messages)
    caplog.clear()
    compared(stopwatch, 1.3)

    itself = "the machine is examined: the baseline against itself"
    half = "the machine is examined: the baseline against half of its work"
    assert [itself, half, "it is timed against the baseline"] == list(told)
    assert [f"it is timed against the baseline, pair {n}" for n in (1, 2)] == caplog.messages[:2]


def test_the_evidence_says_what_the_verdict_rests_on(watch):
    stopwatch, machine = watch()
    found = compared(stopwatch, 1.7)

    evidence = dict(found.evidence)
    low, high = evidence.pop("interval")
    pairs, noise, seconds = evidence.pop("pairs"), evidence.pop("noise"), evidence.pop("seconds")
    assert low < 1.7 < high
    examination = evidence.pop("examination")
    assert (7, True, True) == (len(pairs), 0 < noise < 0.05, seconds > 5)
    assert ("OPEN", {"known-good": "PASS", "known-slow": "FAIL"}) == (
        examination["state"],
        {name: said.split(",")[0] for name, said in examination["canaries"].items()},
    )
    assert evidence == {
        "dropped": [],
        "windows": TIMED,
        "count": max(machine.calls),
        "baseline_peak_bytes": 6 << 20,
        "student_peak_bytes": 3 << 20,
    }


@pytest.mark.parametrize(
    ("seconds", "bar", "calls"),
    [
        pytest.param(
            0.001,
            1.5,
            WINDOW_SECONDS * 1.5 / 0.001,
            id="so long that the student's window is 0.1 s",
        ),
        pytest.param(
            0.001, 20, LONGEST_WINDOW_SECONDS / 0.001, id="but not longer than it must be"
        ),
        pytest.param(2.0, 1.5, 2, id="a call that is long enough alone"),
        pytest.param(1e-7, 1.5, MOST_BYTES // (4 * timed_toy.WIDTH), id="a call that is too short"),
    ],
)
def test_windows_are_filled_by_the_speed_of_the_baseline(watch, seconds, bar, calls):
    """At least two calls, so that a canary can have half of them."""
    stopwatch, machine = watch(noise=0.0)
    compared(stopwatch, bar * 1.2, bar, seconds)

    assert pytest.approx(calls, rel=0.15) == max(machine.calls)


def test_nobody_can_tell_how_many_windows_warm_up(watch):
    """Two or three, pair by pair; the first pairs of practice have fewer that count, and those of the first look half."""
    stopwatch, machine = watch(rehearsal=True)
    counts = set()
    size = stopwatch._size(module.Sides(PROBE, job("student", 0.001), job("baseline", 0.001)), 1.5)
    take = stopwatch._take(module.Sides(PROBE, job("student", 0.001), job("baseline", 0.001)), size)
    for index in 4 * [*range(10)]:
        before = machine.windows
        take(index)
        counts.add((machine.windows - before) // 2)

    assert {it + warm_up for it in (GLANCE, FEW, TIMED) for warm_up in (2, 3)} == counts


def test_the_same_bytes_are_not_drawn_again(watch):
    """Resubmitting gets the same answer, and costs nothing."""
    stopwatch, machine = watch()
    first = compared(stopwatch, 1.7)
    before = len(machine.started)
    again = compared(stopwatch, 1.7)

    assert (first.decision, first.measured, before) == (
        again.decision,
        again.measured,
        len(machine.started),
    )


def test_practice_says_how_it_looks_and_never_judges(watch):
    """Five pairs at the most, no gate."""
    stopwatch, machine = watch(rehearsal=True)
    found = compared(stopwatch, 1.7)

    assert ("INCONCLUSIVE", "a grading run decides") == (found.decision, found.undecided)
    assert found.measured.startswith("on course: 1.")
    assert machine.started.count("student") <= 5
    assert compared(stopwatch, 1.1).measured.startswith("not yet: 1.")


def test_a_student_that_breaks_the_rules_is_reported_with_the_reason(watch):
    found = compared(watch(breaks=Stopped("refused", "showed a different output"))[0], 1.7)

    assert ("FAIL", "refused", "showed a different output") == (
        found.decision,
        found.ended,
        found.error,
    )


def test_pairs_that_do_not_count_are_told(watch):
    """Without a pair there are no points, and no verdict either."""
    found = compared(watch(breaks=SpoiltError("the kernel tells nothing"))[0], 1.7)

    words = "only 0 pairs could be measured; 25 were dropped: the kernel tells nothing"
    assert ("INCONCLUSIVE", words) == (found.decision, found.undecided)


MOVED = {
    "the student, three times": (["student"] * 3, "FAIL", "tampering"),
    "the student, twice": (["student"] * 2, "PASS", "ok"),
    "the baseline, however often": (["baseline"] * 9, "PASS", "ok"),
    "both": (["student", "baseline", *["student"] * 9], "PASS", "ok"),
}


@pytest.mark.parametrize(("arms", "decision", "ended"), MOVED.values(), ids=MOVED)
def test_working_on_while_stopped_is_tampering_when_only_the_student_does(
    watch, arms, decision, ended
):
    """Three pairs of it; where the baseline did as well, something is wrong with the machine."""
    stopwatch, machine = watch()
    machine.moves = [MovedError(arm) for arm in arms]
    found = compared(stopwatch, 1.7)

    words = "processes of the student ran while they were stopped" if ended == "tampering" else ""
    assert (decision, ended, words) == (found.decision, found.ended, found.error)


def test_who_cannot_be_stopped_is_blamed_like_one_that_moved(watch):
    """A side that holds on to the core whatever signal comes would otherwise wait for a person, again and again."""
    stopwatch, machine = watch()
    machine.moves = [MovedError("student", "could not be stopped")] * 3
    found = compared(stopwatch, 1.0)

    assert ("FAIL", "tampering") == (found.decision, found.ended)
    assert "processes of the student could not be stopped" == found.error


INTERRUPTED = {
    "as much as in the examination, and a little more": ([0.04] * 14, [0.08] * 9, 0, "PASS"),
    "more in two pairs": ([0.0] * 14, [0.4] * 2, 2, "PASS"),
    "more in all of them": ([0.0] * 14, [0.4] * 25, 25, "INCONCLUSIVE"),
}


@pytest.mark.parametrize(
    ("before", "with_a_student", "dropped", "decision"), INTERRUPTED.values(), ids=INTERRUPTED
)
def test_pairs_in_which_the_kernel_took_the_core_are_dropped(
    watch, before, with_a_student, dropped, decision
):
    """Whoever gave it the work: nobody is blamed, and nobody passes by it."""
    stopwatch, machine = watch()
    machine.interrupted = before + with_a_student
    found = compared(stopwatch, 1.7)

    assert (decision, dropped, "ok") == (
        found.decision,
        len(found.evidence["dropped"]),
        found.ended,
    )
    assert all(
        why.startswith("the kernel served interrupts in 40% of the time")
        for why in found.evidence["dropped"]
    )


def test_a_baseline_that_differs_from_itself_is_never_the_students_fault(watch, monkeypatch):
    """Its outputs are not those of the same inputs: random, or on a clock."""

    def broken(arm):
        raise Stopped("refused", "in a timed window 1 was returned where the baseline returns 2")

    stopwatch, _ = watch()
    stopwatch._sizes = {}
    monkeypatch.setattr(SimulatedWorker, "freeze", broken)

    with pytest.raises(
        RuntimeError, match="the baseline against itself: in a timed window 1 was returned"
    ):
        compared(stopwatch, 1.7)


def test_an_evaluator_follows_each_pair_of_trainings(watch):
    """Trusted code in a process of its own, when both sides are gone."""
    stopwatch, machine = watch(rehearsal=True)
    training = timed_toy.part.probes["training"]
    stopwatch(training, job("student", 0.001), job("baseline", 0.001), 1.5)

    assert ["baseline", "student", "evaluator"] * 2 == machine.started[1:7]
