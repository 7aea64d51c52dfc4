"""A profile on a terminal, in plain lines elsewhere: what its time consists of, figures, the largest of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autograder.report.words import clean
from autograder.traces.compare import Change
from autograder.traces.definitions import DEFINITIONS
from autograder.traces.record import Figure, Slice, Trace
from autograder.traces.words import many, shown

if TYPE_CHECKING:
    from rich.console import Console

TOOLS = {"kineto": "torch.profiler", "nsys": "Nsight Systems", "nsys stats": "nsys stats", "ncu": "Nsight Compute"}
BAR = 30  # characters
TOP = 5  # rows of each table
NAME = 60
COLOURS = {
    "kernels": "kernels",
    "operators": "kernels",
    "communication": "comm",
    "copies": "copies",
    "data loading": "loading",
    "allocating": "alloc",
    "synchronising": "sync",
    "launching": "launch",
    "GPU calls": "launch",
}
SHARE = "share of the time listed, never a utilization"
WINDOWS = {
    "steps": "the steps",
    "gpu": "first to last GPU work",
    "trace": "the whole recording",
    "kernel": "kernel",
}


def show(trace: Trace, console: Console) -> None:
    """Print one profile."""
    from rich.text import Text

    for line in lines(trace):
        text = Text(clean(line))
        text.highlight_regex(r"^(?:note|\S.*:)(?=\s|$)", "bold")
        text.highlight_regex(r"█+", "green")
        console.print(text, soft_wrap=True)


def lines(trace: Trace) -> Iterator[str]:
    """Say a profile in plain lines."""
    yield headline(trace)
    yield from (f"note  {note}" for note in trace.notes)
    for name, slices in trace.breakdown.items():
        yield f"\n{where(name)}: what {_window(trace)} consist of"
        yield from (_bar(one, slices) for one in slices)
    for window, figures in grouped(trace).items():
        yield f"\n{window}:"
        yield from (_figure(one) for one in figures)
    for table, rows in trace.tables.items():
        yield f"\n{table}: {SHARE}"
        for row in rows[:TOP]:
            time = shown(row.total_ns, "ns")
            yield f"  {row.share:5.1f} %  {time:>10}  {row.count:>7,} x  {row.name[:NAME]}"
    if trace.signals:
        yield "\norigin: for a person who reviews, never a score"
        yield from (f"  {name:<36} {value}" for name, value in trace.signals.items())


def headline(trace: Trace) -> str:
    """Name the file, the tool, the machine's GPUs and the steps."""
    devices = ", ".join(f"{trace.devices.count(name)} x {name}" for name in dict.fromkeys(trace.devices))
    steps = many(trace.step_count, "step") if trace.step_count else ""
    tool = f"{TOOLS[trace.tool]} {trace.version}".strip()
    return "   ".join(part for part in (trace.file, tool, devices, steps) if part)


def where(name: str) -> str:
    """Name what is broken down.

    >>> where("gpu0"), where("cpu")
    ('GPU 0', 'CPU')
    """
    return f"GPU {name[3:]}" if name.startswith("gpu") else "CPU"


def colour(lane: str) -> str:
    """Return the class that colours a lane or a slice.

    >>> colour("GPU 0 kernels"), colour("Python and other")
    ('kernels', 'rest')
    """
    return next((style for name, style in COLOURS.items() if lane.endswith(name)), "rest")


def parts(slices: Sequence[Slice]) -> list[tuple[Slice, float]]:
    """Return each slice with its percentage of them all."""
    whole = max(sum(one.ns for one in slices), 1)
    return [(one, 100 * one.ns / whole) for one in slices]


def grouped(trace: Trace) -> dict[str, list[Figure]]:
    """Sort the figures by device and window, whose names become headings."""
    found: dict[str, list[Figure]] = {}
    for one in trace.figures:
        device = "" if one.device is None else f"GPU {one.device}, "
        subject = f" {one.subject[:NAME]}" if one.subject else ""
        found.setdefault(f"{device}{WINDOWS.get(one.window, one.window)}{subject}", []).append(one)
    return found


def comparison(found: Sequence[Change]) -> Iterator[str]:
    """Say two profiles side by side."""
    yield f"{'':2}{'figure':<22} {'over':<8} {'device':<7} {'before':>12} {'now':>12}   change"
    for one in found:
        figure = one.figure
        device = "" if figure.device is None else f"GPU {figure.device}"
        before, now = shown(one.before, figure.unit), shown(figure.value, figure.unit)
        yield f"  {figure.id:<22} {figure.window:<8} {device:<7} {before:>12} {now:>12}   {change(one)}"


def change(one: Change) -> str:
    """Say a change: shares in points, everything else as a ratio."""
    if one.figure.unit == "%":
        return f"{one.figure.value - one.before:+.1f} points"
    return "" if one.ratio is None else f"{one.ratio:.2f}x"


def _window(trace: Trace) -> str:
    return "the steps" if trace.steps else "its work and waits"


def _bar(one: Slice, slices: Sequence[Slice]) -> str:
    part = one.ns / max(sum(other.ns for other in slices), 1)
    return f"  {one.name:<18} {100 * part:5.1f} %  {shown(one.ns, 'ns'):>10}  {'█' * round(BAR * part)}".rstrip()


def _figure(one: Figure) -> str:
    return f"  {one.id:<20} {shown(one.value, one.unit):>11}  {DEFINITIONS[one.id]}"
