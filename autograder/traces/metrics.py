"""The figures of a recording. definitions.py says in words what each id means."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from autograder.traces.events import KERNELS, ON_GPU, Events, Kind
from autograder.traces.record import Figure, Unit, Window
from autograder.traces.spans import growth, overlap
from autograder.traces.windows import Stretch, gpus, loading, on_gpu, steps_of, stretch

LAUNCH = re.compile(r"(?:cuda|cu|hip)\w*Launch(?:Cooperative|Multi)?Kernel|urEnqueueKernelLaunch")
GRAPH_LAUNCH = re.compile(r"(?:cuda|cu|hip)GraphLaunch")
SYNC = re.compile(r"(?:cuda|cu|hip)\w*Synchronize")
ALLOC = re.compile(
    r"(?:cuda|cu|hip)(?:Malloc|Free|Host(?:Alloc|Free|Register)|Mem(?:Alloc|Free|Create|(?:Unm|M)ap))"
)
ITEM = re.compile(r"aten::_local_scalar_dense")
GAPS = {"gaps_over_10us": 10_000, "gaps_over_100us": 100_000, "gaps_over_1ms": 1_000_000}  # ns
SHORT = 10_000  # ns: about what launching a kernel takes
COMM_MARK = re.compile(r"(?:gloo|nccl|mpi|ucc):")
COMM_OP = re.compile(
    r"nccl|gloo:|c10d::|all_?reduce|all_?gather|reduce_?scatter|send_?recv", re.IGNORECASE
)


def figures(events: Events, found: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield every figure that this recording allows."""
    for device in gpus(events):
        work = on_gpu(events, device)
        yield from _busy(work, device, found)
        yield from _gaps(work, device, found)
        yield from _kernels(work, device)
        yield from _copies(work, device)
        yield from _communication(work, device)
    yield from _calls(events)
    yield from _steps(events, found)
    if not gpus(events):
        yield from _processor(events, found)


def share(part: float, whole: float) -> float:
    """Return percent."""
    return float(100.0 * part / whole)


def _made(window: str, device: int | None, unit: Unit, **values: float) -> Iterator[Figure]:
    yield from (Figure(name, value, unit, window, device) for name, value in values.items())


def _busy(work: Events, device: int, found: tuple[Window, ...]) -> Iterator[Figure]:
    alone, graphs = work.of(*KERNELS), work.of(Kind.GRAPH)
    for window in ("steps", f"gpu{device}", "trace"):
        named = stretch(found, window)
        if named is None:
            continue
        label, where = window.rstrip("0123456789"), named[1]
        ran = {"busy_kernel": alone.spans | graphs.spans, "busy_any": work.spans}
        ran |= {"busy_kernel_only": alone.spans} if len(graphs) else {}
        shares = {
            name: share(spans.within(where).length, where[1] - where[0])
            for name, spans in ran.items()
        }
        yield from _made(label, device, "%", **shares)
        yield from _estimates(alone, device, label, where)


def _estimates(kernels: Events, device: int, label: str, where: Stretch) -> Iterator[Figure]:
    """Yield what CUPTI guesses from launch shapes; kernels are cut to the window, else it exceeds 100 %."""
    time = np.clip(np.minimum(kernels.end, where[1]) - np.maximum(kernels.start, where[0]), 0, None)
    known = np.isfinite(kernels.blocks) & np.isfinite(kernels.occupancy) & (time > 0)
    if known.any():
        filled = np.sum(np.minimum(kernels.blocks, 1)[known] * time[known])
        yield Figure(
            "est_sm_efficiency", min(share(filled, where[1] - where[0]), 100.0), "%", label, device
        )
        occupied = float(np.average(kernels.occupancy[known], weights=time[known]))
        yield Figure("est_occupancy", occupied, "%", label, device)


