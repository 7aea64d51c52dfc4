"""A profile as a page: what its time consists of, a timeline, figures with their definitions, the largest of a kind."""

from __future__ import annotations

import math
from itertools import groupby
from typing import NamedTuple

from autograder.report import advice, insight, profile, roof, speedup_stack
from autograder.report.html import render
from autograder.traces.compare import Change, incomparable, sections, verdict
from autograder.traces.definitions import DEFINITIONS
from autograder.traces.record import Gap, Lane, Trace, Window
from autograder.traces.words import shortened, shown, where

ROWS = 12  # of a table
LAUNCHES = 100
NAME = 100  # letters
BESIDE = 50  # letters of a name, where two stand in a row
LEVELS = 16  # of shade, in a lane
FAINTEST = 0.01  # share; less is not drawn
MOST_STEPS = 40  # whose beginnings are drawn
MARKS = 6  # of the time, at most
ROOM = 0.099  # of the timeline, for the name of a step: a telephone shows ten
TABLES = {
    "kernels": "Kernels",
    "operators": "Operators, by their own time on the CPU",
    "device operators": "Operators, by the GPU work that they started",
    "copies": "Copies",
    "calls": "Calls to the GPU",
    "ranges": "Marked ranges, on the CPU",
    "ranges on the GPU": "Marked ranges, by the time of the GPU work that was launched in them",
}
KEY = (
    "busy_kernel",
    "op_busy",
    "dataloader",
    "h2d_overlap",
    "comm_overlap",
    "step_median",
    "sm_throughput",
    "idle",
    "gap_longest",
    "kernels_under_10us",
)
OF = {
    "h2d_overlap": "h2d_time",
    "comm_overlap": "comm_time",
}  # shares of a time that may be next to nothing
LITTLE = 0.01  # of the timeline
KEY_WORDS = {
    "busy_kernel": "a kernel running",
    "op_busy": "an operator running",
    "dataloader": "waiting for data",
    "h2d_overlap": "of copies hidden behind kernels",
    "comm_overlap": "of communication hidden",
    "step_median": "a step",
    "sm_throughput": "of the peak of the multiprocessors",
    "idle": "without work on the GPU",
    "gap_longest": "the longest gap",
    "kernels_under_10us": "of the kernels are shorter than 10 us",
}


class Block(NamedTuple):
    """A stretch of one shade in a lane, in pieces of the timeline."""

    start: int
    length: int
    opacity: float


def page(trace: Trace, before: Trace | None = None) -> str:
    """Show one profile, beside one of before if there is one."""
    return render(
        "profile.html.j2",
        trace=trace,
        before=before,
        headline=profile.headline(trace),
        key=_key(trace),
        colour=profile.colour,
        parts={where(name): profile.parts(slices) for name, slices in trace.breakdown.items()},
        what_if=insight.what_if(trace),
        replayed=insight.REPLAYED,
        roofline=roof.drawn(trace),
        counted=roof.DEFINED,
        roof_rows=roof.ROWS,
        advice=advice.advice(trace),
        advised=advice.ADVISED,
        lanes=[(lane.name, profile.colour(lane.name), blocks(lane)) for lane in trace.timeline],
        pieces=max((len(lane.shares) for lane in trace.timeline), default=1),
        ticks=ticks(trace),
        axis=axis(trace),
        figures=[
            (name, figures, profile.repeated(trace, figures))
            for name, figures in profile.grouped(trace).items()
        ],
        launches=_launches(trace),
        unlisted=max(len(profile.launches(trace)[1]) - LAUNCHES, 0),
        tables=[
            (TABLES[name], profile.named(trace.tables[name][:ROWS], NAME))
            for name in TABLES
            if name in trace.tables
        ],
        gaps=_gaps(trace),
        several=len({gap.device for gap in trace.gaps}) > 1,
        verdict=verdict(trace, before) if before else "",
        speedups=speedup_stack.speedups(trace, before) if before else [],
        compared=_compared(trace, before) if before else {},
        over=profile.over,
        reasons=list(incomparable(trace, before)) if before else [],
        definitions=DEFINITIONS,
        shown=shown,
    )


