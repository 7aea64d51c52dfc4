"""Judges what a profile was said to hold: rows beside the file and a trusted count, steps, bytes, ranges."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise
from math import isclose
from typing import Any

from autograder.traces.words import many

Row = Mapping[str, Any]
Problem = tuple[str, str] | tuple[()]
"""What was measured, and why it is wrong; nothing where all is right."""
NO_OPERATOR = "names that do not begin with aten:: are kept"
SLIPS = {
    "sum": "peak_bytes is the sum of all allocations: nothing that was freed is subtracted",
    "kept": "a variable keeps the outputs alive until the end",
    "left": "peak_bytes is the last running sum, what is left at the end, and not the largest",
}
"""A usual mistake about a peak -> why."""
MANY = "more steps are recorded than asked for"
MORE = "a recorded step does more work than it should"
FEW = "usually fewer steps are recorded than asked for"
SHAPES = "each shape has a row of its own"
OF_ONE_CALL = "self_us is the mean of one call, and not the sum of all calls"
IN_MS = "self_us is in milliseconds, and must be in microseconds"
WHOLE = "self_us includes the operators that it calls"
OTHER_TIME = "usually the row does not come from the recording in the file"
NO_FILE = "the trace is missing, or it has another name"
HALVES = {
    "forward": "model(input_ids, labels=input_ids)",
    "backward": "loss.backward()",
}
"""The name of a range -> what it is around."""
ONE_STEP, WARMS_UP = (
    "more is recorded than the third step",
    "two whole steps must warm up, and the third alone is recorded",
)
RANGES = {
    **{
        f"no range is around {call}": f'put {call} below with record_function("{name}"):, indented'
        for name, call in HALVES.items()
    },
    ONE_STEP: "run the two steps that warm up before the profiler starts",
    WARMS_UP: "before the profiler starts, take two steps with their backward pass; in it, take one",
    "there are ranges '": "take the names as model.named_modules() gives them",
    "is not inside of 'forward'": 'put the call of the model below with record_function("forward"):, indented',
    "no operator runs in a range 'backward'": 'with record_function("backward"): loss.backward()',
    "'forward' must end": 'put with record_function("backward"): after the block of "forward", indented alike',
}
"""What to try where ranges are not those of a step, by words of what is wrong."""
GOES_UP, IS_MISSING = "goes up from", "is missing"
RISES = "the rows are sorted with the smallest first"


def time_rows_problem(
    rows: Sequence[Row],
    written: Mapping[str, Sequence[float]],
    calls: Mapping[str, Sequence[int]],
    count: int,
    *,
    timed: bool,
) -> Problem:
    """Compare rows with trusted *calls* of each operator, and, where *timed*, with the times *written* to a file."""

    def differs(row: Row) -> Problem:
        name, right = row["operator"], calls[row["operator"]]
        if row["calls"] not in right:
            measured = f"{name} has {row['calls']:g} calls; {right[0]} are right"
            return measured, _calls_why(rows, row["calls"], right, calls)
        _, own, *whole = written.get(name, (0.0, 0.0))
        if timed and abs(row["self_us"] - own) > _room(own):
            measured = (
                f"self_us of {name} is {row['self_us']:.1f}, and {own:.1f} us are in the file"
            )
            if not written:
                return "no operator is in the file", NO_FILE
            slips = [(own / row["calls"], OF_ONE_CALL), (own / 1000, IN_MS)]
            slips += [(time, WHOLE) for time in whole]
            alike = (why for time, why in slips if isclose(row["self_us"], time, rel_tol=0.02))
            return measured, next(alike, OTHER_TIME)
        return ()

    times = {name: it[1] for name, it in written.items() if timed}
    return _rows_problem(rows, ("calls", "self_us"), calls, count, differs, times)


def _calls_why(
    rows: Sequence[Row], told: float, right: Sequence[int], calls: Mapping[str, Sequence[int]]
) -> str:
    """Say why an operator has other calls than the trusted ones: of more steps, all have so many times more."""
    if told < min(right):
        names = {row["operator"] for row in rows}
        return SHAPES if len(names) < len(rows) else FEW
    every = ((row["calls"], calls.get(row["operator"], ())) for row in rows)
    whole = (any(it and own > it and own % it == 0 for it in of) for own, of in every)
    return MANY if all(whole) else MORE


def memory_rows_problem(rows: Sequence[Row], right: Mapping[str, int]) -> Problem:
    """Compare rows with the bytes that each operator allocates."""

    def differs(row: Row) -> Problem:
        name, size = row["operator"], row["self_bytes"]
        if size == right[name]:
            return ()
        measured = f"self_bytes of {name} is {size:,.0f}, and {right[name]:,} is right"
        more = "self_bytes includes what the operators that it calls allocate"
        why = "self_bytes must be what the operator itself allocates, minus what it frees"
        return measured, more if size > right[name] else why

    return _rows_problem(rows, ("self_bytes",), right, 10, differs, right)


def _rows_problem(
    rows: Sequence[Row],
    columns: Sequence[str],
    right: Mapping[str, Any],
    count: int,
    differs: Callable[[Row], Problem],
    sizes: Mapping[str, float],
) -> Problem:
    """Look at the form of rows, then at each of them, then at their order, by the *sizes* of all operators."""
    expected = min(count, len(right))
    if len(rows) != expected:
        why = f"your code returns too {'few' if len(rows) < expected else 'many'} rows"
        return f"{many(len(rows), 'row')}, and {expected} are right", why
    for at, row in enumerate(rows, 1):
        if set(row) != {"operator", *columns}:
            listed = ", ".join(row) or "nothing"
            measured = f"row {at} has the keys {listed}; operator, {', '.join(columns)} are right"
            return measured, "a row must have the keys that the handout names"
        if not all(isinstance(row[name], int | float) for name in columns):
            return f"row {at} holds text or nothing", f"{' and '.join(columns)} must be numbers"
    for row in rows:
        if row["operator"] not in right:
            why = "the recording holds other work as well: this work calls no such operator"
            aten = str(row["operator"]).startswith("aten::")
            return f"a row is called {row['operator']}", why if aten else NO_OPERATOR
        if problem := differs(row):
            return problem
    return _order_problem(rows, columns[-1], sizes)


def _order_problem(rows: Sequence[Row], column: str, sizes: Mapping[str, float]) -> Problem:
    values = [row[column] for row in rows]
    for above, below in pairwise(values):
        if below > above:
            why = f"rows must be sorted by {column}, the largest first"
            why = RISES if values == sorted(values) else why
            return f"{column} {GOES_UP} {above:,.1f} to {below:,.1f}", why
    named = {row["operator"] for row in rows}
    others = {name: size for name, size in sizes.items() if name not in named}
    name = max(others, key=others.__getitem__, default="")
    least = values[-1] if values else 0.0
    if name and others[name] > least + _room(least):
        measured = f"{name} {IS_MISSING}, with {others[name]:,.1f} {column.removeprefix('self_')}"
        measured = f"{measured}; the last row has {least:,.1f}"
        return measured, f"the rows are not those with the largest {column}"
    return ()


def _room(value: float) -> float:
    """Return how far two readings of one time may be apart."""
    return 1.0 + 0.01 * abs(value)


def peak_problem(peak: float | None, ways: Sequence[Mapping[str, Any]]) -> Problem:
    """Compare a peak with those of each way to write the same work."""
    peaks = [way["peak"] for way in ways]
    if peak in peaks:
        return ()
    if peak is None:
        return "peak_bytes is no number", "peak_bytes must be a number of bytes"
    measured = f"peak_bytes is {peak:,.0f}, and {peaks[0]:,} is right"
    for slip, why in SLIPS.items():
        if any(peak == way[slip] for way in ways):
            return measured, why
    if any(peak == sum(max(0, size) for size in way["operators"].values()) for way in ways):
        return measured, "peak_bytes is the sum of self_bytes over the operators"
    why = "peak_bytes must be the largest running sum of all [memory] events, forward and backward"
    if any(isclose(peak * unit, peaks[0], rel_tol=1e-3) for unit in (1e3, 2**10, 1e6, 2**20)):
        why = "peak_bytes is in kilobytes or megabytes"
    if not peak:
        why = "peak_bytes is 0, as torch.cuda.max_memory_allocated() says where there is no GPU"
    return measured, why


def trace_problem(own: Mapping[str, Any], sizes: Sequence[int], active: int) -> Problem:
    """Compare the steps in a file with those that must be recorded: *active* ones after the first two."""
    if own["files"] != ["step_trace.json"]:
        listed = ", ".join(own["files"]) or "nothing"
        why = "the trace has another name"
        if not own["files"]:
            why = "no file is in the folder that is given: usually the trace lies in another one"
        if "step_trace.json" in own["files"]:
            why = "your code writes more files than the trace into the folder"
        return f"the folder holds {listed}; step_trace.json alone is right", why
    numbers = [step["number"] for step in own["steps"]]
    if not numbers:
        why = "no step has a number: the profiler has no schedule"
        return "no ProfilerStep in the file", why
    right = list(range(2, 2 + active))
    held = f"the file holds steps {numbers[0]} to {numbers[-1]}; steps 2 to {right[-1]} are right"
    if numbers[0] > right[-1]:
        return held, "the schedule began again, and the file was written a second time"
    if numbers != right:
        first = numbers[0] != 2
        set_ = "wait=1, warmup=1" if first else f"active=active, which is {active} here"
        return held, f"the schedule must have {set_}"
    return _batches_problem([step["rows"] for step in own["steps"]], right, sizes) or _plan_problem(
        own
    )


def _plan_problem(own: Mapping[str, Any]) -> Problem:
    if not own["has_memory"]:
        return "no [memory] event in the file", "profile_memory is not set"
    if own["prepared"] and 1 not in own["prepared"]:
        warm = max(0, 2 - own["prepared"][0])
        measured = f"the profiler warms up for {many(warm, 'step')} before it records; 1 is right"
        return measured, "the schedule must have wait=1, warmup=1"
    return ()


def _batches_problem(
    rows: Sequence[Sequence[int]], numbers: Sequence[int], sizes: Sequence[int]
) -> Problem:
    """Compare the rows of the batches in some steps with those of the batches of the same numbers."""
    if not any(rows):
        return "no shapes in the file", "record_shapes is not set"
    if list(rows) == [[sizes[number]] for number in numbers]:
        return ()
    batches = [sizes.index(it) for own in rows for it in own if it in sizes]
    span = f"batches {min(batches)} to {max(batches)}" if batches else "no batch"
    why = "usually prof.step(), which ends a step, stands before step(batch)"
    return f"the steps hold {span}, not 2 to {numbers[-1]}", why


def ranges_problem(own: Mapping[str, Any], expected: Mapping[str, Any]) -> Problem:
    """Compare ranges of one step with the calls of its modules, and with those of them that compute."""
    ranges = own["ranges"]
    inside = [it for it in ranges if "forward" in it["inside"]]
    names = [it["name"] for it in ranges]
    for name in ("forward", "backward"):
        if names.count(name) != 1:
            measured = f"{names.count(name)} ranges '{name}', and 1 is right"
            why = f"no range is around {HALVES[name]}"
            return measured, ONE_STEP if name in names else why
    for name, right in expected["modules"].items():
        if names.count(name) != right:
            measured = f"{names.count(name)} ranges '{name}' for {many(right, 'call')} of '{name}'"
            last = name.rpartition(".")[2]
            why = "each call of a submodule must be a range with its whole name, which hooks open and close"
            if not {*names} - HALVES.keys():
                measured = f"no submodule has a range, not even '{name}'"
                why = "hooks must open the ranges: with_modules=True does not"
            if last != name and last in names:
                why = f"the whole name is missing: there are ranges '{last}'"
            return measured, why
        if sum(it["name"] == name for it in inside) != right:
            return (
                f"'{name}' is not inside of 'forward'",
                "the model is called outside of the range 'forward'",
            )
    return _work_problem(own, {"backward", *expected["computing"]})


def _work_problem(own: Mapping[str, Any], computing: Container[str]) -> Problem:
    """Say how the step that was recorded is not the third, or a range is around nothing, or around another one."""
    if any(passes != 3 for passes in own["passes"].values()):
        went = " and ".join(f"{many(it, 'time')} {way}" for way, it in own["passes"].items())
        return f"the model went {went}; 3 times are right", WARMS_UP
    if any(it["name"] == "backward" and "forward" in it["inside"] for it in own["ranges"]):
        return "'backward' is inside of 'forward'", "'forward' must end before 'backward' begins"
    if idle := [
        it["name"] for it in own["ranges"] if it["name"] in computing and not it["computes"]
    ]:
        name = f"a range '{idle[0]}'"
        return f"no operator runs in {name}", f"{name} is not around its work"
    return ()


LEFT = {
    "hooks": (
        "hooks stay on {}",
        "your code does not remove all of its hooks",
        "in a finally clause, call remove() of each handle of yours",
    ),
    "missing": (
        "a hook of the caller is gone from {}",
        "your code removes hooks that are not its own",
        "call handle.remove() for each handle of yours, and clear() of nothing",
    ),
    "mode": (
        "the model came in another mode, and is in {} mode",
        "your code changes the mode, and does not always put it back",
        "call neither model.eval() nor model.train()",
    ),
    "open": (
        "{} ranges are open",
        "ranges must end also after an exception, which skips a usual forward hook",
        "register_forward_hook(..., always_call=True)",
    ),
    "on": ("{} is on", "your code does not stop the profiler", "with profile(...):"),
    "caught": (
        "profile_model returns",
        "your code keeps the exception of the model from the caller",
        "try: ... finally: and no except",
    ),
}
"""What is left of a profile -> what is measured of it, why, and what to try."""
