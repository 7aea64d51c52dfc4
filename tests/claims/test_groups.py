"""Several processes are judged by what each of them has: weights, and figures that are the same in all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.claims import groups
from autograder.claims.division import order_cause
from autograder.claims.groups import Group
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed

START = np.zeros(4)
ARRAYS = {
    "start": START,
    "weights0": START + 1,
    "weights1": START + 1,
    "losses0": np.array([2.0, 1.0]),
    "losses1": np.array([2.0, 1.0]),
}


def ranks(student, rig):
    """The probe's name is all that a group needs."""


def claimed(*, own_order=False):
    part = Part("part1_together")
    group = Group(part, ranks, "see", own_order=own_order)
    group.trains_as_one("trains_as_one")
    group.same("losses", "loss_is_of_all", "They are alike.", "a reason", "try")
    group.divides_samples("They divide.", "try", new_order=True)
    group.new_order_each_epoch("shuffles")
    group.one_writes("one_writes", "One writes.")
    group.leaves_no_group("ends", "It ends.")
    group.collectives(
        "reduces_once",
        "One call reduces.",
        per_step=2,
        bytes=400,
        kinds=["all_reduce"],
        why="gradients go in one call",
    )
    return part.checks


def judged(name, seen, **options):
    return claimed(**options)[name].judge(ranks=seen)


def pair(asked=(0, 1), **changed):
    sides = ((asked, {**ARRAYS, **changed}), ((0, 1), ARRAYS))
    return Pair(
        *(
            Observation("ranks", "ok", {"ranks": [{"asked": list(it)}]}, arrays)
            for it, arrays in sides
        )
    )


def both(weights, **more):
    return {"weights0": weights, "weights1": weights, **more}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param({"weights0": START}, "different weights", id="rank 0 does nothing"),
        pytest.param(
            {"weights1": START + 1.001}, "different weights", id="rank 1 goes its own way"
        ),
        pytest.param({"weights1": START + np.nan}, "different weights", id="no numbers"),
        pytest.param(
            {"start1": START + 3, "weights1": START + 4}, "not sent to the other", id="begun apart"
        ),
        pytest.param(both(START), "a copy of this model", id="a copy is trained"),
        pytest.param(
            {"start1": START + 3, "weights0": START, "weights1": START + 3},
            "a copy of this model",
            id="a copy is trained, and begun apart",
        ),
        pytest.param(both(START + 1.8), "added up", id="a sum for the mean"),
        pytest.param(
            both(START + 1.8, asked=(1, 0)), "not those of DistributedSampler", id="another order"
        ),
        pytest.param(
            both(START + 1.8, asked=(0, 1, 0, 1)), "read 4 samples", id="the whole set in each"
        ),
        pytest.param(
            both(START + 1.1),
            "take other steps than one process",
            id="other steps",
        ),
    ],
)
def test_every_rank_has_the_weights_of_one_process(changed, words):
    found = judged("trains_as_one", pair(**changed))

    assert isinstance(found, Failed)
    assert words in found.why


@pytest.mark.parametrize(
    ("changed", "measured", "why"),
    [
        pytest.param(
            [2.0],
            "rank 1: losses are 2; expected 2, 1",
            "losses has one finite number",
            id="too few",
        ),
        pytest.param(
            [2.0, np.nan],
            "rank 1: losses are 2, nan",
            "losses has one finite number",
            id="no number",
        ),
        pytest.param(
            [2.0, 1.1], "rank 1: losses are 2, 1.1; expected 2, 1", "a reason", id="its own"
        ),
    ],
)
def test_a_figure_is_the_same_in_every_rank(changed, measured, why):
    found = judged("loss_is_of_all", pair(losses1=np.array(changed)))

    assert isinstance(found, Failed)
    assert measured in found.measured
    assert why in found.why


def test_what_all_have_in_common_passes():
    assert isinstance(judged("trains_as_one", pair()), Passed)
    assert Passed("2, 1 in both") == judged("loss_is_of_all", pair())


SHARES = {
    "right": ([[0, 2, 1, 0], [1, 0, 0, 2]], ""),
    "too many": (
        [[0, 1, 2, 0, 1, 2], [1, 0, 0, 2]],
        "each process must read 2 samples in each of 2 epochs",
    ),
    "too few": ([[0, 2], [1, 0]], "2 of 2 read only 1: usually drop_last is on"),
    "one reads all": ([[0, 2, 1, 0, 1, 1], []], "1 of 2 read only 0"),
    "the same half": (
        [[0, 2, 1, 0], [0, 2, 1, 0]],
        "both processes read the same samples; in epoch 1, no process reads 1 of the",
    ),
    "the same half twice": (
        [[0, 2, 0, 2, 0, 2], [0, 2, 0, 2, 0, 2]],
        "both processes read the same samples; each process must read 2",
    ),
    "the whole set": (
        [[0, 1, 2, 0, 1, 2], [0, 1, 2, 2, 1, 0]],
        "both processes read the whole set; each must read 2 of the",
    ),
    "no new order": ([[0, 2, 0, 2], [1, 0, 1, 0]], "every epoch has the same order"),
}


