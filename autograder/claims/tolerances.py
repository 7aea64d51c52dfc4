"""How far a result may be from the slow version's: by its dtype, unless a claim says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired

from autograder.claims.claimed import Words

WITHIN = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12, "float": 1e-9}
"""Of a row's largest number: a few roundings of the dtype; whole numbers, booleans and words are compared exactly."""


class Within(dict[str, float]):
    """How far results may be, by their dtype; exactly equal where it has no rounding."""

    def __missing__(self, dtype: str) -> float:
        """Whole numbers, booleans and what is no tensor."""
        return 0.0


class Near(Words):
    """What claims about numbers are told as well."""

    within: NotRequired[float | Mapping[str, float]]
    """Of a row's largest number; by dtype."""


def allowed(words: Near) -> Within:
    """Return how far numbers may be, by their dtype."""
    within = words.get("within", WITHIN)
    own = {"float32": within, "float": within} if isinstance(within, float) else within
    return Within({**WITHIN, **own})
