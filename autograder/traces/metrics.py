"""The figures of a recording. definitions.py says in words what each id means."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from autograder.traces.data_waits import loading
from autograder.traces.events import KERNELS, ON_GPU, Events, Kind
from autograder.traces.record import Figure, Unit, Window
from autograder.traces.spans import Spans, growth, overlap
from autograder.traces.stretch import Stretch, gpus, on_gpu, steps_of, stretch

LAUNCH = re.compile(r"(?:cuda|cu|hip)\w*Launch(?:Cooperative|Multi)?Kernel|urEnqueueKernelLaunch")
GRAPH_LAUNCH = re.compile(r"(?:cuda|cu|hip)GraphLaunch")
SYNC = re.compile(r"(?:cuda|cu|hip)\w*Synchronize")
ALLOC = re.compile(
    r"(?:cuda|cu|hip)(?:Malloc|Free|Host(?:Alloc|Free|Register)|Mem(?:Alloc|Free|Create|(?:Unm|M)ap))"
)
ITEM = re.compile(r"aten::_local_scalar_dense")
GAPS = {"gaps_over_10us": 10_000, "gaps_over_100us": 100_000, "gaps_over_1ms": 1_000_000}
"""In ns."""
SHORT = 10_000
"""In ns: about what launching a kernel takes."""
COMM_MARK = re.compile(r"(?:gloo|nccl|mpi|ucc):")
COMM_OP = re.compile(
    r"nccl|gloo:|c10d::|all_?reduce|all_?gather|reduce_?scatter|send_?recv", re.IGNORECASE
)


def figures(events: Events, windows: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield every figure that this recording allows."""
    for device in gpus(events):
        work = on_gpu(events, device)
        yield from _busy(work, device, windows)
        yield from _gaps(work, device, windows)
        yield from _kernels(work, device)
        yield from _copies(work, device)
        yield from _communication(work, device)
    yield from _calls(events)
    yield from _steps(events, windows)
    if not gpus(events):
        yield from _processor(events, windows)


def share(part: float, whole: float) -> float:
    """Return percent."""
    return float(100.0 * part / whole)


def _made(
    window: str,
    device: int | None,
    unit: Unit,
    **values: float,
) -> Iterator[Figure]:
    yield from (Figure(name, value, unit, window, device) for name, value in values.items())


def _busy(work: Events, device: int, windows: tuple[Window, ...]) -> Iterator[Figure]:
    alone = work.of(*KERNELS)
    graphs = work.of(Kind.GRAPH)
    ran = {"busy_kernel": alone.spans | graphs.spans, "busy_any": work.spans}
    if len(graphs):
        ran["busy_kernel_only"] = alone.spans
    for window in ("steps", f"gpu{device}", "trace"):
        named = stretch(windows, window)
        if named is None:
            continue
        label = window.rstrip("0123456789")
        where = named[1]
        length = where[1] - where[0]
        shares = {name: share(spans.within(where).length, length) for name, spans in ran.items()}
        yield from _made(label, device, "%", **shares)
        yield from _estimates(alone, device, label, where)


def _estimates(
    kernels: Events,
    device: int,
    label: str,
    where: Stretch,
) -> Iterator[Figure]:
    """Yield what CUPTI guesses from launch shapes.

    Kernels are cut to the window, else it exceeds 100 %.
    """
    begin, end = where
    time = np.clip(np.minimum(kernels.end, end) - np.maximum(kernels.start, begin), 0, None)
    sized = np.isfinite(kernels.blocks) & np.isfinite(kernels.occupancy) & (time > 0)
    if sized.any():
        filled = np.sum(np.minimum(kernels.blocks, 1)[sized] * time[sized])
        efficiency = min(share(filled, end - begin), 100.0)
        yield Figure("est_sm_efficiency", efficiency, "%", label, device)
        occupied = float(np.average(kernels.occupancy[sized], weights=time[sized]))
        yield Figure("est_occupancy", occupied, "%", label, device)


def _gaps(work: Events, device: int, windows: tuple[Window, ...]) -> Iterator[Figure]:
    named = stretch(windows, "steps", f"gpu{device}")
    if named is None:
        return
    label = named[0].rstrip("0123456789")
    gaps = work.spans.gaps(named[1])
    longest = int(gaps.max(initial=0))
    yield from _made(label, device, "ns", idle=int(gaps.sum()), gap_longest=longest)
    counts = {name: int(np.sum(gaps > least)) for name, least in GAPS.items()}
    yield from _made(label, device, "count", gap_count=len(gaps), **counts)


def _kernels(work: Events, device: int) -> Iterator[Figure]:
    times = work.of(*KERNELS).durations
    yield from _made("trace", device, "count", kernel_count=len(times))
    if len(times):
        means = {"kernel_mean": float(times.mean()), "kernel_median": float(np.median(times))}
        yield from _made("trace", device, "ns", kernel_sum=int(times.sum()), **means)
        short = share(int(np.sum(times < SHORT)), len(times))
        yield from _made("trace", device, "%", kernels_under_10us=short)


def _copies(work: Events, device: int) -> Iterator[Figure]:
    copies = work.of(Kind.COPY)
    kernels = work.of(*KERNELS, Kind.GRAPH).spans
    for way, name in {"h2d": "HtoD", "d2h": "DtoH"}.items():
        moved = copies.named(re.compile(name))
        if len(moved):
            size = int(moved.size.sum())
            yield from _made("trace", device, "count", **{f"{way}_count": len(moved)})
            yield from _made("trace", device, "ns", **{f"{way}_time": moved.spans.length})
            yield from _made("trace", device, "bytes", **{f"{way}_bytes": size})
    yield from _uploads(copies.named(re.compile("HtoD")), kernels, device)
    if len(copies):
        time = copies.spans.length
        exposed = time - overlap(copies.spans, kernels)
        yield from _made("trace", device, "ns", copy_time=time, copy_exposed=exposed)


