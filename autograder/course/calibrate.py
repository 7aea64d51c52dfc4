"""What a lab's tolerances and bars rest on, measured on this machine.

A tolerance is a line between honest work and mistakes. A is the furthest that honest work came, C
the nearest that work came which must fail; both are shares of what is allowed now. C / A >= 4 is
demanded, and sqrt(A * C) is where the line belongs. A bar lies between the baseline and the
reference, with 15 % to spare on both sides.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from autograder.config import LOWEST_BAR
from autograder.course import Course
from autograder.course.cases import load_cases
from autograder.course.reach import Remembered
from autograder.grading.kit import Kit, Session
from autograder.grading.part import PartGrader
from autograder.handed_in import submission
from autograder.lab import Check, Part, Probe
from autograder.model import CheckResult, Compared, Device, Submission
from autograder.traces import ceilings as traces
from autograder.traces.ceilings import Ceiling

Run = Callable[..., Any]
"""As subprocess.run."""
Say = Callable[[str], object]
"""Shows one line: a lab takes long."""

DEMANDED = 4.0
"""C / A at least."""
SPARE = 1.15
HONEST = ("right", "unusual")


class Share(NamedTuple):
    """How far one submission came, as a share of what a check allows: 1 is the line."""

    entry: str
    honest: bool
    share: float


NOBODY_HONEST = Share("nobody", honest=True, share=0.0)
NOBODY_WRONG = Share("nobody", honest=False, share=math.inf)


def ceilings(device: Device, day: date, run: Run = subprocess.run) -> str:
    """Measure what the device can do at most, and keep it for rooflines of profiles; say what became of it."""
    if device.kind == "cpu":
        return "no ceilings for rooflines are measured: a profile does not name a CPU"
    command = [sys.executable, "-m", "autograder.worker.measured_ceilings", device.kind]
    said = json.loads(run(command, check=True, capture_output=True, text=True).stdout)
    how = f"{day}, torch {said['torch']}"
    news = [
        Ceiling(device.name, int(size), rate, said["bandwidth"], how)
        for size, rate in said["rates"].items()
    ]
    try:
        traces.keep(news)
    except OSError as problem:
        return f"ceilings of {device.name} are not kept: {traces.TABLE}: {problem.strerror}"
    return f"wrote  {traces.TABLE}: the ceilings of {device.name}, for rooflines"


def _by_share(share: Share) -> float:
    return share.share


@dataclass(frozen=True)
class Line:
    """One tolerance, and who stood on which side of it."""

    check: str
    shares: tuple[Share, ...]

    @property
    def honest(self) -> float:
        """A: the furthest that honest work came."""
        return self.furthest.share

    @property
    def wrong(self) -> float:
        """C: the nearest that work came which must fail."""
        return self.nearest.share

    @property
    def furthest(self) -> Share:
        """The honest entry that came furthest."""
        honest = [share for share in self.shares if share.honest]
        return max(honest, key=_by_share, default=NOBODY_HONEST)

    @property
    def nearest(self) -> Share:
        """The entry that must fail and came nearest."""
        wrong = [share for share in self.shares if not share.honest]
        return min(wrong, key=_by_share, default=NOBODY_WRONG)

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
        """The lowest and the highest bar, or None where the reference is not fast enough for
        one.
        """
        highest = self.low / SPARE
        return (SPARE, highest) if highest >= SPARE else None

    @property
    def proposal(self) -> float | None:
        """The geometric middle of the baseline and the reference, in steps of 0.05."""
        if self.allowed is None:
            return None
        lowest, highest = self.allowed
        half_way = round(math.sqrt(self.low) * 20) / 20
        return min(max(half_way, lowest), math.floor(highest * 20) / 20)


class Entry(NamedTuple):
    """One submission, and the checks that it must fail."""

    name: str
    honest: bool
    fails: Collection[str]
    submission: Submission


def lines(course: Course, lab: str, session: Session, seed: int, say: Say) -> list[Line]:
    """Run the reference and the corpus untimed; return the tolerances that they rest on.

    For a check that is still owed then, the numbers are right: an entry that is to fail it is only
    slow, and stands on neither side.
    """
    kit = course.kit(lab)
    untimed = replace(session, clock=None, run=Remembered(session.run, {lab: kit.lab}))
    shares: dict[str, list[Share]] = defaultdict(list)
    for part in kit.lab.parts:
        say(f"{part.id}: the reference and the corpus are run, untimed")
        for entry in _entries(course, kit, part):
            result = PartGrader(part, entry.submission, kit, untimed, seed).result()
            for check in result.checks:
                share = _share(entry, check)
                if share is not None:
                    shares[f"{part.id}.{check.id}"].append(share)
    return [Line(check, tuple(of_check)) for check, of_check in shares.items()]


def _share(entry: Entry, check: CheckResult) -> Share | None:
    shares = check.evidence.get("shares")
    must_fail = check.id in entry.fails and not check.owed
    if shares and (entry.honest or must_fail):
        return Share(entry.name, entry.honest, max(shares.values()))
    return None


def _entries(course: Course, kit: Kit, part: Part) -> Iterator[Entry]:
    yield Entry("reference", True, (), _reference(course, kit))
    for case in load_cases(course, kit.lab):
        if case.part == part.id:
            yield Entry(case.id, case.kind in HONEST, case.fails, case.submission)


def _reference(course: Course, kit: Kit) -> Submission:
    return submission.load(course.reference(kit.lab.name), kit.lab.files)


def speeds(course: Course, lab: str, session: Session, say: Say) -> Iterator[Speed]:
    """Time the reference against the baseline for each check that has a bar and can be timed
    here.
    """
    assert session.clock is not None
    kit = course.kit(lab)
    for part in kit.lab.parts:
        grader = PartGrader(part, _reference(course, kit), kit, session, seed=0)
        for check in part.checks.values():
            probe = _timed_probe(part, check)
            if probe is not None:
                student = grader.job(probe, "student")
                baseline = grader.job(probe, "baseline")
                name = f"{part.id}.{check.name}"
                say(f"{name}: the reference is timed against the baseline")
                try:
                    compared = session.clock(probe, student, baseline, LOWEST_BAR)
                except RuntimeError as fault:  # work for a GPU takes too long without one
                    yield Speed(name, f"not timed here: {fault}", None, 0.0)
                else:
                    yield _speed(name, compared)


def _timed_probe(part: Part, check: Check) -> Probe | None:
    probes = [part.probes[name] for name in check.reads if name in part.probes]
    if "bar" in check.reads and probes and probes[0].timed and probes[0].within is not None:
        return probes[0]
    return None


def _speed(check: str, compared: Compared) -> Speed:
    evidence = compared.evidence
    if compared.ended != "ok" or "interval" not in evidence:
        return Speed(check, compared.error or compared.undecided, None, 0.0)
    return Speed(check, compared.measured, evidence["noise"], evidence["interval"][0])


def page(
    lab: str,
    device: Device,
    day: date,
    lines: Sequence[Line],
    speeds: Sequence[Speed],
    picture: str,
) -> str:
    """Write what was measured as a page of docs/measurements."""
    versions = ", ".join(f"{name} {version}" for name, version in device.versions.items())
    tolerances = "\n".join(_row(_line_cells(line)) for line in lines)
    bars = "\n".join(_row(_speed_cells(speed)) for speed in speeds)
    return f"""# Calibration of {lab}

