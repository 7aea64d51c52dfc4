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
UPDATES = {
    "weights0": "rank 0 took other steps than one process with the whole batch",
    "weights1": "rank 1 ends with other weights: it started from others, or gradients are not averaged",
}


def trained_as_one(ranks: Pair, *, try_: str) -> Verdict:
    """Pass processes that all arrive at the weights of one."""
    for name, why in UPDATES.items():
        moved = numerics.update(ranks, name)
        measured = f"rank {name[-1]}: update apart by {moved.error:.1e} of its norm (allowed {APART:.0e})"
        if not moved.error <= APART:
            return Failed(measured, why, try_, numerics.shares(update=moved.error / APART))
    return Passed(measured, numerics.shares(update=moved.error / APART))


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
