"""Judges what several processes that train together arrived at, against one process on their joined batches.

The probe answers with `rig.ranks`: the weights of each rank, and figures, one number an epoch, as each of them has it.
"""

from __future__ import annotations

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.studies import listed
from autograder.model import Failed, Pair, Passed, Verdict

APART = 1e-4  # of the norm of the update: the processes add up in another order
EXACT = 1e-4  # relative, of figures
RANKS = (0, 1)
SUMS = (1.5, 2.5)  # times as long an update: two gradients added up make about 2


def trained_as_one(ranks: Pair, *, try_: str) -> Verdict:
    """Pass processes that all arrive at the weights of one."""
    for rank in RANKS:
        moved = numerics.update(ranks, f"weights{rank}")
        measured = (
            f"rank {rank}: update apart by {moved.error:.1e} of its norm (allowed {APART:.0e})"
        )
        if not moved.error <= APART:
            return Failed(
                measured,
                _reason(ranks, moved.ratio),
                try_,
                numerics.shares(update=moved.error / APART),
            )
    return Passed(measured, numerics.shares(update=moved.error / APART))


def _reason(ranks: Pair, ratio: float) -> str:
    """Say what sets the training apart from one process's, from what the ranks have and have read."""
    own = ranks.student.arrays
    read, asked = (
        [it["asked"] for it in side.values["ranks"]] for side in (ranks.student, ranks.baseline)
    )
    if not outputs.furthest(own["weights0"], own["weights1"]) <= APART:
        return "ranks end with different weights: they start from others, or gradients are not averaged in each step"
    if ratio <= APART:
        return "the model is what it was: another one was trained, such as a copy"
    if [len(it) for it in read] != [len(it) for it in asked]:
        counts = " and ".join(f"{len(it):,}" for it in read)
        return f"the processes read {counts} samples, and DistributedSampler gives each {len(asked[0]):,} in all epochs"
    if read != asked:
        return "samples are left out, or in another order than DistributedSampler's with this seed and epochs 0, 1, 2"
    if SUMS[0] < ratio < SUMS[1]:
        return "steps go twice as far: gradients are added up and not averaged, or the rate or the batches are others"
    return (
        "other steps than one process takes: gradients are not averaged, "
        "or criterion or optimizer are not those given"
    )


def told_alike(ranks: Pair, figure: str, why: str, *, try_: str, within: float = EXACT) -> Verdict:
    """Pass figures of all processes: one number an epoch, the right one and so the same in each of them."""
    for rank in RANKS:
        told, known = (side.arrays[f"{figure}{rank}"] for side in (ranks.student, ranks.baseline))
        if len(told) != len(known) or not np.isfinite(told).all():
            measured = f"rank {rank}: {len(told)} {figure} for {len(known)} epochs: {listed(told)}"
            return Failed(measured, f"{figure} has one finite number for each epoch", try_)
        if not outputs.furthest(told, known) <= within:
            return Failed(f"rank {rank}: {listed(told)}, and it is {listed(known)}", why, try_)
    return Passed(f"{listed(known)} in both")
