"""Profiles: readers of what profilers write, and figures that carry their definition.

source -> jsonstream, kineto | database, nsys -> events -> windows, metrics, breakdown, whatif, tables
    -> summary: a Trace
source -> cells, stats | cells, ncu (rules: its advice) -> a Trace of tables and figures alone
record: what is handed on    definitions: what each figure is    claims: a number in a report against them
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from autograder.errors import SubmissionError
from autograder.traces.record import Trace
from autograder.traces.source import Source

__all__ = ["Trace", "is_profile", "read"]

KINDS = (".sqlite", ".nsys-rep", ".qdrep", ".ncu-rep")
NOTHING = {
    "kineto": "holds no operator, kernel or range: nothing ran while torch.profiler recorded, or something else wrote "
    "it; train under torch.profiler.profile, and export that by export_chrome_trace",
    "nsys": "holds no kernels, calls or ranges: record with nsys profile --trace=cuda,nvtx",
    "nsys stats": "holds no report that is read here: print nsys stats -r cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,"
    "cuda_api_sum, or cuda_gpu_trace",
}
NAMED = re.compile(r"trace|profile|nsys|ncu", re.IGNORECASE)


def is_profile(file: str) -> bool:
    """Whether a declared file is one.

    By its kind, or a .json, .gz, .csv or .txt that is named trace, nsys or ncu.
    """
    suffix = PurePath(file).suffix
    return suffix in KINDS or (
        suffix in (".json", ".gz", ".csv", ".txt") and NAMED.search(file) is not None
    )


def read(path: Path, name: str = "") -> Trace:
    """Read a profile, whichever tool wrote it.

    `SubmissionError` says what to do about one that cannot be read.
    """
    source = Source(path, name)
    try:
        trace = _read(source)
    except SubmissionError as error:
        reason = str(error)  # a cap deep inside does not know which file it is about
        raise SubmissionError(
            reason if reason.startswith(source.name) else f"{source.name}: {reason}"
        ) from None
    if not (trace.figures or trace.tables or trace.notes):
        raise SubmissionError(f"{source.name}: {NOTHING[trace.tool]}")
    return trace


def _read(source: Source) -> Trace:
    """Import the reader that is needed: numpy takes longer than most that imports this."""
    if source.form == "json":
        from autograder.traces import kineto

        return kineto.read(source)
    if source.form == "sqlite":
        from autograder.traces import nsys

        return nsys.read(source)
    if source.form == "nsys-rep":
        raise SubmissionError(_raw_report(source))
    from autograder.traces import ncu, nsys_stats, printed_tables

    if source.form == "ncu-rep":
        return ncu.read_report(source)
    lines = printed_tables.lines(source)
    return ncu.read(source, lines) if ncu.is_ncu(lines) else nsys_stats.read(source, lines)


def _raw_report(source: Source) -> str:
    version = (
        source.head[29:]
        .split(b"-")[0][:20]
        .decode("ascii", "replace")
        .replace("@", ".")
        .split("\n")[0]
    )
    written = f"nsys {version}" if version.startswith("20") else "nsys of 2021 or older"
    return (
        f"{source.name}: is a raw report of {written}, which only nsys of that version or newer can read: "
        f"run nsys export --type sqlite {source.name}, and hand in the .sqlite that it writes"
    )
