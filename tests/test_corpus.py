"""The course proved whole: what `perflab course check` looks at, one test for each thing, with real workers."""

from __future__ import annotations

import secrets

import pytest

from autograder import submission
from autograder.course import Course, find_root
from autograder.course.build import stale
from autograder.course.proof import floor, full, load_cases, prove_case, report_share, undecorated
from autograder.grade import grade
from autograder.practice import open_session

pytestmark = pytest.mark.slow
COURSE = Course(find_root())
KITS = {name: COURSE.kit(name) for name in COURSE.labs}
CASES = {f"{name}-{case.id}": (name, case) for name, kit in KITS.items() for case in load_cases(COURSE, kit.lab)}


@pytest.fixture(scope="module")
def session():
    with open_session(COURSE, "cpu", "best", rehearsal=False) as opened:
        yield opened


def graded(folder, name, session):
    return grade(submission.load(folder, KITS[name].lab.files), KITS[name], session, seed=secrets.randbits(48))


@pytest.mark.parametrize("name", KITS)
def test_the_reference_loses_nothing(name, session):
    """What this machine cannot show is owed."""
    assert full(graded(COURSE.reference(name), name, session)) == []


@pytest.mark.parametrize("name", KITS)
def test_the_template_wins_nothing(name, session):
    """And every check says that it is not written yet."""
    assert floor(graded(COURSE.template(name), name, session)) == []


@pytest.mark.parametrize(("name", "case"), CASES.values(), ids=CASES)
def test_each_entry_is_judged_as_it_states(name, case, session):
    """Wrong work fails exactly its checks with words that name the mistake; honest, unusual work passes; cheats gain nothing."""
    assert prove_case(case, KITS[name], session, secrets.randbits(48)).problems == ()


@pytest.mark.parametrize("name", KITS)
def test_the_course_is_consistent(name):
    """Templates are current, reports carry little, and every check is failed by an entry."""
    kit, cases = KITS[name], [case for lab, case in CASES.values() if lab == name]

    assert stale(COURSE, name) == []
    assert report_share(kit.lab, kit.config) == []
    assert undecorated(kit.lab, kit.config, cases, "cpu") == []


def test_the_corpus_is_as_large_as_it_should_be():
    """A guard that watches nothing must not pass: 12 wrong, 8 unusual and 5 hostile for part 3."""
    kinds = [case.kind for name, case in CASES.values() if name == "resnet18" and case.part == "part3_amp"]

    assert kinds.count("wrong") >= 12
    assert kinds.count("unusual") >= 8
    assert kinds.count("hostile") + kinds.count("cheat") >= 5
