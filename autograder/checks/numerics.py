"""Judges numbers against a trusted run's. Whatever a worker sent, NaN and odd lengths included, becomes a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.model import (
    Failed,
    Pair,
    Passed,
    Timed,
    Verdict,
)
from autograder.probe import Tolerance
from autograder.traces.words import many

Array = np.ndarray[Any, Any]


MOST_TIMES = 100  # a loss is multiplied or added up: more is another mistake


def same_trajectory(
    pair: Pair | Timed,
    within: Tolerance,
    *,
    why: str,
    try_: str,
    of: str = "",
) -> Verdict:
    """Pass when a training's losses, batch by batch, and the weights it left follow the baseline's.

    Where there are several trainings, their arrays' names begin with which one they are *of*.
    """
    student, baseline = (
        {name: side.arrays[of + name] for name in ("losses", "weights")}
        for side in (pair.student, pair.baseline)
    )
    problem = misshapen(student["losses"], baseline["losses"]) or not_finite(student["weights"])
    if problem:
        return Failed(problem, *(too_few(student["losses"], baseline["losses"]) or (why, try_)))
    apart = furthest(student["losses"], baseline["losses"])
    moved = distance(student["weights"], baseline["weights"])
    of_losses = f"losses off by up to {apart:.1e} (allowed {within.losses:.1e})"
    of_weights = f"weights {off(moved, within.weights)}"
    evidence = shares(
        losses=share(apart, within.losses),
        weights=share(moved, within.weights),
    )
    if apart <= within.losses and moved <= within.weights:
        return Passed(f"{of_losses}; {of_weights}", evidence)
    too_far = []
    if not apart <= within.losses:
        own, right = (side["losses"].astype(np.float64) for side in (student, baseline))
        at = int(np.argmax(np.abs(own - right)))
        texts = told_apart(own[at], right[at], 4)
        too_far = [f"{of_losses}: batch {at + 1} has {texts[0]}, and {texts[1]} is right"]
    too_far += [of_weights] * (not moved <= within.weights)
    why, try_ = _multiplied(student["losses"], baseline["losses"], within) or (why, try_)
    return Failed("; ".join(too_far), why, try_, evidence)


def _multiplied(own: Array, right: Array, within: Tolerance) -> tuple[str, str] | None:
    """Say that the first loss, which no step has changed yet, is a multiple of the right one."""
    first, expected = float(own[0]), float(right[0])
    ratio = first / expected if expected else 0.0
    times = round(ratio) if 1 < ratio < MOST_TIMES else 0
    if times < 2 or abs(first - times * expected) > within.losses:
        return None
    why = f"the first loss is {times} times the right one: it is multiplied, or added up"
    return why, "loss = criterion(outputs, labels), once for each batch"


def told_apart(own: float, right: float, digits: int) -> tuple[str, str]:
    """Write two numbers with so many digits, or with as many as it takes to see a difference."""
    for enough in range(digits, 18):
        texts = f"{own:.{enough}g}", f"{right:.{enough}g}"
        if texts[0] != texts[1]:
            break
    return texts


def off(apart: float, within: float) -> str:
    """Say how far all weights together, or their change, are from the right ones."""
    return f"off by {100 * apart:.3g} % (allowed {100 * within:.2g} %)"


def share(apart: float, allowed: float) -> float:
    """Return a deviation as a share of what is allowed; where nothing is, the least is endless."""
    return apart / allowed if allowed else math.inf if apart else 0.0


def shares(**figures: float) -> dict[str, Any]:
    """Note deviations as shares of what is allowed; `perflab calibrate` looks where honest work and mistakes lie."""
    return {
        "shares": {
            name: float(f"{share:.3g}") for name, share in figures.items() if math.isfinite(share)
        }
    }


def furthest(losses: Array, expected: Array) -> float:
    """Return the largest difference between two series; infinite when they cannot be compared."""
    if losses.shape != expected.shape:
        return float("inf")
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(losses - expected)))


def misshapen(losses: Array, expected: Array, of: str = "batch") -> str:
    """Say what is wrong with a series of losses before its values matter, or nothing."""
    if len(losses) != len(expected):
        things = many(len(expected), of, "batches" if of == "batch" else "")
        return f"{many(len(losses), 'loss', 'losses')} for {things}"
    bad = np.flatnonzero(~np.isfinite(losses))
    return f"the loss of {of} {bad[0] + 1} is {losses[bad[0]]}" if len(bad) else ""


WHOLE = "go through the whole loader: no break, no continue, no islice"


def too_few(losses: Array, expected: Array) -> tuple[str, str] | None:
    """Say why an epoch may have fewer losses than batches, and what to try; nothing if it has not."""
    count, whole = len(losses), len(expected)
    if count >= whole:
        return None
    if count > 1 and np.allclose(losses, expected[:count], rtol=1e-3):
        return f"the loop ended after {count} of {whole} batches", WHOLE
    if count == 1:
        which = "first" if close(float(losses[0]), float(expected[0]), 1e-3) else "last"
        why = f"only one loss is returned: usually that of the {which} batch"
        return why, "after the loop, return the whole list, with one loss for each batch"
    why = "batches are skipped, or not every loss is kept"
    return why, "train on every batch, also the first and the last, and append the loss of each"


def rounded(losses: Array, expected: Array) -> bool:
    """Whether losses were cut to a few decimals, and are the expected ones but for that."""
    return any(
        furthest(losses, expected) <= 0.7 * 10**-digits
        and np.allclose(losses, np.round(losses, digits), rtol=0.0, atol=1e-7)
        for digits in range(1, 6)
    )


ROUNDED = "return each loss as it is, and round only what you print"


def not_finite(weights: Array) -> str:
    """Say how many weights are NaN or infinite, or nothing."""
    bad = int(np.sum(~np.isfinite(weights)))
    return f"{bad} of {len(weights)} weights are NaN or infinite after the epoch" if bad else ""


def distance(weights: Array, expected: Array) -> float:
    """Return |weights - expected| / |expected|; infinite when they cannot be compared."""
    if weights.shape != expected.shape:
        return float("inf")
    return norm(weights.astype(np.float64) - expected) / max(norm(expected), 1e-30)


def sixteen_bits(weights: Array) -> bool:
    """Whether every weight is a number of 16 bits, float16 or bfloat16, though 32 were there for it."""
    with np.errstate(all="ignore"):
        half = weights.astype(np.float16).astype(np.float32) == weights
    brain = weights.astype(np.float32).view(np.uint32) & 0xFFFF == 0
    return len(weights) > 0 and bool(np.all(half) or np.all(brain))


@dataclass(frozen=True)
class Update:
    """What a training did to the weights, beside what the baseline did."""

    error: float
    """|student's update - baseline's| / |baseline's|."""
    ratio: float
    """|student's update| / |baseline's|."""


