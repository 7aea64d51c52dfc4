"""Judges that labs share, and the readers of what is handed in beside code.

numerics  arrays against arrays      speedup, memory  ratios against a bar
table     CSV                        plot             PNG, and what figures show
timing    a scripted clock, waits    comparison       a table of two trainings
precision dtypes, calls on a scaler  checkpointing    the same with and without it
questions answers about a profile    configurations  a table of many runs
report    what a report states       studies    plans of memory, profiles, a table of CPU options
commands  command lines              profiling  eleven questions about a profile, in four groups
launches  counts of launches         ncu        command lines of Nsight Compute, figures of its reports
findings  a report with line numbers  footprint  nets at several batch sizes and precisions
versions  a table of versions of one training that do the same work
trace     profiles: a declared .sqlite, .nsys-rep, .ncu-rep, or .json, .gz, .csv, .txt named trace, profile, nsys or ncu
"""

from __future__ import annotations

import codecs
from pathlib import PurePath

from autograder.checks import plot, table, trace
from autograder.errors import SubmissionError
from autograder.model import Picture, Table, Text
from autograder.traces import Trace, is_profile

TEXT_CAP = 1024 * 1024  # bytes of a report


def read(data: bytes, file: str) -> Table | Picture | Text | Trace:
    """Read a file that was handed in, by the ending of its name; the error is in the student's words."""
    if is_profile(file):
        return trace.read(data, file)
    kind = PurePath(file).suffix
    if kind == ".csv":
        return table.read(data, file)
    if kind == ".png":
        return plot.read(data, file)
    return _text(data, file)


def _text(data: bytes, file: str) -> Text:
    if len(data) > TEXT_CAP:
        raise SubmissionError(f"{file}: {len(data)} bytes; at most {TEXT_CAP} are read")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell's > writes it
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data:
        raise SubmissionError(f"{file}: holds a NUL byte, so it is no text")
    try:
        return Text(file, data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError as error:
        raise SubmissionError(f"{file}: byte {error.start} is not UTF-8; save it as UTF-8") from None
