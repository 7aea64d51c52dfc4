"""Judges loops by what they leave behind, by the weights that usual mistakes give, and by their memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from autograder.checks import memory, outputs
from autograder.checks.hints import Causes
from autograder.lab import Failed, Pair, Passed, Verdict
from autograder.traces.words import many

NAMES = ("1, the mean", "2, the maximum")
"""What the results of summarize are called."""
NEAR = 1e-5  # of a row's largest number
NEGATIVE, CANCEL, NAN = "all negative", "large numbers that cancel", "NaN in one column"
EMPTY = "the first chunk has no rows"
HIGHEST = "start with the first chunk's maximum or -inf, then torch.maximum"
SUMS = "transform(chunk), add up sums and rows, and divide once at the end"
SUMMARIZED: Causes = {
    f"{NEGATIVE}, result 2": (
        "the maximum must not start with 0: all numbers of transform(chunk) are negative here",
        HIGHEST,
    ),
    CANCEL: (
        "your code sums in the chunks' dtype, which loses small numbers beside large ones",
        "values.sum(0, dtype=torch.float64)",
    ),
    NAN: "NaN in a column must make its mean and its maximum NaN",
    EMPTY: "your code must take chunks without rows, the first one as well",
    "float": "results must be in the chunks' dtype, and sums in float64",
    "mean": (
        "the mean must be the sum of all transformed rows over their number",
        SUMS,
    ),
    "the maximum": (
        "the maximum must be over all rows of all transformed chunks",
        HIGHEST,
    ),
    "": (
        "mean and maximum must be over all rows of all transformed chunks",
        "call transform for each chunk by itself, and return mean and maximum as a pair",
    ),
}
SUMMARY_HINTS: Causes = {
    "the dtype of the result is": "compute in float64, and .to(chunk.dtype) for both results",
    "amax(): Expected": "leave out a chunk that has no rows",
    "changed: chunks": (
        "your code changes a chunk, which belongs to the caller",
        "compute out of place: chunk.mul(2) makes a new tensor, chunk.mul_(2) does not",
    ),
    f"{NAN}, result[0]": "sum() of the values as they are: it keeps a NaN",
    f"{NAN}, result[1]": "amax(), then torch.maximum(), of the values as they are: each keeps a NaN",
}
EVALUATED: Causes = {
    "result 2": (
        "the second result must be the class of each row, the one with the largest output",
        "outputs.argmax(dim=1) of each batch, and torch.cat at the end",
    ),
    "": (
        "a loss is not what the criterion returns",
        "keep criterion(outputs, labels) of each batch as it is",
    ),
}
IN_TRAIN_MODE = (
    "the model came in train mode, and dropout and BatchNorm still computed in train mode",
    "model.eval() before the first batch",
)
EVALUATED_FORM: Causes = {
    'result[0]": float': (
        "the first result must hold one loss for each batch, 4 in this case",
        "collect the losses in a list, and torch.stack(losses) at the end",
    ),
}
NO_GRAD = "put the loop into `with torch.no_grad():`, which turns autograd on again at its end"
LEFT = {
    "the model is not in the mode it was in before": (
        "your code does not put the mode back",
        "was = model.training before model.eval(), and model.train(was) at the end",
    ),
    "buffers of the model changed": (
        "BatchNorm moves its statistics in train mode",
        "model.eval() before the first batch",
    ),
    "parameters of the model changed": (
        "your code trains the model",
        "call no backward() and no optimizer: compute outputs and losses alone",
    ),
    "parameters are frozen now": (
        "requires_grad of parameters was not put back",
        "torch.no_grad() alone, without requires_grad_(False)",
    ),
    "parameters have gradients now": ("your code calls backward()", NO_GRAD),
    "autograd is off for the whole program": ("your code leaves autograd off", NO_GRAD),
    "a result is an inference tensor": (
        "inference_mode() made it, so no training can use it",
        "torch.no_grad() in its place, or clone() outside of it",
    ),
    "a result has a graph": ("your code computes it with autograd", NO_GRAD),
}
"""What a model or a result must not be after evaluate -> why, and what to try."""

ALONE, BEFORE = "a part without a label that counts", "gradients from before"
SUM = 'cross_entropy(model(x), y, reduction="sum") / counted, and backward() for each part'
COUNTED = 'take reduction="sum", and divide by the labels that count in the whole batch'
ACCUMULATE: Causes = {
    ALONE: (
        "the mean over a part whose labels are all -100 is 0 / 0, which is NaN",
        COUNTED,
    ),
    BEFORE: (
        "gradients from before the call were added",
        "optimizer.zero_grad() before the first part",
    ),
    "update": (
        "the loss is right, but the weights do not take its step",
        "zero_grad() once before the first part, backward() for each, step() once at the end",
    ),
    "": ("the loss is not the mean over all labels that count", SUM),
}
ACCUMULATED = {
    "parts": (
        "each part's mean was divided by parts, but not all have as many labels that count",
        COUNTED,
    ),
    "rows": (
        "each part's mean was weighted by its rows, but labels of -100 do not count",
        COUNTED,
    ),
    "all": (
        "labels of -100 were counted",
        "divide by (labels != -100).sum(), and not by the number of rows",
    ),
    "dropped": (
        "the rows that are left over after equal parts were dropped",
        "inputs.chunk(parts) and labels.chunk(parts) keep all rows: the last part is shorter",
    ),
}
"""A slip of `rig.Step.slips` -> why, and what to try."""


def in_train_mode(evaluated: Pair, verdict: Failed) -> Failed:
    """Name the mode as the cause where losses are wrong and those of a model that came in eval mode are right."""
    wrong = verdict.why == EVALUATED[""][0]
    alike = outputs.same(evaluated, NEAR, why="", try_="", without=["train mode"])
    if wrong and isinstance(alike, Passed):
        return replace(verdict, why=IN_TRAIN_MODE[0], try_=IN_TRAIN_MODE[1])
    return verdict


def slipped(accumulated: Pair) -> Failed | None:
    """Name the usual mistake that gives the loss of the first batch, or too many steps."""
    own, right = accumulated.student, accumulated.baseline
    if not (own.values["steps"] and own.values["cases"] and own.arrays["numbers"].size):
        return None
    if (steps := own.values["steps"][0]) > 1:
        why = "each part after the first goes through weights that have moved already"
        measured = f"optimizer.step() was called {many(steps, 'time')} for one batch; once is right"
        return Failed(measured, why, "call optimizer.step() once, after the last part")
    if own.values["cases"][0]["shape"]:
        return None
    loss, expected = (float(side.arrays["numbers"][0]) for side in (own, right))
    for slip, mistaken in right.values["slips"].items():
        if math.isclose(loss, mistaken, rel_tol=NEAR) and loss != expected:
            measured = f"the loss of 37 rows in 4 parts is {loss:.6g}, and {expected:.6g} is right"
            return Failed(measured, *ACCUMULATED[slip])
    return None


def _named(mean: Any, highest: Any) -> Any:
    return dict(zip(NAMES, (mean, highest), strict=True))


def _transformed(chunks: Any, sizes: Any) -> list[Any]:
    """Return each chunk that has rows, transformed."""
    return [it * (1 - 2 * (len(it) % 2)) for it in chunks.split(sizes) if len(it)]


def _highest(turned: list[Any]) -> Any:
    highest, *more = (chunk.amax(0) for chunk in turned)
    for each in more:
        highest = highest.maximum(each)
    return highest


def mean_of_means(chunks: Any, sizes: Any, repeats: int) -> Any:
    """Return the mean of the chunks' means, and the maximum."""
    turned = _transformed(chunks, sizes)
    mean, *others = (chunk.mean(0) for chunk in turned)
    return _named(sum(others, mean) / len(turned), _highest(turned))


