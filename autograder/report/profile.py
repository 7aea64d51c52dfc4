"""A profile on a terminal, in plain lines elsewhere: what its time consists of, figures, the largest of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.report import advice, roof, speedup_stack
from autograder.report.insight import BAR, what_if_lines
from autograder.report.outcome_words import clean
from autograder.traces.compare import Change, sections, verdict
from autograder.traces.definitions import DEFINITIONS
from autograder.traces.record import Figure, Row, Slice, Trace
from autograder.traces.words import NAME, many, shortened, shown, where

if TYPE_CHECKING:
    from rich.console import Console

TOOLS = {
    "kineto": "torch.profiler",
    "nsys": "Nsight Systems",
    "nsys stats": "nsys stats",
    "ncu": "Nsight Compute",
}
TOP = 5  # rows of each table
WIDE = 40  # letters of a name in a comparison
WIDEST = 32  # letters of a column, for each profile
SIDE = (
    "step_count",
    "step_median",
    "busy_kernel",
    "op_busy",
    "dataloader",
    "comm_time",
    "comm_exposed",
    "cpu_comm",
    "kernel_count",
)
LAUNCHES = 20  # rows
COLOURS = {
    "kernels": "kernels",
    "operators": "kernels",
    "communication": "comm",
    "copies": "copies",
    "between queued work": "queued",
    "data loading": "loading",
    "allocating": "alloc",
    "synchronising": "sync",
    "launching": "launch",
    "GPU calls": "launch",
}
AS = {"ns": "long", "count": "many", "GB/s": "fast"}
SAME = 1.0  # percentage point: shares over two windows that are closer say the same
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
    yield from heading(trace)
    for name, slices in trace.breakdown.items():
        yield f"\n{where(name)}: what {_window(trace)} consist of"
        yield from (_bar(piece, slices) for piece in slices)
    yield from what_if_lines(trace)
    for window, figures in grouped(trace).items():
        yield f"\n{window}:"
        yield from (_figure(figure) for figure in figures)
        if names := repeated(trace, figures):
            yield f"  {names}"
    yield from _launched(trace)
    yield from advice.lines(trace)
    yield from _idle(trace)
    yield from roof.lines(trace)
    for table, rows in trace.tables.items():
        yield f"\n{table}: {SHARE}"
        for row, name in named(rows[:TOP], NAME):
            yield f"  {row.share:5.1f} %  {shown(row.total_ns, 'ns'):>10}  {row.count:>7,} x  {name}"
    if trace.signals:
        yield "\norigin: for a person who reviews, never a score"
        yield from (f"  {name:<36} {value}" for name, value in trace.signals.items())


def _idle(trace: Trace) -> Iterator[str]:
    if trace.gaps:
        yield "\nlongest gaps: when, how long, what took most of it on the CPU"
    for gap in trace.gaps[:TOP]:
        yield f"  GPU {gap.device} at {shown(gap.start, 'ns'):>9}  {shown(gap.length, 'ns'):>9}  {gap.meanwhile}"


def heading(trace: Trace) -> Iterator[str]:
    """Name a profile, and say what has to be known about it before its figures."""
    yield headline(trace)
    yield from (f"note  {note}" for note in trace.notes)


def headline(trace: Trace) -> str:
    """Name the file, the tool, the machine's GPUs and the steps."""
    devices = ", ".join(
        f"{trace.devices.count(name)} x {name}" for name in dict.fromkeys(trace.devices)
    )
    steps = many(trace.step_count, "step") if trace.step_count else ""
    tool = f"{TOOLS[trace.tool]} {trace.version}".strip()
    return "   ".join(part for part in (trace.file, tool, devices, steps) if part)


def colour(lane: str) -> str:
    """Return the class that colours a lane or a slice.

    >>> colour("GPU 0 kernels"), colour("Python and other")
    ('kernels', 'rest')
    """
    return next((style for name, style in COLOURS.items() if lane.endswith(name)), "rest")


def parts(slices: Sequence[Slice]) -> list[tuple[Slice, float]]:
    """Return each slice with its percentage of them all."""
    whole = max(sum(piece.ns for piece in slices), 1)
    return [(piece, 100 * piece.ns / whole) for piece in slices]


def grouped(trace: Trace) -> dict[str, list[Figure]]:
    """Sort the figures by device and window, whose names become headings."""
    windows: dict[str, list[Figure]] = {}
    for figure in trace.figures:
        if not figure.launch and not _same(trace, figure):
            device = "" if figure.device is None else f"GPU {figure.device}, "
            windows.setdefault(f"{device}{WINDOWS.get(figure.window, figure.window)}", []).append(
                figure
            )
    return windows


def _first(trace: Trace, figure: Figure) -> Figure:
    """Return the figure of that name and device over the first of its windows."""
    return next(
        other for other in trace.figures if (other.id, other.device) == (figure.id, figure.device)
    )


def _same(trace: Trace, figure: Figure) -> bool:
    """Say whether this share has been given over another window, and says the same."""
    first = _first(trace, figure)
    return figure.unit == "%" and first is not figure and abs(first.value - figure.value) < SAME