def read(asked, **values):
    said = [{"asked": each, "files": [], "open": False} for each in asked]
    sides = (
        {"samples": 3, "ranks": said, "names": ["a"], **values},
        {"samples": 3, "names": ["a"]},
    )
    return Pair(*(Observation("ranks", "ok", one, ARRAYS) for one in sides))


@pytest.mark.parametrize(("asked", "problem"), SHARES.values(), ids=SHARES)
def test_samples_are_divided_anew_in_each_epoch(asked, problem):
    found = judged("divides_the_samples", read(asked))

    assert problem in getattr(found, "why", "")
    assert getattr(found, "why", "").endswith("drop_last is on") == problem.endswith("is on")
    assert isinstance(found, Failed) == bool(problem)
    same = asked is SHARES["no new order"][0]
    assert isinstance(judged("shuffles", read(asked)), Failed) == same


def test_who_keeps_the_first_order_is_compared_with_one_that_does():
    kept = {"kept_weights0": START + 2, "kept_weights1": START + 2}
    student = {"samples": 3, "ranks": [{"asked": [0, 2, 0, 2]}, {"asked": [1, 0, 1, 0]}]}
    sides = ({**ARRAYS, "weights0": START + 2, "weights1": START + 2}, {**ARRAYS, **kept})
    seen = Pair(*(Observation("ranks", "ok", student, arrays) for arrays in sides))

    assert isinstance(judged("trains_as_one", seen, own_order=True), Passed)
    assert isinstance(judged("trains_as_one", seen), Failed)


@pytest.mark.parametrize(
    ("files", "names", "saved", "words"),
    [
        pytest.param([["w.pt"], []], ["a"], START + 1, "", id="right"),
        pytest.param([["w.pt"], ["w.pt"]], ["a"], START + 1, "both write at once", id="both"),
        pytest.param([["w.pt"], []], ["module.a"], START + 1, "module.a, and a is", id="wrapped"),
        pytest.param([["w.pt"], []], ["a"], START, "holds different weights", id="too early"),
    ],
)
def test_one_process_writes(files, names, saved, words):
    seen = read([[], []], names=names)
    for each, own in zip(seen.student.values["ranks"], files, strict=True):
        each["files"] = own
    seen = replace(seen, student=replace(seen.student, arrays={**ARRAYS, "saved": saved}))

    assert words in getattr(judged("one_writes", seen), "why", "")
    assert isinstance(judged("one_writes", seen), Failed) == bool(words)


@pytest.mark.parametrize(
    ("still_open", "left_open", "words"),
    [
        pytest.param(False, False, "destroyed in both", id="right"),
        pytest.param(True, False, "still open in rank 1", id="in one"),
        pytest.param(False, True, "after the criterion had raised", id="after an exception"),
    ],
)
def test_a_group_that_is_left_open_is_said(still_open, left_open, words):
    seen = read([[], []], left_open=left_open)
    seen.student.values["ranks"][1]["open"] = still_open

    assert words in judged("ends", seen).measured


REDUCED = {"kind": "all_reduce", "bytes": 200}
BARRIER = {"kind": "barrier", "bytes": 0}
STEPS = {
    "right": ([[REDUCED] * 2] * 3, "", "2 collectives and 400 bytes in a step, of all_reduce"),
    "more where an epoch begins": ([[REDUCED, BARRIER, BARRIER], [REDUCED], [REDUCED]], "", "1 coll"),
    "one by one": ([[REDUCED] * 3] * 3, "gradients go in one call", "at most 2 and 400 bytes"),
    "too many bytes": ([[{**REDUCED, "bytes": 401}]] * 3, "gradients go in one call", "401 bytes"),
    "a barrier": ([[REDUCED, BARRIER]] * 3, "barrier is of another kind: gr", "all_reduce, barrier;"),
    "none": ([[]] * 3, "no collective call in a step", "0 collectives and 0 bytes"),
    "no step": ([], "counted from the third step on", "fewer than three steps"),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "why", "measured"), STEPS.values(), ids=STEPS)
def test_the_collectives_of_a_usual_step_are_counted_in_each_process(steps, why, measured):
    seen = read([[], []])
    for each, own in zip(seen.student.values["ranks"], ([[REDUCED]], steps), strict=True):
        each["steps"] = own
    found = judged("reduces_once", seen)

    assert isinstance(found, Failed) == bool(why)
    assert why in getattr(found, "why", "")
    assert measured in found.measured
    assert "report" == claimed()["reduces_once"].basis


def test_the_form_of_the_answer_names_each_array():
    form = groups.answered("losses", "seconds")

    assert {"seconds0", "weights1", "kept_losses1", "saved"} <= set(form["arrays"])
    assert {"samples", "names", "ranks"} == set(form["values"])


@pytest.mark.parametrize("name", ["start", "start1", "weights0", "weights1"])
def test_weights_of_another_number_are_judged(name):
    verdict = judged("trains_as_one", pair(**{"weights1": START + 2, name: np.zeros(2)}))

    assert "gradients are not averaged" in verdict.why


def test_an_order_that_stays_and_is_not_sorted_usually_lacks_the_epoch():
    assert "usually your sampler is not told the epoch" == order_cause([[2, 0, 1, 2, 0, 1]], 2)
