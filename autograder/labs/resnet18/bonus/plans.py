"""Memory planned to the byte: small networks, batches that fit nowhere, the largest batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograder.checks import outputs
from autograder.checks.hints import Causes
from autograder.checks.numerics import shown
from autograder.checks.table_form import Row
from autograder.claims.studies import Study
from autograder.lab import CASES, NUMBERS, Answer, Pair, Student, Verdict
from autograder.labs.resnet18.bonus.part import BYTES, PLANNED, PLANS, Rig, part

KINDS = (*BYTES, "total")
FAKE = "make the training under FakeTensorMode, images and labels too, and take the step there"
COUNT = 'see "What counts as what" in the bonus handout'
AGAIN = "run bonus.py again and submit the file that it wrote, unchanged"


@part.outputs
def plans(student: Student, rig: Rig) -> Answer:
    """Small networks of secret widths; what is expected is counted on real tensors."""
    answers = rig.answers()
    for case, make in rig.plans.small().items():
        batch, size = rig.integer(3, 40), rig.integer(9, 24)
        measured = rig.plans.measured(make, batch, size) if rig.side != "student" else {}
        _add_plan(answers, student, rig, case, (make, batch, size), measured)
    return answers.values()


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


@part.outputs
def budgets(student: Student, rig: Rig) -> Answer:
    """Budgets for exactly so many images, or a byte less, in turns; and one that does not even hold the weights.

    One for each network: whoever plans many batches to find the largest one takes half as long.
    """
    answers, short = rig.answers(), rig.integer(0, 1)
    for case, make in rig.plans.small().items():
        size, fits = rig.integer(9, 24), rig.integer(100, 90_000)
        budget, expected = grown(rig, make, size, fits)["total"] - short, fits - short
        if rig.side == "student":
            expected = student.largest_batch(make, size, budget)
        words = "one byte too few for" if short else "exactly"
        answers.add(f"{case}, {words} {fits:,} images", rig.number(expected))
        short = 1 - short
    expected = student.largest_batch(make, size, 1000) if rig.side == "student" else 0
    answers.add("a budget of 1000 bytes", rig.number(expected))
    return answers.values()


COUNTED = {  # words of a case -> why its bytes are wrong, and what to try
    "of parameters": (
        "a shared storage counts once, but all fake storages have the address 0: data_ptr() is no key",
        "tell storages apart by id(tensor.untyped_storage())",
    ),
    "of gradients": (
        "a frozen parameter has no gradient",
        "count the .grad that are not None, after loss.backward()",
    ),
    "of optimizer": (
        "every tensor of the state after the first step counts, also Adam's step counts",
        "look at optimizer.state after optimizer.step()",
    ),
    "of activations": (
        (
            "activations are the storages that model and loss keep in train(): each once and whole, "
            "without those of parameters, buffers and batch"
        ),
        "model.train() first; then add up untyped_storage().nbytes(), once for each storage that no other line counts",
    ),
    "of batch": (
        "labels are int64, images float32",
        "make images and labels of these dtypes, and count both",
    ),
    "of total": ("it is the sum of the six others", "add up the six others"),
    "": ("the bytes of what is there after a step count", "count the storages of model.buffers()"),
}


@part.check(basis="outputs", compared="bytes")
def plans_to_the_byte(plans: Pair) -> Verdict:
    """plan_memory counts the bytes of a training step: each storage once, in all seven lines."""
    return outputs.same(plans, 0.0, why=COUNTED, try_=COUNT)


@part.check(basis="outputs", needs=[plans_to_the_byte], compared="bytes")
def plans_what_does_not_fit(large_plans: Pair) -> Verdict:
    """plan_memory plans ResNet-50 for tens of thousands of images, in a process with little memory."""
    return outputs.same(large_plans, 0.0, why=COUNTED, try_=COUNT)


@part.check(basis="scripted", needs=[plans_to_the_byte])
def finds_the_largest_batch(budgets: Pair) -> Verdict:
    """largest_batch returns the last batch size whose plan is within the budget."""
    why: Causes = {
        "a budget of": ("where no batch fits, it is 0", "return at least 0: max(0, ...)"),
        "": "a batch with one more image also fits, or this batch does not fit",
    }
    try_ = "(budget - what does not grow) // bytes of an image, at least 0"
    return outputs.same(budgets, 0.0, why=why, try_=try_)


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
