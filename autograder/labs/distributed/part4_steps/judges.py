"""Judges epochs of a group, case by case, against one process; the shares of ranks; and accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.checks import outputs, precision
from autograder.checks.numerics import close, explained, shown
from autograder.claims.groups import APART, WORLD, Group, division_problem, order_problem
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Failed,
    Pair,
    Part,
    Passed,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)
from autograder.traces.words import many

FIGURES = ("loss", "steps", "skipped")
COUNTS = ("sent", "gradients", "calls")
RANK = record(
    **dict.fromkeys(FIGURES, optional(NUMBER)),
    **dict.fromkeys(COUNTS, INTEGER),
    dtypes=map_of(map_of(INTEGER)),
)
ACCURACY = record(accuracy=optional(NUMBER), training=BOOLEAN, slips=map_of(NUMBER))
EVALUATED = {"cases": map_of(list_of(ACCURACY))}
LOSS = 1e-5  # relative: sums of float32
MORE = (
    1.5  # times the bytes of the gradients in a step; small calls, such as for the loss, are none
)
EPOCHS, BATCH = 2, 4
ALIKE = 1e-6


def trained(*cases: str) -> dict[str, Any]:
    """Return the form of a probe that answers with `rig.grouped`."""
    names = ["start", "summed", *(f"weights{rank}" for rank in range(WORLD))]
    arrays = {f"{case}: {name}": ("float64", 1) for case in cases for name in names}
    return {"values": {"ranks": map_of(exactly(WORLD, RANK))}, "arrays": arrays}


class Steps(Group):
    """A group that trains in several cases."""

    def __init__(self, part: Part, by: Callable[..., Any], try_: str, why: str) -> None:
        """Say what to try, and why a training is another one if nothing tells more."""
        super().__init__(part, by, try_)
        self._why = why

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each case."""
        for case in ranks.baseline.values["ranks"]:
            judged = super().trained(_only(ranks, case), within)
            if isinstance(judged, Failed):
                return replace(judged, measured=f"{case}: {judged.measured}")
        return judged

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets a training apart from one process's, whose update is *ratio* times as long."""
        own = ranks.student.arrays
        if not outputs.furthest(own["weights0"], own["weights1"]) <= APART:
            return f"the ranks have different weights: {self._why}"
        if math.isinf(ratio):
            return f"weights are NaN or infinite: {self._why}"
        if ratio <= APART:
            return "nothing moved: no step was taken, or of another model"
        if outputs.furthest(own["weights0"], ranks.baseline.arrays["summed"]) <= APART:
            return (
                "gradients are added up over the ranks and not averaged, so steps are twice as long"
            )
        return self._why


def _only(ranks: Pair, case: str) -> Pair:
    """Return a pair with the arrays of one case."""
    start = f"{case}: "
    sides = (
        {name.removeprefix(start): it for name, it in side.arrays.items() if name.startswith(start)}
        for side in (ranks.student, ranks.baseline)
    )
    student, baseline = sides
    return replace(
        ranks,
        student=replace(ranks.student, arrays=student),
        baseline=replace(ranks.baseline, arrays=baseline),
    )


