"""Claims about the processes of one group that train together, held against one process on their joined batches.

group = Group(part, ranks, SEE)    ranks: the probe, declared with answered(...); it answers with `rig.ranks`
group.trains_as_one(...)           each claim is a check of the part

A problem is one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.hints import Causes, hinted
from autograder.claims.division import division_problem, order_cause, order_problem
from autograder.claims.group_words import OPEN, READ, REASONS, SENDS, UNCOUNTED, UNSEEN, WRITES
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Part,
    exactly,
    list_of,
    record,
)
from autograder.model import Basis, Failed, Pair, Passed, Verdict, verdict

WORLD = 2
ALIKE = "Two processes arrive at the weights of one process that trains on their joined batches."
APART = 1e-4  # of the norm of the update: the processes add up in another order
EXACT = 1e-4  # relative, of figures
# Times as long an update: two gradients added up make about 2.
SUMS = (1.5, 2.5)
SAVED = 1e-6  # of the largest weight
KEPT = "kept_"
SAME = "both processes read the same samples"
NO_AVERAGE = "ranks end with different weights: gradients are not averaged in each step"
TWICE = "steps go twice as far: usually gradients are added up and not averaged"
BEGUN_APART = (
    "the ranks differ as much at the end as at the start: "
    "the weights of rank 0 are not sent to the other ranks"
)
Calls = Sequence[Mapping[str, Any]]
"""Collective calls of one step: the kind and the bytes of each."""


def answered(*figures: str, **more: Any) -> dict[str, Any]:
    """Return the form of a probe that answers with `rig.ranks`; *figures* are series that the function returns."""
    calls = list_of(list_of(record(kind=TEXT, bytes=INTEGER)))
    read = record(
        asked=list_of(INTEGER),
        files=list_of(TEXT),
        open=BOOLEAN,
        steps=calls,
    )
    each = [f"{name}{rank}" for name in ("weights", *figures) for rank in range(WORLD)]
    kept = [f"{KEPT}{name}{rank}" for name in ("weights", "losses") for rank in range(WORLD)]
    arrays = dict.fromkeys(["start", "start1", "saved", *each, *kept], ("float64", 1))
    ranks = exactly(WORLD, read)
    return {
        "values": {
            "samples": INTEGER,
            "names": list_of(TEXT),
            "ranks": ranks,
            **more,
        },
        "arrays": arrays,
    }


class Group:
    """Processes that train together. In their *own order*: where they keep the first epoch's, one process does, too."""

    def __init__(
        self,
        part: Part,
        by: Callable[..., Any],
        see: str,
        *,
        own_order: bool = False,
    ) -> None:
        """Name the probe."""
        self.part = part
        self.probe = by.__name__
        self.see = see
        self.own_order = own_order

    def _claim(
        self,
        name: str,
        says: str,
        basis: Basis,
        problem: Callable[[Pair], tuple[str, str]],
        try_: str,
        needs: Sequence[str] = (),
        compared: str = "",
        hints: Causes | None = None,
    ) -> None:
        """Register a check; *problem* says what was measured, and what is wrong with it."""

        def judge(ranks: Pair) -> Verdict:
            measured, why = problem(ranks)
            return hinted(verdict(measured, why, try_ or self.see), hints or {})

        self.part.add_check(name, says, basis, judge, [self.probe], needs, compared)

    def trains_as_one(
        self,
        name: str,
        *,
        says: str = ALIKE,
        within: float = APART,
        needs: Sequence[str] = (),
    ) -> None:
        """Claim that all processes arrive at the weights of one."""

        def judge(ranks: Pair) -> Verdict:
            return self.trained(ranks, within)

        self.part.add_check(name, says, "outputs", judge, [self.probe], needs, "weights")

    def trained(self, ranks: Pair, within: float) -> Verdict:
        """Judge the weights of each process."""
        ranks = self._ordered(ranks)
        for rank in range(WORLD):
            moved = numerics.update(ranks, f"weights{rank}")
            off = f"the change of the weights is {numerics.off(moved.error, within)}"
            if not np.isfinite(ranks.student.arrays[f"weights{rank}"]).all():
                off = "weights are NaN or infinite at the end"
            measured = f"rank {rank}: {off}"
            evidence = numerics.shares(update=moved.error / within)
            if not moved.error <= within:
                failed = Failed(measured, self.reason(ranks, moved.ratio), self.see, evidence)
                return hinted(failed, {**REASONS, **READ})
        return Passed(measured, evidence)

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Say what sets a training apart from one process's, whose update is *ratio* times as long."""
        return _reason(ranks, ratio)

    def same(
        self,
        figure: str,
        name: str,
        says: str,
        why: str,
        try_: str,
        *,
        basis: Basis = "outputs",
        within: float = EXACT,
        of: str = "epoch",
        needs: Sequence[str] = ("trains_as_one_process",),
        hints: Causes | None = None,
    ) -> None:
        """Claim that a figure is right, and so the same, in each process; it has a number *of* each epoch or step.

        Where the processes agree, what was measured begins with "both ranks".
        """

        def problem(ranks: Pair) -> tuple[str, str]:
            return self.figure_problem(ranks, figure, why, within, of)

        compared = figure if basis == "outputs" else ""
        self._claim(
            name,
            says,
            basis,
            problem,
            try_,
            needs,
            compared,
            {"one finite number": f"return one number for each {of}", **(hints or {})},
        )

    def figure_problem(
        self, ranks: Pair, figure: str, why: str, within: float = EXACT, of: str = "step"
    ) -> tuple[str, str]:
        """Say what a figure is in a process where it is not right, and *why*; or what it is, and nothing."""
        ranks = self._ordered(ranks)
        for rank in range(WORLD):
            reported, expected = (
                side.arrays[f"{figure}{rank}"] for side in (ranks.student, ranks.baseline)
            )
            first, second = (ranks.student.arrays[f"{figure}{it}"] for it in range(WORLD))
            where = "both ranks" if np.array_equal(first, second) else f"rank {rank}"
            measured = f"{where}: {figure} are {listed(reported)}; expected {listed(expected)}"
            if len(reported) != len(expected) or not np.isfinite(reported).all():
                return measured, f"{figure} has one finite number for each {of}"
            if not outputs.furthest(reported, expected) <= within:
                return measured, why
        return f"{listed(expected)} in both", ""

    def divides_samples(self, says: str, try_: str, *, new_order: bool = False) -> None:
        """Claim that each sample is one process's in each epoch; with *new_order*, that epochs differ as well."""

        def problem(ranks: Pair) -> tuple[str, str]:
            read = _read(ranks)
            samples = ranks.baseline.values["samples"]
            epochs = _epochs(ranks)
            why = division_problem(read, samples, epochs)
            if why and set(read[0]) == set(read[1]):
                each = [len(own) == samples * epochs for own in read]
                whole = all(each) and len({*read[0]}) == samples
                half = f"each must read {-(-samples // WORLD)} of the {samples} samples in an epoch"
                why = f"both processes read the whole set; {half}" if whole else f"{SAME}; {why}"
            if new_order:
                why = why or order_problem(read, epochs)
            counts = " and ".join(str(len(own)) for own in read)
            return (
                f"the processes read {counts} samples in {epochs} epochs; the set has {samples}",
                why,
            )

        self._claim("divides_the_samples", says, "report", problem, try_, hints=READ)

    def new_order_each_epoch(self, name: str) -> None:
        """Claim that epochs differ."""

        def problem(ranks: Pair) -> tuple[str, str]:
            asked = _read(ranks), _epochs(ranks)
            same = order_problem(*asked)
            why = order_cause(*asked) if same else ""
            return f"{_epochs(ranks)} epochs: {same or 'each in a new order'}", why

        says = "The order is new in each epoch."
        try_ = "shuffle=True, and sampler.set_epoch(epoch) before each"
        hints = {"not told the epoch": "sampler.set_epoch(epoch) before each epoch"}
        self._claim(name, says, "report", problem, try_, ["divides_the_samples"], hints=hints)

    def one_writes(self, name: str, says: str) -> None:
        """Claim that the first process alone writes its weights, under the names of a model without a wrapper."""

        def problem(ranks: Pair) -> tuple[str, str]:
            own = ranks.student
            expected = ranks.baseline.values["names"]
            files = [each["files"] for each in own.values["ranks"]]
            names = own.values["names"]
            written = (
                f"rank {rank}: {', '.join(own) or 'nothing'}" for rank, own in enumerate(files)
            )
            why = ""
            if any(files[1:]):
                why = "both write at once, and on one disk one tears the other's file"
            elif names != expected:
                first = ", ".join(names[:2]) or "none"
                why = f"its names are {first}, and {expected[0]} is the first of the model's"
            elif not outputs.furthest(own.arrays["saved"], own.arrays["weights0"]) <= SAVED:
                why = "the file holds different weights from the model at the end"
            return "; ".join(written), why

        try_ = "in rank 0 alone, after the last step, torch.save(model.state_dict(), file), not the wrapper's"
        self._claim(name, says, "report", problem, try_, hints=WRITES)

    def leaves_no_group(self, name: str, says: str) -> None:
        """Claim that no process group is there after a training, nor after one that raised (`left_open`)."""

        def problem(ranks: Pair) -> tuple[str, str]:
            own = ranks.student.values
            where = [f"in rank {rank}" for rank, each in enumerate(own["ranks"]) if each["open"]]
            where += ["after the criterion had raised an exception"] * own["left_open"]
            if not where:
                return "destroyed in both, and after an exception", ""
            why = "a second training cannot make one, and a process may wait at its exit"
            return f"still open {' and '.join(where)}", why

        self._claim(name, says, "report", problem, OPEN)

    def collectives(
        self,
        name: str,
        says: str,
        *,
        per_step: int,
        bytes: int,  # noqa: A002 an author reads what it counts
        kinds: Collection[str],
        why: str,
        try_: str = "",
        needs: Sequence[str] = (),
    ) -> None:
        """Claim at most so many collective calls and bytes in a usual step, and no call of another kind.

        They are counted at the process group, from the third step on: until then DDP sets itself up. *kinds* are those
        of `worker/rigs/collectives.py`. Bytes are those of the whole tensor, also where each process has a share of it.
        """
        allowed = f"at most {per_step} and {bytes} bytes, of {', '.join(kinds)}"

        def problem(ranks: Pair) -> tuple[str, str]:
            for rank, each in enumerate(ranks.student.values["ranks"]):
                steps = each["steps"]
                if not steps:
                    return (
                        f"rank {rank}: fewer than three steps",
                        UNCOUNTED,
                    )
                calls = usual(steps)
                own = list(dict.fromkeys(call["kind"] for call in calls))
                measured = (
                    f"rank {rank}: {len(calls)} collectives and {_bytes(calls)} bytes in a step"
                )
                measured = f"{measured}, of {', '.join(own) or 'no kind'}; expected: {allowed}"
                if not calls:
                    return measured, UNSEEN
                if other := [kind for kind in own if kind not in kinds]:
                    return (
                        measured,
                        f"{other[0]} is of another kind: {why}",
                    )
                if len(calls) > per_step or _bytes(calls) > bytes:
                    return measured, why
            return measured, ""

        self._claim(name, says, "report", problem, try_, needs, hints=SENDS)

    def _ordered(self, ranks: Pair) -> Pair:
        """Compare with one process that kept the first order where these did, and that has a check of its own."""
        if not self.own_order or not order_problem(_read(ranks), _epochs(ranks)):
            return ranks
        arrays = ranks.baseline.arrays
        kept = {name: arrays.get(KEPT + name, array) for name, array in arrays.items()}
        return replace(ranks, baseline=replace(ranks.baseline, arrays=kept))


