"""Judges draws by how often each value comes, and a batch by the same work on numpy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.checks.numerics import Array
from autograder.model import Pair

NAMES = ("flip", "top", "left", "gain")
PAD = 4  # where nobody says another
SAMPLES, SIGMAS = 4000, 6
SEEDS = ("a seed", "the same seed", "another seed")


def by_seed(draws: Pair) -> Array:
    """Return what was drawn: seeds x names x samples."""
    count = len(SEEDS) * len(NAMES) * SAMPLES
    return draws.student.arrays["numbers"][:count].reshape(len(SEEDS), len(NAMES), SAMPLES)


def form_problem(draws: Pair) -> str:
    """Say which draw has another shape or dtype than the slow version's."""
    cases, wanted = draws.student.values["cases"], draws.baseline.values["cases"]
    if len(cases) != len(wanted):
        return f"{len(cases)} draws; expected {len(wanted)}"
    for own, expected in zip(cases, wanted, strict=True):
        if own != expected:
            drawn = f"{own['case']}: {own['dtype']} {tuple(own['shape'])}"
            return f"{drawn}; expected {expected['dtype']} {tuple(expected['shape'])}"
    numbers = draws.student.arrays["numbers"].size
    most = draws.baseline.arrays["numbers"].size
    return f"{numbers} numbers; expected {most}" if numbers != most else ""


def draw_problem(pad: int, drawn: Array) -> tuple[str, str]:
    """Return what was measured and why it is wrong, or two empty texts."""
    flip, top, left, gain = drawn
    with np.errstate(all="ignore"):  # a draw may be any number
        quarter = np.floor((gain - 1) * 9.99999 + 2)  # of 0.8 ... 1.2, both ends included
    offsets = 2 * pad + 1
    for name, values, many in (
        ("flip", flip, 2),
        ("top", top, offsets),
        ("left", left, offsets),
        ("the quarter of its range that gain is in", quarter, 4),
    ):
        counts = np.array([int((values == place).sum()) for place in range(many)])
        expected = SAMPLES / many
        allowed = SIGMAS * (expected * (1 - 1 / many)) ** 0.5
        if counts.sum() < SAMPLES:
            outside = f"{name} is out of range for {SAMPLES - counts.sum()} of {SAMPLES} samples"
            return outside, f"with pad={pad}, offsets are 0 ... {2 * pad}; gains are 0.8 ... 1.2"
        if counts.max() == SAMPLES:
            return f"{name} is the same for {SAMPLES} samples", "one number was drawn for the batch"
        if abs(counts - expected).max() > allowed:
            measured = f"{name}: the values come {', '.join(map(str, counts))} times"
            return f"{measured}; expected {expected:.0f} +- {allowed:.0f}", "the draw is not even"
    with np.errstate(all="ignore"):
        correlations = np.triu(np.corrcoef(drawn), 1)
    a, b = np.unravel_index(np.argmax(abs(correlations)), correlations.shape)
    if abs(correlations[a, b]) > SIGMAS / SAMPLES**0.5:
        measured = f"{NAMES[a]} and {NAMES[b]} have a correlation of {correlations[a, b]:.2f}"
        return f"{measured}; expected 0 +- 0.09", "one draw is used for two things"
    return "", ""


MEAN, STD = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]]).reshape(2, 3, 1, 1)


def standardised(light: Array) -> Array:
    even: Array = (light - MEAN) / STD
    return even


def clamped(light: Array) -> Array:
    return standardised(light.clip(0, 1))


def augmented(
    images: Array,
    drawn: tuple[Array, ...],
    pad: int = PAD,
    finish: Callable[[Array], Array] = clamped,
) -> Array:
    """Augment sample after sample."""
    h, w = images.shape[2:]
    padded = np.pad(images, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    made = []
    for image, flip, top, left, gain in zip(padded, *drawn, strict=False):
        y, x = (int(np.clip(np.nan_to_num(it), 0, 2 * pad)) for it in (top, left))
        crop = image[:, y : y + h, x : x + w]
        made.append(finish((crop[:, :, ::-1] if flip else crop) / 255 * gain))
    return np.array(made)


def slip(
    finish: Callable[[Array], Array] = clamped, *, mirrored: bool = False
) -> Callable[..., Any]:
    """Return what makes a mistake: another *finish*, or a crop of what is *mirrored* already."""

    def wrong(images: Any, flip: Any, top: Any, left: Any, gain: Any, pad: int) -> Any:
        mine = left.where(~flip, 2 * pad - left) if mirrored else left
        drawn = tuple(it.numpy() for it in (flip, top, mine, gain))
        made = augmented(images.numpy(), drawn, pad, finish)
        return gain.new_tensor(made.reshape(images.shape))

    return wrong