def repeated(trace: Trace, figures: Sequence[Figure]) -> str:
    """Say over which other windows some of these figures are the same, so that they need not be read again."""
    same = [
        figure
        for figure in trace.figures
        if not figure.launch and _same(trace, figure) and _first(trace, figure) in figures
    ]
    windows: dict[str, list[str]] = {}
    for figure in same:
        windows.setdefault(WINDOWS[figure.window], []).append(figure.id)
    windows_in_words = " and ".join(
        f"{window} ({', '.join(names)})" for window, names in windows.items()
    )
    said = f"the same figures over {windows_in_words} differ by less than {SAME:g} point"
    return said if windows else ""


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel that Nsight Compute measured."""

    id: str
    name: str
    figures: Mapping[str, Figure]

    def shown(self, name: str) -> str:
        """Show a figure of it, or nothing."""
        figure = self.figures.get(name)
        return shown(figure.value, figure.unit) if figure else ""


def launches(trace: Trace) -> tuple[list[str], list[Launch]]:
    """Return the figures that launches have, and each launch."""
    by_launch: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in trace.figures:
        if figure.launch:
            by_launch.setdefault((figure.launch, figure.subject), {})[figure.id] = figure
    columns = list(dict.fromkeys(figure.id for figure in trace.figures if figure.launch))
    return columns, [Launch(launch, name, figures) for (launch, name), figures in by_launch.items()]


def named(rows: Sequence[Row], most: int) -> list[tuple[Row, str]]:
    """Return each row of a table with its name, short enough, and unlike the others."""
    return list(zip(rows, shortened([row.name for row in rows], most), strict=True))


def _launched(trace: Trace) -> Iterator[str]:
    """Say each launch in a line; below, what the columns are."""
    columns, rows = launches(trace)
    if not rows:
        return
    yield f"\n{many(len(rows), 'launch', 'launches')}:"
    yield f"  {'ID':>5}  {'  '.join(f'{name:>{len(name)}}' for name in columns)}  kernel"
    names = shortened([launch.name for launch in rows], NAME)
    for launch, name in list(zip(rows, names, strict=True))[:LAUNCHES]:
        cells = [f"{launch.shown(column):>{len(column)}}" for column in columns]
        yield f"  {launch.id:>5}  {'  '.join(cells)}  {name}"
    if len(rows) > LAUNCHES:
        yield f"  and {len(rows) - LAUNCHES:,} more; --json has them"
    yield from (f"  {name:<20} {DEFINITIONS[name]}" for name in columns)


def comparison(now: Trace, before: Trace) -> Iterator[str]:
    """Say two profiles side by side."""
    if said := verdict(now, before):
        yield said
    yield from speedup_stack.lines(now, before)
    for heading, changes in sections(now, before).items():
        yield f"\n{heading}: the largest change first"
        for row, name in zip(
            changes, shortened([row.figure.id for row in changes], WIDE), strict=True
        ):
            old, new = (shown(value, row.figure.unit) for value in (row.before, row.figure.value))
            yield f"  {name:<{WIDE}} {over(row.figure):<17} {old:>10} -> {new:>10}   {change(row)}".rstrip()


def beside(traces: Sequence[Trace]) -> Iterator[str]:
    """Set the main figures of several profiles side by side: ranks wait for the slowest, which none shows alone."""
    names = shortened([trace.file for trace in traces], WIDEST)
    width = max(map(len, names))
    yield f"\nside by side:\n  {'':<14}{''.join(f'  {name:>{width}}' for name in names)}"
    for name in SIDE:
        figures = [
            next((figure for figure in trace.figures if figure.id == name), None)
            for trace in traces
        ]
        if any(figures):
            cells = (shown(figure.value, figure.unit) if figure else "" for figure in figures)
            yield f"  {name:<14}{''.join(f'  {cell:>{width}}' for cell in cells)}".rstrip()


def over(figure: Figure) -> str:
    """Say what a figure of a comparison is taken over.

    >>> over(Figure("busy_kernel", 80, "%", "steps", 0)), over(Figure("launching", 5, "%", "its time"))
    ('steps, GPU 0', 'its time')
    """
    return figure.window + ("" if figure.device is None else f", GPU {figure.device}")


def change(row: Change) -> str:
    """Say a change: shares in points, all else as a ratio, above 1 where it is more than before."""
    if row.figure.unit == "%":
        return f"{row.figure.value - row.before:+.1f} points"
    as_ = AS.get(row.figure.unit, "much")
    return "" if row.ratio is None else f"{row.ratio:.2f}x as {as_}"


def _window(trace: Trace) -> str:
    return "the steps" if trace.steps else "its work and waits"


def _bar(piece: Slice, slices: Sequence[Slice]) -> str:
    part = piece.ns / max(sum(other.ns for other in slices), 1)
    return f"  {piece.name:<20} {100 * part:5.1f} %  {shown(piece.ns, 'ns'):>10}  {'█' * round(BAR * part)}".rstrip()


def _figure(figure: Figure) -> str:
    return f"  {figure.id:<20} {shown(figure.value, figure.unit):>11}  {DEFINITIONS[figure.id]}"
