"""Each answer is judged; the first that is wrong is told, and one that is missing is, too."""

from __future__ import annotations

import pytest

from autograder.checks.answer_lists import each


def problem(answer, right):
    return f"{answer}", "" if answer == right else f"{right} is right"


@pytest.mark.parametrize(
    ("answers", "measured", "why"),
    [
        pytest.param([1, 2], "two sums", "", id="right"),
        pytest.param([1, 3], "3", "2 is right", id="one wrong"),
        pytest.param([1], "1 answers", "2 were asked", id="one missing"),
        pytest.param([], "0 answers", "2 were asked", id="none"),
        pytest.param([1, 2, 3], "3 answers", "2 were asked", id="one too many"),
    ],
)
def test_every_answer_is_judged(answers, measured, why):
    found = each(answers, [1, 2], problem, "add them up", "two sums")

    assert (measured, why) == (found.measured, getattr(found, "why", ""))
