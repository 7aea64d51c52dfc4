"""What a lab's tolerances and bars rest on, measured on this machine.

A tolerance is a line between honest work and mistakes. A is the furthest that honest work came, C the nearest that work
came which must fail; both as shares of what is allowed now. C / A >= 4 is demanded, and sqrt(A * C) is where the line
belongs. A bar lies between the baseline and the reference, with 15 % to spare on both sides.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from autograder.config import LOWEST_BAR
from autograder.course import Course
from autograder.course.proof import load_cases
from autograder.course.reach import Remembered
from autograder.grading.kit import Kit, Session
from autograder.grading.part import PartGrader
from autograder.handed_in import submission
from autograder.lab import Part
from autograder.model import Compared, Device, Submission

DEMANDED = 4.0  # C / A
SPARE = 1.15
HONEST = ("right", "unusual")


class Share(NamedTuple):
    """How far one submission came, as a share of what a check allows: 1 is the line."""

    entry: str
    honest: bool
    share: float


NOBODY = Share("nobody", False, math.inf)


@dataclass(frozen=True)
class Line:
    """One tolerance, and who stood on which side of it."""

    check: str
    shares: tuple[Share, ...]

    @property
    def honest(self) -> float:
        """A: the furthest that honest work came."""
        return max((one.share for one in self.shares if one.honest), default=0.0)

    @property
    def wrong(self) -> float:
        """C: the nearest that work came which must fail."""
        return min((one.share for one in self.shares if not one.honest), default=math.inf)

    @property
    def apart(self) -> float:
        """C / A."""
        return self.wrong / self.honest if self.honest else math.inf

    @property
    def move(self) -> float:
        """What the tolerance would be multiplied by to lie in the middle of both."""
        return math.sqrt(self.honest * self.wrong)

    @property
    def holds(self) -> bool:
        """Whether the two are far enough apart."""
        return self.apart >= DEMANDED


@dataclass(frozen=True)
class Speed:
    """How fast the reference was here, and what bar that allows."""

    check: str
    measured: str
    noise: float | None
    """sd of the log-ratio of a pair."""
    low: float
    """The lower end of the interval: what is proved."""

    @property
    def allowed(self) -> tuple[float, float] | None:
        """The lowest and the highest bar, or None where the reference is not fast enough for one."""
        highest = self.low / SPARE
        return (SPARE, highest) if highest >= SPARE else None

    @property
    def proposal(self) -> float | None:
        """Half of the way from the baseline to the reference, in steps of 0.05."""
        if self.allowed is None:
            return None
        lowest, highest = self.allowed
        return min(max(round(math.sqrt(self.low) * 20) / 20, lowest), math.floor(highest * 20) / 20)


class Entry(NamedTuple):
    """One submission, and the checks that it must fail."""

    name: str
    honest: bool
    fails: Collection[str]
    submission: Submission


def lines(course: Course, lab: str, session: Session, seed: int) -> list[Line]:
    """Run the reference and the corpus untimed; return the tolerances that their results tell about.

    A check that is still owed then found the numbers right: who is to fail it is only slow, and stands on neither side.
    """
    kit = course.kit(lab)
    untimed = replace(session, clock=None, run=Remembered(session.run, {lab: kit.lab}))
    found: dict[str, list[Share]] = defaultdict(list)
    for part in kit.lab.parts:
        for entry in _entries(course, kit, part):
            for check in PartGrader(part, entry.submission, kit, untimed, seed).result().checks:
                shares = check.evidence.get("shares")
                if shares and (entry.honest or (check.id in entry.fails and not check.owed)):
                    found[f"{part.id}.{check.id}"].append(
                        Share(entry.name, entry.honest, max(shares.values()))
                    )
    return [Line(check, tuple(shares)) for check, shares in found.items()]


def _entries(course: Course, kit: Kit, part: Part) -> Iterator[Entry]:
    yield Entry("reference", True, (), _reference(course, kit))
    for case in load_cases(course, kit.lab):
        if case.part == part.id:
            yield Entry(case.id, case.kind in HONEST, case.fails, case.submission)


def _reference(course: Course, kit: Kit) -> Submission:
    return submission.load(course.reference(kit.lab.name), kit.lab.files)


def speeds(course: Course, lab: str, session: Session) -> Iterator[Speed]:
    """Time the reference against the baseline for each check that has a bar and can be timed here."""
    assert session.clock is not None
    kit = course.kit(lab)
    for part in kit.lab.parts:
        grader = PartGrader(part, _reference(course, kit), kit, session, seed=0)
        for check in part.checks.values():
            probe = next((part.probes[name] for name in check.reads if name in part.probes), None)
            if (
                "bar" in check.reads
                and probe is not None
                and probe.timed
                and probe.within is not None
            ):
                jobs = (grader.job(probe, "student"), grader.job(probe, "baseline"))
                yield _speed(f"{part.id}.{check.name}", session.clock(probe, *jobs, LOWEST_BAR))


def _speed(check: str, found: Compared) -> Speed:
    if found.ended != "ok" or not found.evidence:
        return Speed(check, found.error or found.undecided, None, 0.0)
    return Speed(check, found.measured, found.evidence["noise"], found.evidence["interval"][0])


def page(
    lab: str, device: Device, day: date, found: Sequence[Line], fast: Sequence[Speed], picture: str
) -> str:
    """Write what was measured as a page of docs/measurements."""
    versions = ", ".join(f"{name} {version}" for name, version in device.versions.items())
    rows = [
        f"| {line.check} | {line.honest:.3g} | {_furthest(line)} | {_cell(line.wrong, '.3g')} | {_nearest(line)} "
        f"| {_cell(line.apart, '.1f')} | {'yes' if line.holds else 'NO'} | {_cell(line.move or math.inf, '.2g')} |"
        for line in found
    ]
    bars = [
        f"| {speed.check} | {speed.measured} | {'' if speed.noise is None else f'{speed.noise:.1%}'} "
        f"| {_range(speed)} | {'none' if speed.proposal is None else f'{speed.proposal:.2f}'} |"
        for speed in fast
    ]
    return f"""# Calibration of {lab}

