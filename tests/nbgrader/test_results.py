"""Where a verdict comes from: one session for a whole run of nbgrader, closed at its end."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.course import Course, find_root
from autograder.errors import NotGradedError
from autograder.nbgrader import results
from autograder.nbgrader.results import Source, read_by_a_machine, verdict
from autograder.results.overrides import applied, decide
from tests.nbgrader import course
from tests.samples import a_part, a_result, a_silent_check


@pytest.fixture
def opened(monkeypatch):
    """Sessions that were opened, and how they are closed at the end of the process."""
    seen, ends = [], []

    @contextmanager
    def open_session(*arguments, **options):
        seen.append((*arguments, options))
        yield course.session()
        seen.append("closed")

    monkeypatch.setattr(results, "open_session", open_session)
    monkeypatch.setattr(results.atexit, "register", ends.append)
    results._session.cache_clear()
    yield seen, ends
    results._session.cache_clear()


def test_one_session_serves_all_submissions(opened):
    """Its warm worker is what makes the second cheap; it is a grading run, so the clock judges."""
    seen, ends = opened
    course = Course(find_root())
    first = results._session(course, "cpu", "bubblewrap")

    assert first is results._session(course, "cpu", "bubblewrap")
    assert [(course.config.tier, "cpu", "bubblewrap", {"rehearsal": False})] == seen
    [end] = ends
    end()
    assert "closed" == seen[-1]


def test_a_course_that_is_not_there_leaves_everybody_ungraded(tmp_path):
    """Its own words are the reason."""
    source = Source(tmp_path / "gone", "toy", tmp_path, True, "none", "cpu")
    results._course.cache_clear()

    with pytest.raises(
        NotGradedError, match=r"no grading_config\.yaml there; name the folder of a course"
    ):
        verdict(source, "ada", tmp_path)


def test_a_course_is_read_once(monkeypatch):
    """Not for each of its students."""
    assert results._course(find_root()) is results._course(Path(find_root()))


def test_what_could_not_be_read_has_no_verdict_until_a_person_sets_one():
    """Whatever its form is: a file, a notebook, an archive."""
    unread = a_silent_check(
        outcome="unread", reason="part3_amp.py was not taken: line 3 is not UTF-8"
    )
    result = a_result(a_part("part3_amp", "Mixed precision", unread))

    with pytest.raises(NotGradedError, match=r"^part3_amp\.py was not taken: line 3 is not UTF-8$"):
        read_by_a_machine(result)

    made = decide(result, "part3_amp.amp_is_faster", 0, "asked twice", by="meera", at="now")
    assert 0 == read_by_a_machine(applied(result, [made])).score
