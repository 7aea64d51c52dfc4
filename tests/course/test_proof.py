"""The proof that a lab is whole: each thing it must notice, noticed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
import yaml

from autograder.course import Course, find_root, proof
from autograder.course.cases import Case, load_cases
from autograder.course.expectations import (
    differences,
    floor,
    full,
    over_their_share,
    undecided,
    undecorated,
)
from autograder.course.proof import fair, prove, prove_case, to_time
from autograder.errors import CourseError
from autograder.grading.grade import grade
from autograder.model import CheckResult, Limits, Observation, PartResult
from tests.course.corpus import PART, mutant, toy_course
from tests.toy import FakeWorkers, good, toy_kit, toy_session, toy_submission


@pytest.fixture
def course(tmp_path):
    return toy_course(tmp_path)


def case(fails, kind="wrong", limits=None):
    return Case("entry", "about", kind, PART, fails, toy_submission(), limits)


def result(answers=None, tier="cpu"):
    return grade(
        toy_submission(picture__png=b""),
        toy_kit(),
        toy_session(FakeWorkers(answers or {}), tier),
        seed=1,
    )


NEGATIVE = {("single", "student"): good("single", -1)}
EXPECTATIONS = {
    "fails what it states": (
        {"positive": "not positive", "has_picture": "cannot be read"},
        NEGATIVE,
        [],
    ),
    "passes what it should fail": (
        {"positive": "not positive", "has_picture": ""},
        {},
        ["positive: passed instead of failed: measured: 2.0"],
    ),
    "fails with other words": (
        {"positive": "too small", "has_picture": ""},
        NEGATIVE,
        ["positive: 'too small' is not in what it says: measured: -1 | why: it is not positive"],
    ),
    "fails more than it states": (
        {"has_picture": ""},
        NEGATIVE,
        ["positive: failed: measured: -1 | why: it is not positive | try: add to it"],
    ),
    "what is owed here is settled elsewhere": (
        {"much_faster": "too slow", "has_picture": ""},
        {},
        [],
    ),
    "our fault is never as stated": (
        {"has_picture": ""},
        {("single", "student"): good("single", 101)},
        ["positive: error: KeyError: 'our own bug' (toy.py, line "],
    ),
}


@pytest.mark.parametrize(("fails", "answers", "problems"), EXPECTATIONS.values(), ids=EXPECTATIONS)
def test_an_entry_fails_exactly_what_it_states(fails, answers, problems):
    """No more, no less, and in those words."""
    found = differences(case(fails), result(answers).parts[0])

    assert len(problems) == len(found)
    assert all(said.startswith(want) for want, said in zip(problems, found, strict=True))


def test_a_clock_that_finds_too_little_is_a_failed_bar():
    """What is proved of the way is paid to anybody; a partial verdict without a clock stays what it is."""
    timed = CheckResult(
        "much_faster", "partial", "outputs", 1, 2, "", "1.2x", "slow", evidence={"bar": 1.5}
    )
    judged = PartResult(PART, "", 2, 4, (timed, replace(timed, id="positive", evidence={})))

    assert ["positive: partial instead of failed: measured: 1.2x | why: slow"] == differences(
        case({"much_faster": "slow", "positive": ""}), judged
    )


def test_what_a_noisy_machine_leaves_open_is_told_from_a_mistake():
    """Its author runs it again, and changes nothing."""
    timed = CheckResult("faster", "inconclusive", "outputs", 0, 2, "", reason="too noisy")
    mistaken = replace(timed, outcome="passed", reason="", measured="1.6x")
    found = [
        differences(case({"faster": "slow"}), PartResult(PART, "", 0, 2, (it,)))
        for it in (timed, mistaken)
    ]

    assert [True, False] == [undecided(problems) for problems in found]


def test_the_clock_runs_for_entries_whose_verdict_it_decides():
    """Those that fail a timed check, and the first unusual one of a part."""
    cases = [
        replace(case(fails, kind), id=name)
        for name, kind, fails in (
            ("too slow", "wrong", {"much_faster": ""}),
            ("wrong", "wrong", {"positive": ""}),
            ("odd", "unusual", {}),
            ("odd as well", "unusual", {}),
        )
    ]

    assert {"too slow", "odd", f"reference, {PART}"} == to_time(cases, toy_kit(), "t4")
    assert set() == to_time(cases, toy_kit(), "cpu"), "there is no bar for it"


@pytest.mark.parametrize(
    ("timing", "clocked"),
    [("few", 1), ("all", 2), ("none", 0)],
    ids=["few", "all of them", "none of them"],
)
def test_as_many_entries_are_timed_as_is_wanted(course, monkeypatch, timing, clocked):
    """What is not timed is owed."""
    entries = [mutant(id="slow entry", fails={"much_faster": ""}), mutant(id="wrong entry")]
    (course.root / "tests/submissions/toy/mutants.yaml").write_text(yaml.safe_dump(entries))
    monkeypatch.setattr(Course, "kit", lambda *_: toy_kit())
    sessions = []
    monkeypatch.setattr(proof, "prove_case", lambda session, *_: sessions.append(session))
    session = replace(toy_session(FakeWorkers({})), clock=lambda *_: None)

    list(
        prove(
            course,
            "toy",
            lambda: nullcontext(session),
            seed=1,
            only="entry",
            timing=timing,
            lanes=1,
        )
    )

    assert [clocked, 2] == [sum(s.clock is not None for s in sessions), len(sessions)]


def test_one_part_is_proved_as_if_the_lab_had_no_other():
    """Its reference, its entries; an unknown part is said."""
    course = Course(find_root())
    lab = proof._kit(course, "pairs", "part5").lab

    assert ["part05_precision"] == [part.id for part in lab.parts]
    assert {"part05_precision"} == {case.part for case in load_cases(course, lab)}
    with pytest.raises(CourseError, match="no part 'part55'"):
        proof._kit(course, "pairs", "part55")


def test_what_must_pass_is_graded_with_each_seed(course, monkeypatch):
    """Right entries and the reference; a mistake has nothing to lose."""
    entries = [mutant(id="unusual", kind="unusual", fails={}), mutant(id="wrong")]
    (course.root / "tests/submissions/toy/mutants.yaml").write_text(yaml.safe_dump(entries))
    monkeypatch.setattr(Course, "kit", lambda *_: toy_kit())
    session = toy_session(FakeWorkers(NEGATIVE))

    found = list(fair(course, "toy", lambda: nullcontext(session), seeds=range(7, 9), lanes=1))

    assert [
        "unusual: unusual, seed 7",
        f"reference, {PART}, seed 7",
        "unusual: unusual, seed 8",
        f"reference, {PART}, seed 8",
    ] == [it.subject for it in found]
    assert all("not positive" in it.problems[0] for it in found)


def test_the_reference_may_owe_but_not_lose():
    """What this machine cannot show is no fault of the reference."""
    lost = full(result(NEGATIVE))

    assert [
        "part1_toy.positive",
        "part1_toy.equal",
        "part1_toy.faster",
        "part1_toy.much_faster",
        "part1_toy.has_picture",
    ] == [line.split(":")[0] for line in lost]


def test_the_template_wins_nothing_and_says_why():
    """Any point, any fault of ours, and any other reason is noticed."""
    unwritten = Observation("single", "raised", error="work is not written yet", kind="unwritten")
    other = Observation("single", "raised", error="NameError: x")

    assert ["part1_toy.has_table: the unwritten template wins 2"] == floor(
        result({("single", "student"): unwritten})
    )
    assert "part1_toy.positive: says 'NameError: x' and not that it is not written yet" in floor(
        result({("single", "student"): other})
    )


def test_an_entry_is_run_under_its_own_shorter_limits():
    """An endless loop need not be sat out."""
    run = FakeWorkers()
    prove_case(toy_session(run), case({}, limits=Limits(seconds=2)), toy_kit(), 1)

    assert {2} == {job.limits.seconds for job in run.asked}


def test_reports_carry_at_most_two_fifths_of_a_part():
    """They may be forged."""
    kit = toy_kit()
    part = kit.lab.parts[0]
    assert [] == over_their_share(kit.lab, kit.config)

    for name in ("positive", "equal", "faster"):
        part.checks[name] = replace(part.checks[name], basis="report")
    assert [
        "part1_toy: reports carry 6 of 14 points; at most 40 %",
    ] == over_their_share(kit.lab, kit.config)


def test_reports_and_scripted_checks_carry_at_most_three_fifths_of_a_part():
    """What a script decides can be read where it runs."""
    kit = toy_kit()
    part = kit.lab.parts[0]
    for name in ("positive", "equal", "faster", "much_faster", "has_table"):
        part.checks[name] = replace(part.checks[name], basis="scripted")

    carried = sum(
        kit.config.parts[PART].checks[name].points for name in part.checks if name != "has_picture"
    )
    assert [
        f"part1_toy: reports and scripted checks carry {carried:g} of 14 points; at most 60 %"
    ] == over_their_share(kit.lab, kit.config)


def test_a_check_that_no_entry_fails_is_noticed():
    """A check that cannot fail is decoration; one without a bar here is judged where it has one."""
    kit = toy_kit()
    some = {(PART, check) for check in ("positive", "equal", "much_faster", "has_table")}

    assert ["part1_toy.has_picture: no entry of the corpus fails it"] == undecorated(
        kit.lab, kit.config, some, "cpu"
    )
    assert "part1_toy.faster: no entry of the corpus fails it" in undecorated(
        kit.lab, kit.config, some, "t4"
    )
