"""Judges a speedup that a trusted clock measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.clock.rule import MARGIN
from autograder.model import (
    Bar,
    Failed,
    Inconclusive,
    Partial,
    Passed,
    Timed,
    Unavailable,
    Verdict,
)


def at_least(
    timed: Timed,
    bar: Bar,
    *,
    why: str,
    try_: str,
    same: Verdict | None = None,
    slower: str = "",
) -> Verdict:
    """Pass what is proved to reach the bar and pay what is proved of the way; undecided is nobody's loss.

    *same* is the verdict on what the timed work computes; one that fails is the answer. *slower* is the why of what is
    proved to be slower than the baseline.
    """
    if isinstance(same, Failed):
        return same
    noted: Mapping[str, Any] = same.evidence if isinstance(same, Passed) else {}
    comparison = timed.compared
    if comparison is None:
        return Unavailable(
            timed.unavailable or "no trusted clock compared the two sides",
            noted,
        )
    evidence = {**noted, **comparison.evidence, "bar": bar.value}
    if comparison.decision == "INCONCLUSIVE":
        return Inconclusive(
            comparison.measured, comparison.undecided, evidence, comparison.postponed
        )
    measured = f"{comparison.measured}; the bar is {bar}"
    if slower and evidence.get("interval", [0, 1])[1] < 1:
        why = slower
    if comparison.decision == "PASS":
        below = evidence.get("interval", [bar.value])[0] < bar.value
        enough = (
            f", and {MARGIN * bar.value:.2f}x ({100 * MARGIN:.0f} % of it) is enough"
            if below
            else ""
        )
        return Passed(f"{measured}{enough}", evidence)
    if comparison.credit > 0:
        return Partial(comparison.credit, measured, why, try_, evidence)
    return Failed(measured, why, try_, evidence)
