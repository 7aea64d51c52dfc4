"""Reads what Nsight Compute measured of single kernels.

`ncu --csv` (details and raw pages), its text, and .ncu-rep.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autograder.errors import SubmissionError
from autograder.traces import printed_tables, rules
from autograder.traces.record import Figure, Trace, Unit
from autograder.traces.source import Source
from autograder.traces.summary import digest
from autograder.traces.tables import add_up

MOST_LAUNCHES = 5_000
PEAK = ".avg.pct_of_peak_sustained_"
# Figure -> its raw name, then the names that details pages gave it, the oldest last.
FIGURES = {
    "duration": ("gpu__time_duration.sum", "Duration"),
    "sm_throughput": (
        f"sm__throughput{PEAK}elapsed",
        "Compute (SM) Throughput",
        "Compute (SM) [%]",
        "SM [%]",
    ),
    "memory_throughput": (
        f"gpu__compute_memory_throughput{PEAK}elapsed",
        "Memory Throughput",
        "Memory [%]",
    ),
    "dram_throughput": (
        f"gpu__dram_throughput{PEAK}elapsed",
        f"dram__throughput{PEAK}elapsed",
        "DRAM Throughput",
        "SOL DRAM",
        "SOL FB",
    ),
    "achieved_occupancy": (f"sm__warps_active{PEAK}active", "Achieved Occupancy"),
    "registers": ("launch__registers_per_thread", "Registers Per Thread"),
}
METRICS = {name: figure for figure, names in FIGURES.items() for name in names}
UNITS: dict[str, Unit] = {"duration": "ns", "registers": "count"}
HEADER = re.compile(r'"?ID"?([,;\t]).*Kernel Name')
# The last: sums.
SHAPE = (
    r" \(\d+, \d+, \d+\)x\(\d+, \d+, \d+\)|, \d{4}-\w+-\d+ [\d:]+|, Block Size \d+, Grid Size \d+"
)
LAUNCHED = re.compile(rf"\s*+(\S.*?)(?:{SHAPE}), (?=Context|Device)(?:.*?Device (\d+))?")
SECTION = "Section:"
NO_PERMISSION = (
    "Nsight Compute was not allowed to read the GPU's "
    "counters (ERR_NVGPUCTRPERM), usual on rented machines: "
    "ask for access to them, or use nsys, which needs no counters"
)
SERIAL = (
    "ncu runs kernels one by one, several times, "
    "at locked clocks: its durations are not those of a trace"
)
NO_DURATION = "gpu__time_duration was not measured: use --set basic or larger"


@dataclass
class Kernel:
    """One launch that was measured."""

    name: str
    device: int | None = None
    launch: str = ""
    values: dict[str, float] = field(default_factory=dict)
    advice: list[rules.Message] = field(default_factory=list)

    def take(self, metric: str, unit: str, value: float | None) -> None:
        """Keep a value in the unit of its figure; the first of a name counts."""
        figure = METRICS.get(metric)
        if figure is None or value is None or (UNITS.get(figure, "%") == "%" and unit != "%"):
            return
        scale = printed_tables.NS.get(unit, 0) if figure == "duration" else 1
        if scale:
            self.values.setdefault(figure, value * scale)

    def advise(self, message: rules.Message | None) -> None:
        """Keep what a rule says of it, if it estimates anything."""
        if message is not None:
            self.advice.append(message)


def is_ncu(lines: list[str]) -> bool:
    """Whether ncu printed this."""
    return any(
        line.startswith(("==PROF==", "==ERROR==")) or HEADER.match(line) or LAUNCHED.match(line)
        for line in lines
    )


def read(source: Source, lines: list[str]) -> Trace:
    """Read CSV or text; what the program itself printed in between is passed over."""
    at = next((i for i, line in enumerate(lines) if HEADER.match(line)), None)
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
            f"{source.name}: reading it needs NVIDIA's ncu-report: "
            "pip install 'perflab[ncu]'; "
            "or hand in what this prints: "
            f"ncu --import {source.name} --csv --page raw --print-units base"
        ) from None
    with source.unpacked() as path:
        try:
            kernels = [
                _from_action(action)
                for part in ncu_report.load_report(str(path))
                for action in part
            ]
        except Exception as error:  # whatever a library of another's says of a damaged file
            raise SubmissionError(f"{source.name}: ncu-report cannot read it: {error}") from None
        return trace(source, kernels)


def trace(source: Source, kernels: list[Kernel]) -> Trace:
    """Put together the launches that were measured."""
    kernels = [kernel for kernel in kernels if kernel.values][:MOST_LAUNCHES]
    if not kernels:
        raise SubmissionError(
            f"{source.name}: holds no metrics of kernels; use ncu --set basic --csv --page details"
        )
    figures = tuple(
        Figure(
            name,
            value,
            UNITS.get(name, "%"),
            "kernel",
            kernel.device,
            kernel.name,
            kernel.launch or str(at),
        )
        for at, kernel in enumerate(kernels)
        for name, value in kernel.values.items()
    )
    table = add_up(
        (kernel.name, 1, round(kernel.values.get("duration", 0)), 0) for kernel in kernels
    )
    notes = (SERIAL,) if any("duration" in kernel.values for kernel in kernels) else (NO_DURATION,)
    return Trace(
        source.name,
        digest(source),
        "ncu",
        figures=figures,
        tables={"kernels": table},
        notes=notes,
        rules=rules.largest(
            (kernel.name, kernel.values.get("duration", 0.0), kernel.advice) for kernel in kernels
        ),
    )


def _from_csv(source: Source, lines: list[str]) -> list[Kernel]:
    """Read lines one by one.

    A quote in what the program printed must not swallow the next one.
    """
    sign = lines[0].removeprefix('"').removeprefix("ID").removeprefix('"')[0]
    kept = (line for line in lines[1:] if line[:1] in ('"', sign) or line[:1].isdigit())
    header, *rows = (next(csv.reader([line], delimiter=sign)) for line in (lines[0], *kept))
    named = [dict(zip(header, row, strict=False)) for row in rows]
    return _details(source, named) if "Metric Name" in header else _raw(source, named)


def _details(source: Source, named: list[dict[str, str]]) -> list[Kernel]:
    """One line for each metric.

    Lines of metrics are shorter than the header, and rules have none.
    """
    decimal = printed_tables.point((row.get("Metric Value", "") for row in named), source.name)
    kernels: dict[tuple[str | None, ...], Kernel] = {}
    for row in named:
        launch = tuple(map(row.get, ("ID", "Process ID", "Kernel Name")))
        kernel = kernels.setdefault(launch, _kernel(row))
        value = printed_tables.number(row.get("Metric Value", ""), decimal)
        kernel.take(row.get("Metric Name", ""), row.get("Metric Unit", ""), value)
        kernel.advise(rules.of_row(row, decimal))
    return list(kernels.values())


def _raw(source: Source, named: list[dict[str, str]]) -> list[Kernel]:
    """One line for each launch, under a line of units."""
    units, *named = named or [{}]
    decimal = printed_tables.point(
        (row.get(name, "") for row in named for name in METRICS), source.name
    )
    kernels = [_kernel(row) for row in named]
    for row, kernel in zip(named, kernels, strict=True):
        for name in METRICS:
            kernel.take(
                name, units.get(name, ""), printed_tables.number(row.get(name, ""), decimal)
            )
    return kernels


def _kernel(row: Mapping[str, str]) -> Kernel:
    return Kernel(
        row.get("Kernel Name", ""), _device(row.get("Device", "")), row.get("ID", "")[:20]
    )


def _from_text(source: Source, lines: list[str]) -> list[Kernel]:
    decimal = printed_tables.point(
        (word for line in lines for word in line.split()[-1:]), source.name
    )
    kernels: list[Kernel] = []
    dashes = section = ""
    for at, line in enumerate(lines):
        launched = LAUNCHED.match(line)
        if launched:
            kernels.append(Kernel(launched[1], _device(launched[2] or "")))
        elif printed_tables.DASHES.fullmatch(line):
            dashes = line
        elif line.strip().startswith(SECTION):
            section = line.strip().removeprefix(SECTION).strip()
        elif kernels and rules.MESSAGE.match(line):
            kernels[-1].advise(rules.in_words(section, rules.message(lines, at), decimal))
        elif (
            kernels and dashes and len(columns := printed_tables.columns(dashes, line)) in (3, 5)
        ):  # 5: least, most, mean
            kernels[-1].take(columns[0], columns[1], printed_tables.number(columns[-1], decimal))
    return kernels


def _from_action(action: Any) -> Kernel:
    kernel = Kernel(str(action.name()))
    names = set(action.metric_names())
    for name in METRICS:
        if name in names:
            kernel.take(name, str(action[name].unit()), float(action[name].value()))
    return kernel


def _device(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,4}", text, re.ASCII) else None
