"""How a pair is timed and how many are taken, with fake arms and a fake clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from autograder.clock.pairs import (
    SpoiltError,
    alternating,
    compare,
    gather,
    order,
    rehearse,
    sequential,
)

WINDOWS = 14


@dataclass
class FakeArm:
    """Notes in a shared log what is asked of it."""

    name: str
    log: list[str]
    seconds: list[float] = field(default_factory=lambda: [1.0] * WINDOWS)
    moves: Sequence[dict[str, int]] = ({},)
    """Turns of its threads, one look after the other, again and again."""
    breaks: str = ""
    looks: int = 0

    def note(self, what: str) -> None:
        self.log.append(f"{self.name[0]} {what}")
        if what == self.breaks:
            raise RuntimeError(what)

    def start(self, seed):
        self.note(f"start {seed}")

    def window(self):
        self.note("window")
        return self.seconds.pop(0)

    def freeze(self):
        self.note("freeze")

    def thaw(self):
        self.note("thaw")

    def turns(self):
        self.looks += 1
        return self.moves[self.looks % len(self.moves)]

    def end(self):
        self.note("end")


def arms(**of_student) -> tuple[FakeArm, FakeArm, list[str]]:
    log: list[str] = []
    return FakeArm("baseline", log), FakeArm("student", log, **of_student), log


def windows(log: list[str]) -> str:
    return "".join(line[0] for line in log if line.endswith("window"))


def test_who_goes_first_is_drawn_and_both_do_equally_often():
    """2 warm-up and 12 timed windows each: one arm and the other, in half of the timed turns the baseline first."""
    baseline, student, log = arms()

    alternating(baseline, student, 7)

    turns = [windows(log)[at : at + 2] for at in range(0, 2 * WINDOWS, 2)]
    assert {"bs": 6, "sb": 6} == {turn: turns[2:].count(turn) for turn in sorted(set(turns))}


def test_nobody_can_foresee_who_goes_first():
    """Any turn, warm-up or not, begins with either arm, seed by seed; the same seed gives the same order."""
    drawn = [order(seed, 3) for seed in range(200)]

    assert [{True, False}] * 15 == [{turns[at] for turns in drawn} for at in range(15)]
    assert drawn[7] == order(7, 3)


def test_only_the_timed_arm_is_ever_thawed():
    """Start and freeze both, then thaw, window, freeze one at a time, and end both."""
    baseline, student, log = arms()

    alternating(baseline, student, 7)

    turn = ["thaw", "window", "freeze"]
    assert ["b start 7", "b freeze", "s start 7", "s freeze"] == log[:4]
    assert [f"{who} {what}" for who in windows(log) for what in turn] == log[4:-2]
    assert ["s end", "b end"] == log[-2:]


def test_the_datum_is_the_median_of_adjacent_log_ratios():
    """A machine that slows down by half on the way changes both arms of each ratio."""
    baseline, student, _ = arms(seconds=[0.5] * 7 + [1.0] * 7)
    baseline.seconds = [1.0] * 7 + [2.0] * 7

    assert math.log(2) == pytest.approx(alternating(baseline, student, 7))


def test_warm_up_windows_do_not_count_and_the_middle_does():
    """Two huge warm-ups, five slow windows of twelve: the median is that of the seven others."""
    baseline, student, _ = arms(seconds=[900.0, 900.0] + [5.0] * 5 + [0.5] * 7)

    assert math.log(2) == pytest.approx(alternating(baseline, student, 7))


MOVES = {
    "a thread ran": ({"7": 3, "8": 9}, {"7": 3, "8": 10}),
    "a process ended, however much it had worked before": ({"7": 3, "8": 9}, {"7": 3}),
    "a process began": ({"7": 3}, {"7": 3, "8": 1}),
    "one ended, another began": ({"7": 3}, {"8": 3}),
}


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES)
def test_a_frozen_arm_that_moved_spoils_the_pair(moves):
    """The same threads, and none was given a core; both arms are ended."""
    baseline, student, log = arms(moves=moves)

    with pytest.raises(
        SpoiltError, match=r"^processes of the student ran while they were stopped$"
    ):
        alternating(baseline, student, 7)

    assert ["s end", "b end"] == log[-2:]


def test_an_arm_that_stands_still_spoils_nothing():
    """Whatever its threads did before."""
    baseline, student, _ = arms(moves=[{"7": 3, "8": 9}])

    assert 0.0 == alternating(baseline, student, 7)


@pytest.mark.parametrize("step", ["start 7", "window"])
@pytest.mark.parametrize("way", ["alternating", "sequential"])
def test_arms_are_ended_when_one_breaks(way, step):
    """Nothing is left running, whatever happened."""
    baseline, student, log = arms(breaks=step)

    with pytest.raises(RuntimeError, match=step):
        alternating(baseline, student, 7) if way == "alternating" else sequential(
            baseline, student, 7, 0
        )

    assert {"b end", "s end"} == {line for line in log if line.endswith("end")}


ORDERS = {"even pair: the baseline first": (0, "bs"), "odd pair: the student first": (3, "sb")}


@pytest.mark.parametrize(("index", "turns"), ORDERS.values(), ids=ORDERS)
def test_sequential_arms_never_live_together(index, turns):
    """The first is over before the second starts, and the order turns from pair to pair."""
    baseline, student, log = arms()

    sequential(baseline, student, 7, index)

    assert [
        line
        for who in turns
        for line in (f"{who} start 7", *[f"{who} window"] * WINDOWS, f"{who} end")
    ] == log


@pytest.mark.parametrize("index", [0, 1])
def test_a_sequential_pair_compares_medians_without_warm_up(index):
    """ln(t_baseline / t_student), whichever went first."""
    baseline, student, _ = arms(seconds=[900.0, 900.0] + [5.0] * 5 + [0.5] * 7)

    assert math.log(2) == pytest.approx(sequential(baseline, student, 7, index))


class Clock:
    """Time that passes only while pairs are taken."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def taking(self, values, seconds=1.0):
        """Yield one value after the other; text is the reason why a pair is spoilt."""
        remaining, durations = (
            list(values),
            [seconds] * len(values) if isinstance(seconds, float) else list(seconds),
        )

        def take(index: int) -> float:
            self.seen = index
            self.time += durations.pop(0)
            value = remaining.pop(0)
            if isinstance(value, str):
                raise SpoiltError(value)
            return value

        return take


