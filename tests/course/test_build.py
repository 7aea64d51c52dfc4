"""Stripping: what is cut, what stays, and what an author is told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.course import Course
from autograder.course.build import COPIES, built, stale
from autograder.course.cut_solutions import strip_code, strip_text
from autograder.errors import CourseError
from autograder.lab import Lab, Part

BEGIN, END = "<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"
SOURCE = '''# %%
def work(x):
    """Do it."""
    # TODO: do it well.
    ### BEGIN SOLUTION
    y = x + 1

    return y
    ### END SOLUTION


after = 1
'''
STRIPPED = '''# %%
def work(x):
    """Do it."""
    # TODO: do it well.
    # YOUR CODE HERE
    raise NotImplementedError()


after = 1
'''


def test_a_region_becomes_nbgraders_stub_at_its_own_indentation():
    """Everything outside the region survives byte for byte."""
    assert STRIPPED == strip_code(SOURCE, "x.py")


def test_what_nbgrader_would_cut_is_cut_alike():
    """A second pass changes nothing."""
    assert STRIPPED == strip_code(STRIPPED, "x.py")


def test_a_model_answer_becomes_a_place_for_the_students_own():
    """Markers in a report may stand within a line."""
    text = "Why?\n\n<!-- BEGIN SOLUTION -->\nBecause.\n<!-- END SOLUTION -->\n\nAnd <!-- BEGIN SOLUTION -->so<!-- END SOLUTION -->.\n"

    assert "Why?\n\n*Your answer here.*\n\nAnd *Your answer here.*.\n" == strip_text(text, "x.md")


CODE_MISTAKES = {
    "never closed": (
        "def f():\n    ### BEGIN SOLUTION\n    pass\n",
        "x.py, line 2: ### BEGIN SOLUTION is never closed; add ### END SOLUTION",
    ),
    "never opened": (
        "def f():\n    ### END SOLUTION\n",
        "x.py, line 2: ### END SOLUTION without ### BEGIN SOLUTION; remove it or open a region above",
    ),
    "nested": (
        "def f():\n    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n",
        "x.py, line 3: ### BEGIN SOLUTION inside the region that line 2 opened; close it first",
    ),
    "outside a function": (
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
        "x.py, line 1: ### BEGIN SOLUTION outside a function; a region lies inside a function's body",
    ),
    "almost a marker": (
        "def f():\n    # BEGIN SOLUTION\n",
        "x.py, line 2: '# BEGIN SOLUTION' is almost a marker; write exactly ### BEGIN SOLUTION or ### END SOLUTION on its own line",
    ),
}


@pytest.mark.parametrize(("text", "message"), CODE_MISTAKES.values(), ids=CODE_MISTAKES)
def test_a_stray_marker_in_code_is_named_with_its_line(text, message):
    """An author finds it at once; nothing of a solution slips through."""
    with pytest.raises(CourseError) as caught:
        strip_code(text, "x.py")

    assert message == str(caught.value)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with one part, which hands in a program, notes and a table."""
    part = Part("part1_toy", writes=["work"], hands_in=["train.py", "notes.md", "table.csv"])
    (tmp_path / "grading_config.yaml").write_text("")
    for folder in ("given", "baseline"):
        (tmp_path / "reference" / "toy" / folder).mkdir(parents=True)
    for name in ("part1_toy.py", "train.py"):
        (tmp_path / "reference" / "toy" / name).write_text(SOURCE)
    (tmp_path / "reference" / "toy" / "notes.md").write_text(f"Why? {BEGIN}So.{END}\n")
    lab = SimpleNamespace(version=1, parts={"part1_toy": None})
    monkeypatch.setattr(Course, "config", SimpleNamespace(labs={"toy": lab}))
    monkeypatch.setattr(Course, "lab", lambda self, name: Lab(name, (part,)))
    monkeypatch.setattr(Course, "left_out", lambda self, name: set())
    return Course(tmp_path)


def test_a_program_is_handed_out_without_its_solution(course):
    (course.reference("toy") / "given" / "would_launch.py").write_text("of last year")

    files = built(course, "toy")

    counter = files.pop("given/would_launch.py")  # what the grader counts with has one source
    assert COPIES["would_launch.py"].read_bytes() == counter
    assert {"part1_toy.py", "train.py", "notes.md", "pytest.ini"} == set(files)
    assert STRIPPED.encode() == files["train.py"]


def test_a_slow_version_that_is_missing_is_named(course):
    """Each check would else tell its author what a student is told of a missing file."""
    course.lab("toy").parts[0].probe(pair=True)(lambda student, rig: {})

    with pytest.raises(
        CourseError, match=r"reference/toy/baseline/part1_toy\.py: missing, but part1_toy compares"
    ):
        built(course, "toy")


def test_a_handout_that_is_missing_is_named(course):
    """Students would get a part without a word on it."""
    with pytest.raises(
        CourseError, match=r"assignments/toy/part1_toy\.md: missing; it is the hand"
    ):
        stale(course, "toy")


WHOLE = {"part1_toy.py": "### BEGIN SOLUTION", "train.py": "### BEGIN SOLUTION", "notes.md": BEGIN}


@pytest.mark.parametrize(("name", "mark"), WHOLE.items(), ids=WHOLE)
def test_a_file_of_which_nothing_is_cut_is_refused(course, name, mark):
    """Its template would be the solution, and nothing else says so before students have it."""
    (course.reference("toy") / name).write_text("def work(x):\n    return x + 1\n")

    with pytest.raises(CourseError) as caught:
        built(course, "toy")
    said = f"reference/toy/{name}: has no {mark}, so students would get all of it; write {mark} "
    assert str(caught.value).startswith(said)


TEXT_MISTAKES = {
    "never closed": (f"\n{BEGIN}\n", f"x.md, line 2: {BEGIN} is never closed; add {END}"),
    "never opened": (END, f"x.md, line 1: {END} without {BEGIN}; remove it or open a region above"),
    "nested": (
        f"{BEGIN}\n{BEGIN}",
        f"x.md, line 2: {BEGIN} inside the region that line 1 opened; close it first",
    ),
}


@pytest.mark.parametrize(("text", "message"), TEXT_MISTAKES.values(), ids=TEXT_MISTAKES)
def test_a_stray_marker_in_a_report_is_named_with_its_line(text, message):
    """The same for markdown."""
    with pytest.raises(CourseError) as caught:
        strip_text(text, "x.md")

    assert message == str(caught.value)
