"""What a function returned for a list of cases, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from autograder.checks import outputs
from autograder.model import Failed, Observation, Pair, Passed
from autograder.worker.rigs.case_results import Answers


def answered(*values, exact):
    """Each value is what the function returned for one case."""
    answers = Answers(exact=exact, staged=Path())
    for i, value in enumerate(values):
        answers.add(f"case {i}", value)
    seen = answers.values()
    return Observation("p", "ok", {"cases": seen["cases"]}, {"numbers": seen["numbers"]})


def judged(student, baseline):
    sides = answered(*student, exact=False), answered(*baseline, exact=True)
    return outputs.same(Pair(*sides), 1e-6, why="because", try_="try")


ONES = torch.ones(3)
NOTHING_BETWEEN = (ONES, None, 2 * ONES)


def test_a_case_without_a_value_leaves_the_others_where_they_are():
    """As for a tensor that has no gradient on either side."""
    assert isinstance(judged(NOTHING_BETWEEN, NOTHING_BETWEEN), Passed)


def test_several_results_are_cases_of_their_own():
    """In the order or by the names in which they came; numbers beside tensors are compared as well."""
    together = {"sum": ONES.sum(), "each": (ONES, 3)}

    assert isinstance(judged([together], [together]), Passed)
    fewer = judged([{"sum": ONES.sum(), "each": (ONES, 4)}], [together])
    assert 'case "case 0, result each, result[1]": 4, and 3 is right' == fewer.measured


def test_who_returns_more_entries_than_fit_is_told_the_form():
    """A result as a list of numbers must not end as an error of what carries it."""
    lists = [[1.0] * 900 for _ in range(4)]

    wrong = judged(lists, [torch.ones(900)] * 4)

    assert 'case "case 0": list instead of float32 (900,)' == wrong.measured
    assert len(str(answered(*lists, exact=False).values)) < 2**16
    with pytest.raises(ValueError, match="ask for fewer"):
        answered(*lists, exact=True)


WRONG = {
    "a list of numbers": (
        ([1.0, 1.0, 1.0],),
        (ONES,),
        'case "case 0": a list or dict instead of float32 (3,)',
    ),
    "the case after it": (
        (ONES, None, ONES),
        NOTHING_BETWEEN,
        'case "case 2": all numbers are 0.5 times',
    ),
    "a tensor in its place": (
        (ONES, ONES, 2 * ONES),
        NOTHING_BETWEEN,
        'case "case 1": float32 (3,) instead of nothing',
    ),
    "nothing in the place of a tensor": (
        NOTHING_BETWEEN,
        (ONES, ONES, 2 * ONES),
        'case "case 1": nothing instead of float32 (3,)',
    ),
    "another object": (
        (ONES, "text", ONES),
        (ONES, ONES, ONES),
        "case \"case 1\": 'text' instead of float32 (3,)",
    ),
}


@pytest.mark.parametrize(("student", "baseline", "measured"), WRONG.values(), ids=WRONG)
def test_what_differs_is_named_by_its_case(student, baseline, measured):
    found = judged(student, baseline)

    assert isinstance(found, Failed)
    assert found.measured.startswith(measured)