SCATTERED = [0.0, 0.2, 0.38, 0.6, 0.8]  # around the line of a bar of 1.5


def always(pairs) -> bool:
    return True


def test_a_clear_speedup_takes_seven_pairs():
    """The rule stops as soon as it can."""
    clock = Clock()
    done = compare(clock.taking([0.7] * 25), 1.5, 100.0, clock.now)

    assert ("PASS", 7, (0.7,) * 7) == (done.ruling.decision, done.ruling.pairs, done.gathered.pairs)


def test_a_close_call_takes_two_more_at_a_time():
    """Nine pairs here, since eight are not looked at."""
    clock = Clock()
    done = compare(clock.taking([0.1, 1.1, 0.1, 1.1, 0.6] + [0.6] * 20), 1.2, 100.0, clock.now)

    assert ("PASS", 9) == (done.ruling.decision, done.ruling.pairs)


def test_at_most_25_pairs_are_taken():
    """After that nobody is judged if they do not agree."""
    clock = Clock()
    done = compare(clock.taking(SCATTERED * 6), 1.5, 1000.0, clock.now)

    assert ("INCONCLUSIVE", 25, 1025.0) == (done.ruling.decision, done.ruling.pairs, clock.time)


BUDGETS = {
    "no pair is begun without time": (-1.0, 1.0, 0),
    "the first may take longer than allowed": (0.5, 1.0, 1),
    "a pair that just fits": (3.0, 1.0, 3),
    "one that does not": (3.9, 1.0, 3),
    "the longest so far is what must fit": (
        10.0,
        [1.0, 4.0, 1.0, 1.0, 1.0],
        4,
    ),  # at 7 s another 4 s would be too long
}


@pytest.mark.parametrize(("seconds", "each", "expected"), BUDGETS.values(), ids=BUDGETS)
def test_pairs_stop_before_the_time_is_over(seconds, each, expected):
    """Another pair is begun only when one as long as the longest fits."""
    clock = Clock()

    assert expected == len(gather(clock.taking([0.0] * 5, each), always, seconds, clock.now).pairs)


def test_too_few_pairs_in_time_are_no_verdict():
    """Four clear pairs do not pass."""
    clock = Clock()
    done = compare(clock.taking([0.7] * 25), 1.5, 4.0, clock.now)

    assert ("INCONCLUSIVE", 4) == (done.ruling.decision, done.ruling.pairs)


def test_a_spoilt_pair_is_dropped_whole_and_noted():
    """It takes time and a number of its own, and no place among those that count."""
    clock = Clock()
    done = compare(clock.taking([0.7, "the GPU throttled", *[0.7] * 6]), 1.5, 100.0, clock.now)

    assert ((0.7,) * 7, ("the GPU throttled",)) == (done.gathered.pairs, done.gathered.dropped)
    assert (7, 1008.0) == (clock.seen, clock.time)


def test_a_machine_that_spoils_everything_is_given_up():
    """25 dropped pairs are enough."""
    clock = Clock()
    done = compare(clock.taking(["busy"] * 40), 1.5, 1000.0, clock.now)

    assert ("INCONCLUSIVE", 0, 25) == (
        done.ruling.decision,
        done.ruling.pairs,
        len(done.gathered.dropped),
    )


def test_bytes_that_were_judged_are_not_drawn_again():
    """The pooled pairs alone give the same verdict, and no pair is taken."""
    clock = Clock()
    done = compare(clock.taking([]), 1.5, 100.0, clock.now, pooled=[0.7] * 7)

    assert ("PASS", 7, 1000.0) == (done.ruling.decision, done.ruling.pairs, clock.time)


def test_inconclusive_pairs_are_pooled_with_new_ones():
    """25 more at most; the old ones count and come first."""
    clock = Clock()
    old = SCATTERED * 5
    done = compare(clock.taking(SCATTERED * 6), 1.5, 1000.0, clock.now, pooled=old)

    assert (50, 1025.0, tuple(old)) == (done.ruling.pairs, clock.time, done.gathered.pairs[:25])


REHEARSALS = {
    "five pairs": (1.5, 1.0, 5),
    "or fifteen seconds": (1.5, 5.0, 3),
    "or one long pair": (1.5, 20.0, 1),
    "two that are far above the bar": (2.4, 1.0, 2),
    "or far below it": (0.9, 1.0, 2),
}


@pytest.mark.parametrize(("ratio", "each", "expected"), REHEARSALS.values(), ids=REHEARSALS)
def test_practice_stops_early(ratio, each, expected):
    """At 5 pairs or 15 s, or when 2 pairs are far from a bar of 1.5."""
    clock = Clock()
    take = clock.taking([math.log(ratio)] * 9, each)

    assert expected == len(rehearse(take, 1.5, clock.now).pairs)