def _by_rank(ranks: Pair) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Give each rank of each case its name, what it says, and what is right."""
    for case, expected in ranks.baseline.values["ranks"].items():
        answered = ranks.student.values["ranks"].get(case, [])
        for rank, (own, right) in enumerate(zip(answered, expected, strict=False)):
            yield f"{case}, rank {rank}", own, right


def sent_once(ranks: Pair, try_: str) -> Verdict:
    """Pass gradients that are sent once for each step."""
    for name, own, right in _by_rank(ranks):
        times = own["sent"] / max(1, own["gradients"])
        measured = (
            f"{name}: gradients were sent {times:.2g} times in {many(int(right['steps']), 'step')}"
        )
        if not own["sent"]:
            return Failed(measured, "the calls are made in another thread, or not at all", try_)
        if times > MORE * right["steps"]:
            why = "batches before the last communicate: DDP decides in the forward pass, so it belongs into no_sync()"
            return Failed(f"{measured}, in {own['calls']} calls", why, try_)
    return Passed(measured)


def figures(ranks: Pair, try_: str, names: Sequence[str]) -> Verdict:
    """Pass figures that are right on each rank."""
    for name, own, right in _by_rank(ranks):
        for figure in names:
            within = LOSS if figure == "loss" else 0.0
            if not close(own[figure], right[figure], within):
                reported = "no finite number" if own[figure] is None else f"{own[figure]:.6g}"
                measured = f"{name}: {figure} is {reported}, and {right[figure]:.6g} is right"
                return Failed(measured, FIGURE_REASONS[figure], try_)
    return Passed(", ".join(f"{figure} {right[figure]:.6g}" for figure in names))


FIGURE_REASONS = {
    "loss": "it is that of one rank, a mean of batches that are not of one size, or divided by accumulation",
    "steps": "a group of batches is one step, and one that the scaler skips is none",
    "skipped": "it counts the steps that the scaler skipped: those after which its scale is smaller",
}


def precision_of(ranks: Pair, try_: str) -> Verdict:
    """Pass dtypes as autocast makes them, on each rank."""
    for name, own, _ in _by_rank(ranks):
        judged = precision.dtypes_where_they_help(
            own["dtypes"], on_gpu=False, try_=try_, products=["matrix product"]
        )
        if isinstance(judged, Failed):
            return replace(judged, measured=f"{name}: {judged.measured}")
    return judged


# --- make_loader ------------------------------------------------------------------------------------------------------


def division(shares: Mapping[str, Any], batch: int = BATCH) -> tuple[str, str]:
    """Say what the ranks read, and what is wrong with it."""
    read, samples = shares["read"], shares["samples"]
    counts = " and ".join(str(len(own)) for own in read)
    measured = f"ranks read {counts} samples in {EPOCHS} epochs, of {samples} in the set"
    why = division_problem(read, samples, EPOCHS) or order_problem(read, EPOCHS)
    if all(sorted(own) == sorted(read[0]) for own in read):
        why = f"all ranks read the same samples; {why}"
    if why:
        return measured, why
    batches = -(-samples // len(read) // batch) * EPOCHS * (len(read) + 1)
    sizes = shares["sizes"]
    if max(sizes) != batch or len(sizes) != batches:
        return f"{len(sizes)} batches of {min(sizes)} to {max(sizes)} samples", (
            f"batches have {batch} samples, and only the last of an epoch may have fewer"
        )
    if shares["reseeded"] == read[0]:
        return "another seed, the same order", "the seed is accepted and not used"
    return measured, ""


# --- evaluate ---------------------------------------------------------------------------------------------------------


MODES = {True: "training", False: "eval"}
OWN = "it is the accuracy of the samples of one rank"
SLIPS = {
    "padded": "a sampler repeats samples so that shares are equal, and those count twice",
    "averaged": "it is the mean of the ranks' accuracies, and ranks have different numbers of samples",
    "percent": "it is in percent, and it must be a share from 0 to 1",
}
OTHERWISE = "samples are left out or count twice, ranks disagree, or the model was in training mode"


def accuracy(evaluated: Pair, try_: str) -> Verdict:
    """Pass accuracies that are right on each rank, of models that are in the mode in which they came."""
    for case, expected in evaluated.baseline.values["cases"].items():
        answers = evaluated.student.values["cases"].get(case, [])
        for rank, (own, right) in enumerate(zip(answers, expected, strict=False)):
            reported, wanted = own["accuracy"], right["accuracy"]
            measured = (
                f"{case}: rank {rank} returned {shown(reported)}, and {shown(wanted)} is right"
            )
            if not close(reported, wanted, ALIKE):
                slips = [(it, SLIPS.get(name, OWN)) for name, it in right["slips"].items()]
                why = explained(reported, slips, ALIKE) or OTHERWISE
                return Failed(measured, why, try_)
            if own["training"] != right["training"]:
                left, came = MODES[own["training"]], MODES[right["training"]]
                measured = f"{case}: the model came in {came} mode and is left in {left} mode"
                why = "dropout and batch statistics work in another way in what comes next"
                return Failed(measured, why, "model.train(training) at the end")
    return Passed(measured)
