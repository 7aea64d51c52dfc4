"""Memory planned to the byte: small networks, batches that fit nowhere, the largest batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograder.checks import outputs, slips
from autograder.checks.hints import hinted
from autograder.checks.numerics import shown
from autograder.checks.slips import SLIPPED
from autograder.checks.table_form import Row
from autograder.claims.studies import Study
from autograder.lab import CASES, NUMBERS, Answer, Pair, Student, Verdict
from autograder.labs.resnet18.bonus.part import BYTES, PLANNED, PLANS, Rig, part

KINDS = (*BYTES, "total")
EXACT = 1e-9  # relative: a byte counts
FAKE = "make the training under FakeTensorMode, images and labels too, and take the step there"
AGAIN = "fix finds_the_largest_batch first if it fails; then submit the file that bonus.py writes"


@part.probe(pair=True, values=SLIPPED, arrays=NUMBERS)
def plans(student: Student, rig: Rig) -> Answer:
    """Small networks of secret widths; what is expected is counted on real tensors."""
    answers, usual = rig.answers(), dict[str, dict[str, float]]()
    for case, make in rig.plans.small().items():
        sizes = (make, rig.integer(3, 40), rig.integer(9, 24))
        measured = rig.plans.measured(*sizes) if rig.side != "student" else {}
        _add_plan(answers, student, rig, case, sizes, measured)
        mistaken = rig.plans.mistaken(*sizes) if rig.side != "student" else {}
        for kind, found in mistaken.items():
            why = {SLIPS[f"{kind}: {name}"][0]: float(it) for name, it in found.items()}
            usual[f"{case}: bytes of {kind}"] = why
    return {**answers.values(), "slips": usual}


def _add_plan(
    answers: Any, student: Student, rig: Rig, case: str, sizes: Any, expected: Any
) -> None:
    """Note what a student's function plans, or what is expected."""
    if rig.side == "student":
        expected = rig.returned("plan_memory", student.plan_memory(*sizes))
    for kind in KINDS:
        answers.add(f"{case}: bytes of {kind}", rig.number(expected[kind]))


def grown(rig: Rig, make: Any, size: int, batch: int) -> dict[str, int]:
    """Return what a batch too large to be had needs: each image adds the same number of bytes."""
    two, three = (rig.plans.measured(make, images, size) for images in (2, 3))
    return {kind: two[kind] + (batch - 2) * (three[kind] - two[kind]) for kind in KINDS}


@part.probe(pair=True, values=CASES, arrays=NUMBERS, hints={"memory": FAKE})
def large_plans(student: Student, rig: Rig) -> Answer:
    """ResNet-50 on batches that need terabytes."""
    answers, batch, size = rig.answers(), rig.integer(20_000, 60_000), 64
    make = rig.plans.resnet50()
    expected = grown(rig, make, size, batch) if rig.side != "student" else {}
    _add_plan(answers, student, rig, "ResNet-50", (make, batch, size), expected)
    return answers.values()


TOO_MANY = "the total of this batch is above the budget"
TOO_FEW = "a batch with one more image also fits"
NONE_APART = "the budget is divided by the whole plan of one image"
HALF = "the budget is divided by half the plan of two images"
FIXED = "take off the budget what does not grow with the batch, then divide by what one image adds"
FITS = {
    TOO_MANY: f"{FIXED}; round down",
    TOO_FEW: "a total that equals the budget is allowed: <=, and rounded down once",
    NONE_APART: FIXED,
    HALF: FIXED,
}
LARGEST = {
    "1000 bytes": ("your code returns no 0 where no batch fits", "max(0, ...)"),
    "": ("the batch is not the largest whose plan is within the budget", FIXED),
}
WHOLE_BATCH = "return the number of images as a whole number"