def usual(steps: Sequence[Calls]) -> Calls:
    """Return the calls of the step in the middle: one that begins an epoch also has those between two epochs."""
    order = sorted(steps, key=lambda calls: (len(calls), _bytes(calls)))
    return order[(len(order) - 1) // 2]


def _bytes(calls: Calls) -> int:
    return sum(call["bytes"] for call in calls)


def _read(ranks: Pair) -> list[list[int]]:
    return [each["asked"] for each in ranks.student.values["ranks"]]


def _epochs(ranks: Pair) -> int:
    return len(ranks.baseline.arrays["losses0"])


def listed(values: Any) -> str:
    """Return the first figures of a series."""
    return ", ".join(f"{value:.4g}" for value in values[:6]) or "nothing"


def _reason(ranks: Pair, ratio: float) -> str:
    """Say what sets the training apart from one process's, from what the ranks have and have read."""
    own, read = ranks.student.arrays, _read(ranks)
    expected = [each["asked"] for each in ranks.baseline.values["ranks"]]
    alike = outputs.furthest(own["weights0"], own["weights1"]) <= APART
    begun = _as_begun(own)
    if ratio <= APART and (alike or begun):
        return "the model did not change: usually a copy of this model was trained"
    if not alike:
        return BEGUN_APART if begun else NO_AVERAGE
    counts = [len(each) for each in read]
    if counts != [len(each) for each in expected]:
        both, epochs = " and ".join(map(str, counts)), _epochs(ranks)
        asked = f"with DistributedSampler each reads {len(expected[0])}"
        return f"the processes read {both} samples in {epochs} epochs; {asked}"
    if read != expected:
        return "the samples, or their order, are not those of DistributedSampler with this seed in epochs 0, 1 and 2"
    if SUMS[0] < ratio < SUMS[1]:
        return TWICE
    return "the ranks agree, but take other steps than one process: usually no zero_grad(), another loss or optimizer"


def _as_begun(own: Mapping[str, Any]) -> bool:
    """Whether the processes end as far apart as they began, which is not alike."""
    begun = own["start"], own.get("start1", own["start"])
    ended = own["weights0"], own["weights1"]
    if len({it.shape for it in (*begun, *ended)}) > 1:
        return False
    began = begun[1] - begun[0]
    return bool(began.any()) and outputs.furthest(ended[1] - ended[0], began) <= APART
