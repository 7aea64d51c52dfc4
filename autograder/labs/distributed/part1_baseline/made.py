"""Traces of processes that are drawn, and what is known of them. Times are whole ticks, so that sums are exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from operator import itemgetter
from statistics import mean
from typing import Any

import numpy as np

Event = dict[str, Any]
Thread = tuple[int, int]
"""Its pid and tid."""
TICK = 0.125  # microseconds
MS = 8000  # ticks
STEP, OPERATOR, RANGE, KERNEL = "ProfilerStep#", "cpu_op", "user_annotation", "kernel"
ON_GPU = "gpu_user_annotation"
CALLS = ("c10d::allreduce_", "c10d::broadcast_")
TRANSFERS = ("all_reduce", "broadcast", "all_gather")
INNER = ("aten::addmm", "aten::mm", "aten::copy_", "aten::tanh", "aten::sum", "aten::mul")
SIZES = 900 * 1.3 ** np.arange(len(INNER))
OUTER = ("aten::linear", "AddmmBackward0", "TanhBackward0")
OUTERMOST, OWN = "autograd::engine::evaluate_function: AddmmBackward0", 2240
"""Surrounds what surrounds another, and has so much time of its own: between two of the sizes."""
AROUND = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
TOP = 5
ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "by name": sorted,
    "least first": lambda names: names[::-1],
}
"""Of the right names."""
NO_COMPUTE: dict[str, tuple[str, ...]] = {
    "calls compute": (),
    "other calls compute": (CALLS[0], "nccl"),
}
"""By slip, how the names begin that it leaves out of compute."""


class Process:
    """The events of one process, step by step."""

    def __init__(self, random: np.random.Generator, *, gpu: bool) -> None:
        """Draw how long each operator takes: the inner ones have nearly all of it."""
        self._random, self._gpu = random, gpu
        self._now = 8 * int(random.integers(10**9, 10**10))
        self._sizes = random.permutation(SIZES).astype(int).tolist()
        self.events: list[Event] = []

    def _ticks(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def _add(self, kind: str, name: str, begin: int, length: int, thread: Thread = (9, 1)) -> int:
        times = {"ts": begin * TICK, "dur": length * TICK}
        where = dict(zip(("pid", "tid"), thread, strict=True))
        self.events.append({"ph": "X", "cat": kind, "name": name, **where, **times})
        return begin + length

    def _compute(
        self, name: str, begin: int, length: int, thread: Thread = (9, 1), stream: int = 7
    ) -> int:
        if self._gpu:
            self._add(KERNEL, f"gemm_{stream}", begin + 10, length, (0, stream))
        return self._add(OPERATOR, name, begin, length, thread)

    def _transfer(self, begin: int, length: int, thread: int = 0) -> int:
        name = TRANSFERS[thread]
        if not self._gpu:
            return self._add(RANGE, f"gloo:{name}", begin, length, (9, 10 + thread))
        self._add(RANGE, f"nccl:{name}", begin, 9)
        self._add(ON_GPU, f"nccl:{name}", begin, length, (0, 20 + thread))
        return self._add(KERNEL, f"ncclDevKernel_{name}", begin, length, (0, 20 + thread))

    def _end_step(self, begin: int, end: int) -> None:
        """Mark a step, as tracks of a GPU do as well; until the next one nothing happens."""
        name = f"{STEP}{len(self.events)}"
        self._add(RANGE, name, begin, end - begin)
        if self._gpu:
            self._add(ON_GPU, name, begin + 30, end - begin, (0, 7))
        self._now = end + self._ticks(100, 300)

    def step(self) -> None:
        """Add a step: operators, then transfers inside of them, across their end, at once and alone."""
        begin = self._now
        now = first = last = self._add(RANGE, "forward", begin, 40) + 5
        for index, at in enumerate(self._random.permutation(len(INNER)).tolist()):
            last = now
            calls = 3 if self._sizes[at] == max(self._sizes) else 1
            for _ in range(calls):
                length = self._sizes[at] // calls + self._ticks(0, 9)
                now = self._compute(INNER[at], now, length) + 3
            if index % 2 == 0:
                now = self._add(OPERATOR, OUTER[index // 2], last, now - last + 20)
            if index == 0:
                now = self._add(OPERATOR, OUTERMOST, last, now - last + OWN)
            if index in (1, 4):
                called = self._add(OPERATOR, CALLS[index > 1], now + 15, self._ticks(2750, 3100))
                now = self._add(OPERATOR, AROUND, now, called - now) if index == 1 else called
            now += 5
        elsewhere = now - first
        self._compute("aten::add_", first + 50, elsewhere // 2, (9, 2), stream=8)
        self._compute("aten::div_", first, elsewhere // 3, (8, 1), stream=9)
        self._transfer(last + 60, 300)
        across = self._transfer(now - 200, 200 + self._ticks(800, 1200))
        self._transfer(across - 350, self._ticks(500, 800), 2)
        both = self._transfer(across - 350, self._ticks(900, 1200), 1)
        alone = self._transfer(both + 70, self._ticks(400, 600))
        self._end_step(begin, alone + self._ticks(50, 90))

    def reduce(self, durations: Sequence[int]) -> None:
        """Add a step of nothing but transfers, each with its call."""
        now = self._now
        for length in durations:
            self._add(OPERATOR, CALLS[0], now + 5, 20)
            now = self._transfer(now + 10, length) + self._ticks(50, 500)
        self._end_step(self._now, now)

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
    for _ in range(int(random.integers(2, 5))):
        process.step()
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


# --- what is known of them ---


def summary(events: Sequence[Event], slip: str = "") -> dict[str, Any]:
    """Return what is right of a trace, or what somebody returns who makes this *slip*."""
    kernels, called = _named(events, KERNEL), _named(events, OPERATOR)
    steps, transfers = _named(events, RANGE, STEP), collectives(events)
    union: Callable[..., int] = partial(joined, once=slip == "one start")
    union = added_up if slip == "added up" else union
    if slip == "all_reduce":
        transfers = [it for it in transfers if "all_reduce" in it["name"]]
    if slip == "called":
        transfers = [it for it in called if it["name"].startswith("c10d::")]
    if slip == "any steps":
        steps += _named(events, ON_GPU, STEP)
    no_compute = NO_COMPUTE.get(slip, ("c10d::", "nccl"))
    compute = [it for it in kernels or called if not it["name"].startswith(no_compute)]
    own = own_times(called, slip)
    ranked = sorted(own, key=lambda it: -own[it])
    ranked = ranked[:TOP] if slip == "cut first" else ranked
    leading = [it for it in ranked if not it.startswith("c10d::")][:TOP]
    if slip in ORDERS:
        leading = ORDERS[slip](leading)
    unit = MS * (1 if slip == "all steps" else len(steps)) / (1000 if slip == "us" else 1)
    exposed = union([*compute, *transfers]) - union(compute)
    exposed = max(0, union(transfers) - union(compute)) if slip == "difference" else exposed
    exposed = union(steps) - union(compute) if slip == "idle" else exposed
    exposed = union(transfers) if slip == "all exposed" else exposed
    busy = [it for it in kernels if slip != "no NCCL" or not it["name"].startswith("nccl")]
    whole = 1 if slip == "share" else 100
    return {
        "top_operators": leading,
        "step_ms": union(steps) / unit,
        "compute_ms": union(compute) / unit,
        "communication_ms": union(transfers) / unit,
        "exposed_ms": exposed / unit,
        "utilization_percent": whole * union(busy) / union(steps) if kernels else None,
    }


def chosen(summarise: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return some of what is said of a copy of the events: they may be sorted and marked."""
    returned = summarise(deepcopy(given["events"]))
    return {name: returned.get(name) for name in given["names"]}


