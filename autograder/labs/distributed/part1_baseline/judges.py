"""Judges of part 1: files of a group, what is said of a trace, and what two traces say of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.checks.hints import Causes
from autograder.traces.record import Trace

WORLD, LEAST = 2, 3  # steps
STEPS, RECORDED = 12, [3, 4, 5, 6]
OTHERS = {6: (0, "ValueError"), 7: (7, "")}
"""What is taken and raised with fewer steps than the schedule has, and with just as many."""
TOO_FEW = "fewer than 7 must raise ValueError before the first step, and 7 are enough"
ENDS = "the loop ends too early: the steps behind the active ones must be taken, too"
NO_SHAPES = "record_shapes=True is missing"
AGAIN = "the schedule begins again after the active steps"
EARLY = "each recorded step is one too early: prof.step() comes before step()"
SCHEDULES = {
    TOO_FEW: "if steps < wait + warmup + active: raise ValueError(...), before the profiler starts",
    ENDS: "for _ in range(steps): step(), then prof.step()",
    NO_SHAPES: "profile(..., record_shapes=True)",
    AGAIN: "schedule(..., repeat=1)",
    EARLY: "call prof.step() after step()",
}
FILES = {
    "over rank 0's": "put the rank into the name",
    "only one rank": "export the trace in each rank",
    "as well": "write nothing else into the folder",
    "swapped": "take the argument rank, and not an environment variable",
    "returns the path": 'return Path(folder) / f"rank{rank}_trace.json.gz"',
}
"""What to try, by words of what is wrong."""
POINTS = 2.0
OF_STEPS = "it is in percent of the time of rank 0's steps, and what runs at once counts once"
SLOW = (8.0, 12.0)  # percent of the steps that a rank waits: in between either answer is right
NONE = "none"
TIMES = ["step_ms", "compute_ms", "communication_ms", "exposed_ms"]
WHY: Causes = {
    "GPU, step_ms": (
        "tracks of a GPU repeat each step, and only an event of cat user_annotation marks one",
        'take events with cat == "user_annotation" whose name begins with ProfilerStep#',
    ),
    "step_ms": (
        "it is per step, and time between two steps does not count",
        "add up the durations of the steps, and divide by their number",
    ),
    "GPU, compute_ms": (
        "kernels compute here, but for those of NCCL; kernels that run at once count once",
        "join the intervals of the kernels whose names do not begin with nccl",
    ),
    "compute_ms": (
        "what runs at once counts once; c10d:: calls are communication, and no compute",
        "leave out c10d::, and join intervals that overlap before you add them up",
    ),
    "GPU, communication_ms": (
        "on a GPU the transfers are the kernels of NCCL, and no gloo:... events or c10d:: calls",
        "join the intervals of the kernels whose names begin with nccl",
    ),
    "communication_ms": (
        "a c10d:: call returns at once, the transfer is gloo:...; what runs at once counts once",
        "join the intervals of all events whose names begin with gloo:",
    ),
    "": (
        "exposed is the time in which a collective runs and nothing computes",
        "join the intervals of both kinds, and take off the time of compute",
    ),
}
SLIPS = {
    ("times are in microseconds", "divide by 1000"): "us",
    (
        "times are those of all steps together: it is per step",
        "divide by the number of steps",
    ): "all steps",
    (
        "c10d:: calls and kernels of NCCL are communication, and no compute",
        "leave out of compute_ms what is named c10d:: or begins with nccl",
    ): "calls compute",
    (
        "only all_reduce counts; each event whose name begins with gloo: is a collective",
        'take all events whose names begin with "gloo:", whatever follows',
    ): "all_reduce alone",
    (
        "only all_reduce counts; each collective does, on a CPU and on a GPU",
        'take all events whose names begin with "gloo:", and on a GPU all kernels of NCCL',
    ): "all_reduce of both",
    (
        "yours is communication_ms - compute_ms",
        "take off only the time in which both run",
    ): "difference",
    (
        "it is step_ms - compute_ms, which also has time in which no collective runs",
        "take communication_ms, less the time in which both run",
    ): "idle",
}
TOP_SLIPS = {
    (
        "the five names are right, but they are sorted by name and not by own time",
        "keep the order that sorting by own time gives, the most first",
    ): "by name",
    (
        "the five names are right, but the one with the least own time comes first",
        "reverse the list: the most own time comes first",
    ): "least first",
    (
        "the time of operators inside counts: own time leaves out what is directly inside",
        "take the durations of the operators directly inside off an operator's own",
    ): "total",
    (
        "the time of all operators inside is taken off, also of those inside of others",
        "take off only the operators that are directly inside",
    ): "all inside",
    (
        "threads are not told apart; only operators on the same thread (pid and tid) nest",
        'keep a stack of open operators for each (event["pid"], event["tid"])',
    ): "stack",
    (
        "threads are told apart by tid alone; one thread has the same pid and tid",
        'keep a stack of open operators for each (event["pid"], event["tid"])',
    ): "tid",
    (
        "threads are told apart by pid alone; one thread has the same pid and tid",
        'keep a stack of open operators for each (event["pid"], event["tid"])',
    ): "pid",
    (
        "of two operators with one start, the longer one is outside",
        "sort by ts, then by -dur",
    ): "by start",
    (
        "c10d:: calls are left out too early: what surrounds them keeps their time",
        "take their time off what surrounds them first, and leave them out at the end",
    ): "calls first",
    (
        "a name is ranked by one call, the longest or the mean",
        "add up the own time of all its calls",
    ): "longest call",
}
TOP_HINTS: Causes = {
    'entries": 0': ("no operator is named", "take the events of cat cpu_op"),
    "number of entries": (
        "five names are expected, none of them of a c10d:: call",
        "leave out c10d:: before you take the first five",
    ),
    "\": 'c10d::": (
        "a c10d:: call is named, which is communication and no operator",
        "leave out names that begin with c10d::, once all own times are known",
    ),
}
WAIT_SLIPS = {
    (
        "rows are in the order of the ranks; the rank that waits least comes first",
        "sort the rows by waiting_ms",
    ): "by rank",
    (
        "rows are turned round; the rank that waits least comes first",
        "sort the rows by waiting_ms, the least first",
    ): "last first",
    (
        "ranks are counted in the order of traces; a rank is the key there",
        "for rank, events in traces.items()",
    ): "counted",
    (
        "transfer_ms is the least sum of a rank",
        "add up the shortest duration of each collective",
    ): "least sum",
    (
        "collectives are paired by their durations",
        "sort each rank's collectives by ts, and pair them by their place",
    ): "by duration",
    (
        "collectives are paired as they come in the file",
        "sort each rank's collectives by ts, and pair them by their place",
    ): "as they come",
    (
        "times are per step; here they are sums over the whole trace",
        "do not divide by the number of steps",
    ): "per step",
    (
        "waiting_ms is computed from start times, but the clocks of two ranks differ",
        "take waiting_ms from durations alone: communication_ms - transfer_ms",
    ): "starts",
}
WAITS: Causes = {
    "GPU": (
        "on a GPU the transfers are the kernels of NCCL, and no gloo:... events",
        "where a trace has kernels, take those whose names begin with nccl",
    ),
    ", rank": (
        "the rank that waits least comes first: waiting_ms is wrong, or the rows are not sorted by it",
        (
            "compare each waiting_ms with communication_ms - transfer_ms, where transfer_ms is one "
            "number for all rows; if all fit, sort the rows by waiting_ms"
        ),
    ),
    "communication_ms": (
        "it is the sum of the durations of this rank's collectives",
        "add up dur of all events whose names begin with gloo:",
    ),
    "transfer_ms": (
        "the shortest duration of all ranks is the transfer, collective by collective",
        "sort each rank's collectives by ts, take the least of each place, and add these up",
    ),
    "": ("the rest of a rank's own is waiting", "take transfer_ms off communication_ms"),
}


def files_problem(written: Mapping[str, Any]) -> tuple[str, str]:
    """Say how a group did not write one trace for each rank."""
    expected = [f"rank{rank}_trace.json.gz" for rank in range(WORLD)]
    files = written["files"]
    if files != expected:
        measured = f"the files are {', '.join(files) or 'none'}; expected {' and '.join(expected)}"
        both = {own["returned"] for own in written["ranks"]}
        if len(files) == 1:
            over = f"rank 1 wrote {files[0]} over rank 0's"
            return measured, over if len(both) == 1 else "only one rank writes"
        if more := [it for it in files if it not in expected and len(files) > WORLD]:
            return (
                measured,
                f"{more[0]} is written as well: each rank writes its trace and nothing else",
            )
        return measured, "the names are not those of the handout"
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        if trace["rank"] != rank:
            return (
                f"{expected[rank]} is a trace of rank {trace['rank']}",
                "the ranks in the names are swapped",
            )
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
            return measured, ENDS
        if trace["steps"] != RECORDED:
            held = ", ".join(map(str, trace["steps"])) or "none"
            measured = f"rank {rank} recorded steps {held} (counted from 0); expected 3, 4, 5, 6"
            return measured, _recorded_reason(trace["steps"])
        if not trace["shapes"]:
            return f"rank {rank} recorded no shapes of inputs", NO_SHAPES
        for call, (steps, right) in zip(others, OTHERS.items(), strict=True):
            if (call["taken"], call["raised"]) != right:
                measured = f"with {steps} steps, for a schedule of 7: "
                measured += call["raised"] or "no error"
                measured += f" after {call['taken']} steps"
                return measured, TOO_FEW
    return f"{len(RECORDED)} steps in both traces", ""


def _recorded_reason(held: Sequence[int]) -> str:
    """Say why these steps were recorded in place of steps 3 to 6."""
    if not held:
        return "nothing was recorded: the profiler was not told of each step"
    if held[0] > RECORDED[-1]:
        return AGAIN
    if held == [it - 1 for it in RECORDED]:
        return EARLY
    if len(held) > len(RECORDED) and not held[0]:
        return "steps of wait and warm-up are recorded as well: the profiler has no schedule"
    return "the call has wait=2, warmup=1, active=4: the schedule has other numbers"


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
