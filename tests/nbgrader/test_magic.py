"""%perflab in a notebook: the checks that grade, on the notebook as it was saved, as a table."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from autograder.course import Course, find_root
from autograder.course.labs import load_lab
from autograder.errors import UserError
from autograder.model import Observation
from autograder.nbgrader import magic
from autograder.nbgrader.source_notebook import code_cell
from tests.toy import FakeWorkers, toy_session

PART = load_lab("resnet18").part("part3_amp")
FIRST = load_lab("resnet18").parts[0].id
UNWRITTEN = "train_epoch_amp is not written yet (part3_amp.py, line 9)"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeWorkers:
    """Workers that say that nothing is written yet."""
    fake = FakeWorkers(
        {(name, "student"): Observation(name, "raised", error=UNWRITTEN) for name in PART.probes}
    )
    opened = (Course(find_root()), toy_session(fake, tier="cpu"))
    monkeypatch.setattr(magic, "_opened", lambda: opened)
    monkeypatch.setattr(magic, "_graders", {})
    return fake


@pytest.fixture
def folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "pytest.ini").write_text("[pytest]\nperflab_lab = resnet18\n")
    save(tmp_path, "def train_epoch_amp(): ...")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(folder: Any, source: str) -> None:
    nb = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"perflab": {"version": "0"}},
        "cells": [code_cell("a", source)],
    }
    (folder / "part3_amp.ipynb").write_text(json.dumps(nb))
    os.utime(folder / "part3_amp.ipynb", (0, 0))


def test_a_part_is_shown_as_a_table_with_its_notes(folder, fakes):
    """An older template is named, and so is the moment of which the file is."""
    shown = magic.checked("part3", folder)
    html = shown._repr_mimebundle_()["text/html"]

    assert [check for check in PART.checks if check not in html] == []
    assert UNWRITTEN in html
    assert "released as version 0, graded by version 1; see CHANGELOG.md" in html
    assert "part3_amp.ipynb as it was saved at" in shown._repr_mimebundle_()["text/plain"]


def test_one_check_is_judged_alone(folder, fakes):
    """With what it needs, and no more; a file that was not saved since is not run again."""
    shown = magic.checked("part3_amp.follows_fp32", folder)
    asked = len(fakes.asked)
    again = magic.checked("part3_amp.follows_fp32", folder)

    assert ["follows_fp32"] == [check.id for check in shown.checks]
    assert (1, 1, shown) == (asked, len(fakes.asked), again)
    assert "FAIL  part3_amp.follows_fp32  0/4" in shown._repr_mimebundle_()["text/plain"]


def test_a_saved_change_is_run(folder, fakes):
    """The notebook on disk is what counts."""
    magic.checked("part3_amp.follows_fp32", folder)
    save(folder, "def train_epoch_amp(): return 1")
    magic.checked("part3_amp.follows_fp32", folder)

    assert 2 == len(fakes.asked)


MISTAKES = {
    "no part": ("", f"%perflab: name a part, such as %perflab {FIRST}"),
    "an unknown part": ("part33", "lab resnet18 has no part 'part33'"),
    "an unknown check": (
        "part3.folows_fp32",
        "part3_amp has no check 'folows_fp32' (did you mean 'follows_fp32'?)",
    ),
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_name_that_is_not_known_is_said(folder, fakes, line, message):
    """With the nearest one."""
    with pytest.raises(UserError) as caught:
        magic.checked(line, folder)

    assert message in str(caught.value)


def test_the_cell_of_a_missed_check_fails_in_one_line(folder, fakes, monkeypatch):
    """So `nbgrader validate` does not call it a success; a check that is owed does not fail its cell."""
    displayed: list[Any] = []
    module = ModuleType("IPython.display")
    module.display = displayed.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    with pytest.raises(magic.NotPassed) as caught:
        magic.perflab("part3_amp.follows_fp32")
    with pytest.raises(magic.NotPassed) as mistaken:
        magic.perflab("")

    assert ["perflab: not passed yet: follows_fp32"] == caught.value._render_traceback_()
    assert [
        f"perflab: %perflab: name a part, such as %perflab {FIRST}"
    ] == mistaken.value._render_traceback_()
    assert 1 == len(displayed)


def test_jupyter_learns_the_magic():
    """%load_ext autograder.nbgrader.magic."""
    seen: list[Any] = []
    magic.load_ipython_extension(
        SimpleNamespace(register_magic_function=lambda *a, **k: seen.append((*a, k)))
    )

    assert [(magic.perflab, {"magic_name": "perflab"})] == seen


def test_a_real_worker_runs_the_reference_from_its_notebook(tmp_path, monkeypatch, workers):
    """Released, written, saved and checked: with torch, in a process of its own."""
    from autograder.nbgrader.release import release

    course = Course(find_root())
    release(course, "resnet18", tmp_path)
    session = replace(toy_session(workers, tier="cpu"), worker_device="cpu")
    monkeypatch.setattr(magic, "_opened", lambda: (course, session))
    monkeypatch.setattr(magic, "_graders", {})
    shown = magic.checked(
        "part3_amp.returns_the_metrics", tmp_path / "course" / "source" / "resnet18"
    )

    assert [("returns_the_metrics", "passed")] == [
        (check.id, check.outcome) for check in shown.checks
    ]
