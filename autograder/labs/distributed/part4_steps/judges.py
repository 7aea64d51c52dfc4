"""Judges epochs of a group, case by case, against one process; and the shares of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs, precision, slips
from autograder.checks.hints import Causes, hinted, reason
from autograder.checks.slips import SLIPPED
from autograder.claims.division import division_problem, order_cause, order_problem
from autograder.claims.groups import (
    APART,
    WORLD,
    Group,
)
from autograder.lab import (
    INTEGER,
    NUMBERS,
    TEXT,
    Failed,
    Observation,
    Pair,
    Part,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.labs.distributed.part4_steps.mistakes import SLIPS

DTYPES = map_of(map_of(INTEGER))
COUNTS = ("steps", "skipped")
SENT = "exchanges of gradients for each step"
FIGURES = {
    SENT: "gradients are sent in several batches of one group, and only the last one has to",
    "loss": "loss must be the mean over all samples of all ranks",
    "steps": "a group of batches must count as one step",
    "skipped": "skipped must count the steps after which the scaler's scale is smaller",
}
WHY = {
    "skipped": FIGURES["skipped"],
    "overflows": "steps must count all steps but those after which the scaler's scale is smaller",
    **FIGURES,
}
"""By words in the name of a case."""
OUTSIDE = "forward stands outside of no_sync(), and DDP decides there whether to send"
PAST = (
    "model(inputs) was never called: usually your code calls model.module(...), "
    "and that goes past the wrapper, which exchanges the gradients"
)
OTHERS = "usually your code trains on samples of another rank, which are NaN here"
WEIGH = "multiply each loss by len(labels) / samples of its group"
TRIES: Causes = {
    f'{SENT}": 0,': (
        "no exchange is seen: another thread makes it, or gradients are sent in another way",
        "let backward() of DistributedDataParallel exchange them, in the thread that trains",
    ),
    PAST: "call model(inputs), the wrapper itself",
    "no step was taken": "take a step of the given optimizer in each group, also by scaler.step(optimizer)",
    "eval mode": "model.train() before the first batch",
    "kept for": "optimizer.zero_grad() after each step",
    "nothing is clipped": (
        "clip_grad_norm_(model.parameters(), clip) once before each step, "
        "with a scaler after unscale_"
    ),
    "is clipped by its own": "clip_grad_norm_ once, of all of model.parameters()",
    "each number is": "clip_grad_norm_(model.parameters(), clip)",
    "is left out": "step also after the last batch of the epoch",
    "exchanges nothing": "leave no_sync() also in the last batch of the epoch",
    "adds up the losses": WEIGH,
    "by accumulation, and": WEIGH,
    "batches of a group": WEIGH,
    "accumulation as well": "add up the loss as the criterion returns it",
    "of this rank alone": "dist.all_reduce the sum of loss * len(labels) and the number of samples",
    "as one step": "count the calls of optimizer.step() or scaler.step(optimizer)",
    "all steps but": "count a step unless the scale is smaller after update(): here it also grows",
    "autocast puts there": "autocast around forward and criterion alone",
    "not finite": "scaler.step(optimizer) in each rank: the gradients that it sees are alike in all",
    "only with amp": "where a scaler is given, call scale, step and update also without amp",
    "while they are scaled": "scaler.unscale_(optimizer), right before clip_grad_norm_",
    OTHERS: "train on the batches of the argument loader, and not on all of loader.dataset",
    "other losses": "take the mean loss over all samples of a group",
    "over the ranks": "leave out factors of the number of ranks, and all_reduce no gradient",
}
"""What to try, by words of what is wrong."""
WRONG = 'see "What usually goes wrong" in the part 4 handout'
LOADER = 'see make_loader under "What to write" in the part 4 handout'
LONG = 10.0  # times the update: gradients are not unscaled
SUMMED = 0.6  # of the update: as far from WORLD times the right one; sums were within 0.35, one between 0.4 and 0.6
EPOCHS, BATCH = 2, 4


def trained(*cases: str) -> dict[str, Any]:
    """Return the form of a probe that answers with `rig.grouped`."""
    names = ["start", *(f"weights{rank}" for rank in range(WORLD))]
    arrays = {f"{case}: {name}": ("float64", 1) for case in cases for name in (*names, "slips")}
    values = {**SLIPPED, "dtypes": map_of(exactly(WORLD, DTYPES)), "past": list_of(TEXT)}
    values["outside"] = list_of(TEXT)
    return {"pair": True, "values": values, "arrays": {**arrays, **NUMBERS}}


class Steps(Group):
    """A group that trains in several cases."""

    def __init__(
        self,
        part: Part,
        by: str,
        try_: str,
        why: str | Mapping[str, str],
        see: str,
        apart: str = "",
    ) -> None:
        """Say what to try, and why a training is another one if nothing tells more, also case by case.

        *apart* says it where the ranks have different weights.
        """
        super().__init__(part, part.probes[by].run, try_ or see)
        self._why, self._apart = why, apart
        self._case = ""

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each case."""
        starts = [name for name in ranks.baseline.arrays if name.endswith(": start")]
        for case in [name.removesuffix("start") for name in starts]:
            sides = ranks.student, ranks.baseline
            self._case = case
            judged = super().trained(Pair(*(_only(side, case) for side in sides)), within)
            if isinstance(judged, Failed):
                return hinted(replace(judged, measured=case + judged.measured), TRIES)
        return judged

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets a training apart from one process's, whose update is *ratio* times as long."""
        weights = [ranks.student.arrays[f"weights{rank}"] for rank in range(WORLD)]
        kind = "long" * (ratio > LONG) + "infinite" * (not np.isfinite(weights[0]).all())
        usual = reason(self._why, self._case + kind)
        if not outputs.furthest(*weights) <= APART:
            is_past = self._case.removesuffix(": ") in ranks.student.values["past"]
            return PAST if is_past else f"the ranks have different weights: {self._apart or usual}"
        if ratio <= APART:
            return "the weights did not change: no step was taken, or a step of another model"
        start, right = (ranks.baseline.arrays[name] for name in ("start", "weights0"))
        if weights[0].shape != right.shape:
            return "another model was trained"
        added_up = start + WORLD * (right - start)
        if numerics.norm(weights[0] - added_up) < SUMMED * numerics.norm(right - start):
            return (
                "your gradients are the sum over the ranks: usually the loss has a factor too many"
            )
        slips = ranks.baseline.arrays["slips"].reshape(len(SLIPS), -1)
        for made, words in zip(slips, SLIPS.values(), strict=True):
            if numerics.norm(weights[0] - made) <= APART * numerics.norm(made - start):
                return words
        return usual


