"""What differs between two results, the circumstances, then check by check; and who moved between two gradings.

Pure; it reads records only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.grading.scoring import worth
from autograder.model import CheckResult, Result
from autograder.results.overrides import by_hand, set_when_worth
from autograder.traces.words import many

CHECK = re.compile(r"\w+\.\w+")  # what a difference is of: no version, hash or seed is called so
MAXIMUM = "points in all"
MOST_LINES = 6  # of one move, while others are told, too
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

    def shortly(self, folder: str) -> str:
        """Say it, and only the first lines of why: a file that could be read at last moves all of its checks.

        *folder* has the results of now; those of before can be compared only where somebody kept a copy.
        """
        first, *lines = str(self).splitlines()
        checks = sum(bool(CHECK.fullmatch(each.what)) for each in self.why[MOST_LINES:])
        more = f"{many(checks, 'more check')}" if checks else "more about these"
        copy = f"copy {folder} to {folder}.before before you grade"
        all_lines = (
            f"to see all lines next time, {copy}, then: perflab diff {folder}.before {folder}"
        )
        cut = [f"  and {more}; {all_lines}"] if len(lines) > MOST_LINES else []
        return "\n".join([first, *lines[:MOST_LINES], *cut])

    def __str__(self) -> str:
        """Say it in a line, and under it why."""
        lines = [f"{self.submission}: {_score(self.old)} -> {_score(self.new)}"]
        lines += [f"  {difference}" for difference in (*self.why, *self.because)]
        return "\n".join(lines)


def _score(score: float | None) -> str:
    return "no result" if score is None else f"{score:g}"


def moved(old: Mapping[str, Result], new: Mapping[str, Result]) -> list[Move]:
    """Name who moved, by submission: whose points, or outcome of any check, is another."""
    moves = (_move(name, old.get(name), new.get(name)) for name in sorted({*old, *new}))
    return [move for move in moves if move is not None]


def _move(name: str, before: Result | None, after: Result | None) -> Move | None:
    if before is None or after is None:
        return Move(name, before.score if before else None, after.score if after else None)
    differences = list(_moves(before, after))
    if before.max_score != after.max_score:
        was, now = f"{before.max_score:g}", f"{after.max_score:g}"
        differences.insert(0, Difference(MAXIMUM, was, now, moves_points=True))
    if not differences:
        return None
    # Inputs are drawn afresh in every grading: that alone is no reason.
    others = [each for each in circumstances(before, after) if each.what != "seed"]
    reasons = tuple(_reasons(before, after))
    return Move(name, before.score, after.score, (*differences, *others), reasons)


def in_all(moves: Sequence[Move], of: int) -> str:
    """Sum moves up, among so many that had a result: whose score is another, and who had or has none."""
    gains = [move.new - move.old for move in moves if move.old is not None and move.new is not None]
    others = sum(gain != 0 for gain in gains)
    has = "has" if others <= 1 else "have"
    line = f"{others or 'none'} of the {of} that were graded before {has} another score"
    if others:
        line += f", {sum(gains):+g} points in all"
    counts = {
        "with another number of points in all": sum(
            difference.what == MAXIMUM for move in moves for difference in move.why
        ),
        "with the same score, of other checks or points": len(gains) - others,
        "without a result before": sum(move.old is None for move in moves),
        "without a result now": sum(move.new is None for move in moves),
    }
    return "; ".join([line, *(f"{many} {said}" for said, many in counts.items() if many)])


def scored(moves: Sequence[Move]) -> list[Move]:
    """Choose those whose score is another."""
    return [move for move in moves if move.old != move.new]


def _moves(old: Result, new: Result) -> Iterator[Difference]:
    for name in dict.fromkeys([*old.checks, *new.checks]):
        before = old.checks.get(name)
        after = new.checks.get(name)
        stood = _standing(before) if before else "no such check"
        stands = _standing(after) if after else "no such check"
        if before and after:
            stands += _set_for_other_points(after)
        if stood != stands:
            points = before.points if before else 0
            moves = points != (after.points if after else 0)
            yield Difference(name, stood, stands, moves_points=moves)


def _reasons(old: Result, new: Result) -> Iterator[Difference]:
    """Return what is behind another outcome: another bar, else what was measured; points alone explain themselves."""
    for name, before in old.checks.items():
        after = new.checks.get(name)
        if after is None or after.outcome == before.outcome:
            continue
        old_bar = before.evidence.get("bar")
        new_bar = after.evidence.get("bar")
        if old_bar is not None and new_bar is not None and old_bar != new_bar:
            yield Difference(f"the bar of {name}", f"{old_bar:g}", f"{new_bar:g}")
        elif _measured(before) != _measured(after):
            yield Difference(f"found by {name}", _measured(before), _measured(after))


def circumstances(old: Result, new: Result) -> list[Difference]:
    """How the two gradings differed before any check was judged."""
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in CIRCUMSTANCES]
    pairs.append(("device", old.device.name, new.device.name))
    before = old.device.versions
    after = new.device.versions
    names = sorted({*before, *after})
    pairs += [(name, before.get(name, "none"), after.get(name, "none")) for name in names]
    return [Difference(name, str(was), str(now)) for name, was, now in pairs if was != now]


def outcomes(old: Result, new: Result) -> list[Difference]:
    """How the checks differ: outcome and points, else what was measured; only checks that the old result judged."""
    differences = []
    for name, check in old.checks.items():
        differences += _compare(name, check, new.checks.get(name))
    return differences


def _compare(name: str, old: CheckResult, new: CheckResult | None) -> list[Difference]:
    if new is None:
        return [Difference(name, old.outcome, "no such check now", moves_points=old.points != 0)]
    if _standing(old) != _standing(new):
        moves = old.points != new.points
        return [Difference(name, _standing(old), _standing(new), moves_points=moves)]
    if _measured(old) != _measured(new):
        return [Difference(name, _measured(old), _measured(new))]
    return []


def _set_for_other_points(check: CheckResult) -> str:
    then = set_when_worth(check)
    return f"; it was set when the check had {worth(then)}: look at it again" if then else ""


def _measured(check: CheckResult) -> str:
    return f"{check.measured} {check.reason}".strip()


def _standing(check: CheckResult) -> str:
    standing = f"{check.outcome} {check.points:g}/{check.max_points:g}"
    reason = by_hand(check)
    if reason:
        standing += f", set by hand: {reason}"
    return standing