def _gaps(work: Events, device: int, found: tuple[Window, ...]) -> Iterator[Figure]:
    named = stretch(found, "steps", f"gpu{device}")
    if named is None:
        return
    label, gaps = named[0].rstrip("0123456789"), work.spans.gaps(named[1])
    yield from _made(
        label, device, "ns", idle=int(gaps.sum()), gap_longest=int(gaps.max(initial=0))
    )
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
    copies, kernels = work.of(Kind.COPY), (work.of(*KERNELS, Kind.GRAPH)).spans
    for way, name in {"h2d": "HtoD", "d2h": "DtoH"}.items():
        ones = copies.named(re.compile(name))
        if len(ones):
            yield from _made("trace", device, "count", **{f"{way}_count": len(ones)})
            yield from _made("trace", device, "ns", **{f"{way}_time": ones.spans.length})
            yield from _made("trace", device, "bytes", **{f"{way}_bytes": int(ones.size.sum())})
    up = copies.named(re.compile("HtoD"))
    if len(up):
        time, hidden = up.spans.length, overlap(up.spans, kernels)
        yield from _made(
            "trace", device, "ns", h2d_sum=int(up.durations.sum()), h2d_exposed=time - hidden
        )
        if time:
            yield from _made("trace", device, "GB/s", h2d_rate=int(up.size.sum()) / time)
            yield from _made("trace", device, "%", h2d_overlap=share(hidden, time))
        known = up.named(re.compile("Pinned|Pageable"))
        if known.size.sum():
            pinned = known.named(re.compile("Pinned")).size.sum()
            yield from _made("trace", device, "%", h2d_pinned=share(pinned, known.size.sum()))
    if len(copies):
        time = copies.spans.length
        exposed = time - overlap(copies.spans, kernels)
        yield from _made("trace", device, "ns", copy_time=time, copy_exposed=exposed)


def _communication(work: Events, device: int) -> Iterator[Figure]:
    comm, compute = work.of(Kind.COMM).spans, work.of(Kind.KERNEL).spans
    if comm:
        both = overlap(comm, compute)
        yield Figure("comm_time", comm.length, "ns", "trace", device)
        yield Figure("comm_exposed", comm.length - both, "ns", "trace", device)
        yield Figure("comm_overlap", share(both, comm.length), "%", "trace", device)


def _calls(events: Events) -> Iterator[Figure]:
    calls = events.of(Kind.CALL)
    launches, syncs = calls.named(LAUNCH), calls.named(SYNC)
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


def _steps(events: Events, found: tuple[Window, ...]) -> Iterator[Figure]:
    steps, named = steps_of(events), stretch(found, "steps")
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
        yield Figure(
            "spill",
            work.spans.within((where[1], max(events.length, where[1]))).length,
            "ns",
            "steps",
        )


def _host(events: Events, where: Stretch) -> Iterator[Figure]:
    """Yield how busy the CPU was, and how long it was held up at most."""
    waits, calls = loading(events), events.of(Kind.CALL)
    begun = waits.where((waits.start >= where[0]) & (waits.start < where[1]))
    if len(begun):
        yield Figure("dataloader_longest", int(begun.durations.max()), "ns", "steps")
    layers = {
        "held up": calls.named(SYNC).spans,
        "busy": waits.spans | events.of(Kind.OP, Kind.CALL).spans,
    }
    yield Figure(
        "host_busy", share(growth(layers, where)["busy"], where[1] - where[0]), "%", "steps"
    )


def _processor(events: Events, found: tuple[Window, ...]) -> Iterator[Figure]:
    """Yield what a recording without a GPU still shows, under names of its own."""
    ops = own_ops(events)
    if not len(ops):
        return
    yield Figure("op_count", len(ops), "count", "trace")
    yield Figure("op_mean", float(ops.durations.mean()), "ns", "trace")
    yield Figure(
        "ops_under_10us", share(int(np.sum(ops.durations < SHORT)), len(ops)), "%", "trace"
    )
    named = stretch(found, "steps", "trace")
    assert named is not None
    label, where = named
    comm, loader = collectives(events).spans.within(where), loading(events).spans
    layers = growth({"loader": loader, "ops": ops.spans}, where)
    alone = growth({"loader": loader, "comm": comm, "ops": ops.spans}, where)["ops"]
    yield Figure("op_busy", share(layers["ops"], where[1] - where[0]), "%", label)
    gaps = ops.where(~loader.hold(ops.start)).spans.gaps(where)
    yield Figure("op_gaps_over_1ms", int(np.sum(gaps > GAPS["gaps_over_1ms"])), "count", label)
    if comm:
        yield Figure("cpu_comm", share(comm.length, where[1] - where[0]), "%", label)
        yield Figure("cpu_comm_overlap", share(layers["ops"] - alone, comm.length), "%", label)


def own_ops(events: Events) -> Events:
    """Return the operators that are no communication."""
    return events.of(Kind.OP).named(lambda name: not COMM_OP.search(name))


def collectives(events: Events) -> Events:
    """Return the collectives that ran on the CPU."""
    return events.of(Kind.MARK).named(COMM_MARK.match)
