"""A student's folder: which lab it is, and when it is run again."""

from __future__ import annotations

import os

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
        "not a lab's folder; go to the folder that you unzipped (in a checkout: student_template/resnet18)",
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
