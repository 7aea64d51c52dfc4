"""Mistakes that are made of the reference itself: each is failed by the claim that owns it, or is a hole."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.mutants import BASELINE, ENTRIES, made
from autograder.errors import CourseError
from autograder.model import Failed, Unavailable
from tests.claims import exercises
from tests.claims.harness import judged
from tests.claims.written import REFERENCE, SLOW

ALL = [
    (exercise, entry)
    for exercise in (exercises.products, exercises.clip, exercises.cache)
    for entry in made(exercise, REFERENCE[exercise.function], SLOW[exercise.function])
]
IDS = [f"{exercise.function} {entry.name} {entry.owner}" for exercise, entry in ALL]


@pytest.mark.parametrize(("exercise", "entry"), ALL, ids=IDS)
def test_each_entry_is_failed_by_its_owner(exercise, entry, tmp_path):
    """The clock does not run here: what it decides is owed."""
    found = judged(exercise, entry.text, SLOW[exercise.function], tmp_path, only=entry.owner)[
        entry.owner
    ]

    assert isinstance(found, Failed | Unavailable | str), found


def test_an_exercise_is_asked_for_what_its_claims_can_see():
    """Without gradients nobody fails what is detached; the slow version is what structural claims are about."""
    named = {(exercise.function, entry.name) for exercise, entry in ALL}

    assert ("batched_products", "detached") in named
    assert ("KeyCache", "detached") not in named
    assert {"operations_do_not_grow", "is_faster"} == {
        e.owner for x, e in ALL if x is exercises.products and e.name == BASELINE
    }
    assert {"is_one_graph"} == {
        e.owner for x, e in ALL if x is exercises.clip and e.name == BASELINE
    }


def test_a_hole_has_to_be_one_of_the_entries():
    exercise = Exercise("anything", holes={"zeroes": "zeros are right here"})

    with pytest.raises(CourseError, match="holes names 'zeroes', which is no entry"):
        list(made(exercise, "", ""))


def test_a_hole_with_its_reason_is_not_made():
    exercise = Exercise("zeros_like", holes=dict.fromkeys(ENTRIES, "it is what it returns"))
    exercise.inputs(lambda random, rows=(1, 3): {"x": random.normal(size=rows)})
    exercise.same(why="zeros", try_="torch.zeros_like")

    assert [] == list(made(exercise, "", ""))
