"""Points: what a verdict earns, what is owed, sums that add up to the hundredth, and the late policy."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from autograder.config import CheckConfig
from autograder.grading import scoring
from autograder.model import (
    OWED,
    CheckResult,
    Device,
    Failed,
    Owed,
    Partial,
    PartResult,
    Passed,
    Result,
    Unavailable,
    Verdict,
)
from autograder.result_file import FORMAT


def partial(credit: float) -> Partial:
    return Partial(credit, "measured", "why", "try")


VERDICTS = {
    "passed earns all": (Passed("1.6x"), ("passed", 6.0)),
    "failed earns nothing": (Failed("1.0x", "why", "try"), ("failed", 0.0)),
    "unavailable earns nothing yet": (Unavailable("needs a GPU"), ("unavailable", 0.0)),
    "half earns half": (partial(0.5), ("partial", 3.0)),
    "credit is rounded down to tenths": (partial(0.4999), ("partial", 2.4)),
    "under a tenth is nothing": (partial(0.0999), ("failed", 0.0)),
    "a tenth that floats make smaller is a tenth": (partial(1 - 0.9), ("partial", 0.6)),
    "three tenths that floats make larger are three": (partial(1 - 0.7), ("partial", 1.8)),
    "all of it is passed": (partial(1.0), ("passed", 6.0)),
    "more than all is all": (partial(17.0), ("passed", 6.0)),
    "infinite is all": (partial(float("inf")), ("passed", 6.0)),
    "less than nothing is nothing": (partial(-3.0), ("failed", 0.0)),
}


@pytest.mark.parametrize(("verdict", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_has_its_name_and_its_points(verdict: Verdict, expected: tuple[str, float]):
    assert expected == scoring.points_for(verdict, 6.0)


def test_a_credit_that_is_no_number_is_a_fault_of_the_check_and_no_zero():
    with pytest.raises(ValueError, match="a check gave a credit that is not a number"):
        scoring.points_for(partial(float("nan")), 6.0)


REPRICED = {
    "passed earns all of it": (("passed", 6.0, 6.0), 9.0, (9.0, 9.0)),
    "worth nothing before": (("passed", 0.0, 0.0), 9.0, (9.0, 9.0)),
    "failed earns nothing": (("failed", 0.0, 6.0), 9.0, (0.0, 9.0)),
    "owed is owed": (("inconclusive", 0.0, 6.0), 9.0, (0.0, 9.0)),
    "a part is the same part": (("partial", 1.8, 6.0), 4.5, (1.35, 4.5)),
    "also of what was rounded": (("partial", 0.11, 0.37), 10.0, (3.0, 10.0)),
    "a part of nothing is judged again": (("partial", 0.0, 0.0), 9.0, None),
}


@pytest.mark.parametrize(("before", "worth", "after"), REPRICED.values(), ids=REPRICED)
def test_a_verdict_keeps_its_share_when_its_check_is_worth_something_else(before, worth, after):
    """Nothing runs for that."""
    outcome, points, max_points = before
    check = CheckResult("faster", outcome, "outputs", points, max_points, "It is faster")
    found = scoring.repriced([check], {"faster": CheckConfig(worth)})

    assert [after] * (after is not None) == [(one.points, one.max_points) for one in found]


def test_points_are_kept_in_hundredths():
    assert scoring.points_for(partial(0.7), 0.35) == ("partial", 0.24)


def check(
    outcome: str, points: float, max_points: float, basis: str = "outputs", name: str = "c"
) -> CheckResult:
    return CheckResult(name, outcome, basis, points, max_points, "title")


def part(*checks: CheckResult, id: str = "part3_amp") -> PartResult:  # noqa: A002 as the record calls it
    return scoring.part_result(id, "Mixed precision", checks)


def test_a_part_adds_up_its_checks():
    checks = (check("passed", 0.1, 0.1), check("passed", 0.2, 0.2), check("skipped", 0.0, 0.4))

    assert PartResult("part3_amp", "Mixed precision", 0.3, 0.7, checks) == part(*checks)


OUTCOMES = {
    "passed": None,
    "partial": None,
    "failed": None,
    "skipped": None,
    "unavailable": "gpu",
    "inconclusive": "again",
    "error": "again",
}


@pytest.mark.parametrize(("outcome", "settled_by"), OUTCOMES.items(), ids=OUTCOMES)
def test_only_what_nobody_could_judge_is_owed_and_says_who_settles_it(
    outcome: str, settled_by: str | None
):
    expected = (Owed("part3_amp.c", 6.0, settled_by),) if settled_by else ()

    assert expected == scoring.owed([part(check(outcome, 0.0, 6.0))])


def test_what_a_person_judges_is_settled_by_a_person():
    assert scoring.owed([part(check("unavailable", 0.0, 2.0, "person"))]) == (
        Owed("part3_amp.c", 2.0, "person"),
    )


def test_what_was_to_be_judged_again_can_be_left_to_a_person():
    """What waits for a GPU still does."""
    graded = result((part(check("error", 0.0, 2.0), check("unavailable", 0.0, 3.0, name="d")),))

    assert (Owed("part3_amp.c", 2.0, "person"), Owed("part3_amp.d", 3.0, "gpu")) == (
        scoring.left_to_a_person(graded).owed
    )


def test_totals_have_the_names_that_a_result_gives_them():
    parts = [part(check("passed", 6.0, 6.0)), part(check("error", 0.0, 4.0), id="part4_memory")]

    expected = {"score": 6.0, "max_score": 10.0, "owed": (Owed("part4_memory.c", 4.0, "again"),)}
    assert expected == scoring.totals(parts)._asdict()


def some_check(rng: random.Random) -> CheckResult:
    max_points = rng.choice([rng.randint(1, 60) / 10, rng.randint(1, 999) / 100])
    outcome = rng.choice(list(OUTCOMES))
    verdict = (
        Passed("")
        if outcome == "passed"
        else partial(rng.random())
        if outcome == "partial"
        else Unavailable("")
    )
    won = scoring.points_for(verdict, max_points)[1]
    return check(outcome, won, max_points, rng.choice(["outputs", "person"]), f"c{rng.random()}")


def result(parts: tuple[PartResult, ...]) -> Result:
    device = Device("CPU", "cpu", "cpu")
    totals = scoring.totals(parts)._asdict()
    return Result(
        FORMAT,
        "resnet18",
        "1",
        "ada",
        "0" * 64,
        1,
        7,
        "2027-01-09T10:00Z",
        1.0,
        device,
        "none",
        parts=parts,
        **totals,
    )


USUAL = part(
    check("passed", 6.0, 6.0),
    check("failed", 0.0, 3.0, name="d"),
    check("error", 0.0, 1.0, name="e"),
)
BONUS = {  # won in a bonus part -> score, lost, of which made up
    "nothing": (0.0, (6.0, 3.0, 0.0)),
    "less than was lost": (2.5, (8.5, 0.5, 2.5)),
    "as much as was lost": (3.0, (9.0, 0.0, 3.0)),
    "more than was lost: what is owed stays owed": (8.0, (9.0, 0.0, 3.0)),
}


@pytest.mark.parametrize(("won", "expected"), BONUS.values(), ids=BONUS)
def test_bonus_points_make_up_for_lost_ones_and_for_no_more(
    won: float, expected: tuple[float, float, float]
):
    """Nobody needs them, nobody gets over the maximum, and nobody waits for those that are owed."""
    checks = (check("partial", won, 9.0), check("unavailable", 0.0, 1.0, "person"))
    graded = result((USUAL, scoring.part_result("bonus", "Bonus", checks, bonus=True)))

    assert expected == (graded.score, graded.lost, graded.made_up)
    assert (10.0, (Owed("part3_amp.e", 1.0, "again"),)) == (graded.max_score, graded.owed)


def test_a_bonus_part_graded_by_itself_is_the_whole():
    alone = scoring.part_result(
        "bonus", "Bonus", [check("passed", 2.0, 2.0), check("failed", 0.0, 1.0)], bonus=True
    )

    graded = result((alone,))
    assert (2.0, 3.0, 1.0, 0.0) == (graded.score, graded.max_score, graded.lost, graded.made_up)


def test_score_and_lost_and_owed_are_exactly_the_maximum():
    """Whatever mix of outcomes and steps of points, nothing is created or lost, and nobody loses less than nothing."""
    rng = random.Random(20270120)
    for _ in range(500):
        checks = [
            [some_check(rng) for _ in range(rng.randint(1, 12))] for _ in range(rng.randint(1, 7))
        ]
        graded = result(tuple(part(*some, id=f"part{i}") for i, some in enumerate(checks)))

        score, lost, owed, most = map(
            as_shown, (graded.score, graded.lost, graded.points_owed, graded.max_score)
        )
        exact = sum(as_shown(check.max_points) for some in checks for check in some)
        waiting = sum(
            as_shown(check.max_points) for some in checks for check in some if check.outcome in OWED
        )
        assert (exact, exact, waiting) == (score + lost + owed, most, owed)
        assert lost >= 0


def as_shown(points: float) -> Decimal:
    return Decimal(repr(points))


def test_full_marks_lose_exactly_nothing_and_not_minus_nothing():
    """0.3 - 0.1 - 0.2 is not 0 in floats; on a page it has to be."""
    graded = result((part(check("passed", 0.1, 0.1), check("error", 0.0, 0.2)),))

    assert repr(graded.lost) == "0.0"
