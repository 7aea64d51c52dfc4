"""The session in which submissions are graded."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.course import Course, find_root
from autograder.grading import session as module

COURSE = Course(find_root())


SESSIONS = {
    "a grading run": ({"rehearsal": False}, True),
    "practice": ({"rehearsal": True}, False),
}


@pytest.mark.parametrize(("options", "squeezes"), SESSIONS.values(), ids=SESSIONS)
def test_only_who_grades_takes_the_whole_gpu(monkeypatch, options, squeezes):
    """A ballast leaves nothing of a card to others; a student who practises shares it."""
    monkeypatch.setattr(module.device, "_ask_gpus", lambda question: ["GPU-1a"])
    monkeypatch.delenv(module.device.VISIBLE, raising=False)
    monkeypatch.setattr(module.device, "driver", lambda: "580")
    with module.open_session(COURSE.config.tier, "cuda:0", **options) as session:
        assert squeezes == (session.squeeze is not None)


def test_without_a_gpu_nothing_is_squeezed():
    with module.open_session(COURSE.config.tier, "cpu", rehearsal=False) as session:
        assert session.squeeze is None


def test_who_grades_can_run_with_nothing_beside_it_and_counts_no_wait(monkeypatch):
    """Seconds of a result are those of the work; a student who practises waits for nobody."""
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(
        module, "Turns", lambda *_: SimpleNamespace(waited=20.0, many=None, alone=None)
    )
    with module.open_session(COURSE.config.tier, "cpu", rehearsal=False) as session:
        assert (True, 60.0) == (session.alone is not None, session.now())
    with module.open_session(COURSE.config.tier, "cpu") as session:
        assert (None, 100.0) == (session.alone, session.now())
