"""The clock of a run: window sizes, the gate, pools and verdicts; with workers and time that are simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

import pytest

from autograder.clock.pairs import FEW, TIMED
from autograder.config import LOWEST_BAR
from autograder.errors import MovedError, SpoiltError
from autograder.grading import stopwatch as module
from autograder.grading.stopwatch import (
    CHECK_SECONDS,
    LONGEST_WINDOW_SECONDS,
    MOST_BYTES,
    WINDOW_SECONDS,
    Stopwatch,
)
from autograder.machine.kept_examination import Examined
from autograder.model import Job, Limits
from autograder.sandbox.watch import Stopped
from tests import timed_toy

PROBE = timed_toy.part.probes["sums"]


@dataclass
class Machine:
    """Time, and how long a call takes: the file that a job holds says so."""

    noise: float = 0.01
    """Of a process: sd of its log-time."""
    breaks: Exception | None = None
    """What the student's worker does in its first window."""
    time: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))
    started: list[str] = field(default_factory=list)
    moves: list[Exception] = field(default_factory=list)
    """What spoils a pair, one after the other."""
    whoever: bool = False
    """Of the baseline against itself as well."""
    interrupted: list[float] = field(default_factory=list)
    """The share of the baseline's time that the kernel takes in each pair against a student."""
    windows: int = 0
    calls: set[int] = field(default_factory=set)


@dataclass
class SimulatedWorker:
    """Stands in for TimedWorker."""

    name: str
    job: Job
    machine: Machine
    work: object
    patience: float
    peak_bytes: int = 0

    def start(self, seed):  # noqa: ARG002 its noise has a seed of its own
        self.machine.started.append(self.job.side)
        self.machine.time += 0.5
        self.pace = float(self.job.files["speed"]) * (
            1 + self.machine.random.gauss(0, self.machine.noise)
        )
        self.peak_bytes = 3 << 20 if self.job.side == "student" else 6 << 20

    def window(self):
        if self.machine.breaks and self.job.side == "student":
            raise self.machine.breaks
        if (
            self.machine.moves
            and self.name == "student"
            and (self.machine.whoever or self.job.side == "student")
        ):
            raise self.machine.moves.pop(0)
        calls = self.work.fewer if self.work.fewer and self.name == "student" else self.work.count
        self.machine.calls.add(calls)
        self.machine.time += calls * self.pace
        self.machine.windows += 1
        return calls * self.pace

    def settle(self):
        self.machine.started.append("evaluator")

    def turns(self):
        return {}

    def interrupted(self):
        return self.machine.interrupted.pop(0) if self.machine.interrupted else 0.0

    def freeze(self):
        pass

    thaw = end = freeze


@pytest.fixture
def watch(monkeypatch):
    """A stopwatch on a simulated machine."""
    monkeypatch.setattr(module, "TimedWorker", SimulatedWorker)

    def make(rehearsal=False, **machine):
        found = Machine(**machine)
        numbers = Random(2)
        return Stopwatch(
            found, rehearsal, lambda: found.time, lambda: numbers.getrandbits(64)
        ), found

    return make


def job(side: str, seconds: float, device: str = "cpu") -> Job:
    """One call of it takes so long."""
    return Job(
        "toy", "part1_sums", "sums", side, 1, Limits(), {"speed": str(seconds).encode()}, device
    )


def compared(
    stopwatch, ratio: float, bar: float = 1.5, seconds: float = 0.001, device: str = "cpu"
):
    return stopwatch(
        PROBE, job("student", seconds / ratio, device), job("baseline", seconds, device), bar
    )


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
    """Two or three, pair by pair; the pairs of the first look have half as many that count."""
    stopwatch, machine = watch(rehearsal=True)
    counts = set()
    size = stopwatch._size(module.Sides(PROBE, job("student", 0.001), job("baseline", 0.001)), 1.5)
    take = stopwatch._take(module.Sides(PROBE, job("student", 0.001), job("baseline", 0.001)), size)
    for index in [*range(10), *range(10)]:
        before = machine.windows
        take(index)
        counts.add((machine.windows - before) // 2)

    assert {FEW + 2, FEW + 3, TIMED + 2, TIMED + 3} == counts


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
        "nothing timed in this session counts" in found.undecided,
    )
    assert "student" not in machine.started


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


def test_the_baseline_against_itself_is_never_blamed_for_moving(watch):
    """The session is examined by pairs of the baseline alone; those that it spoils are dropped."""
    stopwatch, machine = watch()
    machine.moves, machine.whoever = [MovedError("student")] * 5, True

    assert "PASS" == compared(stopwatch, 1.7).decision


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


def test_a_machine_too_noisy_for_few_windows_is_examined_with_more(watch, monkeypatch):
    """The second examination has pairs of twice as many windows; its noise here is the same, so it is refused too."""
    taken = []
    whole = module.Stopwatch._pair

    def counted(self, sides, size, fewer, index):
        taken.append(self._session.windows_of(index))
        return whole(self, sides, size, fewer, index)

    monkeypatch.setattr(module.Stopwatch, "_pair", counted)
    found = compared(watch(noise=0.15)[0], 3.0)

    assert {FEW, TIMED} == set(taken)
    assert "REFUSED" == found.evidence["examination"]["state"]


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
