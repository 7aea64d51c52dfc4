"""`pytest -k part3` in a student's folder: one test per check, the four parts, the points, and nothing imported."""

from __future__ import annotations

import re
from functools import cached_property

import pytest

from autograder.course.labs import load_lab
from autograder.lab import Lab, Part
from autograder.model import Observation
from autograder.student import pytest_plugin
from tests.toy import FakeWorkers, toy_session

pytest_plugins = ["pytester"]
PART = load_lab("resnet18").part("part3_amp")
INI = "[pytest]\nperflab_lab = resnet18\nperflab_version = {version}\n"
# The student's file must never be imported, nor a conftest of theirs be needed.
STUDENT = "raise SystemExit('imported!')\n"


@pytest.fixture
def folder(pytester, monkeypatch):
    """A released folder, with workers that say that nothing is written yet."""
    unwritten = {
        (name, "student"): Observation(
            name, "raised", error="train_epoch_amp is not written yet (part3_amp.py, line 9)"
        )
        for name in PART.probes
    }
    session = cached_property(lambda _: toy_session(FakeWorkers(unwritten), tier="cpu"))
    session.__set_name__(pytest_plugin.Practice, "session")
    monkeypatch.setattr(pytest_plugin.Practice, "session", session)
    pytester.makefile(".ini", pytest=INI.format(version=1))
    pytester.makepyfile(part3_amp=STUDENT)
    return pytester


def test_each_check_is_one_test_named_by_part_and_check(folder):
    """-k part3 finds them all; the file is not imported."""
    found = folder.runpytest("--collect-only", "-q", "-k", "part3")

    assert [f"part3_amp.py::{name}" for name in PART.checks] == [
        line for line in found.outlines if "::" in line
    ]


KEYWORDS = {
    "part1": "part01_first",
    "part01 and not part11": "part01_first and not part11_last",
    "part1_": "part1_",
    "part2": "part2",
    "sums or bonus": "sums or bonus",
    "part1.fits": "(part01_first and fits)",
    "part1::fits": "(part01_first and fits)",
    "bonus or not part10_tenth.fits": "bonus or not (part10_tenth and fits)",
    "part1.py": "part01_first.py",
    "": "",
}


@pytest.mark.parametrize(("asked", "meant"), KEYWORDS.items(), ids=KEYWORDS)
def test_a_part_is_chosen_by_its_number(asked, meant):
    """Of fourteen parts, part1 is one, and not five."""
    many = Lab("many", tuple(Part(f"part{name}") for name in ("01_first", "10_tenth", "11_last")))
    for part in many.parts:
        part.checks["fits"] = PART.checks["follows_fp32"]

    assert meant == pytest_plugin.by_id(asked, many)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("part4", "part4_memory.py is not in this folder; copy it from the lab as you got it"),
        ("part44", "there is no part44; the parts are part1_baseline, part2_dataloader,"),
        (
            "part3.explains_where_autocast_goes",
            "part3_amp.explains_where_autocast_goes is no test: a person reads part3_notes.md",
        ),
        ("part3 and nonsense", "no part and no check has 'nonsense' in its name; the parts are"),
    ],
)
def test_why_nothing_is_selected_is_said_beside_the_number_of_deselected_tests(folder, asked, said):
    lines = folder.runpytest("-k", asked).stdout.str()

    assert f"perflab: {said}" in lines
    assert "not in this folder" not in folder.runpytest("-k", "part3").stdout.str()


def test_beside_the_labs_folder_the_way_there_is_said(folder, monkeypatch):
    """In a folder of it, and in the one above it, of which no pytest.ini names a lab."""
    home = folder.path
    below = folder.mkdir("handout")
    monkeypatch.chdir(below)
    in_handout = folder.runpytest().stdout.str()
    monkeypatch.chdir(home)
    (home / "pytest.ini").rename(below / "pytest.ini")
    above = folder.runpytest().stdout.str()

    assert "perflab: this is not the lab's folder; go to it: cd .." in in_handout
    assert "perflab: handout is a lab's folder; go to it: cd handout" in above


def test_a_failure_is_the_four_parts_and_no_traceback(folder):
    """Goal, measured, why, try."""
    said = folder.runpytest("-k", "follows_fp32", "-p", "no:cacheprovider").stdout.str()

    assert re.search(r"FAIL  part3_amp\.follows_fp32  0/4   \S", said)
    assert "why       train_epoch_amp is not written yet (part3_amp.py, line 9)" in said
    assert "Traceback" not in said
    assert "grade.py" not in said


