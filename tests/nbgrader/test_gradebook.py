"""What is written of a result, on stand-ins for nbgrader's records; test_sync.py has the real ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.errors import NotGradedError
from autograder.nbgrader.gradebook import record
from tests.samples import a_bonus, a_part, a_result, a_silent_check


def a_grade(name, worth):
    fields = {
        "auto_score": None,
        "manual_score": None,
        "extra_credit": None,
        "needs_manual_grade": None,
    }
    return SimpleNamespace(name=name, max_score=worth, **fields)


def a_book(**notebooks):
    """A gradebook with these grades, by notebook."""
    made = [
        SimpleNamespace(name=name, grades=grades, comments=[]) for name, grades in notebooks.items()
    ]
    return SimpleNamespace(
        update_or_create_submission=lambda *_: SimpleNamespace(notebooks=made),
        db=SimpleNamespace(commit=lambda: None),
    )


def usual():
    return a_part("part3_amp", "", a_silent_check(id="c", outcome="failed", points=0, max_points=6))


@pytest.mark.parametrize(
    ("won", "counts"), [(2.0, 2.0), (8.0, 6.0)], ids=["all of it", "as far as points were lost"]
)
def test_a_bonus_is_extra_credit(won, counts):
    """Its cell is worth nothing by itself."""
    hot = a_grade("finds_the_hot_line", 0)
    result = a_result(usual(), parts=(usual(), a_bonus(won)), score=counts)
    record(a_book(part3_amp=[a_grade("c", 6)], bonus=[hot]), "resnet18", "ada", result)

    assert (0.0, counts, False) == (hot.auto_score, hot.extra_credit, hot.needs_manual_grade)


def test_a_bonus_that_was_released_with_points_is_refused():
    book = a_book(part3_amp=[a_grade("c", 6)], bonus=[a_grade("finds_the_hot_line", 9)])

    with pytest.raises(NotGradedError, match="9 points in the gradebook, 0 in the result"):
        record(book, "resnet18", "ada", a_result(usual(), parts=(usual(), a_bonus())))