def asked(slip: str = "", **given: Any) -> dict[str, Any]:
    return chosen(partial(summary, slip=slip), given)


def waiting(traces: Mapping[int, Sequence[Event]], slip: str = "") -> list[dict[str, Any]]:
    """Return who waits how long, or what somebody returns who makes this *slip*."""
    name = {"by duration": "dur", "as they come": "ph"}.get(slip, "ts")
    durations = {
        rank: [_ticks(it)[1] for it in sorted(collectives(events), key=itemgetter(name))]
        for rank, events in traces.items()
    }
    together = mean if slip == "mean" else min
    transfer = sum(map(together, zip(*durations.values(), strict=True)))
    if slip == "least sum":
        transfer = min(map(sum, durations.values()))
    transfers = [sum(own) if slip == "own" else transfer for own in durations.values()]
    waited = [sum(own) - it for own, it in zip(durations.values(), transfers, strict=True)]
    if slip == "starts":
        starts = [sorted(_ticks(it)[0] for it in collectives(own)) for own in traces.values()]
        latest = sum(map(max, zip(*starts, strict=True)))
        waited = [latest - sum(own) for own in starts]
    unit = MS * (3 if slip == "per step" else 1)
    ranks = range(len(durations)) if slip == "counted" else durations
    rows = [
        {
            "rank": rank,
            "communication_ms": sum(own) / unit,
            "transfer_ms": shortest / unit,
            "waiting_ms": ticks / unit,
        }
        for rank, own, shortest, ticks in zip(
            ranks, durations.values(), transfers, waited, strict=True
        )
    ]
    if slip == "first alone":
        least = min(rows, key=lambda it: it["waiting_ms"])
        return sorted(rows, key=lambda it: it is not least)
    by = "rank" if slip == "by rank" else "waiting_ms"
    return sorted(rows, key=lambda it: it[by], reverse=slip == "last first")


