"""Events -> Trace: figures, tables, timeline, what the reader should know, and facts about
where it comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

import numpy as np

from autograder.traces import whatif
from autograder.traces.breakdown import breakdown, timeline
from autograder.traces.events import KERNELS, STEP, Events, Kind
from autograder.traces.gaps import gaps
from autograder.traces.metrics import LAUNCH, collectives, figures
from autograder.traces.record import Figure, Tool, Trace, Transfer, Window
from autograder.traces.roofline import roofline
from autograder.traces.source import Source
from autograder.traces.stretch import gpus, steps_of, windows
from autograder.traces.tables import tables
from autograder.traces.words import many

EPOCH_FROM = (
    1_400_000_000 * 10**9
)  # ns: a time before 2014 is no date but counts from somewhere else
MOST_STEPS = 1000
SPILLS = 0.05  # of the steps' window

OVERWRITTEN = (
    "holds a ProfilerStep but no operators: "
    "a schedule without repeat=1 begins again, and its last, empty cycle "
    "overwrites the good file; use schedule(wait=..., "
    "warmup=..., active=..., repeat=1) and record again"
)
NO_STEPS = (
    "no ProfilerStep: record with a schedule and call prof.step() after each batch; "
    "figures per step need it"
)
ONE_STEP = "one ProfilerStep: how much steps differ cannot be said; record at least three"
NO_GPU = "recorded without a GPU: shares are of the CPU's time, and GPU figures are not available"
NO_KERNELS = (
    "holds calls to the GPU but no GPU work: "
    "record ProfilerActivity.CUDA, and synchronise before the end"
)
NOT_ASKED = (
    "no GPU work was recorded though the machine has a GPU: "
    "record ProfilerActivity.CUDA; if the program did train on "
    "the CPU, shares are of its time"
)
CUT = (
    "GPU figures are not available: GPU work stands last in such a file, "
    "so it may be in the part that is missing; "
    "shares are of the CPU's time"
)
GRAPHS = (
    "CUDA graphs were recorded as wholes: kernel counts, "
    "means and tables leave out what ran in them; "
    "record again with --cuda-graph-trace=node"
)
COMM = "communication kernels include waiting for other ranks: never judge one rank alone"


def summarise(
    source: Source,
    tool: Tool,
    events: Events,
    *,
    version: str = "",
    devices: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    signals: Mapping[str, str] | None = None,
    cut: bool = False,
    more: tuple[Figure, ...] = (),
) -> Trace:
    """Put together all that this recording says."""
    kept = windows(events)
    steps = steps_of(events)
    trace = Trace(
        file=source.name,
        sha256=digest(source),
        tool=tool,
        version=version,
        devices=devices,
        windows=kept,
        figures=(*figures(events, kept), *whatif.figures(events, kept), *more),
        tables=tables(events),
        steps=tuple(
            Window(steps.names[name], start, end - start)
            for name, start, end in zip(
                *(c.tolist()[:MOST_STEPS] for c in (steps.name, steps.start, steps.end)),
                strict=True,
            )
        ),
        collectives=_transfers(events),
        breakdown=breakdown(events, kept),
        gaps=tuple(gaps(events, kept)),
        roofline=roofline(events, devices),
        timeline=timeline(events, kept),
        notes=(*notes, *_notes(tool, events, kept, bool(notes)), *_no_gpu(events, devices, cut)),
        signals={**(signals or {}), **_signals(events)},
    )
    return replace(trace, figures=(*trace.figures, *whatif.at_roof(trace)))


def _transfers(events: Events) -> tuple[Transfer, ...]:
    """Return the collectives of the GPUs, or where there is none those of the CPU."""
    ran = events.of(Kind.COMM) if gpus(events) else collectives(events)
    ran = ran.where(np.argsort(ran.start, kind="stable")[:MOST_STEPS])
    pairs = zip(ran.durations.tolist(), ran.size.tolist(), strict=True)
    return tuple(Transfer(*pair) for pair in pairs)


def digest(source: Source) -> str:
    """Return the SHA-256 of the unpacked bytes.

    Packing the same profile again does not make it another.
    """
    total = hashlib.sha256()
    for data in source.chunks():
        total.update(data)
    return total.hexdigest()


def _notes(
    tool: Tool,
    events: Events,
    windows: tuple[Window, ...],
    broken: bool,
) -> Iterator[str]:
    steps = steps_of(events)
    ops = events.of(Kind.OP)
    devices = gpus(events)
    if tool == "kineto" and len(steps) and not len(ops) and not devices and not broken:
        yield OVERWRITTEN
        return
    if tool == "kineto" and len(ops) and len(steps) < 2:
        yield ONE_STEP if len(steps) else NO_STEPS
    yield from _warm_up(steps)
    if len(events.of(Kind.GRAPH)):
        yield GRAPHS
    if len(events.of(Kind.COMM)):
        yield COMM
    yield from _spill(events, windows)


def _no_gpu(events: Events, devices: tuple[str, ...], cut: bool) -> Iterator[str]:
    """Say why there are no figures of a GPU, where work was recorded."""
    ops = len(events.of(Kind.OP))
    calls = len(events.of(Kind.CALL))
    if gpus(events) or not (ops or calls):
        return
    if cut:
        yield CUT
    elif calls:
        yield NO_KERNELS
    else:
        yield NOT_ASKED if devices else NO_GPU


def unread(count: int) -> Iterator[str]:
    """Say how many events of a file are left out."""
    if count:
        yield (
            f"{many(count, 'event')} could not be read and {'are' if count > 1 else 'is'} left out"
        )


def _warm_up(steps: Events) -> Iterator[str]:
    times = steps.durations.tolist()
    if len(times) > 2 and times[0] > 2 * median(times[1:]):
        ratio = times[0] / median(times[1:])
        yield (
            f"the first step took {ratio:.1f} times as long as the others: "
            "give the schedule a longer warmup"
        )


def _spill(events: Events, windows: tuple[Window, ...]) -> Iterator[str]:
    for window in windows:
        if window.id == "steps":
            end = window.start + window.length
            late = events.of(*KERNELS).spans.within((end, max(events.length, end))).length
            if late > SPILLS * window.length:
                yield (
                    f"{late / 1e6:.1f} ms of GPU work lie after the last step: "
                    "call torch.cuda.synchronize() "
                    "before the last prof.step()"
                )


def _signals(events: Events) -> dict[str, str]:
    kernels = events.of(*KERNELS)
    calls = events.of(Kind.CALL)
    signals = {}
    if events.origin > EPOCH_FROM:
        signals["recorded"] = datetime.fromtimestamp(events.origin // 10**9, UTC).isoformat()
    if len(kernels) and len(calls):
        work, started_by = kernels.joined("link", calls)
        early = int(np.sum(work.start < started_by.start))
        signals["kernels with their launch"] = f"{len(work)} of {len(kernels)}"
        signals["kernels that start before their launch"] = str(early)
        signals["launch calls"] = str(len(calls.named(LAUNCH)))
    numbers = [
        int(m[1][:9])
        for n in steps_of(events).name.tolist()
        if (m := STEP.fullmatch(events.names[n]))
    ]
    if numbers:
        gaps = any(later != number + 1 for number, later in pairwise(numbers))
        signals["steps"] = f"{numbers[0]} to {numbers[-1]}" + (", with gaps" if gaps else "")
    return signals
