"""A new part works before its author has changed a line."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
import yaml

from autograder.course import Course, find_root
from autograder.course import scaffold as writing
from autograder.course.cut_solutions import strip_code
from autograder.course.scaffold import scaffold
from autograder.errors import UserError


@pytest.fixture
def course(tmp_path):
    shutil.copy(find_root() / "grading_config.yaml", tmp_path)
    return Course(tmp_path)


def load(path, text=None):
    names: dict = {}
    exec(text or path.read_text(), names)
    return names


def test_every_piece_of_a_part_is_written_and_fits(course):
    """Probes, reference, baseline, handout and a mutant that its check fails."""
    written, lines = scaffold(course, "sums", "part1_squares")
    root, numbers = course.root, np.array([1.0, 2.0, 3.0])

    assert all((root / path).is_file() for path in written)
    reference = (root / "reference/sums/part1_squares.py").read_text()
    assert 14 == load(None, reference)["sum_of_squares"](numbers)
    assert 14 == load(root / "reference/sums/baseline/part1_squares.py")["sum_of_squares"](numbers)
    with pytest.raises(NotImplementedError):
        load(None, strip_code(reference, "x"))["sum_of_squares"](numbers)
    [mutant] = yaml.safe_load((root / "tests/submissions/sums/part1_squares.yaml").read_text())
    assert 1 == reference.count(mutant["replace"][0]["old"])
    part = load(root / "autograder/labs/sums/part1_squares.py")["part"]
    configured = yaml.safe_load((root / "grading_config.yaml").read_text())["labs"]["sums"][
        "parts"
    ]["part1_squares"]
    assert set(mutant["fails"]) == set(part.checks) == set(configured["checks"])
    assert "" == lines
    assert "type: ignore" not in (root / "autograder/labs/sums/part1_squares.py").read_text()
    handouts = root / "assignments/sums"
    assert (handouts / "part1_squares.md").read_text().startswith("# Part 1: squares\n")
    assert "[Part 1: squares](part1_squares.md)" in (handouts / "README.md").read_text()


def test_a_second_part_shares_what_the_lab_has(course):
    """given/ is left alone, and each part has mistakes of its own."""
    scaffold(course, "sums", "part1_squares")
    given = course.root / "reference/sums/given/__init__.py"
    given.write_text("DATA = 1\n")
    _, lines = scaffold(Course(course.root), "sums", "part2_cubes")

    assert lines.startswith("under labs.sums.parts:\n      part2_cubes:\n")
    assert "DATA = 1\n" == given.read_text()
    mistakes = sorted((course.root / "tests/submissions/sums").iterdir())
    assert ["part1_squares.yaml", "part2_cubes.yaml"] == [file.name for file in mistakes]


def test_an_exercise_is_written_as_claims_and_fits(course):
    """Its checks are those of the configuration; each mistake replaces what the reference has once."""
    written, lines = scaffold(course, "sums", "part1_squares", exercise=True)
    root, rows = course.root, torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    assert all((root / path).is_file() for path in written)
    reference = (root / "reference/sums/part1_squares.py").read_text()
    baseline = load(root / "reference/sums/baseline/part1_squares.py")["sums_of_squares"]
    assert (
        [5.0, 25.0]
        == load(None, reference)["sums_of_squares"](rows).tolist()
        == baseline(rows).tolist()
    )
    assert (0,) == baseline(rows[:0]).shape
    with pytest.raises(NotImplementedError):
        load(None, strip_code(reference, "x"))["sums_of_squares"](rows)
    checks = load(root / "autograder/labs/sums/part1_squares.py")["part"].part.checks
    mutants = yaml.safe_load((root / "tests/submissions/sums/part1_squares.yaml").read_text())
    assert [1, 1] == [reference.count(mutant["replace"][0]["old"]) for mutant in mutants]
    assert {name for mutant in mutants for name in mutant["fails"]} <= set(checks)
    configured = yaml.safe_load((root / "grading_config.yaml").read_text())["labs"]["sums"][
        "parts"
    ]["part1_squares"]
    assert list(checks) == list(configured["checks"])
    assert "" == lines
    assert "<!-- BEGIN JUDGED -->" in (root / "assignments/sums/part1_squares.md").read_text()


MISTAKES = {
    "a part that exists": (
        ("sums", "part1_squares"),
        "exists already; choose another name, or edit it",
    ),
    "capitals": (("sums", "Part1"), "use names such as resnet18 part4_memory"),
    "one word": (
        ("sums", "intro"),
        "a part's has two words with _ between them, or begins with bo",
    ),
    "an escape": (("../sums", "part1_squares"), "use names such as resnet18 part4_memory"),
}


@pytest.mark.parametrize(("names", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_name_that_cannot_be_used_is_refused(course, names, message):
    """Nothing is overwritten, and nothing is written elsewhere."""
    scaffold(course, "sums", "part1_squares")
    with pytest.raises(UserError, match=message):
        scaffold(course, *names)


def test_nothing_is_written_into_an_installed_perflab(course, monkeypatch):
    """Outside of a course, the one that is found is the installed wheel's own."""
    monkeypatch.setattr(writing, "PACKAGED", course.root)

    with pytest.raises(UserError, match="begin one with perflab new-course FOLDER"):
        scaffold(course, "sums", "part1_squares")
    assert ["grading_config.yaml"] == [path.name for path in course.root.iterdir()]
