"""Judges a command line of Nsight Compute as data, and what was read out of a report that ncu printed.

A command line is a list of words, as subprocess takes it: options in any order, `--set full` or `--set=full`.
Each judge says what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import trace as profile
from autograder.checks.commands import Grammar, Line
from autograder.checks.numerics import close, explained, shown
from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Text, Verdict

GRAMMAR = Grammar(
    "ncu",
    flags=(
        "force-overwrite csv nvtx verbose quiet call-stack null-stdin print-fp print-rule-details "
        "print-metric-attribution disable-extra-suffixes open-in-ui"
    ),
    valued=(
        "set kernel-name kernel-name-base launch-count launch-skip export launch-skip-before-match section metrics "
        "page print-units target-processes devices clock-control cache-control replay-mode log-file import-source "
        "nvtx-include nvtx-exclude filter-mode kill print-kernel-base graph-profiling profile-from-start apply-rules "
        "rule pm-sampling-interval import mode hostname check-exit-code config-file source-folders print-summary "
        "print-details print-source print-metric-name print-metric-instances target-processes-filter call-stack-type "
        "app-replay-match app-replay-mode app-replay-buffer section-folder kernel-id"
    ),
    short={
        "-k": "--kernel-name",
        "-c": "--launch-count",
        "-s": "--launch-skip",
        "-o": "--export",
        "-f": "--force-overwrite",
        "-i": "--import",
    },
    instead={
        "--output": "--export, or -o",
        "--kernels": "--kernel-name, or -k",
        "--kernel-regex": "--kernel-name with regex: before the expression",
        "--trace": "nothing like it: that is nsys",
    },
)  # fmt: skip
SETS = ("basic", "detailed", "full", "roofline")
REGEX = "regex:"


def named(words: Sequence[str]) -> str:
    """Return what --kernel-name says."""
    return GRAMMAR.parsed(words).value("--kernel-name")


def chosen(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the kernels that a command measures. For a worker: the expression is a student's and may take long."""
    said = named(words)
    if not said.startswith(REGEX):
        return [name for name in names if said in ("", name)]
    return [name for name in names if re.search(said.removeprefix(REGEX), name)]


@dataclass(frozen=True)
class Wanted:
    """What a command line is asked for."""

    script: str
    report: str
    launches: int
    skipped: int
    kernels: Sequence[str] = ()


def command_problem(words: Sequence[str], wanted: Wanted) -> str:
    """Say what is wrong with a command line, but for which kernels it chooses."""
    line = GRAMMAR.parsed(words)
    if problem := line.problem or _program_problem(line, wanted):
        return problem
    if other := line.other("--set", *SETS):
        return f"{other}, or occupancy may be missing"
    report = line.value("--export").removesuffix(".ncu-rep")
    if report != wanted.report:
        return f"the report goes to {report[:60] or 'nowhere'}, not to {wanted.report}"
    skips = line.value("--launch-skip") or (wanted.skipped and "not there")
    if skips and skips != str(wanted.skipped):
        return f"--launch-skip is {skips}; it must be {wanted.skipped}"
    return line.other("--launch-count", wanted.launches)


def _program_problem(line: Line, wanted: Wanted) -> str:
    interpreter = "".join(word.rsplit("/", 1)[-1] for word in line.rest[:1])
    rest = ["python" if interpreter == "python3" else interpreter, *line.rest[1:]]
    return Line({}, rest).runs_another(["python", wanted.script])


def choice_problem(words: Sequence[str], seen: Sequence[str], asked: Sequence[str]) -> str:
    """Say how the kernels that a command chooses are not those asked for."""
    problem, said = GRAMMAR.parsed(words).problem, named(words)
    if problem and not said:
        return f"{problem}, so nothing is measured"
    if not said and set(seen) != set(asked):
        return "without --kernel-name every kernel is measured"
    missed = [name for name in asked if name not in seen]
    more = [name for name in seen if name not in asked]
    if missed and not said.startswith(REGEX):
        quotes = "; no shell takes the quotes off" * (said[:1] in ("'", '"'))
        return f"--kernel-name {said[:60]} does not begin with {REGEX}, so {missed[0]} is not measured{quotes}"
    if missed:
        return f"{missed[0]} is not measured"
    return _more_problem(more[0], asked) if more else ""