def update(pair: Pair, after: str = "weights", before: str = "start") -> Update:
    """Compare the updates of both sides, which began alike; not comparable ones are infinitely far apart."""
    start = pair.baseline.arrays[before].astype(np.float64)
    baseline = pair.baseline.arrays[after] - start
    if pair.student.arrays[after].shape != start.shape or not np.all(
        np.isfinite(pair.student.arrays[after])
    ):
        return Update(float("inf"), float("inf"))
    student = pair.student.arrays[after] - start
    size = max(norm(baseline), 1e-30)
    return Update(norm(student - baseline) / size, norm(student) / size)


def same_update(pair: Pair, within: float, *, why: str, try_: str, of: str = "") -> Passed | Failed:
    """Pass when a training moved the weights as the baseline did; *of* is as in same_trajectory."""
    moved = update(pair, f"{of}weights", f"{of}start")
    measured = f"the change of the weights is {off(moved.error, within)}"
    evidence = shares(update=moved.error / within)
    if moved.error <= within:
        return Passed(measured, evidence)
    if moved.ratio == 0:
        why = "no weight moved"
        try_ = f"optimizer.step(), for the given model; {try_}"
    elif moved.ratio == math.inf:
        measured = "weights are NaN or infinite afterwards"
    elif not 0.7 < moved.ratio < 1.5:
        measured = f"the weights move {moved.ratio:.2g} times as far as they should"
    return Failed(measured, why, try_, evidence)


