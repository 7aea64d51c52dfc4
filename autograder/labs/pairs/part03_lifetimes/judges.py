"""Judges loops by what they leave behind, by the weights that usual mistakes give, and by their memory."""

from __future__ import annotations

from typing import Any

from autograder.checks import memory, outputs
from autograder.lab import Failed, Pair, Verdict
from autograder.traces.words import many

NAMES = ("1, the mean", "2, the maximum")
"""What the results of summarize are called."""
NEAR = 1e-5  # of a row's largest number
NO_GRAD = "with torch.no_grad(): around the loop, which ends with it"
LEFT = {
    "the model is not in the mode it was in before": (
        "the mode was not put back",
        "was = model.training before model.eval(), and model.train(was) at the end",
    ),
    "parameters or buffers of the model changed": (
        "BatchNorm moves its statistics in train mode, or something was trained",
        "model.eval() before the first batch",
    ),
    "parameters are frozen or have gradients now": (
        "requires_grad or .grad of parameters was not put back",
        NO_GRAD,
    ),
    "autograd is off for the whole program": ("it was not turned on again", NO_GRAD),
    "a result is an inference tensor": (
        "whoever uses it in a training gets an error: inference_mode() made it",
        "torch.no_grad() in its place, or clone() outside of it",
    ),
    "a result has a graph": ("it was computed with autograd", NO_GRAD),
}
"""What a model or a result must not be after evaluate -> why, and what to try."""


def mean_of_means(rows: Any, sizes: Any, repeats: int) -> Any:
    """Return the mean of the chunks' means, and the maximum."""
    chunks = [chunk for chunk in rows.split(sizes) if len(chunk)]
    turned = [chunk * (1 - 2 * (len(chunk) % 2)) for chunk in chunks]
    mean, *others = (chunk.mean(0) for chunk in turned)
    highest, *more = (chunk.amax(0) for chunk in turned)
    for each in more:
        highest = highest.maximum(each)
    return dict(zip(NAMES, (sum(others, mean) / len(turned), highest), strict=True))


def retained(graphs: int) -> Failed | None:
    """Fail a loop in which so many *graphs* of earlier steps were alive when the model was called."""
    measured = f"{many(graphs, 'earlier graph')} alive when the model is called again"
    why = "a graph is kept after its backward(): retain_graph=True does that"
    return Failed(measured, why, "backward() without retain_graph") if graphs else None


def needs_less(run: Pair, idle: Pair, share: float, why: str, try_: str) -> Verdict:
    """Judge the results of a large run, then its memory."""
    alike = outputs.same(
        run,
        10 * NEAR,
        why="on this check's inputs, results differ from the baseline's",
        try_=try_,
    )
    if isinstance(alike, Failed):
        return alike
    return memory.leaner(run, idle, share, 0.0, NEAR, why, try_)
