"""Judges of part 1: files of a group, what is said of a trace, and what two traces say of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.checks.hints import Causes
from autograder.traces.record import Trace

WORLD, LEAST = 2, 3  # steps
STEPS, RECORDED = 12, [3, 4, 5, 6]
TOO_FEW = "fewer steps than wait + warmup + active must raise ValueError before the first step"
ENOUGH = "wait + warmup + active steps are enough, and must raise nothing"
OTHERS = {6: (0, "ValueError", TOO_FEW), 7: (7, "", ENOUGH)}
"""Of fewer steps than the schedule has, and of just as many: what is taken and raised, and the rule."""
ENDS = "step() must be called as often as `steps` says, also after the active steps"
NO_SHAPES = "your profiler was made without record_shapes=True"
AGAIN = "your schedule begins again after the active steps"
EARLY = "each recorded step is one too early: usually prof.step() comes before step()"
SCHEDULES = {
    **dict.fromkeys(
        (TOO_FEW, ENOUGH),
        "if steps < wait + warmup + active: raise ValueError(...), before the profiler starts",
    ),
    ENDS: "for _ in range(steps): step(), then prof.step()",
    NO_SHAPES: "profile(..., record_shapes=True)",
    AGAIN: "schedule(..., repeat=1)",
    EARLY: "call prof.step() after step()",
}
FILES = {
    "over rank 0's": "put the rank into the name",
    "only one rank": "export the trace in each rank",
    "as well": "write nothing else into the folder",
    "not the argument rank": "take the argument rank, and not an environment variable",
    "return the path": 'return Path(folder) / f"rank{rank}_trace.json.gz"',
}
"""What to try, by words of what is wrong."""
NO_TRACE = "the profile must run in a process group, and be written by export_chrome_trace"
ANOTHER = "the number in the name is not the argument rank"
POINTS = 2.0
OF_STEPS = "a share must be the time of rank 0's trace, in percent of the time of its steps"
NEAR = 0.05  # relative: so near to what a mistake gives is an answer that makes it
NO_OPERATOR = "a c10d:: call starts a transfer, and is no operator"
SLOW = (8.0, 12.0)  # percent of the steps that a rank waits: in between either answer is right
NONE = "none"
TIMES = ["step_ms", "compute_ms", "communication_ms", "exposed_ms"]
ANY_STEPS = (
    "your steps are events of any cat: a GPU's tracks repeat each step as gpu_user_annotation",
    'take events with cat == "user_annotation" whose name begins with ProfilerStep#',
)
WHY: Causes = {
    "GPU, step_ms": ANY_STEPS,
    "step_ms": (
        "step_ms must be a mean of the steps, without the time between two steps",
        "add up the durations of the steps, and divide by their number",
    ),
    "GPU, compute_ms": (
        "all kernels but NCCL's must count, and the common time of two kernels once",
        "join the intervals of the kernels whose names do not begin with nccl",
    ),
    "compute_ms": (
        "operators must count without c10d:: calls, and the common time of two operators once",
        "leave out c10d::, and join intervals that overlap before you add them up",
    ),
    "GPU, communication_ms": (
        "on a GPU only NCCL's kernels must count, not gloo:... events or c10d:: calls",
        "join the intervals of the kernels whose names begin with nccl",
    ),
    "communication_ms": (
        "gloo:... events must count, not c10d:: calls, which return at once; common time once",
        "join the intervals of all events whose names begin with gloo:",
    ),
    "": (
        "exposed_ms must be the time in which a collective runs and nothing computes",
        "join the intervals of compute and collectives, and take off the time of compute",
    ),
}
STACK = 'keep a stack of open operators for each (event["pid"], event["tid"])'
PAIR = "sort each rank's collectives by ts, and pair them by their place"
ADDED_UP = (
    "this number adds up durations: where events overlap, their common time counts twice",
    "join intervals that overlap before you add them up",
)
ONE_START = (
    "of several events with one start your code keeps only one",
    "keep all events, in a list",
)
SLIPS = {
    ("your times are in microseconds", "divide by 1000"): "us",
    ("your times are those of all steps together", "divide by the number of steps"): "all steps",
    (
        "your compute_ms has c10d:: calls and kernels of NCCL, which are communication",
        "leave out of compute_ms what is named c10d:: or begins with nccl",
    ): "calls compute",
    (
        "your compute_ms leaves out c10d::allreduce_, and has the other c10d:: calls",
        "leave out of compute_ms all names that begin with c10d::",
    ): "other calls compute",
    (
        "your communication_ms is that of the c10d:: calls, which return at once",
        'take the events whose names begin with "gloo:", and on a GPU all kernels of NCCL',
    ): "called",
    (
        "your exposed_ms is all of communication_ms",
        "take off the time in which something computes as well",
    ): "all exposed",
    ANY_STEPS: "any steps",
    (
        "your code counts only all_reduce, and no other collective",
        'take all events whose names begin with "gloo:", and on a GPU all kernels of NCCL',
    ): "all_reduce",
    (
        "your exposed_ms is communication_ms - compute_ms",
        "take off only the time in which both run",
    ): "difference",
    (
        "your exposed_ms is step_ms - compute_ms, which has time without a collective as well",
        "take communication_ms, less the time in which both run",
    ): "idle",
    ADDED_UP: "added up",
    ONE_START: "one start",
}
TOP_SLIPS = {
    (
        "the five names are right, but they are sorted by name and not by own time",
        "sort by own time, the most first",
    ): "by name",
    (
        "the five names are right, but the least own time comes first",
        "reverse the list",
    ): "least first",
    (
        "your own time of an operator has the operators inside of it as well",
        "from an operator's duration, subtract those of operators and c10d:: calls directly inside",
    ): "total",
    (
        "your code takes off all operators inside, also those that are not directly inside",
        "take off only the operators that are directly inside",
    ): "all inside",
    (
        "your code takes all threads for one",
        STACK,
    ): "stack",
    (
        "your code tells threads apart by tid alone, which two processes may share",
        STACK,
    ): "tid",
    (
        "your code tells threads apart by pid alone",
        STACK,
    ): "pid",
    (
        "of two operators with one start, the longer one must be outside",
        "sort by ts, then by -dur",
    ): "by start",
    (
        "your code leaves out c10d:: calls too early: what is around keeps their time",
        "compute own times with c10d:: calls, and leave the calls out at the end",
    ): "calls first",
    (
        "your code leaves out c10d:: calls after it takes the first five",
        "leave out c10d:: before you take the first five",
    ): "cut first",
    (
        "your code ranks a name by one of its calls, such as the longest or the mean",
        "add up the own time of all its calls",
    ): "longest call",
}
TOP_HINTS: Causes = {
    "\": 'c10d::": (
        "your list names a c10d:: call, which is communication and no operator",
        "leave out names that begin with c10d::, once all own times are known",
    ),
}
SHORTEST = "add up the shortest duration of each collective, for all rows alike"
WAIT_SLIPS = {
    (
        "your rows are in the order of the ranks, not of waiting_ms",
        "sort the rows by waiting_ms",
    ): "by rank",
    (
        "your first row is the rank that waits most",
        "sort the rows by waiting_ms, the least first",
    ): "last first",
    (
        "the rows after the first are in the order of the ranks, not of waiting_ms",
        "sort the rows by waiting_ms",
    ): "first alone",
    (
        "your code counts the ranks, but a rank is the key in the dict traces",
        "for rank, events in traces.items()",
    ): "counted",
    ("your transfer_ms is the least communication_ms of a rank", SHORTEST): "least sum",
    (
        "your transfer_ms takes the mean of all ranks for a collective, not the shortest",
        SHORTEST,
    ): "mean",
    ("your transfer_ms is each rank's own communication_ms, so no rank waits", SHORTEST): "own",
    (
        "your code pairs the ranks' collectives by duration, and not by start",
        PAIR,
    ): "by duration",
    (
        "your code pairs the ranks' collectives as they come in the file",
        PAIR,
    ): "as they come",
    (
        "your times are per step, and not sums over the whole trace",
        "do not divide by the number of steps",
    ): "per step",
    (
        "your waiting_ms comes from start times, but the clocks of two ranks differ",
        "take waiting_ms from durations alone: communication_ms - transfer_ms",
    ): "starts",
}
SORTED = "take one transfer_ms for all rows, and sort the rows by communication_ms - transfer_ms"
WAITS: Causes = {
    "GPU": (
        "with a GPU the collectives must be the kernels of NCCL, not gloo:... events",
        "where a trace has kernels, take those whose names begin with nccl",
    ),
    "entry 1, rank": ("the first row is not the rank that waits least", SORTED),
    ", rank": ("the rows after the first are not in the order of waiting_ms", SORTED),
    "communication_ms": (
        "communication_ms must be the sum of the durations of this rank's collectives",
        "add up dur of all events whose names begin with gloo:",
    ),
    "transfer_ms": (
        "transfer_ms must be the sum of the shortest durations, collective by collective",
        "sort each rank's collectives by ts, take the least of each place, and add these up",
    ),
    "": (
        "waiting_ms must be communication_ms - transfer_ms of this rank",
        "take transfer_ms off communication_ms",
    ),
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
        name = "a name must be rank{rank}_trace.json.gz, with the argument rank"
        return measured, name if files else "your code wrote no file into folder"
    for rank, (own, trace) in enumerate(zip(written["ranks"], written["traces"], strict=True)):
        if trace["rank"] != rank:
            is_trace = trace["rank"] >= 0
            what = f"a trace of rank {trace['rank']}" if is_trace else "no trace of a process group"
            return f"{expected[rank]} is {what}", ANOTHER if is_trace else NO_TRACE
        if own["returned"] != expected[rank]:
            return (
                f"rank {rank} returned {own['returned']}; expected the path of {expected[rank]}",
                "profile_rank must return the path of its file, with the folder",
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
            taken, raised, rule = right
            if (call["taken"], call["raised"]) != (taken, raised):
                came = _ended(call["taken"], call["raised"])
                measured = f"with {steps} steps, for a schedule of 7: {came}"
                return f"{measured}; expected {_ended(taken, raised)}", rule
    return f"{len(RECORDED)} steps in both traces", ""


def _ended(taken: int, raised: str) -> str:
    return f"{raised or 'no error'} after {taken} steps"


def _recorded_reason(held: Sequence[int]) -> str:
    """Say why these steps were recorded in place of steps 3 to 6."""
    if not held:
        return "nothing was recorded: usually prof.step() is not called after each step"
    if held[0] > RECORDED[-1]:
        return AGAIN
    if held == [it - 1 for it in RECORDED]:
        return EARLY
    if len(held) > len(RECORDED) and not held[0]:
        return "steps of wait and warm-up are recorded: usually the profiler has no schedule"
    return (
        "your schedule has other numbers than the arguments wait=2, warmup=1, active=4 of this call"
    )


# --- files that are handed in ---


RENAMED = "usually the file was renamed after the run"
NO_GROUP = "the program that wrote it had no process group: make_step needs one"
RUNS = "the files are not of one run: there, both ranks make the same collectives"


def pair_problem(traces: Sequence[Trace]) -> tuple[str, str]:
    """Say how two traces are not of two processes of one run."""
    for rank, trace in enumerate(traces):
        if trace.signals.get("rank") != f"{rank} of {WORLD}":
            own = trace.signals.get("rank", "")
            measured = f"{trace.file} is of {f'rank {own}' if own else 'a process without a group'}"
            return f"{measured}; expected rank {rank} of {WORLD}", RENAMED if own else NO_GROUP
        if trace.step_count < LEAST:
            measured = f"{trace.file} holds {trace.step_count} steps; expected {LEAST} or more"
            return measured, "the call of profile_rank has fewer active steps"
    first, second = (sorted(it.bytes for it in trace.collectives) for trace in traces)
    measured = f"the traces hold {len(first)} and {len(second)} collectives"
    if len(first) != len(second) or not first:
        return measured, RUNS if first or second else "no collective was recorded"
    if first != second:
        return f"the collectives moved {sum(first)} and {sum(second)} bytes", RUNS
    if traces[0].collectives == traces[1].collectives:
        return "every collective took equally long in both traces", "both files are one recording"
    return measured, ""


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


def slips(name: str) -> dict[str, Callable[[Trace], float]]:
    """Return what usual mistakes make of a share."""
    words = {
        "your share is a fraction, not in percent": lambda trace: shares(trace)[name] / 100,
    }
    if name == "communication":
        words[ADDED_UP[0]] = _added_up
    return words


def _added_up(trace: Trace) -> float:
    length = sum(step.length for step in trace.steps) or 1
    return 100 * sum(it.ns for it in trace.collectives) / length


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


def slow_problem(answer: Any, traces: Sequence[Trace]) -> tuple[str, str]:
    """Say that another rank is waited for than the one that is named."""
    own = [[it.ns for it in trace.collectives] for trace in traces]
    transfer = sum(map(min, zip(*own, strict=True)))
    waited = [sum(it) - transfer for it in own]
    percent = 100 * max(waited) / (sum(step.length for step in traces[0].steps) or 1)
    slow = waited.index(min(waited))
    right = {NONE} if percent < SLOW[0] else {slow} if percent > SLOW[1] else {NONE, slow}
    waits = f"rank {1 - slow} waits for rank {slow}, by {percent:.0f} % of the steps' time"
    why = "slow_rank must be the rank that the other one waits for"
    if slow not in right:
        why = 'neither rank waits for a tenth of the time, so slow_rank must be "none"'
    return f"slow_rank is {answer!r}; {waits}", "" if answer in right else why
