"""When a session's timings count: the gate, the canaries, and what is said when they do not."""

from __future__ import annotations

import math
from statistics import stdev

import pytest

from autograder.clock.gate import Gate, Session, examine, gate, noise_bound
from autograder.clock.pairs import FEW, TIMED
from autograder.clock.rule import Ruling

QUIET = [-0.01, 0.01, 0.0, -0.005, 0.005, -0.008, 0.008]  # sd 0.0079
NOISY = [10 * d for d in QUIET]
FAST = [0.2 + d for d in QUIET]
PERHAPS = (
    "equal runs differed by about 8 %, "
    "and the real figure may be more than the 10 % that are allowed"
)
VARIES = "equal runs differed by about 16 %, more than the 10 % that are allowed"
DIFFERS = "equal runs differed by as much as a bar asks for"
GATES = {
    "nothing yet": ([], False, "GO ON", ""),
    "too few in the time allowed": (
        QUIET[:4],
        True,
        "REFUSED",
        "only 4 pairs fit into the time allowed",
    ),
    "quiet": (QUIET, False, "OPEN", ""),
    "quiet, between two looks": ([*QUIET, 0.0], False, "GO ON", ""),
    "quiet, between two looks, but no time": ([*QUIET, 0.0], True, "OPEN", ""),
    "noisy": (NOISY, False, "GO ON", ""),
    "noisy and no time": (NOISY, True, "REFUSED", PERHAPS),
    "noisier than allowed": ([20 * d for d in QUIET], True, "REFUSED", VARIES),
    "one arm is always faster": (FAST, False, "REFUSED", DIFFERS),
    "one arm is always slower": ([-d for d in FAST], False, "REFUSED", DIFFERS),
}


@pytest.mark.parametrize(("pairs", "last", "state", "problem"), GATES.values(), ids=GATES)
def test_the_gate_opens_when_a_quiet_machine_is_proved(pairs, last, state, problem):
    """The baseline against itself: neither noisy nor faster than itself."""
    found = gate(pairs, last=last)

    assert (state, len(pairs), problem) == (found.state, found.pairs, found.problem)


def test_a_quiet_machine_whose_arms_may_differ_is_asked_for_more():
    """Little noise is not enough while one arm could be faster by what the lowest bar asks for."""
    apart = [0.06 + d for d in QUIET]

    assert noise_bound(apart) < 0.10
    assert ("GO ON", "REFUSED") == (
        gate(apart).state,
        gate([d + 0.01 for d in apart], last=True).state,
    )


BOUNDS = {  # (1 - 2 / (9 df) - 2.8 sqrt(2 / (9 df))) ** -1.5
    "5 pairs": (5, 6.591),  # 0.28448 ** -1.5
    "25 pairs": (25, 1.632),  # 0.72131 ** -1.5
}


@pytest.mark.parametrize(("n", "factor"), BOUNDS.values(), ids=BOUNDS)
def test_the_bound_of_the_noise_narrows_with_pairs(n, factor):
    """What the noise is below: 6.6 times the sd of five pairs, 1.6 times that of 25."""
    pairs = [0.01 * i for i in range(n)]

    assert factor * stdev(pairs) == pytest.approx(noise_bound(pairs), rel=0.001)


def test_examining_takes_pairs_until_the_gate_opens():
    """Seven on a quiet machine."""
    gate = examine(lambda i: QUIET[i % 7], FEW, 100.0, lambda: 0.0)

    assert ("OPEN", 7, pytest.approx(0.0079, abs=1e-4)) == (gate.state, gate.pairs, gate.noise)
    assert math.log(1.25) == pytest.approx(gate.margin)  # 3 * 3.62 * 0.0079 is less


def test_pairs_of_many_windows_prove_less_of_those_of_few():
    """The first look has pairs of few windows, whatever the machine was examined with."""
    of_few, of_many = (gate(QUIET, windows) for windows in (FEW, TIMED))
    shaky = [3 * d for d in QUIET]

    assert (math.log(1.25), math.log(1.25)) == (of_few.margin, of_many.margin)
    assert math.sqrt(2) == pytest.approx(gate(shaky, TIMED).margin / gate(shaky, FEW).margin)