Written by `perflab calibrate {lab}` on {day.isoformat()}, {device.name} (tier `{device.tier}`), {versions}.

## Tolerances

Deviations as shares of what is allowed now: 1 is the line. A is the furthest that honest work came (reference, right
and unusual entries of the corpus), C the nearest that work came which must fail. C / A of at least {DEMANDED:.0f} is
demanded. Multiplying the tolerance by the last column would put the line in the middle of both; where honest work does
not deviate at all, or nobody is to fail, there is no middle.

| check | A | by | C | by | C / A | holds | middle |
|---|---|---|---|---|---|---|---|
{tolerances}

![Honest work and mistakes, and the line between them]({picture})

## Bars

The reference against the baseline. Bars from 1.15 to the low end of the reference's interval divided by 1.15 are
allowed. The proposal is the geometric middle of that range, to 0.05. `none`: the reference is not fast enough here
for any bar, or was not timed.

| check | speedup | noise of a pair | bars allowed | proposal |
|---|---|---|---|---|
{bars}
"""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line_cells(line: Line) -> list[str]:
    return [
        line.check,
        f"{line.honest:.3g}",
        line.furthest.entry,
        _cell(line.wrong, ".3g"),
        line.nearest.entry,
        _cell(line.apart, ".1f"),
        "yes" if line.holds else "NO",
        _cell(line.move or math.inf, ".2g"),
    ]


def _speed_cells(speed: Speed) -> list[str]:
    return [
        speed.check,
        speed.measured,
        "" if speed.noise is None else f"{speed.noise:.1%}",
        "none" if speed.allowed is None else "{:.2f} to {:.2f}".format(*speed.allowed),
        "none" if speed.proposal is None else f"{speed.proposal:.2f}",
    ]


def _cell(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def draw(lines: Sequence[Line], target: Path) -> None:
    """Draw who stood where, one row a check, on either side of the line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 0.45 * len(lines)), layout="constrained")
    axis = figure.subplots()
    from_below = list(reversed(lines))
    for row, line in enumerate(from_below):
        _dots(axis, row + 0.1, [share for share in line.shares if share.honest], "#2d7d5a")
        _dots(axis, row - 0.1, [share for share in line.shares if not share.honest], "#b5452f")
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_xscale("log")
    axis.set_xlabel("deviation, as a share of what is allowed")
    axis.set_yticks(range(len(lines)), [line.check for line in from_below], fontsize=8)
    axis.set_ylim(-0.6, len(lines) - 0.4)
    axis.set_title("honest work (green) and work that must fail (red)", fontsize=10)
    figure.savefig(target, dpi=110)


def _dots(axis: Any, height: float, shares: Sequence[Share], colour: str) -> None:
    places = [max(share.share, 1e-4) for share in shares if share.share < math.inf]
    heights = [height] * len(places)
    axis.plot(places, heights, "o", color=colour, alpha=0.6, markersize=5)
