"""What differs between two results, the circumstances, then check by check; and who moved between two gradings.

Pure; it reads records only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.model import CheckResult, Result
from autograder.results.overrides import by_hand

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


@dataclass(frozen=True)
class Move:
    """One submission that does not stand as it stood; a score is None where there was or is no result."""

    submission: str
    old: float | None
    new: float | None
    why: tuple[Difference, ...] = ()
    because: tuple[Difference, ...] = ()
    """What is behind it: another bar, or something else that was found."""

    def __str__(self) -> str:
        """Say it in a line, and under it why."""
        old, new = (
            f"{score:g}" if score is not None else "no result" for score in (self.old, self.new)
        )
        return "\n".join(
            [
                f"{self.submission}: {old} -> {new}",
                *(f"  {one}" for one in (*self.why, *self.because)),
            ]
        )


def moved(old: Mapping[str, Result], new: Mapping[str, Result]) -> list[Move]:
    """Name who moved, by submission: whose points, or outcome of any check, is another."""
    found = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            old_score, new_score = (one.score if one else None for one in (before, after))
            found.append(Move(name, old_score, new_score))
        elif why := list(_moves(before, after)):
            # Inputs are drawn afresh in every grading: that alone is no reason.
            other = [one for one in circumstances(before, after) if one.what != "seed"]
            found.append(
                Move(
                    name, before.score, after.score, (*why, *other), tuple(_reasons(before, after))
                )
            )
    return found


def in_all(moves: Sequence[Move], of: int) -> str:
    """Sum moves up, among so many submissions: whose score is another, and how many have it for other checks."""
    moved, alike = scored(moves), len(moves) - len(scored(moves))
    points = sum(one.new - one.old for one in moves if one.old is not None and one.new is not None)
    same = f"; {alike} with the same score, of other checks or points" if alike else ""
    return f"{len(moved)} of {of} that were graded before have another score, {points:+g} points in all{same}"


def scored(moves: Sequence[Move]) -> list[Move]:
    """Choose those whose score is another."""
    return [one for one in moves if one.old != one.new]


def _moves(old: Result, new: Result) -> Iterator[Difference]:
    before, after = old.checks, new.checks
    for id_ in dict.fromkeys([*before, *after]):
        pair = before.get(id_), after.get(id_)
        said = [_standing(check) if check else "no such check" for check in pair]
        if said[0] != said[1]:
            points = [check.points if check else 0 for check in pair]
            yield Difference(id_, said[0], said[1], moves_points=points[0] != points[1])


def _reasons(old: Result, new: Result) -> Iterator[Difference]:
    """Say what is behind another outcome: another bar, else what was found; points alone explain themselves."""
    for id_, check in old.checks.items():
        now = new.checks.get(id_)
        if now is None or now.outcome == check.outcome:
            continue
        bars = check.evidence.get("bar"), now.evidence.get("bar")
        if None not in bars and bars[0] != bars[1]:
            yield Difference(f"the bar of {id_}", f"{bars[0]:g}", f"{bars[1]:g}")
        elif (said := _found(check)) != (says := _found(now)):
            yield Difference(f"found by {id_}", said, says)


def circumstances(old: Result, new: Result) -> list[Difference]:
    """How the two gradings differed before any check was judged."""
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in CIRCUMSTANCES]
    pairs += [("device", old.device.name, new.device.name)]
    names = sorted({*old.device.versions, *new.device.versions})
    pairs += [
        (name, old.device.versions.get(name, "none"), new.device.versions.get(name, "none"))
        for name in names
    ]
    return [
        Difference(name, str(before), str(after))
        for name, before, after in pairs
        if before != after
    ]


def outcomes(old: Result, new: Result) -> list[Difference]:
    """How the checks differ: outcome and points, else what was measured; only checks that the old result judged."""
    after = new.checks
    return [
        found for id_, check in old.checks.items() for found in _compare(id_, check, after.get(id_))
    ]


def _compare(what: str, old: CheckResult, new: CheckResult | None) -> list[Difference]:
    if new is None:
        return [Difference(what, old.outcome, "no such check now", moves_points=old.points != 0)]
    before, after = _standing(old), _standing(new)
    if before != after:
        return [Difference(what, before, after, moves_points=old.points != new.points)]
    said, says = _found(old), _found(new)
    return [Difference(what, said, says)] if said != says else []


def _found(check: CheckResult) -> str:
    return f"{check.measured} {check.reason}".strip()


def _standing(check: CheckResult) -> str:
    hand = by_hand(check)
    return f"{check.outcome} {check.points:g}/{check.max_points:g}" + (
        f", set by hand: {hand}" if hand else ""
    )
