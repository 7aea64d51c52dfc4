"""A student's folder: which lab it is, and when it is run again."""

from __future__ import annotations

import os

import pytest

from autograder.course import Course, find_root
from autograder.errors import UserError
from autograder.student import practice
from tests.toy import FakeWorkers, toy_session

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


NAMES_NONE = "request.md has no line that is the name of a check of this lab"
REQUESTS = {
    "nothing": ("", []),
    "a check": (
        "# Request\npart3_amp.follows_fp32\nWhy?",
        ["request.md asks a person about part3_amp.follows_fp32"],
    ),
    "what a person reads": (
        "explains_the_trade",
        ["request.md asks a person about part4_memory.explains_the_trade"],
    ),
    "a name with a slip": (
        "part4_memory.explains_the_trad",
        [f"{NAMES_NONE} (did you mean 'part4_memory.explains_the_trade'?)"],
    ),
    "no name": (
        "I doubt this.",
        [f"{NAMES_NONE}, such as part1_baseline.normalises"],
    ),
    "no text": (
        "\nrequest.md cannot be read: it is UTF-16 text; save it as UTF-8",
        ["request.md cannot be read: it is UTF-16 text; save it as UTF-8"],
    ),
}


@pytest.mark.parametrize(("text", "said"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_told_at_home_as_it_will_be_read(text, said):
    assert said == list(practice.about_request(text, COURSE.kit("resnet18")))


def test_a_run_at_home_tells_of_the_request_in_the_folder(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nperflab_lab = resnet18\n")
    (tmp_path / "request.md").write_text("part3_amp.follows_fp32\n")
    session = toy_session(FakeWorkers(), tier="cpu")
    result = practice.check_folder(tmp_path, COURSE, session, "part3", 7)

    assert "request.md asks a person about part3_amp.follows_fp32" in result.notes


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
