"""Judges command lines of nsys as data: options in any order, with = or a space, long or short; nothing is run.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath

SHORT: Mapping[str, Mapping[str, str]] = {  # of each command
    "profile": {
        "-t": "--trace", "-o": "--output", "-c": "--capture-range", "-f": "--force-overwrite", "-w": "--show-output",
        "-s": "--sample", "-d": "--duration", "-y": "--delay", "-e": "--env-var", "-x": "--stop-on-exit",
        "-b": "--backtrace", "-n": "--inherit-environment", "-p": "--nvtx-capture",
    },
    "stats": {"-r": "--report", "-f": "--format", "-o": "--output", "-q": "--quiet"},
    "export": {"-t": "--type", "-o": "--output", "-f": "--force-overwrite", "-q": "--quiet"},
}  # fmt: skip
FLAGS = ("--quiet", "--help", "--version")  # all others take a value
RANGE_ENDS = r"none|stop|stop-shutdown|repeat(-shutdown)?(:\d+)?"
KERNELS = (
    "cuda_gpu_kern_sum",
    "gpukernsum",
    "cuda_gpu_kern_gb_sum",
    "gpukerngbsum",
    "cuda_gpu_sum",
    "gpusum",
)
COPIES = ("cuda_gpu_mem_time_sum", "gpumemtimesum", "cuda_gpu_sum", "gpusum")
OLD = "nsys writes .nsys-rep; .qdrep is what it was until 2021"


@dataclass(frozen=True)
class Line:
    """A command line of nsys: its options, each with all of its values, and what stands after them."""

    command: str
    options: Mapping[str, Sequence[str]]
    rest: Sequence[str]

    def values(self, option: str) -> list[str]:
        """Return the values of an option, split at commas."""
        return [word for value in self.options.get(option, ()) for word in value.split(",") if word]


def parsed(words: Sequence[str]) -> Line:
    """Split a command line; of nsys profile a first word that is no option ends the options, of others none does."""
    command = words[1] if len(words) > 1 else ""
    options: dict[str, list[str]] = {}
    rest, files = list(words[2:]), list[str]()
    while rest and rest[0] != "--" and (_is_option(rest[0]) or command != "profile"):
        if not _is_option(rest[0]):
            files.append(rest.pop(0))
            continue
        name, value = _option(rest.pop(0), SHORT.get(command, {}))
        if value is None and name not in FLAGS and rest and not _is_option(rest[0]):
            value = rest.pop(0)
        options.setdefault(name, []).append(value or "")
    return Line(command, options, files + (rest[1:] if rest[:1] == ["--"] else rest))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"  # --output - is the terminal


def _option(word: str, short: Mapping[str, str]) -> tuple[str, str | None]:
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        return name, value if sign else None
    name, value = word[:2], word[2:].removeprefix("=")
    return short.get(name, name), value or None


def capture_problem(words: Sequence[str], program: Sequence[str], report: str) -> str:
    """Say how a line does not record CUDA and NVTX of a program, from cudaProfilerStart on, into a report."""
    line, named = parsed(words), _named(words, "profile")
    return next(
        chain(named, _recorded(line), _ranged(line), _launched(line, program), _kept(line, report)),
        "",
    )


def stats_problem(words: Sequence[str], report: str) -> str:
    """Say how a line does not print the sums of kernels and of copies of a report as CSV."""
    line = parsed(words)
    return next(chain(_named(words, "stats"), _summed(line), _read(line, report)), "")


def export_problem(words: Sequence[str], report: str) -> str:
    """Say how a line does not write a report as SQLite."""
    line = parsed(words)
    return next(
        chain(_named(words, "export"), _exported(line), _read(line, report, (".nsys-rep",))), ""
    )


def _named(words: Sequence[str], command: str) -> Iterator[str]:
    if not words or PurePath(words[0]).name != "nsys":
        yield f"it begins with {_quoted(words)}; it must be nsys"
    elif words[1:2] != [command]:
        yield f"it is nsys {_quoted(words[1:])}; it must be nsys {command}"
    for word in words[2:]:
        if (name := "-" + word.partition("=")[0]) in SHORT[command].values():
            yield f"'{word}' has one dash; nsys calls it {name}"


def _quoted(words: Sequence[str]) -> str:
    return f"'{words[0]}'" if words else "nothing"


def _recorded(line: Line) -> Iterator[str]:
    traced = line.values("--trace")
    if len(line.rest) and line.rest[0] in ("nvtx", "cuda", "osrt", "cudnn", "cublas"):
        yield f"'{line.rest[0]}' would be run as the program: --trace takes one value, with commas and no spaces"
    if any(" " in one for one in traced):
        yield f"--trace is {','.join(traced)!r}, and nsys takes no spaces in it"
    for asked in ("cuda", "nvtx"):
        if not any(
            one == asked or (asked == "cuda" and one in ("cuda-hw", "cuda-sw")) for one in traced
        ):
            said = ",".join(traced) or "not there"
            yield f"--trace is {said}: without {asked}, {MISSED[asked]}"


MISSED = {
    "cuda": "there is no kernel, copy or call in the report",
    "nvtx": "the ranges of the script are not in it",
}


def _ranged(line: Line) -> Iterator[str]:
    told = line.values("--capture-range")
    if told != ["cudaProfilerApi"]:
        given = f"is {','.join(told)}" if told else "is not there"
        yield f"--capture-range {given}: with cudaProfilerApi the training alone is recorded, not how Python starts"
    for end in line.values("--capture-range-end"):
        if not re.fullmatch(RANGE_ENDS, end):
            yield f"--capture-range-end is {end}; nsys knows none, stop, stop-shutdown and repeat"


def _launched(line: Line, program: Sequence[str]) -> Iterator[str]:
    rest = list(line.rest)
    if rest[: len(program)] != list(program):
        yield f"it runs {' '.join(rest[:6]) or 'nothing'}; {' '.join(program)} is to be run, after all options"
    late = [
        word
        for word in rest[len(program) :]
        if _option(word, SHORT["profile"])[0] in SHORT["profile"].values()
    ]
    if late:
        yield f"{late[0]} stands after the program, which gets it: options of nsys stand before it"


def _kept(line: Line, report: str) -> Iterator[str]:
    told = line.options.get("--output", [])
    if not told:
        yield "without --output the report is report1, report2 and so on"
    elif told[-1].endswith(".qdrep"):
        yield f"--output is {told[-1]}: {OLD}"
    elif str(PurePath(told[-1])).removesuffix(".nsys-rep") != report:
        yield f"--output is {told[-1]}; the report is to be called {report}"


def _summed(line: Line) -> Iterator[str]:
    told = {one.split(":")[0] for one in line.values("--report")}
    for names, what in ((KERNELS, "kernels"), (COPIES, "copies")) if told else ():
        if told.isdisjoint(names):
            yield f"--report is {','.join(sorted(told))}: no sum over {what} is among them ({names[0]})"
    if not any(one.split(":")[0] == "csv" for one in line.values("--format")):
        yield f"--format is {','.join(line.values('--format')) or 'not there'}; it must be csv"


def _exported(line: Line) -> Iterator[str]:
    if line.values("--type") != ["sqlite"]:
        yield f"--type is {','.join(line.values('--type')) or 'not there'}; it must be sqlite"


def _read(
    line: Line, report: str, endings: Sequence[str] = (".nsys-rep", ".sqlite")
) -> Iterator[str]:
    if len(line.rest) != 1:
        yield f"it reads {' '.join(line.rest[:3]) or 'nothing'}; {report}.nsys-rep is to be read"
    elif line.rest[0].endswith(".qdrep"):
        yield f"it reads {line.rest[0]}: {OLD}"
    elif str(PurePath(line.rest[0])) not in [report + ending for ending in endings]:
        yield f"it reads {line.rest[0]}; {report}.nsys-rep is to be read"
