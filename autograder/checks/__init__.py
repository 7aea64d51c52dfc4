"""Judges that at least two parts share, and the readers of what is handed in beside code.

Judges of one part stand beside it: labs/<lab>/<part>/judges.py.

Arrays and tensors
    numerics        numbers against a trusted run's
    outputs         tensors that a function returned, case by case
    result_form     another type, shape or dtype than the right result's
    error_map       where wrong outputs are wrong, for a picture
    rounding        the same where rounding is the lesson: not too far, not too near
    answer_lists    lists of answers, one for each case
    precision       rounding of losses, dtypes of operators, calls on a scaler

Times and memory
    speedup         a ratio that the clock measured, against a bar
    memory          peaks that were seen from outside
    timing          what code says of time, on a scripted clock
    host_waits      where the host waits for the device
    graphs          calls of what torch.compile made
    tiles           a function that one kernel of Triton computes

Tables
    table           reads a CSV; rows against rows
    table_form      the form of a table, declared once: rows, schema, list of columns
    slips           numbers that usual mistakes give
    comparison      two trainings
    configurations  runs of a training program, and a table of them
    loaders         a loader's samples, order and options

Profiles
    trace           reads one: .sqlite, .nsys-rep, .ncu-rep, or .json, .gz, .csv, .txt named trace, profile, nsys or ncu

Texts, pictures and command lines
    plot            reads a PNG; what figures show
    report          a report's headings and points, and the figures that it names
    rendered        fills the figures of a table into a report that names them; students run it, too
    commands        command lines taken apart by a grammar
    hints           causes and next steps, by the words of a failure
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
        return Text(
            file,
            data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"),
        )
    except UnicodeDecodeError as error:
        raise SubmissionError(
            f"{file}: byte {error.start} is not UTF-8; save it as UTF-8"
        ) from None
