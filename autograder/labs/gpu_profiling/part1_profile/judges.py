"""Judges a report of what is wrong with a training: a share, faults by their lines, what could be gained.

    GPU utilization: 18.2 %
    Main bottlenecks:
    1. line 47: one process decodes everything
    2. ...
    Estimated improvement potential: 70 %

A problem is one sentence, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.checks import trace as profile
from autograder.checks.numerics import shown
from autograder.model import Failed, Passed, Text, Verdict
from autograder.traces.record import Trace
from autograder.traces.words import many

IS = r"\W{0,9}(?:\([^)\n]{0,80}\)\W{0,9})?[:=|\uff1a][^\d\n%]{0,30}?(\d+(?:[.,]\d+)?)\s*%"  # (of the steps): about 12 %
WITHOUT = r"(?:[^\n]*\(without a GPU:\s*)??"  # as the handout's form has it behind an empty GPU utilization
SHARE = re.compile(
    rf"^{WITHOUT}\W{{0,9}}(GPU utili[sz]ation|operators){IS}", re.IGNORECASE | re.MULTILINE
)
POTENTIAL = re.compile(rf"^[^\n]*improvement potential{IS}", re.IGNORECASE | re.MULTILINE)
ENTRY = re.compile(r"^[ \t>*_|#(-]*\d{1,2}[.):][ \t*_]*(?=\S)", re.MULTILINE)
LISTED = r"\d+(?:\s*(?:,|and|&|-|to|through|\u2013)\s*\d+)*"
LINES = re.compile(
    rf"\blines?\b(?:\s*n(?:umber|o|r)s?\b)?[\s.:#*`_]*({LISTED})|\.py[:\s]+(?:line\s*)?(\d+)|\bL(\d+)\b",
    re.IGNORECASE,
)
POINTS = 2.0  # percentage points that a share may be off
PASSED_OVER, RECORDED = 2, 8  # batches of the profile
PLAN = "schedule(wait=1, warmup=1, active=8, repeat=1)"
MOST_TEXT = 20_000  # characters that are read
MOST_ENTRIES = 8
WIDEST = 6  # lines of one bottleneck

Faults = Mapping[str, Collection[int]]
"""The lines of the script in which each fault stands."""


@dataclass(frozen=True)
class Findings:
    """What such a report says."""

    of: str
    """What the share is of: GPU utilization, or operators."""
    share: float
    entries: tuple[frozenset[int], ...]
    """The lines that each bottleneck names."""
    potential: float


def parsed(text: Text) -> tuple[Findings | None, str]:
    """Read a report; the problem says what is missing."""
    body = text.text[:MOST_TEXT]
    share, potential = SHARE.search(body), POTENTIAL.search(body)
    if share is None:
        lines = '"GPU utilization: <number> %" (without a GPU: "Operators: <number> %")'
        return None, f"there is no line {lines}"
    if potential is None:
        return None, 'there is no line "Estimated improvement potential: <number> %"'
    entries = ENTRY.split(body[: potential.start()])[1:]
    if len(entries) < 3:  # else what is numbered behind the potential is advice
        entries = ENTRY.split(body)[1:]
    if not 3 <= len(entries) <= MOST_ENTRIES:
        return None, f"{len(entries)} numbered bottlenecks, not three to {MOST_ENTRIES}"
    of = "operators" if share[1].lower() == "operators" else "gpu"
    return Findings(of, _number(share[2]), tuple(map(_lines, entries)), _number(potential[1])), ""


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _lines(entry: str) -> frozenset[int]:
    """Return every line that an entry names, in its first line or below it; 40-42 is from one to the other."""
    lines: set[int] = set()
    for listed, after, short in LINES.findall(entry.partition("\n")[0]) or LINES.findall(entry):
        for part in re.split(r",|and|&", listed or after or short):
            ends = [int(digits[:6]) for digits in re.findall(r"\d+", part)]
            if ends:
                lines |= set(range(ends[0], min(ends[-1], ends[0] + 20) + 1))
    return frozenset(lines)


def shares_problem(findings: Findings, trace: Trace, *, try_: str) -> Verdict:
    """Pass a share that the profile gives, and a potential that it allows."""
    has_gpu = profile.has_gpu(trace)
    if has_gpu != (findings.of == "gpu"):
        reported = "GPU utilization" if findings.of == "gpu" else "share of operators"
        work = "the work" if has_gpu else "no work"
        return Failed(f"the report has a {reported}", f"{trace.file} holds {work} of a GPU", try_)
    quantity = "gpu_utilization" if has_gpu else "operator_share"
    verdict = profile.agrees(trace, quantity, findings.share, try_=try_)
    if not isinstance(verdict, Passed):
        busy = trace.figure("host_busy", "steps") or 0.0
        if not has_gpu and abs(findings.share - busy) <= POINTS:
            return replace(verdict, why="that is host_busy_percent: the loader counts as well")
        return verdict
    most = 100.0 - findings.share
    least = min(trace.figure("dataloader", "steps") or 0.0, most)
    measured = f"{verdict.measured}; potential {shown(findings.potential)} %"
    if least - POINTS <= findings.potential <= most + POINTS:
        return Passed(measured)
    right = f"{least:.1f} to {most:.1f} % is right"
    why = "the potential must lie between the wait for data and everything that is not work"
    return Failed(f"potential {shown(findings.potential)} %, and {right}", why, try_)


def faults_found(findings: Findings, faults: Faults) -> list[list[str]]:
    """Return, for each bottleneck, the faults that stand in the lines it names."""
    return [
        [name for name, lines in faults.items() if entry & set(lines)] for entry in findings.entries
    ]


def faults_problem(findings: Findings, faults: Faults, least: int) -> str:
    """Say which bottleneck names no line with a fault, or that too few different ones are named."""
    named = faults_found(findings, faults)
    for number, (entry, names) in enumerate(zip(findings.entries, named, strict=True), 1):
        if not entry:
            return f"bottleneck {number} names no line of the script"
        if not names:
            lines = _listed(sorted(entry))
            return f"bottleneck {number} names {lines}, which wastes no time"
        if len(entry) > WIDEST:
            return (
                f"bottleneck {number} names {len(entry)} lines, and at most {WIDEST} may be named"
            )
    different = {name for names in named for name in names}
    if len(different) < least:
        listed = f"{many(len(different), 'fault')} named ({', '.join(sorted(different))})"
        return f"{listed}; {least} different ones are needed"
    return ""


def _listed(lines: Sequence[int]) -> str:
    numbers = ", ".join(map(str, lines[:5]))
    return f"lines {numbers}" if len(lines) > 1 else f"line {numbers}"


def misplanned(problem: str, batches: int) -> tuple[str, str]:
    """Say why other steps were recorded than those asked for, and what to try; train ran so many *batches*."""
    least = PASSED_OVER + RECORDED
    if "its steps are" in problem:
        first = int(problem.removeprefix("its steps are ").split()[0])
        if first >= least:
            return "the schedule began again, and its second cycle overwrote the first", PLAN
        return f"your schedule passes over {first} batches, and {PASSED_OVER} are right", PLAN
    if "no ProfilerStep" in problem:
        return "usually the profiler has no schedule, so it marks no step", PLAN
    if batches < least:
        needed = f"{least} are needed: {PASSED_OVER} to pass over, then {RECORDED} to record"
        return (
            f"train ran {batches} batches; {needed}",
            f"train(on_step=prof.step, batches={least})",
        )
    return f"usually active is not {RECORDED}", PLAN