@part.probe(pair=True, values=SLIPPED, arrays=NUMBERS)
def budgets(student: Student, rig: Rig) -> Answer:
    """Budgets for exactly so many images, or a byte less, in turns; and one that does not even hold the weights.

    One for each network: whoever plans many batches to find the largest one takes half as long.
    """
    answers, usual, short = rig.answers(), dict[str, dict[str, float]](), rig.integer(0, 1)
    for network, make in rig.plans.small().items():
        size, fits = rig.integer(9, 24), rig.integer(100, 90_000)
        two, three, most = (grown(rig, make, size, count)["total"] for count in (2, 3, fits))
        budget, expected, each = most - short, fits - short, three - two
        case = (
            f"{network}, a budget {'1 byte below' if short else 'of'} the plan of {fits:,} images"
        )
        usual[case] = {
            TOO_MANY: float(expected + 1),
            TOO_FEW: float(expected - 1),
            NONE_APART: float(budget // (two - each)),
            HALF: float(budget // (two // 2)),
        }
        if rig.side == "student":
            expected = student.largest_batch(make, size, budget)
        answers.add(case, rig.number(expected))
        short = 1 - short
    expected = student.largest_batch(make, size, 1000) if rig.side == "student" else 0
    answers.add("a budget of 1000 bytes", rig.number(expected))
    return {**answers.values(), "slips": usual if rig.side != "student" else {}}


STATE = "add up the storages of all tensors in optimizer.state, after optimizer.step()"
SLIPS = {  # what is counted, and a usual mistake -> why its bytes are wrong, and what to try
    "parameters: address": (
        "these are the bytes of one parameter: the data_ptr() of all fake storages is 0",
        "tell storages apart by id(tensor.untyped_storage())",
    ),
    "parameters: numbers": (
        "that is how many numbers the parameters hold, not how many bytes",
        "count bytes: untyped_storage().nbytes(), not numel()",
    ),
    "parameters: trainable": (
        "the frozen parameters are left out",
        "count all of model.parameters(), also those without a gradient",
    ),
    "parameters: names": (
        "a weight that two layers share is counted twice",
        "count each storage once, or go through model.parameters()",
    ),
    "buffers: counts": (
        "BatchNorm's num_batches_tracked is left out",
        "count all of model.buffers(), also those of one number",
    ),
    "gradients: frozen": (
        "those are the bytes of all parameters, and a frozen parameter has no gradient",
        "count the .grad that are not None, after loss.backward()",
    ),
    "gradients: none": (
        "no gradient was there when they were counted",
        "count .grad after loss.backward(), and before anything sets it to None",
    ),
    "optimizer: none": ("the optimizer has no state before its first step", STATE),
    "optimizer: counts": ("Adam's counts of steps are left out, which are tensors too", STATE),
    "activations: tensors": (
        "that is the sum over all tensors, and some of them share a storage",
        "count each storage once: let a dict hold the storages, by their id",
    ),
    "activations: views": (
        "a tensor may be a view of a part of the storage that it keeps",
        "add up untyped_storage().nbytes(), not the nbytes of a tensor",
    ),
    "activations: batch": (
        "images and labels are among them, but `batch` counts them already",
        "leave out the storages of images and labels",
    ),
    "activations: weights": (
        "parameters and buffers are among them, but have entries of their own",
        "leave out the storages of parameters and buffers",
    ),
    "activations: all": (
        "parameters, buffers, images and labels are among them, but have entries of their own",
        "leave out the storages that another entry counts",
    ),
    "activations: eval": (
        "that is what the model keeps in eval(), where BatchNorm and dropout keep less",
        "call model.train() before the forward pass",
    ),
    "activations: criterion": (
        "that is what plain cross-entropy keeps, and another criterion was given",
        "compute the loss with the criterion that make_training() returned",
    ),
    "activations: model": (
        "that is what the model keeps, without the loss",
        "call the criterion within saved_tensors_hooks too",
    ),
    "batch: images": ("the labels are left out", "count images and labels"),
    "batch: int32": ("the labels are counted with 4 bytes each", "make labels of dtype int64"),
}
COUNTED = {  # words of a case -> why its bytes are wrong, and what to try
    "of activations": (
        (
            "activations must be the storages that model and loss keep in train(): each once, "
            "whole, and in no other entry"
        ),
        "in the pack hook collect the storage of each tensor, by its id",
    ),
    "of total": ("it must be the sum of the six other entries", "add up the six others"),
    "": (
        "that is not the sum of the storages of these tensors, each counted once",
        "after a step, add up untyped_storage().nbytes() of all these tensors, each storage once",
    ),
}
WHOLE_NUMBER = "return a whole number of bytes under each of the seven names"


@part.check(basis="outputs", compared="bytes")
def plans_to_the_byte(plans: Pair) -> Verdict:
    """All seven entries of plan_memory's dict are right to the byte; each storage counts once."""
    judged = outputs.same(plans, 0.0, why=COUNTED, try_=WHOLE_NUMBER)
    return hinted(slips.told(plans, judged, EXACT), dict(SLIPS.values()))


@part.check(basis="outputs", needs=[plans_to_the_byte], compared="bytes")
def plans_what_does_not_fit(large_plans: Pair) -> Verdict:
    """plan_memory plans ResNet-50 for tens of thousands of images, in a process with little memory."""
    return outputs.same(large_plans, 0.0, why=COUNTED, try_=WHOLE_NUMBER)


@part.check(basis="scripted", needs=[plans_to_the_byte])
def finds_the_largest_batch(budgets: Pair) -> Verdict:
    """largest_batch returns the largest batch size whose plan is within the budget."""
    judged = outputs.same(budgets, 0.0, why=LARGEST, try_=WHOLE_BATCH)
    return hinted(slips.told(budgets, judged, EXACT), FITS)


BUDGET = 16_000_000_000  # bytes
PIXELS = 3 * 224 * 224
WHOLE = {
    "batch_size": "must be",
    "total": "the six kinds add up to",
    "parameters": "with ten classes they take",
    "batch": "images in float32 and their labels take",
}
PARAMETERS = {
    "resnet18": 11_181_642 * 4,
    "resnet50": 23_528_522 * 4,
}  # bytes in float32, with ten classes
NEAR = 0.01  # images


def plan_problem(rows: Sequence[Row]) -> str:
    """Say how plans in the right form do not add up, or not to known numbers."""
    for row, (name, batch) in zip(rows, PLANNED, strict=True):
        expected = {
            "batch_size": batch,
            "total": sum(row[kind] for kind in BYTES),
            "parameters": PARAMETERS[name],
            "batch": batch * (4 * PIXELS + 8),
        }
        for column, value in expected.items():
            if row[column] != value:
                return f"{column} of {name} is {row[column]:,.0f}, but {WHOLE[column]} {value:,.0f}"
    return _growth_problem(rows[1], rows[2]) or _single_problem(rows[0])


def _growth_problem(small: Row, large: Row) -> str:
    """Say where two plans of one network and the largest batch do not fit each other."""
    each, rest = divmod(large["total"] - small["total"], large["batch_size"] - small["batch_size"])
    if rest or each <= 0:
        return "from 32 to 128 images of resnet50, each image does not add the same number of bytes"
    fits = (BUDGET - (small["total"] - small["batch_size"] * each)) // each
    if small["largest_batch"] == large["largest_batch"] == fits:
        return ""
    largest = f"largest_batch of resnet50 is {shown(small['largest_batch'])}"
    return f"{largest}, but by its two plans {fits:g} images fit into 16 GB"


def _single_problem(row: Row) -> str:
    """Say where the largest batch does not fit one plan, whose activations may have a few bytes for the loss."""
    each = (row["activations"] + row["batch"]) / row["batch_size"]
    fits = row["batch_size"] + (BUDGET - row["total"]) / each
    if -NEAR < fits - row["largest_batch"] < 1 + NEAR:
        return ""
    largest = f"largest_batch of resnet18 is {shown(row['largest_batch'])}"
    return f"{largest}, but by its plan {math.floor(fits)} images fit into 16 GB"


Study(part, PLANS, "write_plans").is_consistent(
    plan_problem,
    says=(
        "The submitted memory_plan.csv plans ResNet-18 and ResNet-50 at 224 pixels, "
        "and its rows are consistent."
    ),
    try_=AGAIN,
    name="memory_plan_adds_up",
)
