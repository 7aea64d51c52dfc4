"""What a person has to do next: each thing once, with whose it is and what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autograder.grading.scoring import left_to_a_person
from autograder.grading.unread import OTHER_NAMES
from autograder.handed_in.roster import Student
from autograder.results.agenda import is_aside, tasks
from autograder.results.overrides import BY_HAND, Override, append, applied, decide
from autograder.results.standing import Standing
from tests.samples import a_part, a_result, a_silent_check

RUBRIC = a_silent_check(id="why", outcome="unavailable", basis="person", max_points=1)
GPU = a_silent_check(id="fast", outcome="unavailable", max_points=4)
NOISY = a_silent_check(id="noisy", outcome="inconclusive", max_points=2)
UNREAD = a_silent_check(id="all", outcome="unread", reason="it is damaged", max_points=2)
ASIDE = a_silent_check(
    id="all", outcome="error", cause="aside", reason="set aside: its grader died", max_points=2
)


def standing(name, *checks, unclear=""):
    result = a_result(a_part("p", "P", *checks), submission=name)
    return Standing(result, Path("out") / name, Student(name), unclear=unclear)


def test_nothing_is_to_be_done_for_what_is_settled():
    assert [] == tasks([standing("ada", a_silent_check(outcome="passed", points=6))], "out")


def test_each_kind_of_work_is_a_line_of_its_own():
    """What could not be read, or is set aside, is not owed once more for another reason."""
    found = tasks(
        [
            standing("ada", RUBRIC, GPU),
            standing("ben", UNREAD, GPU),
            standing("cem", ASIDE, NOISY),
            standing("dan", RUBRIC, unclear="marked as late"),
        ],
        "out",
    )

    assert [
        "Could not be read: ben (it is damaged)",
        "Late, and nobody knows when it came: dan (marked as late)",
        "Set aside: cem (its grader died each time)",
        "Points that a person gives: 2 submissions",
        "Points that this device cannot decide: 2 submissions",
        "Points that are still undecided: 1 submission",
    ] == [str(task).partition(";")[0] for task in found]
    assert "perflab rubric out --out rubric.csv" == found[3].mend
    assert ["ada (1 point)", "dan (1 point)"] == list(map(str, found[3].items))


def test_who_may_have_given_a_file_another_name_is_for_a_person():
    """Else nobody sees why the whole part is lost."""
    missing = a_silent_check(
        measured="no part3_amp.py", cause="missing", evidence={OTHER_NAMES: "part3.py"}
    )
    noted = {"reason": "renamed", "graded": "failed, 0 of 6"}
    settled = replace(missing, evidence={**missing.evidence, BY_HAND: noted})
    [task] = tasks([standing("ada", missing), standing("ben", settled)], "out")

    assert str(task).startswith(
        "A part's file may be there under another name: ada (no part3_amp.py: part3.py); look"
    )


def test_a_file_under_another_name_is_told_once_however_many_checks_read_it():
    missing = a_silent_check(
        measured="no speeds.csv here", cause="missing", evidence={OTHER_NAMES: "Speeds.csv"}
    )
    [task] = tasks([standing("ada", missing, replace(missing, id="other"))], "out")

    assert 1 == str(task).count("no speeds.csv here: Speeds.csv")


def test_points_set_for_earlier_files_are_to_be_set_again(tmp_path):
    """Until a person has decided about the new files, be it that what the grader found counts."""
    ada = replace(standing("ada", a_silent_check(outcome="passed", points=6)), home=tmp_path)
    check, *_ = ada.result.checks
    then = Override(check, 2.0, "timer", "meera", "2026-01-01T00:00:00+00:00", "0" * 64)
    append(tmp_path, [then])

    [task] = tasks([ada], "out")
    append(tmp_path, [replace(then, points=None, submission_sha256=ada.result.submission_sha256)])

    assert f"for earlier files, and do not count for these: ada ({check})" in str(task)
    assert "perflab override out/NAME CHECK POINTS --reason WHY" in task.mend
    assert [] == tasks([ada], "out")


def test_points_set_when_the_check_was_worth_something_else_are_to_be_set_again():
    """What was set for the same worth, or by an older perflab, is not."""
    names = {"ada": 4.0, "ben": 6.0, "cem": 0.0}
    noted = {
        name: {BY_HAND: {"reason": "timer", "graded": "failed, 0 of 6", "of": of}}
        for name, of in names.items()
    }
    checks = {
        name: a_silent_check(outcome="passed", points=6, max_points=6, evidence=evidence)
        for name, evidence in noted.items()
    }
    [task] = tasks([standing(name, check) for name, check in checks.items()], "out")

    assert "worth something else: ada (p.amp_is_faster)" in str(task)
    assert ["ada"] == [item.submission for item in task.items]


def test_a_long_list_is_cut():
    """The page has all of them."""
    [task] = tasks([standing(f"s{n}", UNREAD) for n in range(12)], "out")

    assert "s7 (it is damaged) and 4 more; ask for a file in place of this one" in str(task)
    assert 12 == len(task.items)


def test_one_check_sets_all_aside():
    assert is_aside(standing("ada", ASIDE, RUBRIC).result)


def test_what_no_try_decided_is_told_apart_from_what_a_person_reads():
    """The sheet has no row for a speed; the line names the check, as the command that sets its points does."""
    told = standing("ada", RUBRIC, NOISY)
    told = replace(told, result=left_to_a_person(told.result))
    read, untold = tasks([told], "out")

    assert "perflab rubric out --out rubric.csv" == read.mend
    assert ["ada (1 point)"] == list(map(str, read.items))
    assert (
        "Points that no try decided: ada (p.noisy); grade these on a quiet machine into another --out, "
        "then perflab settle out OTHER; or set points: perflab override out/NAME CHECK POINTS --reason WHY"
    ) == str(untold)


def test_a_fault_of_perflab_is_not_for_a_quiet_machine():
    broken = a_silent_check(id="broken", outcome="error", points=0, max_points=3)
    told = standing("ada", broken)
    [fault] = tasks([replace(told, result=left_to_a_person(told.result))], "out")

    assert str(fault).startswith(
        "Faults of perflab: ada (p.broken); mend the code that the page names"
    )


def test_who_was_set_aside_and_graded_elsewhere_is_named_only_by_what_is_left(tmp_path):
    """Points that are settled end the line that sends a person to another machine."""
    other = replace(ASIDE, id="other")
    aside = replace(standing("cem", ASIDE, other, RUBRIC), home=tmp_path)
    aside = replace(aside, result=left_to_a_person(aside.result))
    [first, _] = tasks([aside], "out")
    made = [decide(aside.result, "p.all", 2, "judged on a CPU", by="meera", at="now")]
    settled = replace(aside, result=applied(aside.result, made))

    assert str(first).endswith(
        "cem (its grader died each time); look at the files, and grade each alone, best on another machine, "
        "into another --out, then perflab settle out OTHER; or set points: "
        "perflab override out/NAME '*' 0 --reason WHY"
    )
    assert ["Points that a person gives", "Points that no try decided: cem (p.other)"] == [
        tasks([settled], "out")[0].what,
        str(tasks([settled], "out")[1]).partition(";")[0],
    ]
