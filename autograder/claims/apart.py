"""How a training leaves the baseline's, why, and what to try."""

from __future__ import annotations

from autograder.checks import numerics
from autograder.model import Pair
from autograder.probe import Tolerance

SHORT = 0.5  # of the expected update: steep gradients, cut to a norm of 10, leave a quarter
CLOSER = 8.0  # times as near as to the right loss: else it is near the loss in eval() by chance
STEP = "zero_grad, forward, loss, backward, step"
WHY_APART = {
    "still": (
        "no weight moved: no step is taken, or gradients are cleared before it",
        STEP,
    ),
    "short": (
        "the weights move far less: gradients are clipped or divided, or the optimizer is not the one passed in",
        STEP,
    ),
    "listed": (
        "the weights are right, and the losses are not those of the steps: taken later, averaged or multiplied",
        "losses.append(loss.detach()) in each iteration, and return them as they are",
    ),
    "rounded": ("the weights are right, and the losses are rounded", numerics.ROUNDED),
    "eval": (
        "the first loss is near the model's in eval(): usually model.train() is missing",
        "model.train() before the loop",
    ),
    "first": (
        "the first loss differs already: usually the criterion is another, or autocast is on",
        "no autocast, and loss = criterion(model(images), labels)",
    ),
    "later": (
        "the first loss is right, later steps are not: one left out or taken twice, gradients from before",
        STEP,
    ),
}
"""How a training left the baseline's -> why, and what to try."""


def how_apart(pair: Pair, within: Tolerance) -> str:
    """Name how a training left the baseline's: a key of WHY_APART."""
    series = [side.arrays["losses"] for side in (pair.student, pair.baseline)]
    losses, expected = (it[:1] for it in series)
    in_eval = pair.baseline.values["in_eval"]
    apart = numerics.furthest(losses, expected)
    if numerics.distance(*(side.arrays["weights"] for side in (pair.student, pair.baseline))) <= (
        within.weights
    ):
        return "rounded" if numerics.rounded(*series) else "listed"
    moved = numerics.update(pair).ratio
    if moved < SHORT:
        return "short" if moved else "still"
    near = max(within.losses, 1e-5 * in_eval)
    if losses.size and abs(losses[0] - in_eval) <= min(near, apart / CLOSER):
        return "eval"
    return "first" if apart > within.losses else "later"
