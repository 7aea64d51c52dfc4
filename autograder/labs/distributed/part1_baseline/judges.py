"""Judges of part 1: files of a group, what is said of a trace, and what two traces say of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.traces.record import Trace

WORLD, LEAST = 2, 3  # steps
STEPS, RECORDED = 12, [3, 4, 5, 6]
OTHERS = {6: (0, "ValueError"), 7: (7, "")}
"""What is taken and raised with fewer steps than the schedule has, and with just as many."""
TOO_FEW = "fewer than 7 must raise ValueError before the first step"
POINTS = 2.0
OF_STEPS = "it is in percent of the time of rank 0's steps, and what runs at once counts once"
SLOW = (8.0, 12.0)  # percent of the steps that a rank waits: in between either answer is right
NONE = "none"
TIMES = ["step_ms", "compute_ms", "communication_ms", "exposed_ms"]
WHY = {
    "step_ms": (
        "it is per step; only cat user_annotation marks steps, and the tracks of a GPU repeat them; "
        "time between two steps does not count"
    ),
    "compute_ms": (
        "what runs at once counts once; c10d:: calls and kernels of NCCL are communication, "
        "and no compute"
    ),
    "GPU, communication_ms": (
        "on a GPU the transfers are the kernels of NCCL, and no gloo:... events or c10d:: calls"
    ),
    "communication_ms": (
        "what runs at once counts once; a c10d:: call returns at once, and the transfer is gloo:..., "
        "or a kernel of NCCL"
    ),
    "": "exposed is the time in which a collective runs and nothing computes",
}


def files_problem(written: Mapping[str, Any]) -> tuple[str, str]:
    """Say how a group did not write one trace for each rank."""
    expected = [f"rank{rank}_trace.json.gz" for rank in range(WORLD)]
    files = written["files"]
    if files != expected:
        measured = f"the files are {', '.join(files) or 'none'}; expected {' and '.join(expected)}"
        if len(files) == 1:
            return measured, f"rank 1 wrote {files[0]} over rank 0's, or only one rank writes"
        return measured, "each process writes the file of its own rank, and nothing else"
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        if trace["rank"] != rank:
            return f"{expected[rank]} is a trace of rank {trace['rank']}", "the names are swapped"
        if own["returned"] != expected[rank]:
            return (
                f"rank {rank} returned {own['returned']}",
                "profile_rank returns the path of its file",
            )
    return "one trace for each rank", ""


def schedule_problem(written: Mapping[str, Any]) -> tuple[str, str]:
    """Say how the traces are not of the schedule: wait=2, warmup=1, active=4."""
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        first, *others = own["calls"]
        if first["taken"] != STEPS:
            measured = f"rank {rank} called step() {first['taken']} times, expected {STEPS}"
            return measured, "steps after the active ones are taken as well"
        if trace["steps"] != RECORDED:
            held = ", ".join(map(str, trace["steps"])) or "none"
            measured = f"rank {rank} recorded steps {held} (counted from 0); expected 3, 4, 5, 6"
            return measured, "the call has wait=2, warmup=1, active=4, and each step() ends whole"
        if not trace["shapes"]:
            return f"rank {rank} recorded no shapes of inputs", "record_shapes=True is missing"
        for call, (steps, right) in zip(others, OTHERS.items(), strict=True):
            if (call["taken"], call["raised"]) != right:
                measured = f"with {steps} steps, for a schedule of 7: "
                measured += call["raised"] or "no error"
                measured += f" after {call['taken']} steps"
                return measured, TOO_FEW
    return f"{len(RECORDED)} steps in both traces", ""


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

    def figure(name: str) -> float:
        return trace.figure(name) or 0.0

    if busy := trace.figure("busy_kernel", "steps"):
        length = sum(step.length for step in trace.steps) or 1
        transfers, alone = (100 * figure(it) / length for it in ("comm_time", "comm_exposed"))
        compute = busy - alone
    else:
        compute, transfers = figure("op_busy"), figure("cpu_comm")
        alone = transfers * (1 - figure("cpu_comm_overlap") / 100)
    return {"compute": compute, "communication": transfers, "exposed": alone}


def band(name: str) -> Callable[[Trace], tuple[float, float]]:
    """Return what says which answers a trace bears out."""

    def allowed(trace: Trace) -> tuple[float, float]:
        share = shares(trace)[name]
        return share - POINTS, share + POINTS

    return allowed


def without_calls(trace: Trace) -> Trace:
    """Leave the operators alone, without those of communication."""
    kept = tuple(it for it in trace.rows("operators") if not it.name.startswith("c10d::"))
    return replace(trace, tables={"operators": kept})


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
    waits = f"rank {1 - slow} waits for rank {slow}"
    return f"slow_rank is {answer!r}; {waits}: all waits are {percent:.0f} % of the steps' time"