def highest_from_zero(chunks: Any, sizes: Any, repeats: int) -> Any:
    """Return the mean, and the maximum of all numbers and 0."""
    turned = _transformed(chunks, sizes)
    first, *others = (chunk.double().sum(0) for chunk in turned)
    mean = sum(others, first) / len(chunks)
    return _named(mean.to(chunks.dtype), _highest(turned).clamp(min=0))


def turned_as_one(chunks: Any, sizes: Any, repeats: int) -> Any:
    """Return mean and maximum of all chunks, put together and then transformed."""
    (turned,) = _transformed(chunks, [len(chunks)])
    return _named(turned.double().mean(0).to(chunks.dtype), turned.amax(0))


SUMMARY_SLIPS: Mapping[str | tuple[str, str], Callable[..., Any]] = {
    (
        "the means of chunks were averaged, but a chunk with more rows counts more",
        SUMS,
    ): mean_of_means,
    (
        "chunks were put together before transform, which takes one chunk at a time",
        SUMS,
    ): turned_as_one,
    (
        "the maximum starts at 0",
        HIGHEST,
    ): highest_from_zero,
}
"""Why of a mistake, and what to try -> what it returns."""


def retained(graphs: int) -> Failed | None:
    """Fail a loop in which so many *graphs* of earlier steps were alive when the model was called."""
    measured = f"{many(graphs, 'earlier graph')} alive when the model is called again; none may be"
    why = "a graph is kept after its backward(), as by retain_graph=True"
    return Failed(measured, why, "backward() without retain_graph") if graphs else None


def needs_less(run: Pair, idle: Pair, share: float, why: str, try_: str) -> Verdict:
    """Judge the results of a large run, then its memory."""
    alike = outputs.same(
        run,
        10 * NEAR,
        why="with as much data as here, your code returns other results",
        try_="compute large and small inputs alike",
    )
    if isinstance(alike, Failed):
        return alike
    return memory.leaner(run, idle, share, 0.0, NEAR, why, try_)