def test_few_windows_do_for_all_pairs_where_these_are_proved_quiet():
    calm = [d / 2 for d in QUIET]

    assert (FEW, TIMED, TIMED) == (
        gate(calm, FEW).windows,
        gate(calm, TIMED).windows,
        gate(QUIET, FEW).windows,
    )


def test_the_pairs_of_the_first_look_have_few_windows():
    session = Session(windows=TIMED)

    assert [FEW, FEW, FEW, TIMED, TIMED] == [session.windows_of(index) for index in range(5)]


def test_nothing_is_far_from_a_bar_before_the_machine_was_examined():
    session = Session()
    before = session.margin
    session.record(0.0, gate([0.05 * (-1) ** i for i in range(25)], last=True), {})

    assert math.inf == before
    assert 3 * 1.632 * 0.051 == pytest.approx(session.margin, rel=0.01)


def test_examining_a_noisy_machine_ends_after_25():
    """It is refused, with the noise that was seen."""
    found = examine(lambda i: 0.15 * (-1) ** i, FEW, 100.0, lambda: 0.0)

    assert ("REFUSED", 25, pytest.approx(0.153, abs=1e-3)) == (
        found.state,
        found.pairs,
        found.noise,
    )


OPEN, SHUT = Gate("OPEN", 5, 0.01), Gate("REFUSED", 25, 0.12, "the machine shakes")
GOOD, SLOW = Ruling("PASS", 5, 2.0, 1.9, 2.1), Ruling("FAIL", 5, 1.0, 0.9, 1.1)
KNOWN = {"known-good": GOOD, "known-slow": SLOW}
SAYS = "this machine could not time anything reliably: {}"
REFUSALS = {
    "all as it should be": (OPEN, KNOWN, ""),
    "the gate is shut": (SHUT, KNOWN, SAYS.format("the machine shakes")),
    "a good one fails": (
        OPEN,
        {**KNOWN, "known-good": SLOW},
        SAYS.format(
            "the known-good submission got FAIL at 1.00x (0.90 to 1.10, 5 pairs), not PASS"
        ),
    ),
    "a slow one passes": (
        OPEN,
        {**KNOWN, "known-slow": GOOD},
        SAYS.format(
            "the known-slow submission got PASS at 2.00x (1.90 to 2.10, 5 pairs), not FAIL"
        ),
    ),
    "a good one is inconclusive": (
        OPEN,
        {**KNOWN, "known-good": Ruling("INCONCLUSIVE", 0)},
        SAYS.format(
            "the known-good submission got INCONCLUSIVE at no pair could be measured, not PASS"
        ),
    ),
    "a canary is missing": (
        OPEN,
        {"known-good": GOOD},
        SAYS.format("the known-slow submission was not timed, not FAIL"),
    ),
}


@pytest.mark.parametrize(("found", "canaries", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_a_session_says_why_it_does_not_count(found, canaries, expected):
    """The gate first, then the canaries."""
    session = Session()
    session.record(0.0, found, canaries)

    assert (expected, not expected) == (session.refusal, session.counts)


def test_a_session_that_nobody_examined_does_not_count():
    """No gate, no verdict."""
    assert (False, True) == (Session().counts, Session().needs_gate(0.0))


def test_the_gate_is_due_every_thirty_minutes():
    """Before the first timed check, and again half an hour after the last examination."""
    session = Session()
    session.record(100.0, OPEN, KNOWN)

    assert [False, False, True] == [
        session.needs_gate(100.0 + 60 * minutes) for minutes in (0, 29.9, 30)
    ]


def test_one_bad_examination_spoils_the_session_for_good():
    """A later good one does not bring it back, the first reason stays, and no further gate is asked for."""
    session = Session()
    session.record(0.0, OPEN, KNOWN)
    session.record(1800.0, SHUT, KNOWN)
    session.record(3600.0, Gate("REFUSED", 25, 0.2, "worse"), KNOWN)
    session.record(5400.0, OPEN, KNOWN)

    assert (False, False) == (session.counts, session.needs_gate(9000.0))
    assert SAYS.format("the machine shakes") == session.refusal
