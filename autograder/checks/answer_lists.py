"""Judges lists of answers, one for each case that was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograder.model import Failed, Passed, Verdict, verdict

Problem = Callable[[Any, Any], tuple[str, str]]
"""Takes an answer and what is right; says what was measured, and what is wrong with it or nothing."""


def each(
    reported: Sequence[Any],
    expected: Sequence[Any],
    problem: Problem,
    try_: str,
    passed: str,
) -> Verdict:
    """Pass when there is an answer to each case, and no problem with any."""
    for answer, right in zip(reported, expected, strict=False):
        judged = verdict(*problem(answer, right), try_)
        if isinstance(judged, Failed):
            return judged
    if len(reported) != len(expected):
        return Failed(
            f"{len(reported)} answers",
            f"{len(expected)} were asked",
            try_,
        )
    return Passed(passed)