def _only(side: Observation, case: str) -> Observation:
    """Return an observation with the arrays of one case."""
    named = {name: it for name, it in side.arrays.items() if name.startswith(case)}
    return replace(side, arrays={name.removeprefix(case): it for name, it in named.items()})


def facts(ranks: Pair, try_: str, *names: str) -> Verdict:
    """Pass figures of these names that are right on each rank; sums of float32 make a loss."""
    within = {"float": 1e-5, "int": 0.0}
    without = [f": {name}" for name in FIGURES if name not in names]
    judged = outputs.same(ranks, within, why=WHY, try_=try_, without=without)
    if isinstance(judged, Failed) and judged.why == FIGURES[SENT]:
        outside = ranks.student.values["outside"]
        if any(f'"{case}, ' in judged.measured for case in outside):
            return replace(judged, why=OUTSIDE)
    return hinted(slips.told(ranks, judged), TRIES)


def precision_of(observation: Observation, try_: str) -> Verdict:
    """Pass dtypes as autocast makes them, on each rank; cases are named by the dtype that is asked for."""
    judged: Verdict = Failed("no rank was observed", "nothing was trained", try_)
    for case, dtypes in observation.values["dtypes"].items():
        for own in dtypes:
            judged = precision.dtypes_where_they_help(
                own, on_gpu=False, try_=try_, products=["matrix product"]
            )
            if isinstance(judged, Failed):
                return replace(judged, measured=f"with amp=torch.{case}: {judged.measured}")
            if set(own["matrix product"]) != {case}:
                why = f"products must be in {case}: amp is the dtype of autocast"
                found = ", ".join(sorted(own["matrix product"]))
                measured = f"with amp=torch.{case}, matrix products are in {found}"
                return Failed(measured, why, "torch.autocast(device.type, dtype=amp)")
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
    why = division_problem(read, samples, EPOCHS)
    if not why and order_problem(read, EPOCHS):
        measured = "each rank reads in the same order in both epochs"
        why = order_cause(read, EPOCHS)
    whole = all(len(own) == samples * EPOCHS for own in read)
    if why and whole:
        why = "each rank reads the whole set, and not its share"
    elif all(sorted(own) == sorted(read[0]) for own in read):
        why = f"all ranks read the same samples; {why}"
    batches = -(-samples // len(read) // BATCH) * EPOCHS * len(shares["read"])
    if not why and (max(sizes) != BATCH or len(sizes) != batches):
        measured = f"{len(sizes)} batches, of at most {max(sizes)} samples"
        measured = f"{measured}; expected {batches}, of at most {BATCH}"
        why = f"batches have {BATCH} samples, and only the last of an epoch may have fewer"
    if not why and reseeded == read[0]:
        measured = "rank 0 reads in the same order with another seed"
        why = "your code does not use the argument seed"
    return measured, why


DIVIDES = {
    "not shuffle": "shuffle=True in the DistributedSampler",
    "not told the epoch": "return the sampler that the loader uses: set_epoch is called on it",
    "whole set": "DataLoader(..., sampler=sampler), with the DistributedSampler that you return",
    "batches have": "batch_size=batch_size, for each rank",
}
"""What to try, by words of what is wrong with shares."""
