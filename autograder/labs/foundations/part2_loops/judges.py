"""What usually is wrong with the four functions of part 2, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from autograder.checks.hints import Causes

FIRST = "compare with given.loops on a few rows"
DIGITS = (
    "float64 must stay float64, but some step is in float32, such as a sum, a bound or a divisor"
)
KEEPS_FLOAT64 = "values if values.is_floating_point() else values.float()"

HOLES, NAN, NONE = (
    "NaN and infinity where the mask is False",
    "NaN where the mask is True",
    "a row without any True",
)
MIRRORED = "half of the centers are also points"
FAR, APART = "far from zero", "30 points far from zero, and far from all centers"

EMPTY = (
    "a row without any True must give NaN",
    "divide by the count as it is, without clamp: 0 / 0 is NaN",
)

MEANS: Causes = {
    "NaN": (
        "every mean from the first NaN on must be NaN, and no mean before it",
        "leave NaN as it is: clamp and cumsum carry it on",
    ),
    "infinity": (
        "infinity must be clipped as any other number; infinity * 0, for example, is NaN",
        "values.clamp(low, high), without products of masks",
    ),
    "float64": (DIGITS, f"({KEEPS_FLOAT64}).clamp(low, high), without a tensor of low or high"),
    "whole": (
        "whole numbers must become float32 before they are clipped: low and high may be fractions",
        "values.float().clamp(low, high)",
    ),
    "": (
        "the mean at i must be the sum of the clipped values 0 ... i, divided by i + 1",
        "values.clamp(low, high).cumsum(0) / torch.arange(1, n + 1)",
    ),
}


def clips_the_mean(values: Any, low: float, high: float) -> Any:
    """Return what comes of clipping the running mean in the place of the values."""
    floats = values if values.is_floating_point() else values.float()
    return (floats.cumsum(0) / values.new_ones(values.shape).cumsum(0)).clamp(low, high)


MASKED: Causes = {
    HOLES: (
        "values whose mask is False change your mean: usually by values * mask, as 0 * NaN is NaN",
        "masked_fill(~mask, 0) before the sum, not values * mask",
    ),
    NAN: (
        "a NaN whose mask is True must make the mean of its row NaN, and change no other row",
        "sum after masked_fill(~mask, 0) in all rows, without nansum, nanmean or nan_to_num",
    ),
    "all True in": (
        "random masks are right: usually your code takes a mask for True after a look at a part",
        "use the mask in each row, whatever is in other rows",
    ),
    NONE: EMPTY,
    "columns is 0": EMPTY,
    "float64": (DIGITS, KEEPS_FLOAT64),
    "": (
        "the sum of the values whose mask is True must be divided by the number of these values",
        "values.masked_fill(~mask, 0).sum(1) / mask.sum(1)",
    ),
}


def means_all(values: Any, mask: Any) -> Any:
    """Return what comes of a mask that is not used."""
    return (values if values.is_floating_point() else values.float()).mean(1)


UNMASKED: Mapping[str | tuple[str, str], Callable[..., Any]] = {
    ("your number is the mean of the whole row: the mask is not used", MASKED[""][1]): means_all
}

DISTANCES: Causes = {
    "whole": ("whole numbers must become float32 first", "convert them before you subtract"),
    MIRRORED: (
        "other points are right: usually your code copies entry (j, i) to (i, j)",
        "compute each entry by itself: points to centers have no symmetry",
    ),
    "": (
        "entry (i, j) must be the root of a sum, not the sum: of the squares of points[i] - centers[j]",
        "points[:, None, :] - centers[None, :, :] for all pairs, then the root of the sum of squares",
    ),
}

FAR_OFF: Causes = {
    "float64": (
        "float64 must stay float64: usually some step is in float32",
        "keep float64 from the first step to the last, and add no eps",
    ),
    APART: (
        (
            "usually large numbers cancel in |a|^2 + |b|^2 - 2ab, which torch.cdist computes above "
            "25 rows by default"
        ),
        'subtract first, or torch.cdist(..., compute_mode="donot_use_mm_for_euclid_dist")',
    ),
    "": (
        "centers far from their points are right: usually an eps is added under the root",
        "add no eps, and subtract before you square",
    ),
}


def with_an_eps(points: Any, centers: Any) -> Any:
    """Return what comes of an eps in each difference."""
    return import_module("given").loops.pairwise_distances(points + 1e-6, centers)


ADDED: Mapping[str | tuple[str, str], Callable[..., Any]] = {
    (
        "an eps is added to each difference, as F.pairwise_distance does by default",
        "add no eps",
    ): with_an_eps
}

HITS: Causes = {
    "negative": (
        "a negative label must be no hit: as an index it is the last class, and clamped it is 0",
        "compare labels with the classes that topk returns, and use no label as an index",
    ),
    "k is more": (
        "with fewer than k classes, each label that is not negative must be a hit",
        "logits.topk(min(k, logits.shape[1]))",
    ),
    "900 rows": (
        "cases with few rows are right: usually your code counts in the first rows only",
        "count in all rows, however many there are",
    ),
    "half": (
        "hits are counted in some rows only",
        "count in all rows, and draw no conclusion from a part",
    ),
    "": (
        "a row must count if its label is among its k largest logits, and only then",
        "topk, compare with labels[:, None], and sum",
    ),
}