def _uploads(copies: Events, kernels: Spans, device: int) -> Iterator[Figure]:
    if not len(copies):
        return
    time = copies.spans.length
    hidden = overlap(copies.spans, kernels)
    total = int(copies.durations.sum())
    yield from _made("trace", device, "ns", h2d_sum=total, h2d_exposed=time - hidden)
    if time:
        yield from _made("trace", device, "GB/s", h2d_rate=int(copies.size.sum()) / time)
        yield from _made("trace", device, "%", h2d_overlap=share(hidden, time))
    labelled = copies.named(re.compile("Pinned|Pageable"))
    size = labelled.size.sum()
    if size:
        pinned = labelled.named(re.compile("Pinned")).size.sum()
        yield from _made("trace", device, "%", h2d_pinned=share(pinned, size))


def _communication(work: Events, device: int) -> Iterator[Figure]:
    comm = work.of(Kind.COMM).spans
    compute = work.of(Kind.KERNEL).spans
    if comm:
        both = overlap(comm, compute)
        yield Figure("comm_time", comm.length, "ns", "trace", device)
        yield Figure("comm_exposed", comm.length - both, "ns", "trace", device)
        yield Figure("comm_overlap", share(both, comm.length), "%", "trace", device)


def _calls(events: Events) -> Iterator[Figure]:
    calls = events.of(Kind.CALL)
    launches = calls.named(LAUNCH)
    syncs = calls.named(SYNC)
    if len(calls):
        yield Figure("launch_count", len(launches), "count", "trace")
        yield Figure("graph_launches", len(calls.named(GRAPH_LAUNCH)), "count", "trace")
        yield Figure("sync_count", len(syncs), "count", "trace")
        yield Figure("sync_time", syncs.spans.length, "ns", "trace")
    if len(launches):
        yield Figure("launch_mean", float(launches.durations.mean()), "ns", "trace")
        kernel, call = events.of(*KERNELS).joined("link", launches)
        if len(kernel):
            yield Figure("launch_delay", float(np.median(kernel.start - call.end)), "ns", "trace")
        unmatched = len(events.of(*KERNELS)) - len(events.of(*KERNELS).joined("link", calls)[0])
        yield Figure("unmatched_kernels", unmatched, "count", "trace")
    if len(events.of(Kind.OP)):
        yield Figure("item_count", len(events.of(Kind.OP).named(ITEM)), "count", "trace")


def _steps(events: Events, windows: tuple[Window, ...]) -> Iterator[Figure]:
    steps = steps_of(events)
    named = stretch(windows, "steps")
    if named is None:
        return
    _, where = named
    times = steps.durations
    yield Figure("step_count", len(steps), "count", "steps")
    yield Figure("step_median", float(np.median(times)), "ns", "steps")
    if len(steps) > 1:
        yield Figure("step_longest", float(times.max()), "ns", "steps")
        yield Figure("step_mad", float(np.median(np.abs(times - np.median(times)))), "ns", "steps")
    waited = loading(events).spans.within(where).length
    yield Figure("dataloader", share(waited, where[1] - where[0]), "%", "steps")
    work = events.of(*ON_GPU)
    yield from _host(events, where)
    if len(work):
        rest = (where[1], max(events.length, where[1]))
        yield Figure("spill", work.spans.within(rest).length, "ns", "steps")


def _host(events: Events, where: Stretch) -> Iterator[Figure]:
    """Yield how busy the CPU was, and how long it was held up at most."""
    waits = loading(events)
    calls = events.of(Kind.CALL)
    begun = waits.where((waits.start >= where[0]) & (waits.start < where[1]))
    if len(begun):
        yield Figure("dataloader_longest", int(begun.durations.max()), "ns", "steps")
    layers = {
        "held up": calls.named(SYNC).spans,
        "busy": waits.spans | events.of(Kind.OP, Kind.CALL).spans,
    }
    busy = growth(layers, where)["busy"]
    yield Figure("host_busy", share(busy, where[1] - where[0]), "%", "steps")


def _processor(events: Events, windows: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield what a recording without a GPU still shows, under names of its own."""
    ops = own_ops(events)
    if not len(ops):
        return
    yield Figure("op_count", len(ops), "count", "trace")
    yield Figure("op_mean", float(ops.durations.mean()), "ns", "trace")
    short = int(np.sum(ops.durations < SHORT))
    yield Figure("ops_under_10us", share(short, len(ops)), "%", "trace")
    named = stretch(windows, "steps", "trace")
    assert named is not None
    label, where = named
    length = where[1] - where[0]
    comm = collectives(events).spans.within(where)
    loader = loading(events).spans
    layers = growth({"loader": loader, "ops": ops.spans}, where)
    alone = growth({"loader": loader, "comm": comm, "ops": ops.spans}, where)["ops"]
    yield Figure("op_busy", share(layers["ops"], length), "%", label)
    gaps = ops.where(~loader.hold(ops.start)).spans.gaps(where)
    yield Figure("op_gaps_over_1ms", int(np.sum(gaps > GAPS["gaps_over_1ms"])), "count", label)
    if comm:
        yield Figure("cpu_comm", share(comm.length, length), "%", label)
        yield Figure("cpu_comm_overlap", share(layers["ops"] - alone, comm.length), "%", label)


def own_ops(events: Events) -> Events:
    """Return the operators that are no communication."""
    return events.of(Kind.OP).named(lambda name: not COMM_OP.search(name))


def collectives(events: Events) -> Events:
    """Return the collectives that ran on the CPU."""
    return events.of(Kind.MARK).named(COMM_MARK.match)
