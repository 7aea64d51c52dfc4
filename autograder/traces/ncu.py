"""Reads what Nsight Compute measured of single kernels: `ncu --csv` (details and raw pages), its text, and .ncu-rep."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autograder.errors import SubmissionError
from autograder.traces import cells
from autograder.traces.record import Figure, Row, Trace, Unit
from autograder.traces.source import Source
from autograder.traces.summary import digest

MOST_LAUNCHES = 5_000
PEAK = ".avg.pct_of_peak_sustained_"
# Metric -> figure. Raw names come first; then the names that the details page shows.
METRICS = {
    "gpu__time_duration.sum": "duration",
    f"sm__throughput{PEAK}elapsed": "sm_throughput",
    f"gpu__compute_memory_throughput{PEAK}elapsed": "memory_throughput",
    f"gpu__dram_throughput{PEAK}elapsed": "dram_throughput",
    f"sm__warps_active{PEAK}active": "achieved_occupancy",
    "launch__registers_per_thread": "registers",
    "Duration": "duration",
    "Compute (SM) Throughput": "sm_throughput",
    "Memory Throughput": "memory_throughput",
    "DRAM Throughput": "dram_throughput",
    "Achieved Occupancy": "achieved_occupancy",
    "Registers Per Thread": "registers",
}
UNITS: dict[str, Unit] = {"duration": "ns", "registers": "count"}
LAUNCHED = re.compile(r"  (?! )(.*?) \(\d+, \d+, \d+\)x\(\d+, \d+, \d+\), Context .*?(?:Device (\d+))?, CC [\d.]+")
NO_PERMISSION = (
    "Nsight Compute was not allowed to read the GPU's counters (ERR_NVGPUCTRPERM), usual on rented machines: "
    "ask for them to be opened, or use nsys, which does not need them"
)
SERIAL = "ncu runs kernels one by one, several times, at locked clocks: its durations are not those of a trace"
NO_DURATION = "gpu__time_duration was not measured: use --set basic or larger"


@dataclass
class Kernel:
    """One launch that was measured."""

    name: str
    device: int | None = None
    values: dict[str, float] = field(default_factory=dict)

    def take(self, metric: str, unit: str, value: float | None) -> None:
        """Keep a value in the unit of its figure; the first of a name counts."""
        figure = METRICS.get(metric)
        if figure is None or value is None or (UNITS.get(figure, "%") == "%" and unit != "%"):
            return
        scale = cells.NS.get(unit, 0) if figure == "duration" else 1
        if scale:
            self.values.setdefault(figure, value * scale)


def is_ncu(lines: list[str]) -> bool:
    """Whether ncu printed this."""
    return any(line.startswith(('"ID",', "==PROF==", "==ERROR==")) or LAUNCHED.match(line) for line in lines)


def read(source: Source, lines: list[str]) -> Trace:
    """Read CSV or text; what the program itself printed in between is passed over."""
    at = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    kernels = _from_text(source, lines) if at is None else _from_csv(source, lines[at:])
    if not kernels and any("ERR_NVGPUCTRPERM" in line for line in lines):
        raise SubmissionError(f"{source.name}: {NO_PERMISSION}")
    return trace(source, kernels)


def read_report(source: Source) -> Trace:
    """Read .ncu-rep with NVIDIA's own library, an extra."""
    try:
        import ncu_report
    except ImportError:
        raise SubmissionError(
            f"{source.name}: reading it needs NVIDIA's ncu-report: pip install 'perflab[ncu]'; "
            f"or hand in what this prints: ncu --import {source.name} --csv --page raw --print-units base"
        ) from None
    with source.unpacked() as path:
        try:
            kernels = [_from_action(action) for part in ncu_report.load_report(str(path)) for action in part]
        except Exception as error:  # whatever a library of another's says of a damaged file
            raise SubmissionError(f"{source.name}: ncu-report cannot read it: {error}") from None
        return trace(source, kernels)


