"""Judges of part 1: files of a group, what is said of a trace, and what two traces say of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.checks.numerics import close, explained, shown
from autograder.traces.record import Trace

WORLD, LEAST = 2, 3  # steps
ACTIVE, STEPS = 3, 10
EXACT, POINTS = 1e-6, 2.0
SLOW = (8.0, 12.0)  # percent of the steps that a rank waits: in between either answer is right
NONE = "none"
TIMES = ("step_ms", "compute_ms", "communication_ms", "exposed_ms")
SLIPS = {
    "sum": "it is the sum; what runs at once counts once",
    "call": "the call returns at once; the transfer is gloo:all_reduce, or a kernel of NCCL",
    "all": "c10d:: calls and kernels of NCCL are communication, and no compute",
    "whole": "it is of the whole trace; divide by the number of steps",
    "exposed": "it is all communication; exposed is the part in which nothing computes",
}
Summary = Mapping[str, Any]


def files_problem(written: Mapping[str, Any]) -> tuple[str, str]:
    """Say how a group did not write one trace for each rank."""
    expected = [f"rank{rank}_trace.json.gz" for rank in range(WORLD)]
    files = written["files"]
    measured = f"the files are {', '.join(files) or 'none'}; expected {' and '.join(expected)}"
    if len(files) == 1:
        return measured, f"rank 1 wrote {files[0]} over rank 0's, or only one rank writes"
    if files != expected:
        return measured, "each process writes the file of its own rank, and nothing else"
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        if trace["rank"] != rank:
            return f"{expected[rank]} is a trace of rank {trace['rank']}", "the names are swapped"
        if own["returned"] != expected[rank]:
            return f"rank {rank} returned {own['returned']}", "profile_rank returns its file"
    return "one trace for each rank", ""


def schedule_problem(written: Mapping[str, Any]) -> tuple[str, str]:
    """Say how the traces are not of the schedule."""
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        counts = ", ".join(f"{name} {count} times" for name, count in trace["ranges"].items())
        measured = f"rank {rank}: {trace['steps']} steps; {counts or 'no ranges'}"
        if own["taken"] != STEPS:
            return f"rank {rank} took {own['taken']} steps of {STEPS}", "step() is called in each"
        if trace["steps"] != ACTIVE or set(trace["ranges"].values()) != {ACTIVE}:
            return measured, "wait=1, warmup=2, active=3 leaves 3 of 10 steps, with repeat=1"
        if not trace["shapes"]:
            return measured, "no shapes of inputs: record_shapes=True"
        if own["raised"] != "ValueError" or own["late"]:
            reported = own["raised"] or "nothing"
            return (
                f"5 steps for a schedule of 6: {reported} was raised after {own['late']} steps",
                "ValueError before the first step: a cut trace looks like a whole one",
            )
    return f"{ACTIVE} steps in both traces", ""


def top_problem(own: Summary, expected: Summary) -> str:
    """Say how the top operators are wrong."""
    reported, right = own["top_operators"], expected["top_operators"]
    if reported == right:
        return ""
    asked = f"top_operators is {', '.join(reported) or 'empty'}; {', '.join(right)} is right"
    if any(it.startswith("c10d::") for it in reported):
        return f"{asked}: c10d:: is communication, which has a line of its own"
    if set(reported) == set(right):
        return f"{asked}: the most own time comes first"
    return f"{asked}: own time is without operators and calls inside, on the same thread"


def split_problem(own: Summary, expected: Summary, slips: Mapping[str, Summary]) -> str:
    """Say which time of a step is wrong."""
    for name in TIMES:
        value, right = own["figures"].get(name), expected["figures"][name]
        if not isinstance(value, float) or not close(value, right, EXACT):
            stories = [(it[name], SLIPS[slip]) for slip, it in slips.items() if it[name] != right]
            why = explained(value, stories, EXACT) if isinstance(value, float) else ""
            asked = f"{name} is {shown(value)}, and {right:.4g} is right"
            return f"{asked}: {why}" if why else asked
    return ""


def utilization_problem(own: Summary, expected: Summary) -> str:
    """Say how the share of a GPU is wrong."""
    value, right = (it["figures"].get("utilization_percent") for it in (own, expected))
    if right is None:
        return "" if value is None else f"it is {shown(value)} without a GPU in the trace"
    if isinstance(value, float) and close(value, right, EXACT):
        return ""
    return f"it is {shown(value)}, and {right:.4g} is right: steps in which any kernel runs"


# --- files that are handed in -----------------------------------------------------------------


def pair_problem(traces: Sequence[Trace]) -> str:
    """Say how two traces are not of two processes of one run."""
    for rank, trace in enumerate(traces):
        if trace.signals.get("rank") != f"{rank} of {WORLD}":
            own = trace.signals.get("rank", "no group")
            return f"{trace.file} is of rank {own}; expected {rank} of {WORLD}"
        if trace.step_count < LEAST:
            return f"{trace.file} holds {trace.step_count} steps; at least {LEAST} are expected"
    first, second = (sorted(it.bytes for it in trace.collectives) for trace in traces)
    if len(first) != len(second) or not first:
        return f"they hold {len(first)} and {len(second)} collectives: they are of two runs"
    if first != second:
        return f"their collectives moved {sum(first)} and {sum(second)} bytes: they are of two runs"
    if traces[0].collectives == traces[1].collectives:
        return "every transfer took as long in both: they are one recording"
    return ""


def shares(trace: Trace) -> dict[str, float]:
    """Return the shares of the steps of a trace, in percent."""
    length = sum(step.length for step in trace.steps) or 1
    busy = trace.figure("busy_kernel", "steps")
    if busy is not None:
        alone = 100 * (trace.figure("comm_exposed") or 0.0) / length
        transfers = 100 * (trace.figure("comm_time") or 0.0) / length
        return _named(busy - alone, transfers, alone)
    compute, transfers = trace.figure("op_busy") or 0.0, trace.figure("cpu_comm") or 0.0
    hidden = (trace.figure("cpu_comm_overlap") or 0.0) / 100
    return _named(compute, transfers, transfers * (1 - hidden))


def _named(compute: float, transfers: float, alone: float) -> dict[str, float]:
    return {
        "compute_percent": compute,
        "communication_percent": transfers,
        "exposed_percent": alone,
    }


def without_calls(trace: Trace) -> Trace:
    """Leave the operators alone, without those of communication."""
    kept = tuple(it for it in trace.rows("operators") if not it.name.startswith("c10d::"))
    return replace(trace, tables={"operators": kept})


def share_problem(answers: Mapping[str, Any], trace: Trace) -> str:
    """Say which share is not that of the trace."""
    for name, right in shares(trace).items():
        if not abs(answers[name] - right) <= POINTS:
            return f"{name} is {shown(answers[name])}; {trace.file} says {right:.1f}"
    return ""


def slow_problem(answer: Any, traces: Sequence[Trace]) -> str:
    """Say that another rank is waited for than the one that is named."""
    own = [[it.ns for it in trace.collectives] for trace in traces]
    transfer = sum(map(min, zip(*own, strict=True)))
    waited = [sum(it) - transfer for it in own]
    percent = 100 * max(waited) / (sum(step.length for step in traces[0].steps) or 1)
    slow = waited.index(min(waited))
    right = {NONE} if percent < SLOW[0] else {slow} if percent > SLOW[1] else {NONE, slow}
    if answer in right:
        return ""
    return f"slow_rank is {answer!r}; rank {1 - slow} waits for rank {slow} in {percent:.0f} % of the steps"