def _more_problem(measured: str, asked: Sequence[str]) -> str:
    for name in asked:
        if re.fullmatch(name, measured):
            return f"{measured} is measured as well: the dot in {name} matches any character, so re.escape it"
    return f"{measured} is measured as well: an expression matches anywhere in a name"


# --- what was read out of a report ------------------------------------------------------------------------------------

FIGURES = ("duration_us", "sm_percent", "memory_percent", "occupancy_percent")
BUSY = 60.0  # percent of what the device can do at most; Nsight Compute's own rule of thumb
EXACT = 1e-3  # relative: reports are printed with two decimals

Row = Mapping[str, Any]


def bound(row: Row) -> str:
    """Say what limits a kernel."""
    if max(row["sm_percent"], row["memory_percent"]) < BUSY:
        return "latency"
    return "compute" if row["sm_percent"] >= row["memory_percent"] else "memory"


def figure_problem(rows: Sequence[Row], known: Sequence[Row]) -> str:
    """Say where rows are not those of the launches of a report."""
    names = [row["kernel"] for row in known]
    if [row["kernel"] for row in rows] != names:
        told = ", ".join(str(row["kernel"]) for row in rows[:4]) or "none"
        why = ": one row for each ID" if len(rows) != len(names) else ""
        return f"the kernels are {told}; the report has {', '.join(names[:4])}{why}"
    for row, right in zip(rows, known, strict=True):
        wrong = next((name for name in FIGURES if not close(row[name], right[name], EXACT)), None)
        if wrong:
            told = f"{wrong} of {right['kernel']} is {shown(row[wrong])}, and {right[wrong]:.6g} is right"
            why = _misread(row, right, wrong)
            return f"{told}: {why}" if why else told
    return ""


def _misread(row: Row, right: Row, name: str) -> str:
    if name == "duration_us":
        stories = [
            (factor * right[name], "a unit was passed over") for factor in (1e-6, 1e-3, 1e3, 1e6)
        ]
        return explained(row[name], stories, 0.01) or "a number may be written as 12,319,469"
    others = [(right[other], f"that is its {other}") for other in FIGURES[1:] if other != name]
    return explained(row[name], others, EXACT)


def bound_problem(rows: Sequence[Row], known: Sequence[Row]) -> str:
    """Say which kernel is said to be limited by something else."""
    for row, right in zip(rows, known, strict=False):
        if row["bound"] != (limit := bound(right)):
            figures = f"{right['sm_percent']:.4g} % of the SMs, {right['memory_percent']:.4g} % of the memory"
            return f"{right['kernel']} ({figures}) is said to be limited by {row['bound']!r}, and it is {limit!r}"
    return "" if len(rows) == len(known) else f"{len(rows)} rows for {len(known)} launches"


def row_problem(rows: Sequence[Row]) -> str:
    """Say what a row lacks."""
    names = ("kernel", *FIGURES, "bound")
    missing = [name for row in rows for name in names if name not in row]
    return f"'{missing[0]}' is missing" if missing else ""


def holds_kernels(report: Text, *, try_: str) -> Verdict:
    """Pass a text that ncu printed, with what each kernel asked of SMs and memory."""
    try:
        found = profile.read(report.text.encode(), report.file)
    except SubmissionError as error:
        return Failed(f"{report.file} cannot be read", str(error), try_)
    if (
        found.tool != "ncu"
        or found.figure("sm_throughput") is None
        or found.figure("memory_throughput") is None
    ):
        measured = f"{report.file} is of {found.tool}, without throughput of SMs and memory"
        return Failed(measured, "ncu --set full --csv --page details prints them", try_)
    kernels = found.rows("kernels")
    return Passed(f"{sum(row.count for row in kernels)} launches of {len(kernels)} kernels")
