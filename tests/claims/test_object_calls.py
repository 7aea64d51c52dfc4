"""An object with state is called by a drawn script, and each answer is the slow version's."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.mutants import made
from autograder.claims.object_calls import refused
from autograder.errors import CourseError
from autograder.model import Failed, Passed
from tests.claims.harness import judged

SLOW = """
import torch


class Rows:
    def __init__(self, width):
        self._rows = torch.zeros(0, width)

    @property
    def length(self):
        return len(self._rows)

    def append(self, rows):
        if not len(rows):
            raise ValueError("no rows")
        self._rows = torch.cat([self._rows, rows])
        return self._rows

    def last(self, count):
        return self._rows[-count:] if count else self._rows[:0]
"""
BUFFER = """
import torch


class Rows:
    def __init__(self, width):
        self.length, self._buffer = 0, torch.zeros(1, width)

    def append(self, rows):
        if not len(rows):
            raise UnicodeError("no rows")
        end = self.length + len(rows)
        if end > len(self._buffer):
            larger = self._buffer.new_zeros(2 * end, self._buffer.shape[1])
            larger[: self.length] = self._buffer[: self.length]
            self._buffer = larger
        self._buffer[self.length : end] = rows
        self.length = end
        return self._buffer[:end]

    def last(self, count):
        return self._buffer[self.length - count : self.length]
"""
RIGHT = {
    "a buffer that grows": BUFFER,
    "a list of pieces": SLOW.replace("torch.zeros(0, width)", "torch.cat([torch.zeros(0, width)])"),
    "a method for length": SLOW.replace("    @property\n", ""),
}
WRONG = {
    "a length that is one too many": (
        BUFFER.replace("self.length = end", "self.length = end + 1"),
        'call 2: length()": 5, and 4 is right',
    ),
    "rows that are kept by the class": (
        SLOW.replace("    def __init__(self, width):\n        self._rows", "    import torch\n    _rows").replace("width)\n", "3)\n").replace("    @property", "    def __init__(self, width):\n        pass\n\n    @property", 1).replace("self._rows = torch.cat", "type(self)._rows = torch.cat"),
        'second object, call 1: append(4 x 3)": float32 (8, 3) instead of float32 (4, 3)',
    ),
    "nothing refused": (
        SLOW.replace("if not len(rows)", "if False"),
        'call 3: append(0 x 3)": no error came; ValueError is expected',
    ),
    "another error": (
        SLOW.replace("ValueError", "KeyError"),
        'call 3: append(0 x 3)": raised KeyError',
    ),
    "broken by what it refused": (
        SLOW.replace("raise ValueError", "self._rows = self._rows[1:]\n            raise ValueError"),
        'call 4: append(1 x 3)": float32 (4, 3) instead of float32 (5, 3)',
    ),
    "an argument that changes": (
        SLOW.replace("self._rows = torch.cat([self._rows, rows])", "self._rows = torch.cat([self._rows, rows])\n        rows += 1"),
        "changed: argument 1 of append",
    ),
    "no such object": (
        SLOW.replace("(self, width)", "(self)"),
        "TypeError: Rows.__init__() got an unexpected keyword argument",
    ),
}  # fmt: skip


def script(random, width=3, first=4):
    rows = random.normal(size=(first, width))
    one = random.normal(size=(1, width))
    calls = [
        ("append", rows),
        ("length",),
        refused("append", one[:0]),
        ("append", one),
        ("last", 2),
    ]
    return {"width": width}, calls


@pytest.fixture
def exercise():
    exercise = Exercise("Rows")
    exercise.calls(script, why="all rows so far", try_="torch.cat")
    return exercise


@pytest.fixture
def spoilt():
    exercise = Exercise("Rows")
    exercise.calls(
        script,
        {"wide": {"width": 9}},
        overwrites=True,
        why="it is the caller's",
        try_="copy what you get",
    )
    return exercise


@pytest.mark.parametrize("way", RIGHT)
def test_right_objects_pass_whatever_they_keep(exercise, way, tmp_path):
    verdict = judged(exercise, RIGHT[way], SLOW, tmp_path)["follows_the_script"]

    assert isinstance(verdict, Passed), verdict


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_answer_is_told_with_its_call(exercise, mistake, tmp_path):
    text, words = WRONG[mistake]
    verdict = judged(exercise, text, SLOW, tmp_path)["follows_the_script"]

    assert isinstance(verdict, Failed), verdict
    assert words in f"{verdict.measured} {verdict.why}"


def test_what_is_written_over_afterwards_is_no_longer_read(exercise, spoilt, tmp_path):
    kept = SLOW.replace(
        "torch.cat([self._rows, rows])",
        "torch.cat([self._rows, rows]) if len(self._rows) else rows",
    )

    assert isinstance(judged(exercise, kept, SLOW, tmp_path)["follows_the_script"], Passed)
    verdict = judged(spoilt, kept, SLOW, tmp_path)["follows_the_script"]
    assert isinstance(verdict, Failed)
    assert isinstance(judged(spoilt, BUFFER, SLOW, tmp_path)["follows_the_script"], Passed)


def test_answers_that_change_later_are_told(exercise, spoilt, tmp_path):
    reused = BUFFER.replace(
        "rows\n        self.length = end",
        "rows\n        self._buffer[0] += 1\n        self.length = end",
    )
    reused = reused.replace(
        "self._buffer[0] += 1", "self._buffer[:1] = rows[:1] if self.length else self._buffer[:1]"
    )

    verdict = judged(spoilt, reused, SLOW, tmp_path)["follows_the_script"]

    assert isinstance(verdict, Failed)


def test_an_oracle_stands_in_for_the_slow_version(tmp_path):
    class Counted:
        def __init__(self):
            self.count = 0

        def add(self, number):
            self.count += number
            return self.count

    exercise = Exercise("Counted")
    exercise.calls(
        lambda random, most=9: ({}, [("add", int(it)) for it in random.integers(1, most, 5)]),
        oracle=Counted,
        why="a sum",
        try_="+=",
    )
    text = "class Counted:\n    count = 0\n    def add(self, number):\n        self.count += number\n        return self.count\n"
    nothing = "Counted = None\n"

    assert isinstance(judged(exercise, text, nothing, tmp_path)["follows_the_script"], Passed)
    wrong = text.replace("+= number", "= number")
    assert isinstance(judged(exercise, wrong, nothing, tmp_path)["follows_the_script"], Failed)


def test_an_unknown_size_is_refused_where_it_is_claimed():
    with pytest.raises(CourseError, match="case 'calls' fixes height; inputs draws width, first"):
        Exercise("Rows").calls(script, {"tall": {"height": 3}}, why="", try_="")


def test_what_nobody_has_written_is_no_answer(exercise, tmp_path):
    empty = "class Rows:\n    def __init__(self, width):\n        raise NotImplementedError\n"

    assert "not written yet" in judged(exercise, empty, SLOW, tmp_path)["follows_the_script"]


def test_entries_are_failed_by_the_script(exercise, tmp_path):
    entries = list(made(exercise, SLOW, SLOW))

    assert [
        "first_answer_again",
        "nothing",
        "other_values",
        "half_of_it",
        "one_object_for_all",
    ] == [it.name for it in entries]
    for entry in entries:
        verdict = judged(exercise, entry.text, SLOW, tmp_path)["follows_the_script"]
        assert isinstance(verdict, Failed), entry.name
