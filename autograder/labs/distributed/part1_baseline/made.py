"""Traces of processes that are drawn, and what is known of them. Times are whole ticks, so that sums are exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Event = dict[str, Any]
Interval = tuple[int, int]
TICK = 0.125  # microseconds
MS = 8000  # ticks
STEP, OPERATOR, RANGE, KERNEL = "ProfilerStep#", "cpu_op", "user_annotation", "kernel"
CALL, GLOO = "c10d::allreduce_", "gloo:all_reduce"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
OUTER = ("aten::linear", "autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0")
INNER = ("aten::addmm", "aten::mm", "aten::copy_", "aten::tanh", "aten::sum", "aten::mul")
AROUND = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
ELSEWHERE = "aten::add_"
"""An operator of a second thread, at the same time as others."""
TOP = 5


class Process:
    """The events of one process, step by step."""

    def __init__(self, random: np.random.Generator, *, gpu: bool) -> None:
        """Draw how long each operator takes: the inner ones have nearly all of it."""
        self._random, self._gpu = random, gpu
        self._now = 8 * int(random.integers(10**9, 10**10))
        sizes = 900 * 1.3 ** np.arange(len(INNER))
        self._sizes = dict(zip(INNER, random.permutation(sizes).tolist(), strict=True))
        self.events: list[Event] = []

    def _ticks(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def _add(self, kind: str, name: str, begin: int, length: int, tid: int = 1) -> int:
        where = {"pid": 0 if kind == KERNEL else 9, "tid": tid}
        times = {"ts": begin * TICK, "dur": length * TICK}
        self.events.append({"ph": "X", "cat": kind, "name": name, **where, **times})
        return begin + length

    def _compute(self, begin: int, length: int, stream: int = 7) -> None:
        if self._gpu:
            self._add(KERNEL, f"gemm_{stream}", begin + 10, length, stream)

    def _transfer(self, begin: int, length: int, thread: int) -> int:
        if self._gpu:
            self._add(RANGE, "nccl:all_reduce", begin, 9)
            self._add("gpu_user_annotation", "nccl:all_reduce", begin, length, 20 + thread)
            return self._add(KERNEL, NCCL, begin, length, 20 + thread)
        return self._add(RANGE, GLOO, begin, length, 10 + thread)

    def _call(self, begin: int, *, inside: bool) -> int:
        """Add the call of a transfer, inside of an operator that has no time of its own, or alone."""
        end = self._add(OPERATOR, CALL, begin + 15, self._ticks(1900, 2300)) + 5
        return self._add(OPERATOR, AROUND, begin, end - begin) if inside else end

    def step(self, number: int) -> None:
        """Add a step: operators, then transfers inside of them, across their end, two at once and alone."""
        begin = self._now
        now = self._add(RANGE, "forward", begin, 40)
        first = now
        for index, name in enumerate(self._random.permutation(INNER).tolist()):
            length = int(self._sizes[name]) + self._ticks(0, 9)
            own = self._ticks(20, 60)
            if index % 2 == 0:
                self._add(OPERATOR, OUTER[index // 2], now, length + own)
            self._add(OPERATOR, name, now + own // 2, length)
            self._compute(now, length)
            last, now = now, now + length + own
            if index in (1, 4):
                now = self._call(now, inside=index == 1)
        self._add(OPERATOR, ELSEWHERE, first + 50, (now - first) // 2, tid=2)
        self._compute(first + 50, (now - first) // 3, stream=8)
        self._transfer(last + 60, 300, 1)
        across = self._transfer(now - 200, 200 + self._ticks(800, 1200), 1)
        both = self._transfer(across - self._ticks(300, 500), self._ticks(900, 1200), 2)
        alone = self._transfer(both + self._ticks(50, 90), self._ticks(400, 600), 1)
        self._now = alone + self._ticks(50, 90)
        self._add(RANGE, f"{STEP}{number}", begin, self._now - begin)

    def reduce(self, durations: Sequence[int]) -> None:
        """Add a step of nothing but transfers, each with its call."""
        begin = self._now
        for length in durations:
            self._add(OPERATOR, CALL, self._now + 5, 20)
            self._now = self._transfer(self._now + 10, length, 1) + self._ticks(50, 500)
        self._add(RANGE, f"{STEP}{len(self.events)}", begin, self._now - begin)

    def shuffled(self) -> list[Event]:
        """Return all events in no order, with some that nothing is asked about."""
        kept = self.events
        other = {"ph": "X", "pid": 9, "tid": 1, "ts": kept[0]["ts"], "dur": kept[0]["dur"]}
        kept = [
            *kept,
            {**other, "cat": "python_function", "name": "train.py(7): step"},
            {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python"}},
            {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 9, "tid": 1, "ts": 1.0},
        ]
        return [kept[at] for at in self._random.permutation(len(kept))]


def drawn_trace(random: np.random.Generator, *, gpu: bool) -> list[Event]:
    """Draw the trace of one process."""
    process = Process(random, gpu=gpu)
    for number in range(int(random.integers(2, 5))):
        process.step(number)
    return process.shuffled()


def drawn_traces(
    random: np.random.Generator, world: int, calls: int, gpu: bool
) -> dict[int, list[Event]]:
    """Draw the traces of a group; another rank is slow in each of three steps, and it does not wait."""
    processes = [Process(random, gpu=gpu) for _ in range(world)]
    for slow in (random.permutation(max(world, 3))[:3] % world).tolist():
        transfers = random.integers(500, 3000, calls)
        waits = random.integers(400, 9000, (world, calls))
        waits[slow] = 0
        for process, late in zip(processes, waits, strict=True):
            process.reduce((transfers + late).tolist())
    order = random.permutation(world).tolist()
    return {rank: processes[rank].shuffled() for rank in order}


# --- what is known of them --------------------------------------------------------------------


def summary(events: Sequence[Event], slip: str = "") -> dict[str, Any]:
    """Return what is right of a trace, or what a slip makes of its times."""
    lasting = [it for it in events if it.get("ph") == "X"]
    kernels = _named(lasting, KERNEL)
    operators = [it for it in _named(lasting, OPERATOR) if it["name"] != CALL]
    transfers = collectives(lasting)
    compute = [it for it in kernels if it["name"] != NCCL] if kernels else operators
    if slip == "call":
        transfers = _named(lasting, OPERATOR, CALL)
    if slip == "all":
        compute = kernels or _named(lasting, OPERATOR)
    steps = _named(lasting, RANGE, STEP)
    covered: Callable[[Sequence[Event]], int] = added if slip == "sum" else union
    times = {
        "step_ms": covered(steps),
        "compute_ms": covered(compute),
        "communication_ms": covered(transfers),
        "exposed_ms": union([*compute, *transfers]) - union(compute),
    }
    if slip == "exposed":
        times["exposed_ms"] = times["communication_ms"]
    unit = MS * (1 if slip == "whole" else len(steps))
    busy = 100 * union(kernels) / union(steps) if kernels else None
    figures: dict[str, Any] = {name: ticks / unit for name, ticks in times.items()}
    own = own_times(_named(lasting, OPERATOR))
    own.pop(CALL, None)
    top = sorted(own, key=lambda name: -own[name])[:TOP]
    return {"top_operators": top, **figures, "utilization_percent": busy}


def waiting(traces: Mapping[int, Sequence[Event]], slip: str = "") -> list[dict[str, Any]]:
    """Return who waits how long, or what a slip makes of it."""
    durations = {
        rank: [_ticks(it)[1] for it in collectives(events, ordered=slip != "file")]
        for rank, events in traces.items()
    }
    each = list(zip(*durations.values(), strict=True))
    transfer = sum(min(it) for it in each)
    if slip == "sums":
        transfer = min(sum(own) for own in durations.values())
    rows = []
    for rank, took in durations.items():
        whole = sum(took)
        least = whole if slip == "own" else transfer
        times = {"communication_ms": whole, "transfer_ms": least, "waiting_ms": whole - least}
        rows.append({"rank": rank, **{name: ticks / MS for name, ticks in times.items()}})
    rows.sort(key=lambda row: float(row["waiting_ms"]))
    return rows


def collectives(events: Sequence[Event], *, ordered: bool = True) -> list[Event]:
    lasting = [it for it in events if it.get("ph") == "X"]
    on_gpu = bool(_named(lasting, KERNEL))
    chosen = _named(lasting, KERNEL, "nccl") if on_gpu else _named(lasting, RANGE, "gloo:")
    return sorted(chosen, key=lambda it: float(it["ts"])) if ordered else chosen


def _named(events: Sequence[Event], kind: str, beginning: str = "") -> list[Event]:
    return [it for it in events if it["cat"] == kind and it["name"].startswith(beginning)]


def _ticks(event: Event) -> Interval:
    return round(event["ts"] / TICK), round(event["dur"] / TICK)


def union(events: Sequence[Event]) -> int:
    """Return the ticks in which at least one of them runs."""
    total, until = 0, 0
    for start, length in sorted(map(_ticks, events)):
        total += max(0, start + length - max(until, start))
        until = max(until, start + length)
    return total


def added(events: Sequence[Event]) -> int:
    return sum(_ticks(it)[1] for it in events)


def own_times(operators: Sequence[Event]) -> dict[str, int]:
    """Return by name the ticks without the operators directly inside, on the same thread."""
    own: dict[str, int] = defaultdict(int)
    around: dict[int, list[tuple[int, str]]] = defaultdict(list)
    outermost_first = sorted(operators, key=lambda event: (event["ts"], -event["dur"]))
    for event in outermost_first:
        start, length = _ticks(event)
        outer = around[event["tid"]]
        while outer and outer[-1][0] <= start:
            outer.pop()
        if outer:
            own[outer[-1][1]] -= length
        own[event["name"]] += length
        outer.append((start + length, event["name"]))
    return own
