"""Points that one device owes and another decided: taken over as decisions, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.errors import UserError
from autograder.model import Result
from autograder.results.overrides import Override, decide

JUDGED = ("passed", "partial", "failed", "skipped")


def taken(ours: Result, theirs: Result, *, by: str, at: str) -> Iterator[Override]:
    """Yield a decision for each check that is owed here and was judged there.

    What a person reads stays owed, unless there is nothing to read. The same files have to be judged, for the same
    points.
    """
    name = ours.submission
    if ours.submission_sha256 != theirs.submission_sha256:
        raise UserError(f"{name}: other files were graded there; grade the same files in both")
    for owed in ours.owed:
        check = theirs.checks.get(owed.check)
        if check is None or check.outcome not in JUDGED:
            continue
        if check.basis == "person" and check.outcome != "failed":
            continue
        if check.max_points != owed.points:
            points = f"{owed.points:g} points here and {check.max_points:g} there"
            raise UserError(f"{name}: {owed.check} has {points}; grade both with the same points")
        found = check.measured or check.reason or check.outcome
        why = f"; {check.why}" if check.why else ""
        reason = f"judged on {theirs.device.name}: {found}{why}"
        yield decide(ours, owed.check, check.points, reason, by=by, at=at)
