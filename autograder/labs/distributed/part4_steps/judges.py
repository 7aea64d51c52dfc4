"""Judges epochs of a group, case by case, against one process; and the shares of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from autograder.checks import outputs, precision
from autograder.claims.groups import APART, WORLD, Group, division_problem, order_problem
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.traces.words import many

REPORT = record(times=NUMBER, calls=INTEGER, steps=INTEGER, dtypes=map_of(map_of(INTEGER)))
FIGURES = {
    "loss": "it is that of one rank, a mean of batches of different sizes, or divided by accumulation",
    "steps": "a group of batches is one step, and one that the scaler skips is none",
    "skipped": "it counts the steps that the scaler skipped: those after which its scale is smaller",
}
MORE = 1.5  # times the gradients of a step; small calls, such as for the loss, are hardly any
EPOCHS, BATCH = 2, 4
MODE = "mode afterwards"
SEVERAL = "samples are evaluated"


def trained(*cases: str) -> dict[str, Any]:
    """Return the form of a probe that answers with `rig.grouped`."""
    names = ["start", "summed", "in eval", *(f"weights{rank}" for rank in range(WORLD))]
    arrays = {f"{case}: {name}": ("float64", 1) for case in cases for name in names}
    values = {**CASES, "reports": map_of(exactly(WORLD, REPORT))}
    return {"pair": True, "values": values, "arrays": {**arrays, **NUMBERS}}


class Steps(Group):
    """A group that trains in several cases."""

    def __init__(self, part: Part, by: Callable[..., Any], try_: str, why: str) -> None:
        """Say what to try, and why a training is another one if nothing tells more."""
        super().__init__(part, by, try_)
        self._why = why

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each case."""
        starts = [name for name in ranks.baseline.arrays if name.endswith(": start")]
        for case in [name.removesuffix("start") for name in starts]:
            sides = ranks.student, ranks.baseline
            judged = super().trained(Pair(*(_only(side, case) for side in sides)), within)
            if isinstance(judged, Failed):
                return replace(judged, measured=case + judged.measured)
        return judged

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets a training apart from one process's, whose update is *ratio* times as long."""
        own = ranks.student.arrays["weights0"]
        if not outputs.furthest(own, ranks.student.arrays["weights1"]) <= APART:
            return f"the ranks have different weights: {self._why}"
        if ratio <= APART:
            return "nothing moved: no step was taken, or of another model"
        if outputs.furthest(own, ranks.baseline.arrays["summed"]) <= APART:
            return "gradients are added up over the ranks and not averaged"
        if outputs.furthest(own, ranks.baseline.arrays["in eval"]) <= APART:
            return "the model came in eval mode and stayed in it: call model.train()"
        return self._why


def _only(side: Observation, case: str) -> Observation:
    """Return an observation with the arrays of one case."""
    named = {name: it for name, it in side.arrays.items() if name.startswith(case)}
    return replace(side, arrays={name.removeprefix(case): it for name, it in named.items()})


def sent_once(observation: Observation, try_: str) -> Verdict:
    """Pass gradients that are sent once for each step."""
    measured = "no rank was observed"
    for case, reports in observation.values["reports"].items():
        for rank, own in enumerate(reports):
            times, steps = own["times"], many(own["steps"], "step")
            measured = f"{case}, rank {rank}: gradients were sent {times:.2g} times in {steps}"
            if not times:
                return Failed(measured, "they are sent in another thread, or not at all", try_)
            if times > MORE * own["steps"]:
                why = "batches before the last communicate: DDP decides in the forward pass"
                return Failed(f"{measured}, in {own['calls']} calls", why, try_)
    return Passed(measured)


def figures(ranks: Pair, try_: str, *, loss: bool) -> Verdict:
    """Pass figures that are right on each rank; sums of float32 make the *loss*."""
    without = () if loss else ("loss",)
    within = {"float": 1e-5, "int": 0.0}
    return outputs.same(ranks, within, why=FIGURES, try_=try_, without=without)


def precision_of(observation: Observation, try_: str) -> Verdict:
    """Pass dtypes as autocast makes them, on each rank."""
    judged: Verdict = Failed("no rank was observed", "nothing was trained", try_)
    for case, reports in observation.values["reports"].items():
        for own in reports:
            judged = precision.dtypes_where_they_help(
                own["dtypes"], on_gpu=False, try_=try_, products=["matrix product"]
            )
            if isinstance(judged, Failed):
                return replace(judged, measured=f"{case}: {judged.measured}")
    return judged


def accuracy(judged: Verdict, see: str) -> Verdict:
    """Say what to try where the accuracy is right, and the mode of the model or the work of a rank is not."""
    if isinstance(judged, Failed) and MODE in judged.measured:
        return replace(judged, try_=f"model.train(as_it_was) at the end; {see}")
    if isinstance(judged, Failed) and SEVERAL in judged.measured:
        return replace(judged, try_=f"Subset(dataset, range(rank, len(dataset), world)); {see}")
    return judged


SHARES = record(samples=INTEGER, read=list_of(list_of(INTEGER)), sizes=list_of(INTEGER))


def division(shares: Mapping[str, Any]) -> tuple[str, str]:
    """Say what the ranks read, rank 0 also with another seed, and what is wrong with it."""
    if len(shares["read"]) < WORLD + 1 or not shares["sizes"]:
        return "no rank read a sample", "the loader delivers nothing"
    *read, reseeded = shares["read"]
    samples, sizes = shares["samples"], shares["sizes"]
    counts = " and ".join(str(len(own)) for own in read)
    measured = f"ranks read {counts} samples in {EPOCHS} epochs; the set has {samples}"
    if len({len(own) for own in read}) == 1:
        measured = f"each of {len(read)} ranks read {len(read[0])} samples in {EPOCHS} epochs"
        measured = f"{measured}; the set has {samples}"
    why = division_problem(read, samples, EPOCHS) or order_problem(read, EPOCHS)
    if all(sorted(own) == sorted(read[0]) for own in read):
        why = f"all ranks read the same samples; {why}"
    batches = -(-samples // len(read) // BATCH) * EPOCHS * len(shares["read"])
    if not why and (max(sizes) != BATCH or len(sizes) != batches):
        measured = f"{len(sizes)} batches of {min(sizes)} to {max(sizes)} samples"
        why = f"batches have {BATCH} samples, and only the last of an epoch may have fewer"
    if not why and reseeded == read[0]:
        why = "another seed gives the same order: the seed is accepted and not used"
    return measured, why
