"""Verdicts in the cells of a notebook, and a summary in which nothing of a student's is markup."""

from __future__ import annotations

import pytest

from autograder.errors import CourseError
from autograder.nbgrader.gradebook import summary
from autograder.nbgrader.source_notebook import CHECK, code_cell, notebook, text_cell
from autograder.nbgrader.verdict_cells import show
from tests.nbgrader import course
from tests.samples import a_check, a_part, a_silent_check

EVIL = "<script>alert(1)</script> [x](javascript:1) `a` *b*"


def test_each_check_is_told_in_its_own_cell_and_all_where_they_are_run():
    """Whatever else was put out is gone."""
    cells = [
        code_cell("amp_is_faster", "", CHECK),
        code_cell("practice", "", CHECK),
        code_cell("own", "print(1)"),
    ]
    for cell in cells:
        cell["outputs"], cell["execution_count"] = [{"output_type": "stream"}], 3
    text = text_cell("text", "x")
    show(
        [*cells, text],
        a_part("part3_amp", "Part 3", a_check(), a_silent_check(id="other")),
        ["a note"],
    )
    faster, every, own = (cell["outputs"] for cell in cells)

    assert [1, 1, 0] == [len(faster), len(every), len(own)]
    assert {None} == {cell["execution_count"] for cell in cells}
    assert "other" not in faster[0]["data"]["text/plain"]
    assert faster[0]["data"]["text/plain"].startswith("FAIL  part3_amp.amp_is_faster  0/6")
    assert [] == [
        word
        for word in ("amp_is_faster", "other", "note: a note")
        if word not in every[0]["data"]["text/html"]
    ]
    assert text_cell("text", "x") == text


def test_what_a_student_wrote_is_text_in_a_table():
    """No tag of theirs reaches a page."""
    cell = code_cell("amp_is_faster", "", CHECK)
    show([cell], a_part("part3_amp", "Part 3", a_check(why=EVIL)), [])

    assert "<script>" not in cell["outputs"][0]["data"]["text/html"]


def test_what_a_student_named_is_text_in_a_comment():
    """Neither a tag nor a link."""
    said = summary(a_part("part3_amp", "Part 3", a_check()), (EVIL,))

    assert r"&lt;script&gt;alert\(1\)&lt;/script&gt; \[x\]\(javascript:1\) \`a\` \*b\*" in said
    assert said.startswith("0 of 6 points; each check says why in its own cell.\n\nNote: ")


def test_a_summary_tells_owed_points_from_lost_ones():
    """They wait."""
    owed = a_silent_check(outcome="unavailable", max_points=2)

    assert summary(a_part("p", "P", owed), ()).startswith("0 of 2 points, 2 not settled yet; ")


def test_two_cells_of_one_name_are_refused():
    """A check and a function must not be called alike."""
    made = course.kit()
    part = made.lab.parts[0]
    source = course.SOURCE.replace("def work", "def positive")

    with pytest.raises(
        CourseError,
        match=r"two cells of its notebook would be called positive; rename the function",
    ):
        notebook(part, made.config.parts[part.id], source, {}, {})


def test_a_report_is_one_cell_for_each_question():
    """They know which file they belong to."""
    made = course.kit()
    part = made.lab.parts[0]
    texts = {"notes.md": "# Notes\n\n## 1\n\nWhy?\n\n## 2\n"}
    cells = notebook(part, made.config.parts[part.id], course.SOURCE, texts, {})["cells"]
    notes = [
        (cell["id"], cell["source"])
        for cell in cells
        if cell["metadata"].get("perflab") == {"file": "notes.md"}
    ]

    assert [("notes-1", "# Notes"), ("notes-2", "## 1\n\nWhy?"), ("notes-3", "## 2")] == notes
