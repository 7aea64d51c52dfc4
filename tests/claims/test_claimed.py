"""What is wrong with a claim is said where it is declared, before a worker or a student meets it."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.errors import CourseError


@pytest.fixture
def sums():
    """An exercise without a claim."""
    exercise = Exercise("sums")
    exercise.inputs(lambda random, rows=(0, 9): {"rows": random.normal(size=rows)})
    return exercise


WORDS = {"why": "", "try_": ""}
NOT_DRAWN = {
    "same": (lambda it: it.same({"one": {"row": 1}}, **WORDS), "fixes row; inputs draws rows"),
    "growth": (lambda it: it.operations_do_not_grow({"rows": 1}, {"row": 9}, **WORDS), "fixes row"),
    "a share": (lambda it: it.fewer_operations(0.5, {"row": 9}, **WORDS), "fixes row"),
    "memory": (lambda it: it.needs_less_memory(0.5, {"rows": 9}, {"row": 1}, **WORDS), "fixes row"),
    "one graph": (lambda it: it.one_graph({"rows": 9}, **WORDS), "one_graph takes a list of sizes"),
    "fetches": (lambda it: it.fetches_nothing({"row": 9}, **WORDS), "fixes row"),
    "inputs": (lambda it: it.leaves_inputs_alone({"row": 9}, try_=""), "fixes row"),
}


@pytest.mark.parametrize(("claim", "words"), NOT_DRAWN.values(), ids=NOT_DRAWN)
def test_sizes_that_nobody_draws_are_refused_where_they_are_claimed(sums, claim, words):
    """In a worker they would be told to a student."""
    with pytest.raises(CourseError, match=words):
        claim(sums)


UNSAID = {
    "no why": (lambda it: it.faster({"rows": 9}, try_=""), "sums: is_faster has no why; add why="),
    "no try_": (lambda it: it.same(why=""), r"sums: same_results has no try_; add try_='\.\.\.'"),
    "no try_ for memory": (
        lambda it: it.needs_less_memory(0.5, {"rows": 9}, {"rows": 1}, why=""),
        "sums: needs_less_memory has no try_",
    ),
    "a why that nobody reads": (
        lambda it: it.leaves_inputs_alone(**WORDS),
        "sums: leaves_inputs_alone takes no why, it names what is changed; leave it out",
    ),
}


@pytest.mark.parametrize(("claim", "words"), UNSAID.values(), ids=UNSAID)
def test_words_that_a_claim_lacks_are_asked_for_where_it_is_claimed(sums, claim, words):
    """Released without them, its check would end in an error and owe each student the points."""
    with pytest.raises(CourseError, match=words):
        claim(sums)


def test_a_claim_with_a_cause_of_its_own_needs_no_other(sums):
    sums.leaves_inputs_alone(try_="")
    sums.fetches_nothing(try_="")
    sums.refuses({"no rows": {"rows": 0}}, ValueError, try_="")

    assert {"leaves_inputs_alone", "refuses"} < set(sums.part.checks)
