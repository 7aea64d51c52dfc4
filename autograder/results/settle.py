"""Points that one device owes and another decided: taken over as decisions, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.errors import UserError
from autograder.model import Result
from autograder.results.overrides import Override, decide

JUDGED = ("passed", "partial", "failed")


def taken(ours: Result, theirs: Result, *, by: str, at: str) -> Iterator[Override]:
    """Yield a decision for each check that is owed here and was judged there.

    What a person reads stays owed. The same files have to be judged, for the same points.
    """
    name = ours.submission
    if ours.submission_sha256 != theirs.submission_sha256:
        raise UserError(f"{name}: other files were graded there; grade the same files in both")
    for owed in ours.owed:
        check = theirs.checks.get(owed.check)
        if check is None or check.basis == "person" or check.outcome not in JUDGED:
            continue
        if check.max_points != owed.points:
            points = f"{owed.points:g} points here and {check.max_points:g} there"
            raise UserError(f"{name}: {owed.check} has {points}; grade both with the same points")
        why = f"judged on {theirs.device.name}: {check.measured or check.outcome}"
        yield decide(ours, owed.check, check.points, why, by=by, at=at)
