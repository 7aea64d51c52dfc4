"""Judges draws by how often each value comes, and a batch by the same work in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.numerics import Array
from autograder.checks.result_form import misfit
from autograder.model import Failed, Pair

NAMES = ("flip", "top", "left", "gain")
PAD = 4  # where nobody says another
SAMPLES, SIGMAS = 4000, 6
FOR_EACH = "torch.rand(batch, generator=generator), torch.randint(..., (batch,), ...)"
OFFSETS = "torch.randint(2 * pad + 1, (batch,), generator=generator)"
EVENLY = {
    "flip": "torch.rand(batch, generator=generator) < 0.5",
    "gain": "0.8 + 0.4 * torch.rand(batch, generator=generator)",
}
SEEDS = ("a seed", "the same seed", "another seed", "another seed, second call")


def drawn(draws: Pair, try_: str) -> dict[str, Array] | Failed:
    """Return what was drawn by name and seed, or why it has another form than the slow version's."""
    values = dict[str, Array]()
    for case, asked, own, _ in outputs.paired(draws):
        why = "there must be one number for each sample"
        if problem := misfit(case, asked, own, why, try_):
            return problem
        assert own is not None
        values[asked["case"]] = own
    return values


def draw_problem(pad: int, drawn: Array) -> tuple[str, str, str] | None:
    """Return what was measured, why it is wrong and what to try, or nothing."""
    flip, top, left, gain = drawn
    with np.errstate(all="ignore"):  # a draw may be any number
        quarter = np.floor((gain - 1) * 9.99999 + 2)  # of 0.8 ... 1.2, both ends included
    offsets = 2 * pad + 1
    ranges = (flip, 2), (top, offsets), (left, offsets), (quarter, 4)
    for name, own, (values, many) in zip(NAMES, drawn, ranges, strict=True):
        evenly = EVENLY.get(name, OFFSETS)
        counts = np.array([int((values == place).sum()) for place in range(many)])
        expected = SAMPLES / many
        allowed = SIGMAS * (expected * (1 - 1 / many)) ** 0.5
        if counts.sum() < SAMPLES:
            outside = f"{name} is out of range for {SAMPLES - counts.sum()} of {SAMPLES} samples"
            offsets_are = f"with pad={pad}, offsets must be 0 ... {2 * pad}"
            why = "gains must be 0.8 ... 1.2" if name == "gain" else offsets_are
            return outside, why, evenly
        if (own == own[0]).all():
            measured = f"{name} is the same for {SAMPLES} samples"
            return measured, "your code does not draw it for each sample", FOR_EACH
        if abs(counts - expected).max() > allowed:
            places = "quarters of 0.8 ... 1.2" if name == "gain" else f"values 0 ... {many - 1}"
            measured = f"{name}: the {places} come {', '.join(map(str, counts))} times"
            return (
                f"{measured}; {expected:.0f} +- {allowed:.0f} is right",
                _uneven(counts),
                evenly,
            )
    with np.errstate(all="ignore"):
        correlations = np.triu(np.corrcoef(drawn), 1)
    a, b = np.unravel_index(np.argmax(abs(correlations)), correlations.shape)
    if abs(correlations[a, b]) > SIGMAS / SAMPLES**0.5:
        measured = f"{NAMES[a]} and {NAMES[b]} have a correlation of {correlations[a, b]:.2f}"
        return (
            f"{measured}; 0 +- 0.09 is right",
            "the same random numbers make both",
            "draw anew for each of flip, top, left and gain, from one generator",
        )
    return None


def _uneven(counts: Array) -> str:
    """Say why values do not come equally often."""
    if counts[-1] == 0:
        return "the last value never comes: usually randint was given it as its upper end"
    return "all must be equally likely"


def augmented(
    images: Array,
    drawn: Sequence[Array],
    mean: Array,
    std: Array,
    *,
    pad: int = PAD,
    mode: Any = "constant",
    white: int = 255,
    channels: int = 1,
    late: bool = False,
    clamped: bool = False,
    mirrored_by: int = 3,
) -> Array:
    """Augment sample after sample. Arguments beside *pad* are mistakes.

    *mode* is that of np.pad, *white* the brightest pixel, -1 reads the *channels* of mean and std backwards,
    *late* pads what is standardised, and *clamped* clamps it. Columns are counted from the size of the dimension that
    an image is *mirrored_by*.
    """
    h, w = images.shape[2:]
    mean, std = (it.reshape(-1, 1, 1)[::channels] for it in (mean, std))
    around = ((0, 0), (pad, pad), (pad, pad))
    augmented = np.zeros(images.shape)
    for at, (image, flip, top, left, gain) in enumerate(zip(images, *drawn, strict=False)):
        y, x = (int(np.clip(np.nan_to_num(it), 0, 2 * pad)) for it in (top, left))
        padded = image if late else np.pad(image, around, mode)
        pixels = padded / white * gain
        standardised = ((pixels if clamped else pixels.clip(0, 1)) - mean) / std
        standardised = standardised.clip(0, 1) if clamped else standardised
        rows = (np.pad(standardised, around) if late else standardised)[:, y : y + h]
        columns = np.arange(w)
        if flip:
            columns = (images.shape[mirrored_by] - 1 - columns) % w
        augmented[at] = rows[:, :, x + columns]
    return augmented
