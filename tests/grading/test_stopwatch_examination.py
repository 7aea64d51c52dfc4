"""The clock of a run: how a machine is examined, and how long an examination counts."""

from __future__ import annotations

import math

import pytest

from autograder.clock.pairs import FEW, TIMED
from autograder.config import LOWEST_BAR
from autograder.errors import MovedError
from autograder.grading import stopwatch as module
from autograder.grading.stopwatch import WINDOW_SECONDS
from autograder.machine.kept_examination import Examined
from tests.grading.simulated_worker import compared


def test_the_machine_is_examined_once_in_half_an_hour(watch):
    """Before the first check the baseline runs against itself, and the student never meets a closed gate."""
    stopwatch, machine = watch()
    compared(stopwatch, 1.7)
    first = machine.started.index("student")
    compared(stopwatch, 1.8)
    between = machine.started[machine.started.index("student", first) :]
    machine.time += 1800
    before = len(machine.started)
    compared(stopwatch, 1.9)

    assert 1 + 2 * (7 + 3) < first  # sizes, gate, half the work, and the first baseline
    assert ["student", "baseline"] * 9 == between[:18]
    assert "student" not in machine.started[before : before + 20]


def test_on_a_machine_that_is_not_fit_nothing_counts(watch):
    """Inconclusive, with the reason, and the student's worker is never started."""
    stopwatch, machine = watch(noise=0.2)
    found = compared(stopwatch, 3.0)

    assert ("INCONCLUSIVE", True) == (
        found.decision,
        "this machine could not time anything" in found.undecided,
    )
    assert "student" not in machine.started


def test_the_baseline_against_itself_is_never_blamed_for_moving(watch):
    """The session is examined by pairs of the baseline alone; those that it spoils are dropped."""
    stopwatch, machine = watch()
    machine.moves, machine.whoever = [MovedError("student")] * 5, True

    assert "PASS" == compared(stopwatch, 1.7).decision


def test_a_pair_after_the_first_look_has_few_windows_on_a_quiet_machine_alone(watch):
    """The examination takes the shortest windows that a bar asks for."""
    stopwatch, machine = watch(noise=0.002)
    clear = compared(stopwatch, 3.0, bar=2.0)
    near = compared(stopwatch, 2.1, bar=2.0)
    noisy = compared(watch(noise=0.01)[0], 2.1, bar=2.0)

    assert ("PASS", 3) == (clear.decision, len(clear.evidence["pairs"]))
    assert (FEW, FEW, TIMED) == tuple(found.evidence["windows"] for found in (clear, near, noisy))
    assert (FEW, TIMED) == (
        near.evidence["examination"]["windows"],
        noisy.evidence["examination"]["windows"],
    )
    assert pytest.approx(WINDOW_SECONDS * LOWEST_BAR / 0.001, rel=0.15) in list(machine.calls)


def test_a_machine_too_noisy_for_few_windows_is_examined_with_more(watch, monkeypatch, caplog):
    """The second examination has pairs of twice as many windows; its noise here is the same, so it is refused too.

    It counts its pairs from 1, and says that it begins again.
    """
    caplog.set_level("INFO", "autograder")
    taken = []
    whole = module.Stopwatch._pair

    def counted(self, sides, size, fewer, index):
        taken.append(self._session.windows_of(index))
        return whole(self, sides, size, fewer, index)

    monkeypatch.setattr(module.Stopwatch, "_pair", counted)
    found = compared(watch(noise=0.15)[0], 3.0)

    assert {FEW, TIMED} == set(taken)
    assert "REFUSED" == found.evidence["examination"]["state"]
    again = (
        "the machine is examined once more, in longer pairs: the baseline against itself, pair 1"
    )
    assert 1 == caplog.messages.count(again)


class Kept:
    """A memory in which an examination lies, and what is kept instead."""

    def __init__(self, examined):
        self.examined, self.news = examined, []

    def recall(self):
        return self.examined

    def keep(self, *found):
        self.news.append(found)


def test_a_kept_examination_is_looked_at_again_and_not_made_again(watch, caplog):
    caplog.set_level("INFO", "autograder")
    stopwatch, _ = watch(noise=0.002)
    stopwatch.memory = Kept(Examined("boot", 0.0, 0.1, 7, 0.004, math.log(1.25), FEW, 0.0))
    found = compared(stopwatch, 3.0)
    told = list(dict.fromkeys(message.partition(", pair ")[0] for message in caplog.messages))

    again = "the machine is looked at again: the baseline against half of its work"
    assert [again, "it is timed against the baseline"] == told
    assert (3, "PASS", FEW) == (
        sum(message.startswith(again) for message in caplog.messages),
        found.decision,
        found.evidence["windows"],
    )
    assert [] == stopwatch.memory.news


def test_a_kept_examination_that_no_longer_holds_is_made_anew(watch):
    """Half of the work does not pass as it should: the machine is another one by now."""
    stopwatch, machine = watch(noise=0.15)
    stopwatch.memory = Kept(Examined("boot", 0.0, 0.1, 7, 0.004, math.log(1.25), FEW, 0.0))
    found = compared(stopwatch, 3.0)

    assert ("INCONCLUSIVE", []) == (found.decision, stopwatch.memory.news)
    assert machine.started.count("student") == 0
    assert "REFUSED" == found.evidence["examination"]["state"]


def test_a_good_examination_is_kept(watch):
    stopwatch, _ = watch(noise=0.002)
    stopwatch.memory = Kept(None)
    compared(stopwatch, 3.0)

    [(pairs, noise, margin, windows, interrupted)] = stopwatch.memory.news
    assert (7, True, math.log(1.25), FEW, 0.0) == (
        pairs, noise < 0.01, margin, windows, interrupted,
    )  # fmt: skip
