"""One part of one submission: its checks in order, each judged on its evidence, and the points that follow."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from autograder.errors import OwedError, PostponedError, SpoiltError
from autograder.grading import first_steps, person, scoring, unread
from autograder.grading.evidence import Evidence, Settled
from autograder.grading.kit import Kit, Session
from autograder.handed_in.percent_cells import cells_in, in_cells
from autograder.lab import Check, Part, Probe
from autograder.model import (
    OWED,
    Cause,
    CheckResult,
    Failed,
    Final,
    Inconclusive,
    Job,
    NeedsRoom,
    Partial,
    PartResult,
    Passed,
    Side,
    Submission,
    Unavailable,
)

LOG = logging.getLogger(__name__)
NEAR_MISS = 100.0
"""Times what is allowed. What is nearer than that may be due to the draw: numbers that cancel leave few digits."""
SLOW_IMPORT_SECONDS = 1.5
SLOW_IMPORT = (
    "{} took {:.0f} s of CPU time to be imported, and each probe imports it again: "
    'put what runs there below `if __name__ == "__main__":`'
)


class PartGrader:
    """One part of one submission; each check is judged at most once."""

    def __init__(
        self,
        part: Part,
        submission: Submission,
        kit: Kit,
        session: Session,
        seed: int,
        before: Collection[CheckResult] = (),
        refusal: str = "",
    ) -> None:
        """Nothing runs before a check asks for it."""
        self.part = part
        self.config = kit.config.parts[part.id]
        self._submission = submission
        self._kit = kit
        self._evidence = Evidence(part, submission, kit, session, seed)
        self._other_draw = Evidence(part, submission, kit, session, seed + 1)
        self._results = _kept(part, before)
        self._refusal = refusal
        self._unread = ""
        if not refusal and not session.rehearsal:
            self._unread = unread.reason_unread(submission, part.file)
        self._cells = cells_in(submission.files.get(part.file, b""))
        self._unusable = ""
        """Why no probe can run the student's file, told by the check named first."""

    def result(self, only: str = "") -> PartResult:
        """Judge every check of the part, or `only` one with those it needs."""
        chosen = [name for name in self.part.checks if only in ("", name)]
        for name in chosen:
            self.check(name)
        return self.judged()

    def judged(self) -> PartResult:
        """Add up what was judged so far; what a person reads comes after the last check."""
        results = [self._results[name] for name in self.part.checks if name in self._results]
        if len(results) == len(self.part.checks):
            results += self._rubric()
        part = self.part
        told = first_steps.settled(results)
        return scoring.part_result(part.id, part.title, told, bonus=self.config.bonus)

    def _rubric(self) -> list[CheckResult]:
        refused = bool(self._refusal)
        return person.rubric(
            self.part, self.config, self._submission, self._kit, self._unread, refused=refused
        )

    @property
    def notes(self) -> list[str]:
        """What is to be said beside the verdicts: that each probe was slow."""
        seconds = self._evidence.import_seconds
        if seconds <= SLOW_IMPORT_SECONDS:
            return []
        return [SLOW_IMPORT.format(self.part.file, seconds)]

    def job(self, probe: Probe, side: Side) -> Job:
        """Return what a worker has to run for one side of a probe."""
        return self._evidence.job(probe, side)

    def check(self, name: str) -> CheckResult:
        """Judge one check, after those it needs."""
        if name not in self._results:
            check = self.part.checks[name]
            needed = [self.check(need) for need in check.needs]
            LOG.debug("%s.%s", self.part.id, name)
            self._results[name] = (
                self._not_judged(check) or self._blocked(check, needed) or self._judged(check)
            )
        return self._results[name]

    def _not_judged(self, check: Check) -> CheckResult | None:
        if self._refusal:
            return replace(self._error(check, self._refusal), cause="aside")
        if self._unread:
            owed = self._result(check, Unavailable(self._unread))
            return replace(owed, outcome="unread")
        return None

    def _blocked(self, check: Check, needed: list[CheckResult]) -> CheckResult | None:
        for need in needed:
            if need.owed:
                return self._result(check, Unavailable(f"waits for {need.id}, which is owed"))
            if need.outcome not in ("passed", "partial"):
                return self._skipped(check, f"{need.id} did not pass")
        return None

    def _judged(self, check: Check) -> CheckResult:
        try:
            return self._result(check, self._verdict(check))
        except Settled as settled:
            return self._settled(check, settled)
        except OwedError as problem:
            return self._result(check, Unavailable(str(problem)))
        except SpoiltError as problem:
            postponed = isinstance(problem, PostponedError)
            return self._result(check, Inconclusive("", str(problem), postponed=postponed))
        except Exception as fault:
            return self._error(check, _described(fault))

    def _verdict(self, check: Check) -> Final:
        """Judge a check; numbers that are a little too far off have to be so for other inputs as well."""
        verdict = self._asked(check, self._evidence)
        if "bar" in check.reads or not _nearly(verdict):
            return verdict
        with suppress(Settled):
            other = self._asked(check, self._other_draw)
            return other if isinstance(other, Passed) else verdict
        return verdict

    def _asked(self, check: Check, source: Evidence) -> Final:
        """Ask the judge, and where it wants to see a run in less memory once more after that."""
        evidence = source.read_by(check)
        verdict = check.judge(**evidence)
        if isinstance(verdict, NeedsRoom):
            evidence[verdict.probe] = source.in_less_memory(verdict)
            verdict = check.judge(**evidence)
        match verdict:
            case NeedsRoom(room_bytes=room):
                raise RuntimeError(f"{check.name} asks for {room} bytes after a first run")
        return verdict

    def _settled(self, check: Check, settled: Settled) -> CheckResult:
        """Tell once, of the first check that meets it, that the file cannot be used at all."""
        if settled.whole_part and self._unusable:
            return self._skipped(check, f"{self.part.file} cannot be used: see {self._unusable}")
        if settled.whole_part:
            self._unusable = check.name
        return self._result(check, settled.verdict, settled.cause)

    def _result(self, check: Check, verdict: Final, cause: Cause = "") -> CheckResult:
        """Write a verdict down with the points that it is worth."""
        blank = self._blank(check)
        outcome, points = scoring.points_for(verdict, blank.max_points)
        result = replace(
            blank, outcome=outcome, points=points, cause=cause, evidence=verdict.evidence
        )
        match verdict:
            case Unavailable():
                return replace(result, reason=verdict.reason)
            case Inconclusive():
                waits: Cause = "clock" if verdict.postponed else cause
                result = replace(result, reason=verdict.reason, cause=waits)
            case Partial() | Failed():
                why = self._in_cells(verdict.why)
                result = replace(result, why=why, try_=verdict.try_)
        return replace(result, measured=self._in_cells(verdict.measured))

    def _skipped(self, check: Check, reason: str) -> CheckResult:
        return replace(self._blank(check), reason=reason)

    def _error(self, check: Check, reason: str) -> CheckResult:
        return replace(self._blank(check), outcome="error", reason=reason)

    def _blank(self, check: Check) -> CheckResult:
        """Return the result of a check that nobody judged."""
        bar = self._evidence.bar_of(check) or "the bar of this device"
        title = check.title.replace("{bar}", str(bar))
        points = self.config.checks[check.name].points
        return CheckResult(check.name, "skipped", check.basis, 0.0, points, title)

    def _in_cells(self, text: str) -> str:
        """Name lines of a notebook by their cells."""
        return in_cells(text, self.part.file, self._cells) if self._cells else text


def _nearly(verdict: Final) -> bool:
    """Whether a check failed for numbers that are too far off, but not by much."""
    shares = verdict.evidence.get("shares", {}).values()
    return isinstance(verdict, Failed) and 1 < max(shares, default=0) <= NEAR_MISS


def _described(fault: Exception) -> str:
    last = traceback.extract_tb(fault.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return f"{type(fault).__name__}: {fault} ({place})"


def _kept(part: Part, before: Collection[CheckResult]) -> dict[str, CheckResult]:
    """Keep what is not owed again and rests on nothing that is; a check stands below those it needs."""
    settled = {result.id: result for result in before if OWED.get(result.outcome) != "again"}
    kept: dict[str, CheckResult] = {}
    for name, check in part.checks.items():
        if name in settled and all(need in kept for need in check.needs):
            kept[name] = settled[name]
    return kept
