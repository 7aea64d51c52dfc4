"""Processes that share one model are judged by the bytes that each holds, and by the collective calls of a step."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims.shards import Shards, sharded
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed

START = np.zeros(4)
WHOLE = {"parameters": 400, "gradients": 400, "state": 800}
HALF = {name: size // 2 for name, size in WHOLE.items()}
BLOCKS = 2


def calls(kind, count, dtype="float32", bytes_=4096):
    return [{"kind": kind, "bytes": bytes_, "dtype": dtype}] * count


def step(gathers=5, scatters=3, dtypes=("float32", "float32")):
    small = calls("all_reduce", 1, bytes_=4)
    by_kind = zip(("all_gather", "reduce_scatter"), (gathers, scatters), dtypes, strict=True)
    return [call for each in by_kind for call in calls(*each)] + small


REDUCED = step(dtypes=("bfloat16", "float32"))


def ranks(student, rig):
    """The probe's name is all that is needed."""


def claimed():
    part = Part("part1_shards")
    shards = Shards(part, ranks, "see")
    shards.trains_as_one("trains_as_one", within=1e-3)
    shards.holds_share("holds", 0.55, "Each holds its share.", "try")
    shards.gathers_by_block("gathers", BLOCKS, "By block.", "try", reduced="halved")
    return part.checks


def pair(steps=None, held=HALF, **arrays):
    base = {"start": START, "losses0": START + 2, "losses1": START + 2}
    base |= {"norms0": START + 5, "norms1": START + 5}
    base |= {"weights0": START + 1, "weights1": START + 1}
    each = {"dtypes": ["float32"], "on_mesh": True}
    rank = {**each, "steps": steps or [step()] * 3, "held": held}
    whole = {**each, "steps": [], "held": WHOLE}
    sides = ((rank, {**base, **arrays}), (whole, base))
    return Pair(*(Observation("ranks", "ok", {"ranks": [own] * 2}, it) for own, it in sides))


def judged(name, seen, halved=None):
    more = {"halved": halved or pair([REDUCED] * 3)} if name == "gathers" else {}
    return claimed()[name].judge(ranks=seen, **more)


@pytest.mark.parametrize("name", ["trains_as_one", "holds", "gathers"])
def test_shards_pass(name):
    assert isinstance(judged(name, pair()), Passed)


@pytest.mark.parametrize(
    ("name", "seen", "words"),
    [
        pytest.param(
            "trains_as_one",
            pair(weights0=START, weights1=START),
            "nothing moved: usually the optimizer",
            id="still",
        ),
        pytest.param(
            "trains_as_one",
            pair(weights0=START + 3, weights1=START + 3),
            "the last step is wrong",
            id="the last step",
        ),
        pytest.param("trains_as_one", pair(weights0=START + 3), "different", id="apart"),
        pytest.param("holds", pair(held=WHOLE), "more than its share of the par", id="all of it"),
        pytest.param(
            "holds",
            pair(held={**HALF, "state": 800}),
            "100% of the optimizer's state",
            id="whole state",
        ),
        pytest.param("holds", pair(held=dict.fromkeys(HALF, 0)), "nothing was there", id="no step"),
        pytest.param("gathers", pair([[]]), "no collective call in a step", id="no call"),
        pytest.param("gathers", pair([step(0, 5)]), "each process holds", id="no gather"),
        pytest.param("gathers", pair([step(1, 1)]), "gathered at once", id="root only"),
        pytest.param("gathers", pair([step(5, 1)]), "not reduced block by block", id="one sum"),
    ],
)
def test_what_is_wrong_is_said(name, seen, words):
    verdict = judged(name, seen)

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


LATER = np.array([0.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        pytest.param({"losses0": START + 3}, "begin with other weights", id="the start"),
        pytest.param({"losses0": START + 2 + LATER}, "moves the weights wrongly", id="a step"),
        pytest.param({"norms0": START + 3, "norms1": START + 4}, "one process's shards", id="own"),
        pytest.param({"norms0": START + 10, "norms1": START + 10}, "added up", id="sums"),
        pytest.param({"norms0": START + 6}, "gradients are different", id="gradients"),
        pytest.param({"norms0": START + 5 + LATER}, "not set to zero", id="no zero_grad"),
        pytest.param({"norms0": START[:2]}, "one for each step", id="too few"),
    ],
)
def test_the_first_difference_is_told_with_its_own_step(arrays, words):
    verdict = judged("trains_as_one", pair(weights0=START + 3, weights1=START + 3, **arrays))

    assert isinstance(verdict, Failed)
    assert words in verdict.why
    assert verdict.try_ != "see"


@pytest.mark.parametrize(
    ("dtypes", "words"),
    [
        pytest.param(
            ("float32", "float32"), "gathered in float32, and not in bfloat16", id="unused"
        ),
        pytest.param(("bfloat16", "bfloat16"), "summed in bfloat16", id="sums lose digits"),
    ],
)
def test_dtypes_are_those_of_the_reduced_training(dtypes, words):
    verdict = judged("gathers", pair(), pair([step(dtypes=dtypes)] * 3))

    assert isinstance(verdict, Failed)
    assert words in verdict.why


@pytest.mark.parametrize(
    ("gathers", "kept", "words"),
    [
        pytest.param(9, 5, "", id="right"),
        pytest.param(10, 5, "outside of the blocks are gathered twice", id="the rest as well"),
        pytest.param(5, 5, "not gathered again for the backward pass", id="as often"),
        pytest.param(20, 10, "usually whole gradients", id="more than the model"),
    ],
)
def test_blocks_that_are_kept_are_gathered_once(gathers, kept, words):
    part = Part("part1_shards")
    Shards(part, ranks, "see").gathers_by_block(
        "gathers", BLOCKS, "By block.", "try", reduced="halved", kept="kept", rest=4096
    )
    again, once = (pair([step(count)] * 3) for count in (gathers, kept))
    for rank in again.baseline.values["ranks"]:
        rank["held"] = {**WHOLE, "parameters": 5 * 4096}

    verdict = part.checks["gathers"].judge(ranks=again, halved=pair([REDUCED] * 3), kept=once)

    assert isinstance(verdict, Failed if words else Passed)
    assert words in f"{verdict}"


@pytest.mark.parametrize(("losses", "words"), [(START + 3, "alone"), (START[:2], "each step")])
def test_losses_are_those_of_all(losses, words):
    verdict = Shards(Part("part1_shards"), ranks, "see").trained_as_one(pair(losses1=losses), 1e-3)

    assert isinstance(verdict, Failed)
    assert words in verdict.why


def test_another_mesh_is_told():
    elsewhere = pair()
    for each in elsewhere.student.values["ranks"]:
        each["on_mesh"] = False

    verdict = judged("holds", elsewhere)

    assert isinstance(verdict, Failed)
    assert "not on the mesh" in verdict.why


def test_a_step_that_ends_the_training_does_not_count():
    assert isinstance(judged("gathers", pair([step(), step(), step(0, 0)])), Passed)


def test_the_form_of_the_answer_names_each_array():
    assert {"start", "weights0", "weights1", "norms0", "norms1"} == set(sharded("norms")["arrays"])
