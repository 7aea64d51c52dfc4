"""What usually is wrong with the four functions of part 2, and what to try."""

from __future__ import annotations

from autograder.checks.hints import Causes

FIRST = "compare with given.loops on a few rows"
DIGITS = "some step is computed in float32: a sum, a bound or a divisor; only whole numbers become float32"
KEEPS_FLOAT64 = "values if values.is_floating_point() else values.float()"

HOLES, NAN, NONE = (
    "NaN and infinity where the mask is False",
    "NaN where the mask is True",
    "a row without any True",
)
MIRRORED = "half of the centers are also points"

EMPTY = (
    "a row without any True has no mean: NaN",
    "divide by the count as it is, without clamp: 0 / 0 is NaN",
)

MEANS: Causes = {
    "NaN": (
        "from the first NaN on, every mean is NaN, and before it none",
        "leave NaN as it is: clamp and cumsum carry it on",
    ),
    "infinity": (
        "infinity is clipped as any other number; infinity * 0 is NaN",
        "clamp, without products of masks",
    ),
    "float64": (DIGITS, KEEPS_FLOAT64),
    "whole": (
        "whole numbers must become float32 before they are clipped: low and high may be fractions",
        "values.float().clamp(low, high)",
    ),
    "": (
        "each value is clipped, to low ... high as they are; their running sum divided by i + 1 is the mean",
        "clamp, cumsum, and divide by 1 ... n",
    ),
}

MASKED: Causes = {
    HOLES: (
        "what is masked out has an influence: 0 * NaN is NaN, and 0 * infinity as well",
        "masked_fill(~mask, 0) before the sum, not values * mask",
    ),
    NAN: (
        "a NaN that counts makes the mean of its row NaN",
        "take nothing for NaN but what is masked out: no nansum, nanmean or nan_to_num",
    ),
    NONE: EMPTY,
    "columns is 0": EMPTY,
    "float64": (DIGITS, KEEPS_FLOAT64),
    "": (
        "the values whose mask is True are added up, and divided by their number, not by the number of columns",
        "masked_fill(~mask, 0), sum, and divide by mask.sum",
    ),
}

FAR_OFF: Causes = {
    "float64": (
        f"{DIGITS}; or an eps is added, as F.pairwise_distance does",
        "keep float64 from the first step to the last, and add no eps",
    ),
    "": (
        (
            "|a|^2 + |b|^2 - 2ab takes two large numbers off each other, as torch.cdist does above 25 rows "
            "by default; or an eps is added under the root"
        ),
        'subtract first, or torch.cdist(..., compute_mode="donot_use_mm_for_euclid_dist"); add no eps',
    ),
}

HITS: Causes = {
    "negative": (
        "a negative label is no hit: clamped it would be class 0, and as an index the last class",
        "compare labels with the classes that topk returns, and use no label as an index",
    ),
    "k is more": (
        "there are fewer than k classes, so each label that is not negative is a hit",
        "min(k, logits.shape[1])",
    ),
    "half": (
        "hits are counted in some rows only",
        "count in all rows, and draw no conclusion from a part",
    ),
    "": (
        "a row counts when its label is among its k largest logits",
        "topk, compare with labels[:, None], and sum",
    ),
}
