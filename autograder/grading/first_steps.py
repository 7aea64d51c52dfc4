"""What to try where a check points to another one: that one where it failed too, else the step behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.model import CheckResult, Outcome

FIRST = re.compile(r"fix (?P<other>\w+) first if it fails[;,] (?:then |else )?(?P<step>.+)")
LOST: frozenset[Outcome] = frozenset({"failed", "partial"})


def settled(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Say what to try by how the other check ended; where nobody knows yet, both stay."""
    ended = {result.id: result.outcome for result in results}
    return [replace(result, try_=_step(result.try_, ended)) for result in results]


def _step(try_: str, ended: dict[str, Outcome]) -> str:
    pointer = FIRST.fullmatch(try_)
    outcome = ended.get(pointer["other"]) if pointer else None
    if pointer and outcome in LOST:
        return f"fix {pointer['other']} first"
    return _step(pointer["step"], ended) if pointer and outcome == "passed" else try_