def trace(source: Source, kernels: list[Kernel]) -> Trace:
    """Put together the launches that were measured."""
    kernels = [one for one in kernels if one.values][:MOST_LAUNCHES]
    if not kernels:
        raise SubmissionError(f"{source.name}: holds no metrics of kernels; use ncu --set basic --csv --page details")
    figures = tuple(
        Figure(name, value, UNITS.get(name, "%"), "kernel", one.device, one.name)
        for one in kernels
        for name, value in one.values.items()
    )
    notes = (SERIAL,) if any("duration" in one.values for one in kernels) else (NO_DURATION,)
    return Trace(source.name, digest(source), "ncu", figures=figures, tables={"kernels": _rows(kernels)}, notes=notes)


def _rows(kernels: Iterable[Kernel]) -> tuple[Row, ...]:
    sums: dict[str, tuple[int, int]] = {}
    for one in kernels:
        count, time = sums.get(one.name, (0, 0))
        sums[one.name] = (count + 1, time + round(one.values.get("duration", 0)))
    whole = max(sum(time for _, time in sums.values()), 1)
    rows = (Row(name, count, time, 100 * time / whole) for name, (count, time) in sums.items())
    return tuple(sorted(rows, key=lambda row: -row.total_ns))


def _from_csv(source: Source, lines: list[str]) -> list[Kernel]:
    header, *rows = list(csv.reader(line for line in lines if line.startswith('"')))
    return _details(source, header, rows) if "Metric Name" in header else _raw(source, header, rows)


def _details(source: Source, header: list[str], rows: list[list[str]]) -> list[Kernel]:
    """One line for each metric; lines of metrics are shorter than the header, and rules have none."""
    named = [dict(zip(header, row, strict=False)) for row in rows]
    decimal = cells.point((row.get("Metric Value", "") for row in named), source.name)
    kernels: dict[str, Kernel] = {}
    for row in named:
        kernel = kernels.setdefault(row["ID"], Kernel(row.get("Kernel Name", ""), _device(row.get("Device", ""))))
        value = cells.number(row.get("Metric Value", ""), decimal)
        kernel.take(row.get("Metric Name", ""), row.get("Metric Unit", ""), value)
    return list(kernels.values())


def _raw(source: Source, header: list[str], rows: list[list[str]]) -> list[Kernel]:
    """One line for each launch, under a line of units."""
    if not rows:
        return []
    units = dict(zip(header, rows[0], strict=False))
    named = [dict(zip(header, row, strict=False)) for row in rows[1:]]
    decimal = cells.point((row.get(name, "") for row in named for name in METRICS), source.name)
    kernels = []
    for row in named:
        kernel = Kernel(row.get("Kernel Name", ""), _device(row.get("Device", "")))
        for name in METRICS:
            kernel.take(name, units.get(name, ""), cells.number(row.get(name, ""), decimal))
        kernels.append(kernel)
    return kernels


def _from_text(source: Source, lines: list[str]) -> list[Kernel]:
    decimal = cells.point((one for line in lines for one in line.split()[-1:]), source.name)
    kernels: list[Kernel] = []
    dashes = ""
    for line in lines:
        launched = LAUNCHED.match(line)
        if launched:
            kernels.append(Kernel(launched[1], _device(launched[2] or "")))
        elif cells.DASHES.fullmatch(line):
            dashes = line
        elif kernels and dashes and len(found := cells.columns(dashes, line)) == 3:
            kernels[-1].take(found[0], found[1], cells.number(found[2], decimal))
    return kernels


def _from_action(action: Any) -> Kernel:
    kernel = Kernel(str(action.name()))
    there = set(action.metric_names())
    for name in METRICS:
        if name in there:
            kernel.take(name, str(action[name].unit()), float(action[name].value()))
    return kernel


def _device(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,4}", text, re.ASCII) else None