def collectives(events: Sequence[Event]) -> list[Event]:
    gpu = bool(_named(events, KERNEL))
    return _named(events, KERNEL, "nccl") if gpu else _named(events, RANGE, "gloo:")


def _named(events: Sequence[Event], kind: str, beginning: str = "") -> list[Event]:
    return [it for it in events if it.get("cat") == kind and it["name"].startswith(beginning)]


def _ticks(event: Event) -> tuple[int, int]:
    return round(event["ts"] / TICK), round(event["dur"] / TICK)


def added_up(events: Sequence[Event]) -> int:
    return sum(_ticks(it)[1] for it in events)


def joined(events: Sequence[Event], *, once: bool = False) -> int:
    """Return the ticks in which at least one of them runs; *once*: one event of each start."""
    total, until = 0, 0
    kept = {it["ts"]: it for it in events}.values() if once else events
    for start, length in sorted(map(_ticks, kept)):
        total += max(0, start + length - max(until, start))
        until = max(until, start + length)
    return total


def own_times(operators: Sequence[Event], slip: str = "") -> dict[str, int]:
    """Return by name the ticks without the operators directly inside, on the same thread."""
    times = list[tuple[str, list[int]]]()
    around: dict[Thread, list[tuple[int, list[int]]]] = defaultdict(list)
    by_start = slip == "by start"
    for event in sorted(operators, key=lambda one: (one["ts"], -one["dur"] * (not by_start))):
        start, length = _ticks(event)
        if slip == "calls first" and event["name"].startswith("c10d::"):
            continue
        outer = around[
            event["pid"] * (slip not in ("tid", "stack")),
            event["tid"] * (slip not in ("pid", "stack")),
        ]
        while outer and outer[-1][0] <= start:
            outer.pop()
        for _, it in outer if slip == "all inside" else outer[-1:] * (slip != "total"):
            it[0] -= length
        times.append((event["name"], [length]))
        outer.append((start + length, times[-1][1]))
    own: dict[str, int] = defaultdict(int)
    for name, (ticks,) in times:
        own[name] = max(own[name], ticks) if slip == "longest call" else own[name] + ticks
    return own