def _key(trace: Trace) -> list[tuple[str, str]]:
    words = []
    for name in KEY:
        figure = next((figure for figure in trace.figures if figure.id == name), None)
        if figure is not None and not _of_little(trace, name):
            words.append((shown(figure.value, figure.unit), KEY_WORDS[name]))
    return words[:4]


def _of_little(trace: Trace, name: str) -> bool:
    """Whether a share is one of so little time that it says nothing, or of one launch among others."""
    whole = span(trace)
    if name == "sm_throughput":
        return len(profile.launches(trace)[1]) > 1
    return (
        name in OF and whole is not None and (trace.figure(OF[name]) or 0.0) < LITTLE * whole.length
    )


def _launches(trace: Trace) -> tuple[list[str], list[tuple[profile.Launch, str]]]:
    """Return what launches have as figures, and the first launches with their names."""
    columns, rows = profile.launches(trace)
    rows = rows[:LAUNCHES]
    return columns, list(zip(rows, shortened([launch.name for launch in rows], NAME), strict=True))


def _gaps(trace: Trace) -> list[tuple[Gap, str, str]]:
    """Return each gap with short names of what ran before it and after it."""
    names = list(dict.fromkeys(name for gap in trace.gaps for name in (gap.before, gap.after)))
    short = dict(zip(names, shortened(names, BESIDE), strict=True))
    return [
        (gap, short[gap.before] or "the beginning", short[gap.after] or "the end")
        for gap in trace.gaps
    ]


def _compared(trace: Trace, before: Trace) -> dict[str, list[tuple[Change, str, str]]]:
    """Return each change under its heading, with a name that is short enough and what became of it."""
    made = {}
    for heading, changes in sections(trace, before).items():
        names = shortened([row.figure.id for row in changes], NAME)
        made[heading] = [
            (row, name, profile.change(row)) for row, name in zip(changes, names, strict=True)
        ]
    return made


def axis(trace: Trace) -> list[tuple[float, str]]:
    """Return round times since the beginning of the timeline, as shares of it, and their names."""
    whole = span(trace)
    if whole is None or not trace.timeline:
        return []
    rough = whole.length / MARKS
    size = 10 ** math.floor(math.log10(rough))
    apart = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    return [
        (at * apart / whole.length, shown(at * apart, "ns") if at else "0")
        for at in range(math.ceil(whole.length / apart))
    ]


def blocks(lane: Lane) -> list[Block]:
    """Join neighbours of one shade: a page of rectangles instead of thousands."""
    shades = [
        max(1, round(LEVELS * min(share, 1))) if share >= FAINTEST else 0 for share in lane.shares
    ]
    blocks, at = [], 0
    for shade, run in groupby(shades):
        length = len(list(run))
        if shade:
            blocks.append(Block(at, length, shade / LEVELS))
        at += length
    return blocks


def span(trace: Trace) -> Window | None:
    """Return the window that the timeline shows: the steps, else the first GPU's, else all."""
    wanted = (
        "steps",
        next((window.id for window in trace.windows if window.id.startswith("gpu")), ""),
        "trace",
    )
    return next((window for name in wanted for window in trace.windows if window.id == name), None)


def ticks(trace: Trace) -> list[tuple[float, str]]:
    """Return where steps begin, as shares of the timeline, and the names of those that have room for one."""
    whole = span(trace)
    if whole is None or whole.id != "steps" or len(trace.steps) > MOST_STEPS:
        return []
    labels, free = list[tuple[float, str]](), 0.0
    for step in trace.steps:
        share = (step.start - whole.start) / whole.length
        labels.append((share, step.id.split("#")[-1] if share >= free else ""))
        free = share + ROOM if share >= free else free
    return labels