def test_the_run_ends_with_points(folder):
    """Owed points are told apart from lost ones; a person has nothing to read yet."""
    result = folder.runpytest("-k", "part3")

    assert result.ret == 1
    assert re.search(r"part3_amp\.follows_fp32 +failed +0/4", result.stdout.str())
    assert re.search(r"part3_amp\.explains_where_autocast_goes +failed +0/2", result.stdout.str())
    assert re.search(r"total +0/30", result.stdout.str())


def test_a_whole_part_is_kept_and_the_next_run_says_how_far_it_came(folder):
    """One check alone is no attempt at its part."""
    folder.runpytest("-k", "follows_fp32")
    file = folder.path / ".perflab" / "attempts.jsonl"
    assert not file.exists()

    folder.runpytest("-k", "part3")
    said = folder.runpytest("-k", "part3").stdout.str()

    assert 2 == len(file.read_text().splitlines())
    assert "done      0 of 7 parts" in said
    assert re.search("points    part3_amp  ▁▁  0 of 30 in 2 attempts", said)


def test_what_is_to_be_said_of_the_files_is_told_at_home(folder):
    """An import that may be missing where it is graded costs the whole part there."""
    folder.makepyfile(part3_amp="import torch\nimport psutil\n")
    said = folder.runpytest("-k", "follows_fp32").stdout.str()

    assert "part3_amp.py imports psutil (line 2), which may be missing where it is graded" in said


def test_what_is_owed_or_skipped_says_why(folder):
    """A speed that was rehearsed is told there, with its pairs; and what a person reads, so that the points add up."""
    said = folder.runpytest("-k", "part3").stdout.str()
    told = said[said.index("owed and skipped") : said.index(" points ===")]

    assert "SKIP  part3_amp.amp_is_faster  0/4" in told
    assert "      reason    follows_fp32 did not pass" in told
    assert "FAIL  part3_amp.explains_where_autocast_goes  0/2" in told
    assert "      measured  no part3_notes.md" in told

    (folder.path / "part3_notes.md").write_text(
        "# Why\n\nThe matrix products are in half precision.\n"
    )
    result = folder.runpytest("-k", "part3").stdout.str()
    assert "OWED  part3_amp.explains_where_autocast_goes  0/2" in result
    assert "      reason    a person reads part3_notes.md" in result
    assert re.search(r"total +2 of 30 owed +0/28", result)


def test_a_run_that_owes_nothing_has_no_such_section(folder):
    """A single check that failed."""
    assert "owed and skipped" not in folder.runpytest("-k", "follows_fp32").stdout.str()


def test_a_folder_that_is_older_than_the_checks_is_named(folder):
    """Both versions, and where to look."""
    folder.makefile(".ini", pytest=INI.format(version=0))
    said = folder.runpytest("--collect-only").stdout.str()

    assert "this folder is version 0, the checks are version 1; see CHANGELOG.md" in said


def test_without_the_line_in_the_ini_the_plugin_sleeps(folder):
    """It is installed into every pytest of the environment and must not be noticed."""
    folder.makefile(".ini", pytest="[pytest]\n")
    result = folder.runpytest("-k", "part3")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "perflab" not in "".join(
        line for line in result.outlines if not line.startswith("plugins")
    )


def test_an_unknown_lab_is_one_clear_line(folder):
    """A misspelt ini."""
    folder.makefile(".ini", pytest=INI.format(version=1).replace("resnet18", "resnet81"))
    result = folder.runpytest()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "has no lab 'resnet81' (did you mean 'resnet18'?)" in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_a_notebook_has_the_same_tests_where_there_is_no_file(folder):
    """-k part3 in a folder of notebooks."""
    (folder.path / "part3_amp.py").unlink()
    (folder.path / "part3_amp.ipynb").write_text('{"nbformat": 4, "metadata": {}, "cells": []}')
    found = folder.runpytest("--collect-only", "-q", "-k", "part3")

    assert [f"part3_amp.ipynb::{name}" for name in PART.checks] == [
        line for line in found.outlines if "::" in line
    ]
    assert "FAIL  part3_amp.follows_fp32" in folder.runpytest("-k", "follows_fp32").stdout.str()


def test_beside_its_file_a_notebook_adds_no_tests(folder):
    """Each check is one test."""
    (folder.path / "part3_amp.ipynb").write_text('{"nbformat": 4, "metadata": {}, "cells": []}')
    found = folder.runpytest("--collect-only", "-q", "-k", "part3")

    assert len(PART.checks) == len([line for line in found.outlines if "::" in line])
