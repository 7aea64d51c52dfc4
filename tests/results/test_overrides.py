"""Points set by hand: with a reason, beside the result, for these files alone, and seen by whoever reads."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from autograder.errors import ReadError, UserError
from autograder.grading.scoring import left_to_a_person
from autograder.results import overrides
from autograder.results.overrides import Override, applied, by_hand, corrected, decide
from tests.samples import a_check, a_part, a_result, every_outcome

RESULT = a_result()
AT = "2027-01-25T09:00:00+05:30"


def decided(check, points, reason="read it again", result=RESULT):
    return decide(result, check, points, reason, by="meera", at=AT)


def test_a_decision_is_bound_to_the_files_that_it_is_about():
    """The check may be named without its part."""
    expected = Override(
        "part3_amp.follows_fp32", 2.5, "read it again", "meera", AT, RESULT.submission_sha256, 6, ()
    )

    assert expected == decided("follows_fp32", 2.5) == decided("part3_amp.follows_fp32", 2.5)


MISTAKES = {
    "a misspelt check": (
        ("part3_amp.folows_fp32", 1),
        "part3_amp.folows_fp32: asha has no such check (did you mean 'part3_amp.follows_fp32'?)",
    ),
    "too many points": (
        ("follows_fp32", 7),
        "part3_amp.follows_fp32: 7 points; give 0 to 6 in hundredths, or 'graded' to take it back",
    ),
    "a fine": (
        ("follows_fp32", -1),
        "part3_amp.follows_fp32: -1 points; give 0 to 6 in hundredths, or 'graded' to take it back",
    ),
    "thousandths": (
        ("follows_fp32", 1.005),
        "part3_amp.follows_fp32: 1.005 points; give 0 to 6 in hundredths, or 'graded' to take it back",
    ),
    "no number": (
        ("follows_fp32", float("nan")),
        "part3_amp.follows_fp32: nan points; give 0 to 6 in hundredths, or 'graded' to take it back",
    ),
    "no reason": (
        ("follows_fp32", 1, " "),
        "part3_amp.follows_fp32: say why with --reason; the student reads it",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_decision_that_cannot_be_is_one_line(arguments, message):
    with pytest.raises(UserError) as raised:
        decided(*arguments)

    assert message == str(raised.value)


def test_a_check_of_two_parts_is_named_with_its_part():
    """Which is meant is not guessed."""
    twice = a_result(a_part("part1", "One", a_check()), a_part("part2", "Two", a_check()))
    with pytest.raises(
        UserError, match=r"name its part: part1.amp_is_faster or part2.amp_is_faster"
    ):
        decided("amp_is_faster", 1, result=twice)


STANDS = {
    "an owed check": ("memory_falls", 4, "passed", "owed, 0 of 4"),
    "in part": ("amp_is_faster", 2.5, "partial", "failed, 0 of 6"),
    "a pass taken back": ("follows_fp32", 0, "failed", "passed, 6 of 6"),
    "what a person reads": ("explains_where_autocast_goes", 2, "passed", ""),
}


@pytest.mark.parametrize(("check", "points", "outcome", "graded"), STANDS.values(), ids=STANDS)
def test_a_result_with_a_decision_says_so_and_adds_up(check, points, outcome, graded):
    """score + lost + owed = max_score; what the grader found is kept beside it."""
    after = applied(RESULT, [decided(check, points)])
    [found] = [c for part in after.parts for c in part.checks if c.id == check]

    assert (outcome, points, "") == (found.outcome, found.points, found.reason)
    bracket = f" (the grader: {graded})" if graded else ""
    assert (f"read it again{bracket}", bool(graded)) == (by_hand(found), corrected(found))
    assert (
        after.max_score
        == round(after.score + after.lost + after.points_owed, 2)
        == RESULT.max_score
    )
    assert after.score == sum(part.score for part in after.parts)


def test_the_last_decision_counts_and_can_be_taken_back():
    """The earlier ones stay to be read."""
    made = [decided("follows_fp32", 1), decided("follows_fp32", 2)]

    assert RESULT.score - 4 == applied(RESULT, made).score
    assert RESULT == applied(RESULT, [*made, decided("follows_fp32", None)])
    assert RESULT == applied(RESULT, [])


def test_a_decision_about_other_files_does_not_count_and_is_said():
    """Nobody has read these yet."""
    after = applied(replace(RESULT, submission_sha256="0" * 64), [decided("follows_fp32", 1)])

    assert RESULT.score == after.score
    assert (
        "part3_amp.follows_fp32 was set by hand for other files than these; that does not count here"
        == after.notes[-1]
    )


def test_a_check_that_is_worth_less_by_now_is_not_worth_more_than_that():
    """Points of the lab changed after the decision."""
    less = a_result(
        a_part("part3_amp", "AMP", a_check(id="follows_fp32", max_points=2)), *every_outcome()[1:]
    )

    assert "passed" == applied(less, [decided("follows_fp32", 5)]).parts[0].checks[0].outcome


def test_decisions_are_appended_and_read_back(tmp_path):
    """Nothing that was written is written over."""
    made = [decided("follows_fp32", 1, "größer, \n=2"), decided("amp_is_faster", None)]
    for one in made:
        overrides.append(tmp_path, [one])

    assert made == overrides.read(tmp_path)
    assert [] == overrides.read(tmp_path / "elsewhere")
    assert 2 == len((tmp_path / overrides.FILE).read_text().splitlines())


@pytest.mark.parametrize("line", ['{"check": "a"', '{"check": "a", "points": "2"}', "[]"])
def test_a_broken_line_is_named(tmp_path, line):
    """Points are never lost in silence."""
    overrides.append(tmp_path, [decided("follows_fp32", 1)])
    with (tmp_path / overrides.FILE).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ReadError, match=r"overrides.jsonl: line 2"):
        overrides.read(tmp_path)


def test_what_nobody_set_says_nothing():
    assert ("", False) == (by_hand(a_check()), corrected(a_check()))


def test_a_decision_that_finds_no_room_leaves_those_before_it_whole(tmp_path, monkeypatch):
    """Half a line would make all of them unreadable."""
    overrides.append(tmp_path, [decided("follows_fp32", 1)])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))
    with pytest.raises(OSError, match="no room for the decision"):
        overrides.append(tmp_path, [decided("follows_fp32", 2)])

    assert [1] == [one.points for one in overrides.read(tmp_path)]


def test_what_a_person_has_to_decide_after_its_last_try_stays_a_persons():
    """Else one decision about another check would send a person back to a grader that tries no more."""
    last = left_to_a_person(RESULT)
    after = applied(last, [decided("amp_is_faster", 6, result=last)])

    assert {owed.check: owed.settled_by for owed in last.owed} == {
        owed.check: owed.settled_by for owed in after.owed
    }
