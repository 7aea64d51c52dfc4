"""Reads what `nsys stats` prints, as CSV or as text.

Sums say how much, only cuda_gpu_trace says when.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from autograder.errors import SubmissionError
from autograder.traces import printed_tables
from autograder.traces.events import COMM_KERNEL, Kind, Recording
from autograder.traces.metrics import GRAPH_LAUNCH, LAUNCH, SYNC
from autograder.traces.record import Figure, Row, Trace
from autograder.traces.source import Source
from autograder.traces.summary import digest, summarise, unread
from autograder.traces.tables import add_up

HEADER = re.compile(
    r'\s*"?(?:Time ?\(%\)|Total(?: \(\w+\)|(?=\W+Operations))|Start ?\(\w+\))"?(?:(?P<sign>[,;\t])|\s{2,})'
)
COLUMN = re.compile(r"(.*?) ?\((%|\w+)\)")
RENAMED = {"Operations": "Count", "Calls": "Num Calls", "Operation": "Name"}  # of 2021 and before
# Table -> the columns that name and count its rows, and how the names begin.
KINDS = {
    "ranges": ("Range", "Instances", ""),
    "kernels": ("Name", "Instances", ""),
    "copies": ("Name", "Count", r"\[CUDA"),
    "calls": ("Name", "Num Calls", "cu(?:da)?[A-Z]"),
}
OTHERS = {"Category", "Source"}  # columns of tables that mix several kinds, or are of MPI
VERSION = re.compile(r"nsight-systems[/\\]([\d.]+)")
DEVICE = re.compile(r"\((\d{1,4})\)\s*$")
COPY = {"HtoD": re.compile(r"HtoD|Host-to-Device"), "DtoH": re.compile(r"DtoH|Device-to-Host")}

ONLY_SUMS = (
    "holds sums alone: busy shares, gaps and overlap need when things ran; "
    "hand in the export "
    "(nsys export --type sqlite) or nsys stats -r cuda_gpu_trace --format csv"
)
EDITED = "the total time of a row is not its count times its average: nsys did not print that"
SHARE = "Time (%) is a share of the rows listed, never a utilization of the GPU"
NO_CUDA = "nsys found no CUDA kernels: did the program run on the CPU, or --trace without cuda?"


@dataclass(frozen=True)
class Report:
    """One table: what its columns are called, their units, and its rows as text."""

    units: Mapping[str, str]
    rows: list[dict[str, str]]


def read(source: Source, lines: list[str]) -> Trace:
    """Read every report in the text."""
    try:
        reports = list(_reports(lines))
    except csv.Error as error:
        raise SubmissionError(
            f"{source.name}: is no table of nsys stats: {error}; print it again"
        ) from None
    skipped = any("does not contain CUDA kernel data" in line for line in lines)
    if not reports and not skipped:
        raise SubmissionError(
            f"{source.name}: is no profile that is read here; "
            "hand in a torch.profiler trace (.json), an export of "
            "nsys (.sqlite), or what nsys stats or ncu --csv printed"
        )
    decimal = printed_tables.point(
        (c for report in reports for row in report.rows for c in row.values()), source.name
    )
    version = next((m[1] for line in lines if (m := VERSION.search(line))), "")
    traced = [report for report in reports if {"Start", "Duration", "Strm"} <= set(report.units)]
    tables = _tables(reports, decimal)
    if traced:
        recording = _events(traced, decimal)
        notes = tuple(unread(recording.unread))
        whole = summarise(source, "nsys stats", recording.events(), version=version, notes=notes)
        return Trace(**{**vars(whole), "tables": {**tables, **whole.tables}})
    changed = (EDITED,) if any(_edited(report, decimal) for report in reports) else ()
    notes = (
        changed
        + ((NO_CUDA,) if skipped and "kernels" not in tables else ())
        + ((SHARE, ONLY_SUMS) if tables else ())
    )
    figures = tuple(_figures(tables))
    return Trace(
        source.name,
        digest(source),
        "nsys stats",
        version,
        figures=figures,
        tables=tables,
        notes=notes,
    )


def _reports(lines: list[str]) -> Iterator[Report]:
    headers = [(at, match) for at, line in enumerate(lines) if (match := HEADER.match(line))]
    for (at, header), (end, _) in pairwise([*headers, (len(lines), None)]):
        body = list(takewhile(str.strip, lines[at + 1 : end]))
        if header and header["sign"]:
            yield _named(list(csv.reader([lines[at], *body], delimiter=header["sign"])))
        elif body and printed_tables.DASHES.fullmatch(body[0]):
            yield _named([printed_tables.columns(body[0], line) for line in [lines[at], *body[1:]]])


def _named(table: list[list[str]]) -> Report:
    split = [
        match.groups() if (match := COLUMN.fullmatch(cell.strip())) else (cell.strip(), "")
        for cell in table[0]
    ]
    names = [RENAMED.get(name, name) for name, _ in split]
    rows = [
        dict(zip(names, (c.strip() for c in row), strict=False))
        for row in table[1:]
        if len(row) >= len(names)
    ]
    return Report({name: unit for name, (_, unit) in zip(names, split, strict=True)}, rows)


def _tables(reports: list[Report], decimal: printed_tables.Point) -> dict[str, tuple[Row, ...]]:
    sizes = {
        row["Name"]: int(
            (printed_tables.number(row["Total"], decimal) or 0)
            * printed_tables.BYTES.get(report.units["Total"] or "KiB", 0)
        )
        for report in reports
        if {"Total", "Name"} <= set(report.units)
        for row in report.rows
    }
    tables: dict[str, tuple[Row, ...]] = {}
    for report in reports:
        kind, label, count = _kind(report)
        if kind:
            tables.setdefault(kind, _sums(report, label, count, decimal, sizes))
    return tables


def _kind(report: Report) -> tuple[str, str, str]:
    """Say what a report lists, and which columns name and count it.

    Nothing for what is not kept.
    """
    has = set(report.units)
    for kind, (label, count, names) in KINDS.items():
        listed = {label, count, "Total Time"} <= has and not OTHERS & has
        if listed and any(re.match(names, row[label]) for row in report.rows):
            return kind, label, count
    return "", "", ""


def _sums(
    report: Report, label: str, count: str, decimal: printed_tables.Point, sizes: Mapping[str, int]
) -> tuple[Row, ...]:
    scale = printed_tables.NS.get(report.units["Total Time"], 1)
    columns = (count, "Total Time")
    read = [
        (row[label], [printed_tables.number(row[name], decimal) or 0.0 for name in columns])
        for row in report.rows
    ]
    summed = add_up((name, int(calls), round(time * scale), 0) for name, (calls, time) in read)
    return tuple(replace(row, bytes=sizes.get(row.name, 0)) for row in summed)


def _edited(report: Report, decimal: printed_tables.Point) -> bool:
    """Say whether a row contradicts itself by more than an average of one decimal does."""
    _, _, count = _kind(report)
    average = next((name for name in ("Avg", "Average") if name in report.units), "")
    if not count or not average:
        return False
    scales = [printed_tables.NS.get(report.units[name], 1) for name in (average, "Total Time")]
    for row in report.rows:
        calls, mean, total = (
            printed_tables.number(row[name], decimal) for name in (count, average, "Total Time")
        )
        if calls is None or mean is None or total is None:
            continue
        if (
            abs(calls * mean * scales[0] - total * scales[1])
            > 0.02 * total * scales[1] + calls * scales[0]
        ):
            return True
    return False


def _figures(tables: Mapping[str, tuple[Row, ...]]) -> Iterator[Figure]:
    if kernels := tables.get("kernels"):
        count = sum(row.count for row in kernels)
        time = sum(row.total_ns for row in kernels)
        yield Figure("kernel_count", count, "count", "trace")
        yield Figure("kernel_sum", time, "ns", "trace")
        yield Figure("kernel_mean", time / max(count, 1), "ns", "trace")
    for name, direction in COPY.items():
        rows = [row for row in tables.get("copies", ()) if direction.search(row.name)]
        if rows:
            way = {"HtoD": "h2d", "DtoH": "d2h"}[name]
            yield Figure(f"{way}_count", sum(row.count for row in rows), "count", "trace")
            yield Figure(f"{way}_sum", sum(row.total_ns for row in rows), "ns", "trace")
            if size := sum(
                row.bytes for row in rows
            ):  # nsys rounds to 0.001 MB: small copies come out as 0
                yield Figure(f"{way}_bytes", size, "bytes", "trace")
    calls = tables.get("calls", ())
    for name, pattern in {
        "launch_count": LAUNCH,
        "graph_launches": GRAPH_LAUNCH,
        "sync_count": SYNC,
    }.items():
        if calls:
            yield Figure(
                name, sum(row.count for row in calls if pattern.match(row.name)), "count", "trace"
            )


def _events(reports: list[Report], decimal: printed_tables.Point) -> Recording:
    recording = Recording()
    for report in reports:
        scales = [printed_tables.NS.get(report.units[name], 1) for name in ("Start", "Duration")]
        for row in report.rows:
            values = [printed_tables.number(row[name], decimal) for name in ("Start", "Duration")]
            begin, length = (
                None if v is None else round(v * scale)
                for v, scale in zip(values, scales, strict=True)
            )
            if begin is None or length is None or not 0 <= length < 2**61 or abs(begin) >= 2**61:
                recording.unread += 1
                continue
            size = (
                printed_tables.number(row.get("Bytes", ""), decimal) or 0
            ) * printed_tables.BYTES.get(report.units.get("Bytes", ""), 0)
            device = DEVICE.search(row.get("Device", ""))
            kind, name = _what(row)
            number = int(device[1]) if device else 0
            stream = row["Strm"]
            recording.add(
                kind,
                begin,
                begin + length,
                name,
                device=number,
                track=(number, stream),
                size=int(size),
            )
    return recording


def _what(row: Mapping[str, str]) -> tuple[Kind, str]:
    name = row.get("Name", "")
    if "CUDA memcpy" in name:
        way = next((short for short, pattern in COPY.items() if pattern.search(name)), name)
        return Kind.COPY, f"Memcpy {way} ({row.get('SrcMemKd', '?')} -> {row.get('DstMemKd', '?')})"
    if "CUDA memset" in name:
        return Kind.SET, "Memset (Device)"
    return (Kind.COMM if COMM_KERNEL.search(name) else Kind.KERNEL), name
