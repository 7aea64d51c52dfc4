"""Kinds of inputs that every comparison tries: sizes at their ends, layouts, dtypes, numbers large, small and alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.errors import CourseError, nearest

Array = np.ndarray[Any, Any]
Change = Callable[[Array, np.random.Generator], Array]
Sizes = Mapping[str, Any]
SAMPLED = 997
"""Each so many numbers one stays when inputs are drawn again."""


@dataclass(frozen=True)
class Case:
    """One kind of inputs."""

    name: str
    sizes: Sizes = field(default_factory=dict)
    """What is fixed of the sizes that are drawn."""
    dtype: str = "float32"
    view: str = ""
    odd: bool = False
    """Sizes that are drawn are odd."""
    change: Change | None = None
    """What becomes of each array of numbers that was drawn."""
    whole: bool = False
    """It is the arrays of whole numbers that change."""
    again: bool = False
    """Called a second time: other numbers in the same tensors, but for each so many of them."""
    gradients: Collection[str] | None = None
    """The inputs that need a gradient, if not those of the claim."""


FIELDS = ("dtype", "view", "again", "gradients")
"""What a case may fix beside sizes."""


def own_case(name: str, fixed: Sizes) -> Case:
    """Return an exercise's own case, which may fix FIELDS besides sizes."""
    sizes = dict(fixed)
    others = {field: sizes.pop(field) for field in FIELDS if field in sizes}
    return Case(name, sizes, **others)


def every(
    sizes: Sizes,
    dtypes: Collection[str],
    own: Mapping[str, Sizes],
    skip: Mapping[str, str],
    only: Collection[str] | None = None,
    *,
    arrays: bool = True,
    whole: bool = False,
) -> list[Case]:
    """List an exercise's own cases and the families: *only* some, or all but those that it skips for a reason.

    Those of *arrays*, and of *whole* numbers, are there where any are drawn.
    """
    of_dtypes = [Case(dtype, dtype=dtype) for dtype in dtypes]
    of_arrays = [*LAYOUTS, *of_dtypes, *NUMBERS, *(WHOLE if whole else []), AGAIN]
    families = [DRAWN, *_of_sizes(sizes), *(of_arrays if arrays else [])]
    names = [family.name for family in families]
    for name in (*skip, *(only or ())):
        if name not in names:
            raise CourseError(
                f"skip_families names '{name}', which is no family here{nearest(name, names)}; "
                f"families: {', '.join(names)}"
            )
    for name, reason in skip.items():
        if not reason:
            raise CourseError(
                f"skip_families names '{name}' without a reason; say why it is right to skip it"
            )
    kept = [it for it in families if it.name not in skip and (only is None or it.name in only)]
    mine = [own_case(name, fixed) for name, fixed in own.items()]
    if not arrays:  # what has a name also has words of its own for what is wrong
        return mine + kept
    return [it for it in kept if it is DRAWN] + mine + [it for it in kept if it is not DRAWN]


def _of_sizes(sizes: Sizes) -> list[Case]:
    """Take each size that is drawn at the ends that go wrong, as far as the contract goes there."""
    drawn = {name: size[0] for name, size in sizes.items() if isinstance(size, tuple)}
    ends = [(name, end) for name, lowest in drawn.items() for end in (0, 1) if lowest <= end]
    odd = [Case("odd sizes", odd=True)] if drawn else []
    return [Case(f"{name} is {end}", {name: end}) for name, end in ends] + odd


def _row(change: Callable[[Array], Array]) -> Change:
    """Change one row, or one number of an array that has no rows."""

    def changed(array: Array, random: np.random.Generator) -> Array:
        if not array.size:
            return array
        rows = array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1).copy()
        place = random.integers(len(rows))
        rows[place] = change(rows[place])
        return rows.reshape(array.shape)

    return changed


def _alike(array: Array, _: np.random.Generator) -> Array:
    return np.broadcast_to(array[:1], array.shape).copy() if array.size else array


def _lost_in_ten_bits(array: Array, _: np.random.Generator) -> Array:
    """Put 2 ** -12 behind ten bits, TF32's: who multiplies with these loses it from each number, in one direction."""
    cut: Array = np.array(array, np.float32).view(np.int32) & -(1 << 13)
    return cut.view(np.float32).astype(array.dtype) * (1 + 2.0**-12)


def _ordered(array: Array, _: np.random.Generator) -> Array:
    return np.sort(array) if array.ndim else array


def _ends(array: Array, random: np.random.Generator) -> Array:
    if not array.size:
        return array
    low = random.random(array.shape) < 0.5
    ends: Array = np.where(low, array.min(), array.max()).astype(array.dtype)
    return ends


DRAWN = Case("sizes drawn at random")
LAYOUTS = [
    Case("transposed views", view="transposed"),
    Case("every second of a row", view="sliced"),
]
NUMBERS = [
    Case("times 1000", change=lambda array, _: 1e3 * array),
    Case("times 0.001", change=lambda array, _: 1e-3 * array),
    Case("one row times 10000", change=_row(lambda row: 1e4 * row)),
    Case("heavy tails", change=lambda array, _: array**3),
    Case("equal rows", change=_alike),
    Case("a constant row", change=_row(lambda row: np.full_like(row, 0.5))),
    Case("zeros", change=lambda array, _: np.zeros_like(array)),
    Case("lost in ten bits", change=_lost_in_ten_bits),
]
WHOLE = [
    Case("whole numbers in order", change=_ordered, whole=True),
    Case("whole numbers at their ends", change=_ends, whole=True),
]
AGAIN = Case("other numbers in the same tensors", again=True)