Written by `perflab calibrate {lab}` on {day.isoformat()}, {device.name} (tier `{device.tier}`), {versions}.

## Tolerances

Deviations as shares of what is allowed now: 1 is the line. A is the furthest that honest work came (reference, right
and unusual entries of the corpus), C the nearest that work came which must fail. C / A of at least {DEMANDED:.0f} is
demanded. Multiplying the tolerance by the last column would put the line in the middle of both; where honest work does
not deviate at all, or nobody is to fail, there is no middle.

| check | A | by | C | by | C / A | holds | middle |
|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}

![Honest work and mistakes, and the line between them]({picture})

## Bars

The reference against the baseline. A bar may lie where both have 15 % to spare; the proposal is half of the way.

| check | speedup | noise of a pair | bars allowed | proposal |
|---|---|---|---|---|
{chr(10).join(bars)}
"""


def _cell(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _furthest(line: Line) -> str:
    return max(
        (one for one in line.shares if one.honest), key=lambda one: one.share, default=NOBODY
    ).entry


def _nearest(line: Line) -> str:
    return min(
        (one for one in line.shares if not one.honest), key=lambda one: one.share, default=NOBODY
    ).entry


def _range(speed: Speed) -> str:
    return "none" if speed.allowed is None else "{:.2f} to {:.2f}".format(*speed.allowed)


def draw(found: Sequence[Line], target: Path) -> None:
    """Draw who stood where, one row a check, honest work and mistakes on either side of the line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 0.45 * len(found)), layout="constrained")
    axis = figure.subplots()
    for row, line in enumerate(reversed(found)):
        for honest, colour, lift in ((True, "#2d7d5a", 0.1), (False, "#b5452f", -0.1)):
            shares = [
                max(one.share, 1e-4)
                for one in line.shares
                if one.honest is honest and one.share < math.inf
            ]
            axis.plot(
                shares, [row + lift] * len(shares), "o", color=colour, alpha=0.6, markersize=5
            )
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_xscale("log")
    axis.set_xlabel("deviation, as a share of what is allowed")
    axis.set_yticks(range(len(found)), [line.check for line in reversed(found)], fontsize=8)
    axis.set_ylim(-0.6, len(found) - 0.4)
    axis.set_title("honest work (green) and work that must fail (red)", fontsize=10)
    figure.savefig(target, dpi=110)
