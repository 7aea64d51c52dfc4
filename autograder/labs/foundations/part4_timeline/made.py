"""What part 4 draws and knows: events of a trace, the own time of each operator, and schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autograder.traces.words import many

Event = dict[str, Any]
Row = dict[str, Any]
OPERATOR, TABLE = "cpu_op", "operators.csv"

ONE_START, NO_GAP, NO_DURATION = "shared starts", "no gaps", "durations of 0"
THREADS, PROCESSES, TIES = "two threads", "two processes", "equal own_us"
OTHERS = "ranges, calls and kernels"
PLACES = {THREADS: ((9, 1), (9, 2)), PROCESSES: ((9, 1), (8, 1))}
"""Process and thread of operators; otherwise there is one of each."""

NAMES = (
    "aten::linear",
    "aten::addmm",
    "aten::copy_",
    "aten::relu",
    "aten::add",
    "AddmmBackward0",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "mylib::gate",
)
LEVELS = 3
SHOWN = 6
TICK = 0.125  # microseconds: sums of these are exact in any order

# --- events of a trace ---


def events(random: np.random.Generator, blocks: int, kind: str = "") -> list[Event]:
    """Draw the events of a trace, in no order: so many operators that nothing surrounds.

    Own times are equal only where that is what the trace is about.
    """
    drawn = _drawn(random, blocks, kind)
    while kind not in (TIES, NO_DURATION) and _has_ties(drawn):
        drawn = _drawn(random, blocks, kind)
    return drawn


def _has_ties(drawn: Sequence[Event]) -> bool:
    own = [row["own_us"] for row in own_times(drawn)]
    return len(own) > len(set(own))


def _drawn(random: np.random.Generator, blocks: int, kind: str) -> list[Event]:
    start = int(random.integers(10**9, 10**10))
    drawn: list[Event] = []
    for pid, tid in PLACES.get(kind, ((9, 1),)):
        own = Operators(random, kind).flat() if kind == TIES else []
        for _ in range(0 if own else blocks):
            own += Operators(random, kind).nested(own[-1]["end"] if own else 0)
        drawn += [_event(it, start, pid, tid) for it in own]
    drawn += _others(drawn) if kind == OTHERS else []
    return [drawn[at] for at in random.permutation(len(drawn))]


def _event(operator: Row, start: int, pid: int, tid: int) -> Event:
    ts, dur = start + operator["start"], operator["end"] - operator["start"]
    shape = {"ph": "X", "cat": OPERATOR, "name": operator["name"]}
    return {**shape, "pid": pid, "tid": tid, "ts": ts * TICK, "dur": dur * TICK}


class Operators(NamedTuple):
    """Draws operators; their times are whole ticks."""

    random: np.random.Generator
    kind: str

    def ticks(self, most: int = 99) -> int:
        return int(self.random.integers(1, most + 1))

    def nested(self, after: int, level: int = 1) -> list[Row]:
        """Return an operator that begins after a moment, and what it calls; it is the last one."""
        start = after if self.kind == NO_GAP or level > 1 else after + self.ticks()
        now = start if self.kind in (ONE_START, NO_DURATION) else start + self.ticks()
        inside: list[Row] = []
        for _ in range(int(self.random.integers(0, 4)) if level < LEVELS else 0):
            inside += self.nested(now, level + 1)
            now = inside[-1]["end"] + (0 if self.kind == NO_GAP else self.ticks())
        lasts = self.kind != NO_DURATION or inside or self.random.random() < 0.5
        end = now + self.ticks() if lasts else start
        return [*inside, {"name": str(self.random.choice(NAMES)), "start": start, "end": end}]

    def flat(self) -> list[Row]:
        """Return one call of each operator, all of one duration."""
        names = self.random.permutation(NAMES).tolist()
        return [{"name": it, "start": 9 * at, "end": 9 * at + 8} for at, it in enumerate(names)]


def _others(operators: Sequence[Event]) -> list[Event]:
    """Return ranges around operators and inside of them, a GPU's work, and events without a duration."""
    around, inside = _bounds(operators)
    gpu = {"pid": 0, "tid": 7}
    return [
        {**around, "cat": "user_annotation", "name": "ProfilerStep#5"},
        {**around, "cat": "python_function", "name": "train.py(7): train_step"},
        {**around, "cat": "gpu_user_annotation", "name": "ProfilerStep#5", **gpu},
        {**around, "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans"},
        {**inside, "cat": "user_annotation", "name": "Optimizer.step#SGD.step"},
        {**inside, "cat": "user_annotation", "name": NAMES[0]},
        {**inside, "cat": "cuda_runtime", "name": "cudaLaunchKernel"},
        {**inside, "cat": "kernel", "name": "gemm", **gpu},
        {"cat": "fwdbwd", "name": "fwdbwd", "ph": "s", "pid": 9, "tid": 1, "ts": inside["ts"]},
        {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0.0, "args": {"name": "x"}},
    ]


