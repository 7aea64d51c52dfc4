"""A student's folder: which lab it is, and when it is run again."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from autograder.course import Course, find_root
from autograder.errors import UserError
from autograder.student import practice

COURSE = Course(find_root())


def test_the_ini_says_which_lab_a_folder_is(tmp_path):
    """Students may call the folder what they like."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nperflab_lab = resnet18\n")

    assert "resnet18" == practice.lab_of(tmp_path, COURSE)


MISTAKES = {
    "no lab": (
        "",
        "not a lab's folder; go to one whose pytest.ini names a lab, such as student_template/resnet18",
    ),
    "a damaged ini": (
        "perflab_lab",
        "pytest.ini: File contains no section headers.; take the one of the released folder",
    ),
}


@pytest.mark.parametrize(("ini", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_folder_that_is_no_lab_is_said_with_what_to_do(tmp_path, ini, message):
    """One line."""
    (tmp_path / "pytest.ini").write_text(ini)
    with pytest.raises(UserError) as caught:
        practice.lab_of(tmp_path, COURSE)

    assert str(caught.value).endswith(message)


def test_a_save_runs_the_checks_again_and_nothing_else_does(tmp_path, monkeypatch):
    """--watch looks at times of change; a second look without a save waits."""
    file = tmp_path / "part3_amp.py"
    file.write_text("1")
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            os.utime(file, ns=(1, 1))

    monkeypatch.setattr(practice.time, "sleep", wait)
    runs = practice.watched(tmp_path)
    next(runs)
    next(runs)

    assert 3 == len(waits)


SESSIONS = {
    "a grading run": ({"rehearsal": False}, True),
    "practice": ({"rehearsal": True}, False),
}


@pytest.mark.parametrize(("options", "squeezes"), SESSIONS.values(), ids=SESSIONS)
def test_only_who_grades_takes_the_whole_gpu(monkeypatch, options, squeezes):
    """A ballast leaves nothing of a card to others; a student who practises shares it."""
    monkeypatch.setattr(practice.device, "_ask_gpus", lambda question: ["GPU-1a"])
    monkeypatch.delenv(practice.device.VISIBLE, raising=False)
    monkeypatch.setattr(practice.device, "driver", lambda: "580")
    with practice.open_session(COURSE, "cuda:0", **options) as session:
        assert squeezes == (session.squeeze is not None)


def test_without_a_gpu_nothing_is_squeezed():
    with practice.open_session(COURSE, "cpu", rehearsal=False) as session:
        assert session.squeeze is None


def test_who_grades_can_run_with_nothing_beside_it_and_counts_no_wait(monkeypatch):
    """Seconds of a result are those of the work; a student who practises waits for nobody."""
    monkeypatch.setattr(practice.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(
        practice, "Turns", lambda *_: SimpleNamespace(waited=20.0, many=None, alone=None)
    )
    with practice.open_session(COURSE, "cpu", rehearsal=False) as session:
        assert (True, 60.0) == (session.alone is not None, session.now())
    with practice.open_session(COURSE, "cpu") as session:
        assert (None, 100.0) == (session.alone, session.now())
