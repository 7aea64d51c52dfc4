"""Claims about the processes of one group that train together, held against one process on their joined batches.

group = Group(part, ranks, see=...)    ranks: the probe, declared with answered(...); it answers with `rig.ranks`
group.divides_samples(...)             what each process read
group.new_order_each_epoch(...)
group.trains_as_one(...)               the weights of each
group.same("losses", ...)              a figure for each epoch, the right one and alike in all
group.one_writes(...)                  who wrote which file
group.leaves_no_group(...)             what is open afterwards

A problem is one sentence, or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.lab import BOOLEAN, INTEGER, TEXT, Part, exactly, list_of, record
from autograder.model import Basis, Failed, Pair, Passed, Verdict

WORLD = 2
APART = 1e-4  # of the norm of the update: the processes add up in another order
EXACT = 1e-4  # relative, of figures
SUMS = (1.5, 2.5)  # times as long an update: two gradients added up make about 2
SHOWN = 6  # numbers of a figure
KEPT = "kept_"
"""Begins the names of what one process has that kept the order of the first epoch."""
Orders = Sequence[Sequence[int]]
"""By process, the samples that it read."""


def answered(*figures: str, **more: Any) -> dict[str, Any]:
    """Return the form of a probe that answers with `rig.ranks`; *figures* are series that the function returns."""
    read = record(asked=list_of(INTEGER), files=list_of(TEXT), open=BOOLEAN)
    values = {"samples": INTEGER, "names": list_of(TEXT), "ranks": exactly(WORLD, read), **more}
    each = [f"{name}{rank}" for name in ("weights", *figures) for rank in range(WORLD)]
    names = ["start", "saved", *each, *(KEPT + name for name in each)]
    return {"values": values, "arrays": dict.fromkeys(names, ("float64", 1))}


class Group:
    """Processes that train together, and what is claimed of them."""

    def __init__(self, part: Part, by: Callable[..., Any], see: str, *, own_order: bool = False) -> None:
        """Name the probe. In their *own order*: where the first epoch's is kept, one process keeps it, too."""
        self.part, self.probe, self.see, self.own_order = part, by.__name__, see, own_order

    def _claim(
        self, name: str, says: str, basis: Basis, judge: Any, needs: Sequence[str], compared: str = ""
    ) -> None:
        self.part.add_check(name, says, basis, judge, [self.probe], needs, compared)

    def trains_as_one(self, name: str, *, needs: Sequence[str] = ()) -> None:
        """Claim that all processes arrive at the weights of one."""

        def judge(ranks: Pair) -> Verdict:
            ranks = self._ordered(ranks)
            for rank in range(WORLD):
                moved = numerics.update(ranks, f"weights{rank}")
                measured = f"rank {rank}: update apart by {moved.error:.1e} of its norm (allowed {APART:.0e})"
                evidence = numerics.shares(update=moved.error / APART)
                if not moved.error <= APART:
                    return Failed(measured, _reason(ranks, moved.ratio), self.see, evidence)
            return Passed(measured, evidence)

        says = "Two processes arrive at the weights of one that trains on their joined batches."
        self._claim(name, says, "outputs", judge, needs, "weights")

    def same(
        self,
        figure: str,
        name: str,
        *,
        says: str,
        why: str,
        try_: str,
        basis: Basis = "outputs",
        within: float = EXACT,
        needs: Sequence[str] = (),
    ) -> None:
        """Claim that a figure is right, and so the same, in each process."""

        def judge(ranks: Pair) -> Verdict:
            ranks = self._ordered(ranks)
            for rank in range(WORLD):
                name = f"{figure}{rank}"
                reported, expected = (side.arrays[name] for side in (ranks.student, ranks.baseline))
                measured = f"rank {rank}: {_listed(reported)}, and it is {_listed(expected)}"
                if len(reported) != len(expected) or not np.isfinite(reported).all():
                    each = f"{figure} has one finite number for each epoch"
                    return Failed(measured, each, f"{try_}; {self.see}")
                if not outputs.furthest(reported, expected) <= within:
                    return Failed(measured, why, f"{try_}; {self.see}")
            return Passed(f"{_listed(expected)} in both")

        compared = figure if basis == "outputs" else ""
        self._claim(name, says, basis, judge, needs, compared)

    def divides_samples(
        self, *, says: str, try_: str, new_order: bool = False, name: str = "divides_the_samples"
    ) -> None:
        """Claim that each sample is one process's in each epoch; with *new_order*, that epochs differ as well."""

        def judge(ranks: Pair) -> Verdict:
            read, samples, epochs = _read(ranks), ranks.baseline.values["samples"], _epochs(ranks)
            why = division_problem(read, samples, epochs)
            if why and set(read[0]) == set(read[1]):
                why = f"both processes read the same samples; {why}"
            why = why or (order_problem(read, epochs) if new_order else "")
            counts = " and ".join(str(len(own)) for own in read)
            measured = f"{counts} samples were read in {epochs} epochs, of {samples} in the set"
            return Failed(measured, why, f"{try_}; {self.see}") if why else Passed(measured)

        self._claim(name, says, "report", judge, ())

    def new_order_each_epoch(self, name: str, *, needs: Sequence[str]) -> None:
        """Claim that epochs differ."""

        def judge(ranks: Pair) -> Verdict:
            why, measured = order_problem(_read(ranks), _epochs(ranks)), f"{_epochs(ranks)} epochs"
            try_ = f"sampler.set_epoch(epoch) before each; {self.see}"
            return Failed(measured, why, try_) if why else Passed(measured)

        self._claim(name, "The order is new in each epoch.", "report", judge, needs)

    def one_writes(self, file: str, *, says: str, name: str = "one_process_writes") -> None:
        """Claim that the first process alone writes its weights, under the names of a model without a wrapper."""

        def judge(ranks: Pair) -> Verdict:
            own, names = ranks.student, ranks.student.values["names"]
            expected = ranks.baseline.values["names"]
            files = [each["files"] for each in own.values["ranks"]]
            measured = "; ".join(
                f"rank {rank}: {', '.join(written) or 'nothing'}" for rank, written in enumerate(files)
            )
            if any(files[1:]):
                why = "both write at once, and on one disk one tears the other's file"
                return Failed(measured, why, "if dist.get_rank() == 0:")
            if names != expected:
                why = f"its names are {', '.join(names[:2]) or 'none'}, and {expected[0]} is the first of the model's"
                try_ = f"torch.save(model.state_dict(), Path(folder) / '{file}'), not the wrapper's"
                return Failed(measured, why, try_)
            if not outputs.furthest(own.arrays["saved"], own.arrays["weights0"]) <= SAVED:
                why = "the file holds other weights than the model at the end"
                return Failed(measured, why, "save after the last step")
            return Passed(measured)

        self._claim(name, says, "report", judge, ())

    def leaves_no_group(self, name: str, *, says: str) -> None:
        """Claim that no process group is there after a training, nor after one that raised (`left_open`)."""

        def judge(ranks: Pair) -> Verdict:
            own = ranks.student.values
            left = [f"rank {rank}" for rank, each in enumerate(own["ranks"]) if each["open"]]
            if not left and not own["left_open"]:
                return Passed("destroyed in both, and after an exception")
            where = f"in the process of {' and '.join(left)}" if left else "after the criterion had raised an exception"
            why = "a second training cannot make one, and a process may wait at its exit"
            return Failed(f"still open {where}", why, f"try and finally; {self.see}")

        self._claim(name, says, "report", judge, ())

    def _ordered(self, ranks: Pair) -> Pair:
        """Compare with one process that kept the first order where these did, and that has a check of its own."""
        if not self.own_order or not order_problem(_read(ranks), _epochs(ranks)):
            return ranks
        arrays = ranks.baseline.arrays
        kept = {name: arrays.get(KEPT + name, array) for name, array in arrays.items()}
        return replace(ranks, baseline=replace(ranks.baseline, arrays=kept))


