"""A result as it counts: what was set by hand is in it, what lateness takes stands beside it, and the score stays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from autograder.config import LabConfig, LatePolicy
from autograder.errors import ReadError, UserError
from autograder.handed_in import times
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.submission import packed
from autograder.handed_in.times import Handed, moment
from autograder.model import Submission
from autograder.records import to_json
from autograder.results import overrides, standing
from autograder.results.overrides import decide
from autograder.results.standing import Rules
from tests.samples import a_result

POLICY = LatePolicy(grace_minutes=10, per_day=0.1, at_most=0.5)
LAB = LabConfig("resnet18", 1, "2027-01-20T23:59+05:30", POLICY, {})
ADA = Student("ada", "Ada Lovelace", extension_hours=48)
RULES = Rules({"resnet18": LAB}, Roster({"ada": ADA}))
LATE = Handed("ada", moment("2027-01-23T10:00+05:30"))


def put(folder, **changes):
    """Write a result where a grading would."""
    result = a_result(**changes)
    home = folder / result.submission
    home.mkdir(parents=True)
    (home / "result.json").write_text(json.dumps(to_json(result)), encoding="utf-8")
    return home


CASES = {
    "nobody knows when": (Handed(), RULES, (7.5, None, "")),
    "in time": (Handed("ada", moment("2027-01-20T20:00+05:30")), RULES, (7.5, None, "")),
    "within the extension": (
        Handed("ada", moment("2027-01-22T20:00+05:30")),
        RULES,
        (7.5, None, ""),
    ),
    "late": (LATE, RULES, (6.75, "10 h 1 min late, -10 %", "")),
    "late, of somebody without extension": (
        LATE,
        replace(RULES, roster=None),
        (5.25, "2 days 10 h 1 min late, -30 %", ""),
    ),
    "marked as late": (
        Handed("ada", marked_late=True),
        RULES,
        (7.5, None, "marked as late, and when it was handed in is not known"),
    ),
    "a lab without a policy": (LATE, Rules({"resnet18": replace(LAB, late=None)}), (7.5, None, "")),
    "a lab that the course does not have": (LATE, Rules(), (7.5, None, "")),
}


@pytest.mark.parametrize(("handed", "rules", "expected"), CASES.values(), ids=CASES)
def test_lateness_is_taken_beside_the_score(tmp_path, handed, rules, expected):
    """The raw score is never changed by it."""
    found = standing.stand(a_result(submission="ada"), tmp_path, handed, rules)

    assert expected == (found.final, found.late and str(found.late), found.unclear)
    assert 7.5 == found.result.score


def test_results_come_with_decisions_and_times(tmp_path):
    """Who is not in the roster is told apart; without a roster everybody is in it."""
    ada, _ = put(tmp_path, submission="ada"), put(tmp_path, submission="zoe")
    overrides.append(
        ada, [decide(a_result(submission="ada"), "follows_fp32", 1, "copied", by="meera", at="now")]
    )
    times.write(tmp_path, {"ada": LATE})
    found = standing.read(tmp_path, RULES).whole

    assert [("ada", 2.5, 2.25, True, "Ada Lovelace"), ("zoe", 7.5, 7.5, False, "")] == [
        (one.student.student, one.result.score, one.final, one.listed, one.student.name)
        for one in found
    ]
    assert [True, True] == [one.listed for one in standing.read(tmp_path).whole]


def test_a_second_attempt_is_its_students(tmp_path):
    """Its result is called ada-2."""
    put(tmp_path, submission="ada-2")
    times.write(tmp_path, {"ada-2": LATE})

    assert [ADA] == [one.student for one in standing.read(tmp_path, RULES).whole]


def test_a_folder_can_be_one_result(tmp_path):
    """What Gradescope's run grades is one submission."""
    assert ["asha"] == [one.student.student for one in standing.read(put(tmp_path)).whole]


def test_what_cannot_be_read_is_listed_and_stops_who_needs_all(tmp_path):
    """Pages show the others; grades are not handed on half."""
    put(tmp_path)
    (put(tmp_path, submission="ben") / "result.json").write_text("{")
    found = standing.read(tmp_path)

    assert (1, 1) == (len(found.standings), len(found.broken))
    with pytest.raises(ReadError, match=r"1 results could not be read: .*ben/result.json"):
        _ = found.whole


def test_an_empty_folder_is_one_line(tmp_path):
    with pytest.raises(
        UserError, match=r"no \*/result.json here; give the folder that `perflab grade --out` wrote"
    ):
        standing.read(tmp_path)


def test_what_is_kept_beside_the_files_is_none_of_them(tmp_path):
    """Who reads what was handed in sees what was handed in."""
    (tmp_path / standing.HANDED_IN).write_bytes(
        packed(Submission("ada", "", {"a.py": b"x"}, left_out=("b",)))
    )

    assert {"a.py": b"x"} == standing.kept(tmp_path)


BLUE = {
    "ada": Student("ada", "Ada Lovelace", moodle_id="5", extension_hours=48, group="blue"),
    "ben": Student("ben", "Ben Okri", moodle_id="6", group="blue"),
    "cy": Student("cy", "Cy"),
}


def test_a_groups_result_is_each_members_with_the_longest_extension(tmp_path):
    """A person's decision holds for all of them, and nobody of them is absent."""
    home = put(tmp_path, submission="blue")
    source = "Ben Okri_99_assignsubmission_file_"
    late = replace(LATE, student="ben", source=source)
    times.write(tmp_path, {"blue": late})
    decision = decide(a_result(submission="blue"), "follows_fp32", 1, "read", by="meera", at="now")
    overrides.append(home, [decision])
    class_ = standing.read(tmp_path, Rules({"resnet18": LAB}, Roster(BLUE)))
    (shared,) = class_.standings

    assert "Ada Lovelace, Ben Okri" == shared.persons
    assert "10 h 1 min late, -10 %" == str(shared.late)
    assert ["cy"] == [it.student for it in class_.absent]
    assert [("ada", ""), ("ben", source)] == [
        (it.student.student, it.handed.source) for it in class_.by_student
    ]
    assert 1 == len({(it.final, it.result.score) for it in class_.by_student})


WISHES = {
    "nobody said": (("", ""), ""),
    "one does not want to": (("no", "name"), "no"),
    "both by name": (("name", "name"), "name"),
    "one by name": (("name", ""), ""),
}


@pytest.mark.parametrize(("wishes", "leaderboard"), WISHES.values(), ids=WISHES)
def test_a_group_stands_on_the_leaderboard_as_all_of_it_want(tmp_path, wishes, leaderboard):
    students = [
        Student(name, leaderboard=wish, group="blue")
        for name, wish in zip("ab", wishes, strict=True)
    ]
    rules = Rules(roster=Roster({it.student: it for it in students}))
    put(tmp_path, submission="blue")

    assert leaderboard == standing.read(tmp_path, rules).standings[0].leaderboard
