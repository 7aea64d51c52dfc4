"""Judges command lines of nsys. A problem is one sentence, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath

from autograder.checks.commands import Grammar, Line

QUIET = "quiet help version"
PROFILE = Grammar(
    "nsys",
    "profile",
    QUIET,
    short={
        "-t": "--trace", "-o": "--output", "-c": "--capture-range", "-f": "--force-overwrite", "-w": "--show-output",
        "-s": "--sample", "-d": "--duration", "-y": "--delay", "-e": "--env-var", "-x": "--stop-on-exit",
        "-b": "--backtrace", "-n": "--inherit-environment", "-p": "--nvtx-capture",
    },
)  # fmt: skip
STATS = Grammar(
    "nsys",
    "stats",
    QUIET,
    short={"-r": "--report", "-f": "--format", "-o": "--output", "-q": "--quiet"},
    mixed=True,
)
EXPORT = Grammar(
    "nsys",
    "export",
    QUIET,
    short={"-t": "--type", "-o": "--output", "-f": "--force-overwrite", "-q": "--quiet"},
    mixed=True,
)
RANGE_ENDS = r"none|stop|stop-shutdown|repeat(-shutdown)?(:\d+)?"
SUMS = {
    "kernels": "cuda_gpu_kern_sum gpukernsum cuda_gpu_kern_gb_sum gpukerngbsum cuda_gpu_sum gpusum",
    "copies": "cuda_gpu_mem_time_sum gpumemtimesum cuda_gpu_sum gpusum",
}
TRACED = {
    "cuda": ("cuda|cuda-hw|cuda-sw", "no kernels, copies and calls"),
    "nvtx": ("nvtx", "no ranges"),
}


def capture_problem(words: Sequence[str], program: Sequence[str], report: str) -> str:
    """Say how a line does not record CUDA and NVTX of a program, from cudaProfilerStart on, into a report."""
    line = PROFILE.parsed(words)
    problems = chain(_recorded(line), _ranged(line), _launched(line, program), _kept(line, report))
    return line.problem or next(problems, "")


def stats_problem(words: Sequence[str], report: str) -> str:
    """Say how a line does not print the sums of kernels and of copies of a report as CSV."""
    line = STATS.parsed(words)
    return line.problem or next(_summed(line), "") or _read(line, report, ".sqlite")


def export_problem(words: Sequence[str], report: str) -> str:
    """Say how a line does not write a report as SQLite."""
    line = EXPORT.parsed(words)
    return line.problem or line.other("--type", "sqlite") or _read(line, report)


def _recorded(line: Line) -> Iterator[str]:
    traced = line.values("--trace")
    if len(line.rest) and line.rest[0] in ("nvtx", "cuda", "osrt", "cudnn", "cublas"):
        yield f"'{line.rest[0]}' would be run as the program: --trace takes one value, with commas and no spaces"
    if any(" " in name for name in traced):
        yield f"--trace is {','.join(traced)!r}, and nsys takes no spaces there"
    for name, (names, missed) in TRACED.items():
        if not any(re.fullmatch(names, area) for area in traced):
            written = ",".join(traced) or "not there"
            yield f"--trace is {written}: without {name}, the report has {missed}"


def _ranged(line: Line) -> Iterator[str]:
    if other := line.other("--capture-range", "cudaProfilerApi"):
        yield f"{other}, so that only the training is recorded, not the start of Python"
    for end in line.values("--capture-range-end"):
        if not re.fullmatch(RANGE_ENDS, end):
            yield f"--capture-range-end is {end}; nsys accepts none, stop, stop-shutdown and repeat"


def _launched(line: Line, program: Sequence[str]) -> Iterator[str]:
    late = line.rest[len(program) :]
    if other := Line({}, line.rest[: len(program)]).runs_another(program):
        yield other
    for word in late:
        if PROFILE.option(word)[0] in PROFILE.short.values():
            yield f"{word} comes after the program, so the program gets this option of nsys"


def _kept(line: Line, report: str) -> Iterator[str]:
    if not line.value("--output"):
        yield "the line has no --output, so the report is called report1 or report2"
    yield _file_problem("--output is", line.value("--output"), (report, f"{report}.nsys-rep"))


def _file_problem(written: str, file: str, right: Sequence[str]) -> str:
    if file.endswith(".qdrep"):
        return f"{written} {file}: nsys writes .nsys-rep, which was .qdrep until 2021"
    if str(PurePath(file)) in right:
        return ""
    return f"{written} {file or 'nothing'}; {right[0]} is right"


def _summed(line: Line) -> Iterator[str]:
    asked = {name.split(":")[0] for name in line.values("--report")}
    for what, names in SUMS.items() if asked else ():
        if asked.isdisjoint(names.split()):
            written, one = ",".join(sorted(asked)), names.split()[0]
            yield f"--report is {written}: without {one}, no sum over {what} is printed"
    if line.value("--format").split(":")[0] != "csv":
        yield f"--format is {line.value('--format') or 'not there'}; it must be csv"


def _read(line: Line, report: str, *endings: str) -> str:
    files = [f"{report}{ending}" for ending in (".nsys-rep", *endings)]
    return _file_problem("the line reads", " ".join(line.rest[:3]), files)
