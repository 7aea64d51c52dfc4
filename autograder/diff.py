"""What differs between two results: the circumstances, then check by check. Pure; it reads records only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.model import CheckResult, Result

CIRCUMSTANCES = ("lab_version", "submission_sha256", "seed", "isolation")


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same, before and after."""

    what: str
    old: str
    new: str
    moves_points: bool = False

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.what}: {self.old} -> {self.new}"


def circumstances(old: Result, new: Result) -> list[Difference]:
    """How the two gradings differed before any check was judged."""
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in CIRCUMSTANCES]
    pairs += [("device", old.device.name, new.device.name)]
    names = sorted({*old.device.versions, *new.device.versions})
    pairs += [(name, old.device.versions.get(name, "none"), new.device.versions.get(name, "none")) for name in names]
    return [Difference(name, str(before), str(after)) for name, before, after in pairs if before != after]


def outcomes(old: Result, new: Result) -> list[Difference]:
    """How the checks differ: outcome and points, else what was measured; only checks that the old result judged."""
    after = dict(_checks(new))
    return [found for id_, check in _checks(old) for found in _compare(id_, check, after.get(id_))]


def _checks(result: Result) -> Iterator[tuple[str, CheckResult]]:
    for part in result.parts:
        for check in part.checks:
            yield f"{part.id}.{check.id}", check


def _compare(what: str, old: CheckResult, new: CheckResult | None) -> list[Difference]:
    if new is None:
        return [Difference(what, old.outcome, "no such check now", moves_points=old.points != 0)]
    before, after = _standing(old), _standing(new)
    if before != after:
        return [Difference(what, before, after, moves_points=old.points != new.points)]
    said, says = (f"{check.measured} {check.reason}".strip() for check in (old, new))
    return [Difference(what, said, says)] if said != says else []


def _standing(check: CheckResult) -> str:
    return f"{check.outcome} {check.points:g}/{check.max_points:g}"
