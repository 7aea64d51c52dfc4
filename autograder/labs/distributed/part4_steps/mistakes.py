"""What students usually do in a step of several batches."""

from __future__ import annotations

SLIPS = {
    "eval": "the model, or a layer inside, stays in the eval mode in which it came",
    "kept": "gradients are kept for the next step",
    "sum": "your code adds up the losses of a group's batches, and must take their mean",
    "accumulation": "your code divides a short group by accumulation, and it has fewer batches",
    "batches": "your code takes the mean of the batches of a group, and the last batch is shorter",
    "left out": "the last group, which is short, is left out",
    "unclipped": "nothing is clipped",
    "each parameter": "each parameter is clipped by its own norm; clip bounds that of all together",
    "each number": "each number is clipped; clip bounds the norm of all together",
}
"""Usual mistakes in a step, and what is said of them."""
