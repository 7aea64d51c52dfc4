"""How gradients are sent is judged by the calls of each process, and by what it arrives at."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims import reductions
from autograder.claims.reductions import Reductions
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed

START = np.zeros(4)
ARRAYS = {
    "start": START,
    "used": START,
    **{f"{name}{r}": START + 1 for name in ("weights", "first", "begun") for r in "01"},
}


def late(student, rig):
    """The probe's name is all that is needed."""


def claimed():
    part = Part("part1_together")
    group = Reductions(part, late, "see")
    group.starts_alike("starts_alike", "first", "They start alike.", "broadcast")
    group.sends("sends_buckets", [8, 4], "It sends.", "a bucket is full", "try")
    group.same_order("same_order", "One order.", "try")
    group.overlaps("overlaps", "It overlaps.", "try")
    group.waits_for_all("waits", "It waits.", "wait for each")
    return part.checks


def judged(name, steps=((), ()), events=((), ()), **arrays):
    ranks = [
        {"steps": [list(step) for step in own], "events": [list(each) for each in noted]}
        for own, noted in zip(steps, events, strict=True)
    ]
    student = Observation("late", "ok", {"ranks": ranks}, {**ARRAYS, **arrays})
    return claimed()[name].judge(late=Pair(student, Observation("late", "ok", {}, ARRAYS)))


def call(size, kind="all_reduce"):
    return {"kind": kind, "bytes": size}


BUCKETS = [call(8), call(4)]
ONE, TWO, BOTH = [[call(4)]], [BUCKETS], [BUCKETS, BUCKETS]
SENT = {
    "right": ([BOTH, BOTH], "", "rank 1: 2 collective calls in step 2, of 8, 4 bytes"),
    "one by one": ([BOTH, [BUCKETS, [call(4)] * 3]], "a bucket is full", "rank 1: 3 collective"),
    "in another order": ([[BUCKETS[::-1]], BOTH], "", "rank 1: 2 collective calls in step 2"),
    "of other sizes": ([[[call(4), call(4)]], BOTH], "a bucket is full", "of 4, 4 bytes; expected: 8, 4 bytes"),
    "a barrier": ([[[*BUCKETS, call(0, "barrier")]], BOTH], "nothing but all_reduce", "8, 4, 0"),
    "nothing": ([[[]], BOTH], "in another thread", "0 collective calls in step 1, of none"),
    "no step": ([[], []], "no step was made", ""),
}  # fmt: skip
ORDERS = {
    "right": ([BOTH, BOTH], "", "rank 0 made 4 calls, rank 1 made 4"),
    "another": ([TWO, [BUCKETS[::-1]]], "by their order", "call 1: rank 0 reduces 8 bytes, rank 1 reduces 4"),
    "another kind": ([ONE, [[call(4, "broadcast")]]], "by their order", "rank 1 calls broadcast with 4"),
    "one more": ([BOTH, TWO], "never makes", "rank 0 made 4 calls, rank 1 made 2"),
    "none": ([[[]], [[]]], "in another thread", "rank 0 made 0 calls"),
}  # fmt: skip
G, C, W, B = "gradient", "call", "wait", "blocking call"
EVENTS = {
    "right": ([G, G, C, G, C, W, W], "", "1 of 3 gradients are missing"),
    "all at the end": ([G, G, G, C, C, W, W], "sends nothing before", "0 of 3 gradients"),
    "one blocks": ([G, C, G, B, W, G, W], "blocks the backward pass", "1 calls block"),
    "waits at once": ([G, C, W, G, C, W], "waits during backward", "while 1 of 2"),
    "nothing": ([G, G], "in another thread", "no collective call"),
}


@pytest.mark.parametrize(("steps", "why", "measured"), SENT.values(), ids=SENT)
def test_each_step_sends_the_same_buckets(steps, why, measured):
    _says(judged("sends_buckets", steps), why, measured)


@pytest.mark.parametrize(("steps", "why", "measured"), ORDERS.values(), ids=ORDERS)
def test_all_processes_make_the_same_calls(steps, why, measured):
    _says(judged("same_order", steps), why, measured)


@pytest.mark.parametrize(("events", "why", "measured"), EVENTS.values(), ids=EVENTS)
def test_the_first_call_starts_while_a_gradient_is_missing(events, why, measured):
    _says(judged("overlaps", events=([EVENTS["right"][0]], [events])), why, measured)


def _says(verdict, why, measured):
    assert isinstance(verdict, Failed) == bool(why)
    assert why in getattr(verdict, "why", "")
    assert _matches(measured, verdict.measured)


def _matches(words, text):
    return all(part in text for part in words.split(" .* "))


WEIGHTS = {
    "begun apart": (
        {"begun1": START, "weights1": START + 2},
        "no parameter and no buffer of rank 0",
    ),
    "a copy": (dict.fromkeys(("begun1", "weights1"), START), "usually a copy of this module"),
    "different": ({"weights1": START + 2}, "different weights"),
    "unmoved": ({"weights0": START, "weights1": START}, "nothing moved"),
    "later": ({"weights0": START + 3, "weights1": START + 3}, "a later step is wrong"),
    "sums": (dict.fromkeys(("weights0", "weights1", "first0"), START + 1.9), "added up"),
    "others": (
        dict.fromkeys(("weights0", "weights1", "first0"), START + 1.2),
        "leaves before all its gradients",
    ),
}


@pytest.mark.parametrize(("changed", "words"), WEIGHTS.values(), ids=WEIGHTS)
def test_what_sets_a_training_apart_is_said(changed, words):
    part = Part("part1_together")
    Reductions(part, late, "see").trains_as_one("trains_as_one")
    student = Observation("late", "ok", {}, {**ARRAYS, **changed})
    verdict = part.checks["trains_as_one"].judge(
        late=Pair(student, Observation("late", "ok", {}, ARRAYS))
    )

    assert isinstance(verdict, Failed)
    assert words in verdict.why


def test_who_does_not_wait_is_told_so():
    verdict = judged("waits", weights0=START + 1.6, weights1=START + 1.6)

    assert isinstance(verdict, Failed)
    assert "with results that arrive at wait(): rank 0" in verdict.measured
    assert "before it has waited for it" in verdict.why
    assert isinstance(judged("waits"), Passed)


def test_who_begins_with_other_numbers_is_told_so():
    verdict = judged("starts_alike", first1=START + 1.5)

    assert isinstance(verdict, Failed)
    assert "rank 1: 4 of 4 numbers differ" in verdict.measured
    assert isinstance(judged("starts_alike"), Passed)


def test_what_claims_rest_on():
    assert {"starts_alike": "outputs", "sends_buckets": "report", "same_order": "report", "overlaps": "report", "waits": "scripted"} == {
        name: check.basis for name, check in claimed().items()
    }  # fmt: skip


def test_the_form_of_the_answer_names_each_array():
    assert {"start", "used", "weights0", "weights1", "first0", "first1", "begun0", "begun1"} == set(
        reductions.reduced()["arrays"]
    )


@pytest.mark.parametrize("length", [0, 3])
@pytest.mark.parametrize("uneven", [False, True])
def test_weights_after_a_step_that_are_of_another_number_are_judged(uneven, length):
    own = {**ARRAYS, "first0": np.ones(length), "weights0": START + 3, "weights1": START + 3}
    ranks = (Observation("late", "ok", {}, it) for it in (own, ARRAYS))
    group = Reductions(Part("part1_together"), late, "see", uneven=uneven)

    assert "not with one process" in group.reason(Pair(*ranks), 2.7)
