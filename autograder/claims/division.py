"""Says how the samples that the processes of a group read are no division of the data set, by epoch."""

from __future__ import annotations

from collections.abc import Sequence

Orders = Sequence[Sequence[int]]
"""Of each process: the samples that it read, in order."""


def division_problem(read: Orders, samples: int, epochs: int) -> str:
    """Say how the samples that each process read are no division of the set, epoch by epoch."""
    each = -(-samples // len(read))
    if any(len(own) != each * epochs for own in read):
        must = f"each process must read {each} samples in each of {epochs} epochs"
        counts = [len(own) // epochs for own in read]
        least = min(counts)
        left = f"{counts.count(least)} of {len(read)} read only {least}"
        left += ": usually drop_last is on" * (max(counts) <= each)
        return f"{must}, and {left}" if least < each else must
    for number, order in enumerate(_by_epoch(read, epochs), 1):
        missing = samples - len({index for own in order for index in own})
        if missing > 0:
            return f"in epoch {number}, no process reads {missing} of the {samples} samples"
    return ""


def order_problem(read: Orders, epochs: int) -> str:
    """Say that the processes read the samples of every epoch in the order of the first."""
    orders = _by_epoch(read, epochs)
    return "every epoch has the same order" if orders[1:] == orders[:-1] else ""


def order_cause(read: Orders, epochs: int) -> str:
    """Say why the order does not change, by what was read in the first epoch."""
    # The last sample may be the first again.
    first = [own[:-1] for own in _by_epoch(read, epochs)[0]]
    if all(own == sorted(own) for own in first):
        return "your sampler does not shuffle"
    return "usually your sampler is not told the epoch"


def _by_epoch(read: Orders, epochs: int) -> list[list[list[int]]]:
    each = max(1, len(read[0]) // epochs)
    return [[list(own[at : at + each]) for own in read] for at in range(0, each * epochs, each)]
