"""The table of known cheats against the corpus: what it names is there, and what is there is named."""

from __future__ import annotations

import re

import pytest

from autograder.course import Course, find_root
from autograder.course.cases import load_cases

ROOT = find_root()
TABLE = [
    line.split("|")[1:-1]
    for line in (ROOT / "tests/submissions/README.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]
NAMED = {name for row in TABLE for name in re.findall(r"`(\w+)`", row[2])}
NAMED_TESTS = {name for row in TABLE for name in re.findall(r"`(\w[\w/]*\.py)`", row[2])}


@pytest.fixture(scope="module")
def cases():
    course = Course(ROOT)
    return [case for name in course.labs for case in load_cases(course, course.kit(name).lab)]


def test_every_entry_that_the_table_names_exists(cases):
    """A renamed entry takes its line along."""
    assert set() == NAMED - {case.id for case in cases}


def test_every_cheat_of_the_corpus_has_its_line(cases):
    """Who adds a cheat says what it is an instance of."""
    assert set() == {case.id for case in cases if case.kind in ("cheat", "hostile")} - NAMED


def test_every_test_that_the_table_names_exists():
    """What no submission can try is tried on the engine itself."""
    assert [] == [name for name in sorted(NAMED_TESTS) if not (ROOT / "tests" / name).is_file()]


def test_no_line_is_left_out():
    """A line says which entries cover it, or why it does not apply."""
    assert [str(number) for number in range(1, len(TABLE) + 1)] == [row[0].strip() for row in TABLE]
    assert all(row[2].strip() for row in TABLE)