def _bounds(operators: Sequence[Event]) -> tuple[Event, Event]:
    """Return an event around all operators and one inside the longest of them."""
    first = min(it["ts"] for it in operators)
    last = max(it["ts"] + it["dur"] for it in operators)
    longest = max(operators, key=lambda it: float(it["dur"]))
    around = {**longest, "ts": first - 2 * TICK, "dur": last - first + 4 * TICK}
    half = longest["dur"] // (2 * TICK) * TICK
    return around, {**longest, "ts": longest["ts"] + TICK, "dur": half}


# --- what is known of them ---


def own_times(events: Sequence[Event], slip: str = "") -> list[Row]:
    """Return the right rows, or those of a slip: all that lasts, threads, whole times, all descendants.

    "same": an operator inside one of its own name is not taken off; "once": one operator is closed before the next.
    """
    rows: dict[str, Row] = {}
    around: dict[Any, list[tuple[int, str]]] = defaultdict(list)
    lasting = [it for it in events if it.get("ph") == "X"]
    chosen = [it for it in lasting if slip == OTHERS or it.get("cat") == OPERATOR]
    for event in sorted(chosen, key=lambda it: (it["ts"], -it["dur"])):
        name, start, lasts = event["name"], _ns(event["ts"]), _ns(event["dur"])
        row = rows.setdefault(name, {"operator": name, "calls": 0, "total_us": 0, "own_us": 0})
        row["calls"] += 1
        row["total_us"] += lasts
        row["own_us"] += lasts
        outer = around["" if slip == THREADS else (event["pid"], event["tid"])]
        while outer and outer[-1][0] <= start:
            outer.pop()
            if slip == "once":
                break
        for _, caller in [] if slip == "whole" else outer[0 if slip == "all" else -1 :]:
            rows[caller]["own_us"] -= lasts * (slip != "same" or caller != name)
        outer.append((start + lasts, name))
    for row in rows.values():
        row |= {name: row[name] / 1000 for name in ("total_us", "own_us")}
    most = "total_us" if slip == "order" else "own_us"
    return sorted(rows.values(), key=lambda it: (-it[most], it["operator"]))


def _ns(us: float) -> int:
    """Return whole nanoseconds, in which ends and starts can be compared."""
    return round(1000 * us)


# --- schedules ---


class Cycles(NamedTuple):
    """What is handed to a schedule, and so many steps that follow the last cycle."""

    wait: int = 1
    warmup: int = 1
    active: int = 2
    repeat: int = 2
    spare: int = 0

    @property
    def steps(self) -> int:
        return self.repeat * (self.wait + self.warmup + self.active) + self.spare

    @property
    def options(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("wait", "warmup", "active", "repeat")}

    @property
    def recorded(self) -> list[list[int]]:
        """Return the steps of each cycle that are recorded."""
        length = self.wait + self.warmup + self.active
        firsts = [length * cycle + length - self.active for cycle in range(self.repeat)]
        return [list(range(first, first + self.active)) for first in firsts]

    @property
    def warm_up(self) -> list[int]:
        """Return the steps in which the profiler runs, and of which nothing is kept."""
        return [
            steps[0] - before for steps in self.recorded for before in range(self.warmup, 0, -1)
        ]

    @property
    def traces(self) -> list[str]:
        """Say what each cycle's trace holds."""
        return [held(steps, steps) for steps in self.recorded]

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.steps} steps, {options}"


def held(batches: Sequence[int], steps: Sequence[int]) -> str:
    """Say which steps a trace holds: by marks of their own, and by the profiler's."""
    named = [", ".join(map(str, sorted(numbers)[:SHOWN])) for numbers in (batches, steps)]
    return f"steps {named[0] or 'none'} as ProfilerStep# {named[1] or 'none'}"


def profiled(
    taken: Sequence[int],
    traces: Sequence[str],
    warm_up: Sequence[int],
    returned: Any,
    stepped: int = 0,
) -> dict[str, Any]:
    """Name what a call of profile_cycles did, in the order in which it is judged; *stepped* so often."""
    never = (
        f"was never called; prof.step() was called {many(stepped, 'time')} in {len(taken)} steps"
    )
    return {
        "calls of step": f"{len(taken)} calls, for i = {', '.join(map(str, taken[:SHOWN]))} ...",
        "the handler": "was called" if traces else never,
        **{f"trace {number}": steps for number, steps in enumerate(traces, 1)},
        "number of traces": len(traces),
        "warm-up": f"steps {', '.join(map(str, warm_up[:SHOWN])) or 'none'}",
        "returned": returned,
    }


def schedules(random: np.random.Generator) -> list[Cycles]:
    """Draw schedules: one without steps to spare, one with, and any other."""
    wait, warmup, active, repeat = (int(it) for it in random.integers((0, 1, 1, 1), (4, 3, 4, 4)))
    return [
        Cycles(),
        Cycles(wait=3, warmup=2, spare=5),
        Cycles(wait, warmup, active, repeat, spare=2),
    ]