SAVED = 1e-6  # of the largest weight


def _read(ranks: Pair) -> list[list[int]]:
    return [each["asked"] for each in ranks.student.values["ranks"]]


def _epochs(ranks: Pair) -> int:
    return len(ranks.baseline.arrays["losses0"])


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:SHOWN]) or "nothing"


def _reason(ranks: Pair, ratio: float) -> str:
    """Say what sets the training apart from one process's, from what the ranks have and have read."""
    own, expected = ranks.student.arrays, [each["asked"] for each in ranks.baseline.values["ranks"]]
    read = _read(ranks)
    if not outputs.furthest(own["weights0"], own["weights1"]) <= APART:
        return "ranks end with different weights: they start from others, or gradients are not averaged in each step"
    if ratio <= APART:
        return "the model is what it was: another one was trained, such as a copy"
    if [len(each) for each in read] != [len(each) for each in expected]:
        counts = " and ".join(f"{len(each):,}" for each in read)
        return f"the processes read {counts} samples, and DistributedSampler gives each {len(expected[0]):,} in all epochs"
    if read != expected:
        return "samples are left out, or in another order than DistributedSampler's with this seed and epochs 0, 1, 2"
    if SUMS[0] < ratio < SUMS[1]:
        return "steps go twice as far: gradients are added up and not averaged, or the rate or the batches are others"
    return (
        "other steps than one process takes: gradients are not averaged, "
        "or criterion or optimizer are not those given"
    )


def division_problem(read: Orders, samples: int, epochs: int) -> str:
    """Say how the samples that each process read are no division of the set, epoch by epoch."""
    each = -(-samples // len(read))
    if any(len(own) != each * epochs for own in read):
        return f"each process has {each} samples in each of {epochs} epochs, one twice where the set does not divide"
    for number, order in enumerate(_by_epoch(read, epochs), 1):
        different = len({index for own in order for index in own})
        if different < samples:
            return f"in epoch {number}, {samples - different} samples are nobody's, and others are read twice"
    return ""


def order_problem(read: Orders, epochs: int) -> str:
    """Say that the processes read the samples of every epoch in the order of the first."""
    orders = _by_epoch(read, epochs)
    return "every epoch has the same order" if orders[1:] == orders[:-1] else ""


def _by_epoch(read: Orders, epochs: int) -> list[list[list[int]]]:
    each = max(1, len(read[0]) // epochs)
    return [[list(own[at : at + each]) for own in read] for at in range(0, each * epochs, each)]