def norm(values: Array) -> float:
    """Return the Euclidean norm without complaints about huge numbers."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.sum(np.square(values.astype(np.float64)))))


def mean(values: Array, weights: Sequence[float] | None = None) -> float:
    """Return the mean, weighted or not, without complaints about huge numbers."""
    with np.errstate(all="ignore"):
        return float(np.average(values, weights=weights))


def close(value: float | None, expected: float, within: float) -> bool:
    """Whether *value* is there and equals *expected* to the relative tolerance *within*."""
    return (
        value is not None
        and math.isfinite(expected)
        and abs(value - expected) <= within * abs(expected)
    )


@dataclass(frozen=True)
class Trained:
    """An epoch of known losses and right answers, and over what the mean loss is taken: batches, samples, or either."""

    losses: Array
    sizes: Sequence[int]
    right: Sequence[int]
    means: Sequence[str]

    def mean(self, over: str) -> float:
        """Return the mean loss."""
        return mean(self.losses, self.sizes if over == "samples" else None)

    @property
    def loss(self) -> float:
        """What the mean loss is best told as."""
        return self.mean(self.means[0])


Problem = tuple[str, str]
"""Why, and what to try; nothing is wrong where it is empty."""


def loss_problem(
    reported: float | None,
    losses: Array,
    epoch: Trained,
    stories: Sequence[tuple[float, str]],
    within: float,
) -> Problem | tuple[()]:
    """Say how *reported* is not the mean loss of an epoch, or how the *losses* are not its own; they are as many."""
    listed = any(close(reported, epoch.mean(over), within) for over in epoch.means)
    if listed and furthest(losses, epoch.losses) <= within * float(np.max(np.abs(epoch.losses))):
        return ()
    number = replace(epoch, losses=losses).loss if listed else reported
    batches, samples = len(epoch.sizes), sum(epoch.sizes)
    stories = [*stories, (2 * epoch.loss, "yours is twice as large")]
    total = epoch.mean("batches") * batches
    words = explained(
        number,
        [
            *stories,
            (epoch.losses[-1], "yours is the loss of the last batch"),
            (total, "yours is the sum"),
            (total / (batches + 1), "yours was divided by one batch too many"),
            (total / samples, "yours was divided by the samples"),
            (epoch.mean("samples"), "yours is weighted by the samples of each batch"),
            (
                epoch.mean("batches"),
                "in yours batches count alike, and the last one has fewer samples",
            ),
        ],
        within,
    )
    words = words or "yours is no such number" * (number is None)
    if listed:
        why = f"loss is right, but losses is not: {words or 'it has other numbers'}"
        return why, "keep each loss as the criterion returns it"
    over = epoch.means[0]
    why = f"the mean over all {over} is {epoch.loss:.6g}{'; ' * bool(words)}{words}"
    if any(words == story for _, story in stories):
        return why, "append what criterion(outputs, labels) returns, without a factor"
    each = "the losses" if over == "batches" else "loss * len(labels)"
    return why, f"add up {each} of all batches, and divide by the number of {over}"


def accuracy_problem(reported: float | None, epoch: Trained) -> Problem | tuple[()]:
    """Say how *reported* is not the percentage of the samples that were right."""
    samples = sum(epoch.sizes)
    expected = 100 * sum(epoch.right) / samples
    if (
        reported is not None and abs(reported - expected) <= 101 / samples
    ):  # one close call may turn
        return ()
    narrow = [
        (
            100 * _counted(epoch.right, digits) / samples,
            f"correct was added up in {dtype}: {beyond}",
        )
        for digits, dtype, beyond in COUNTERS
    ]
    near = f"near the {expected:.6g} % that were right: counted in 16 bits, or not in train()"
    why = explained(reported, [*_accuracies(epoch.right, epoch.sizes), *narrow], 1e-3)
    why = why or explained(reported, [(expected, near)], 0.02)
    if any(why == words for _, words in [*narrow, (expected, near)]):
        return (
            why,
            "count correct in int64, and not in the dtype of the outputs",
        )
    other = "more than all of them: batches are counted twice" if (reported or 0.0) > 100 else ""
    right = f"the right accuracy is {expected:.4g} %"
    why = why or other or f"{'it must be a number; ' * (reported is None)}{right}"
    return why, "100 * correct / samples, each counted over the whole epoch"


COUNTERS = (
    (8, "bfloat16", "it rounds whole numbers beyond 256"),
    (11, "float16", "it rounds whole numbers beyond 2048"),
)
"""Binary digits of a float, its dtype, and where it stops to count."""


def _counted(right: Sequence[int], digits: int) -> float:
    """Add up in a float of so many binary digits."""
    total = 0.0
    for hits in right:
        fraction, exponent = math.frexp(total + hits)
        total = math.ldexp(round(fraction * 2**digits), exponent - digits)
    return total


def _accuracies(right: Sequence[int], sizes: Sequence[int]) -> list[tuple[float, str]]:
    """Return the accuracy that each usual mistake gives."""
    hits, samples, batches = sum(right), sum(sizes), len(sizes)
    rates = np.divide(right, sizes)
    so_far = np.cumsum(right) / np.cumsum(sizes)
    return [
        (hits / samples, "it is a fraction, and it must be in percent"),
        *((hits / batches * factor, "it was divided by the batches") for factor in (1, 100)),
        (
            100 * hits / (sizes[0] * batches),
            "the last batch was counted as a full one",
        ),
        (
            100 * float(np.mean(so_far)),
            "it is the mean of the accuracies so far",
        ),
        (
            100 * float(np.mean(rates)),
            "it is the mean of the batches' accuracies, and the last batch is shorter",
        ),
        *(
            (100 * rates[at], f"it is that of the {name} batch alone")
            for at, name in ((0, "first"), (-1, "last"))
        ),
        (100 * float(np.max(rates)), "it is the best batch's"),
        (200 * hits / samples, "each batch is counted twice"),
    ]


def explained(
    value: float | None,
    stories: Sequence[tuple[float, str]],
    within: float,
) -> str:
    """Return the story whose number *value* is, the nearest of several; or nothing: so a usual mistake is known."""
    fits = [
        (abs((value or 0.0) - number), story)
        for number, story in stories
        if close(value, number, within)
    ]
    return min(fits, key=lambda fit: fit[0])[1] if fits else ""


def shown(value: Any) -> str:
    """Return a number in four digits, and anything else as it is written in Python."""
    return f"{value:.4g}" if isinstance(value, float | int) else repr(value)
