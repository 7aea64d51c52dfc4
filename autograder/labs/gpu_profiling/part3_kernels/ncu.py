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
from autograder.errors import SubmissionError
from autograder.model import Failed, Passed, Text, Verdict

GRAMMAR = Grammar(
    "ncu",
    flags=(
        "force-overwrite csv nvtx verbose quiet call-stack null-stdin print-fp print-rule-details "
        "print-metric-attribution disable-extra-suffixes open-in-ui"
    ),
    valued=(
        "set kernel-name kernel-name-base launch-count launch-skip export "
        "launch-skip-before-match section metrics "
        "page print-units target-processes devices clock-control cache-control "
        "replay-mode log-file import-source "
        "nvtx-include nvtx-exclude filter-mode kill print-kernel-base "
        "graph-profiling profile-from-start apply-rules "
        "rule pm-sampling-interval import mode hostname check-exit-code "
        "config-file source-folders print-summary "
        "print-details print-source print-metric-name print-metric-instances "
        "target-processes-filter call-stack-type "
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
    kernel = named(words)
    if not kernel.startswith(REGEX):
        return [name for name in names if kernel in ("", name)]
    return [name for name in names if re.search(kernel.removeprefix(REGEX), name)]


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
        return other
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


def choice_problem(words: Sequence[str], measured: Sequence[str], wanted: Sequence[str]) -> str:
    """Say how the kernels that a command chooses are not those asked for."""
    problem, kernel = GRAMMAR.parsed(words).problem, named(words)
    if problem and not kernel:
        return f"{problem}, so nothing is measured"
    if not kernel and set(measured) != set(wanted):
        return "the line has no --kernel-name, so every kernel is measured"
    missed = [name for name in wanted if name not in measured]
    if missed and not kernel.startswith(REGEX):
        if kernel[:1] in ("'", '"'):
            begins = (
                f"the word after --kernel-name begins with {kernel[0]} and not with {REGEX[:-1]}"
            )
            return f"{begins}: ncu gets each word as it is, and no shell removes quotes"
        regex = f"--kernel-name {kernel[:60]} does not begin with {REGEX}"
        return f"{regex}, so {missed[0]} is not measured"
    if missed:
        return f"the expression does not match {missed[0]}"
    more = [name for name in measured if name not in wanted]
    return _more_problem(more[0], wanted) if more else ""


def _more_problem(measured: str, wanted: Sequence[str]) -> str:
    for name in wanted:
        if re.fullmatch(name, measured):
            return f"{measured} is measured, too: the dot in {name} matches any character"
    return f"{measured} is measured, too: the expression may match anywhere in a name"


# --- what was read out of a report ---

BUSY = 60.0  # percent of what the device can do at most; Nsight Compute's own rule of thumb

Row = Mapping[str, Any]


def bound(row: Row) -> str:
    """Say what limits a kernel."""
    if max(row["sm_percent"], row["memory_percent"]) < BUSY:
        return "latency"
    return "compute" if row["sm_percent"] >= row["memory_percent"] else "memory"


def holds_kernels(report: Text, *, try_: str) -> Verdict:
    """Pass a text that ncu printed, with what each kernel asked of SMs and memory."""
    try:
        trace = profile.read(report.text.encode(), report.file)
    except SubmissionError as error:
        denied = "ERR_NVGPUCTRPERM" in str(error)
        instead = "ask for access to the counters, or write 'no ncu: ' and why into the file"
        held = "holds an error of ncu, and no kernels" if denied else "cannot be read"
        return Failed(f"{report.file} {held}", str(error), instead if denied else try_)
    throughputs = (trace.figure("sm_throughput"), trace.figure("memory_throughput"))
    if trace.tool != "ncu" or None in throughputs:
        measured = f"{report.file} is of {trace.tool}, without throughput of SMs and memory"
        again = f"ncu --import kernels.ncu-rep --csv --page details; {try_}"
        return Failed(measured, "the file must be the details page of an ncu report", again)
    kernels = trace.rows("kernels")
    return Passed(f"{sum(row.count for row in kernels)} launches of {len(kernels)} kernels")
