"""Judges what a profile was said to hold: rows beside the file and a trusted count, steps, bytes, ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograder.traces.words import many

Problem = tuple[str, str]
"""What was measured, and why it is wrong; two empty texts where nothing is."""
FINE: Problem = ("", "")
SELF = "it is not the operator's own time in the file that was written"
SLIPS = {
    "sum": "it is the sum of all that was allocated: what was freed in between counts twice",
    "kept": "a variable keeps the outputs alive until the end",
    "left": "it is what is left at the end: gradients, without what was freed on the way",
}
"""A usual mistake about a peak -> why."""
GOES_UP, IS_MISSING = "goes up between two rows", "is missing"


def rows_problem(
    rows: Sequence[Mapping[str, Any]],
    written: Mapping[str, Sequence[float]],
    calls: Mapping[str, Sequence[int]],
    count: int,
    *,
    timed: bool,
) -> Problem:
    """Compare rows with trusted *calls* of each operator, and, where *timed*, with the times *written* to a file."""
    problem = _form_problem(rows, {"operator", "calls", "self_us"}, min(count, len(calls)))
    if problem != FINE:
        return problem
    for row in rows:
        name = row["operator"]
        if name not in calls:
            return f"a row is called {name}", "it is no operator that this work calls"
        if row["calls"] not in calls[name]:
            measured = f"{name} has {row['calls']:g} calls; {calls[name][0]} are right"
            return measured, "calls are those of the recorded steps alone, all of them"
        own = written.get(name, (0.0, 0.0))[1]
        if timed and abs(row["self_us"] - own) > _room(own):
            return f"{name} has {row['self_us']:.1f} us; {own:.1f} us are in the file", SELF
    named = {row["operator"] for row in rows}
    others = {name: it[1] for name, it in written.items() if timed and name not in named}
    return _order_problem(rows, "self_us", others)


def memory_problem(rows: Sequence[Mapping[str, Any]], operators: Mapping[str, int]) -> Problem:
    """Compare rows with the bytes that each operator allocates."""
    problem = _form_problem(rows, {"operator", "self_bytes"}, min(10, len(operators)))
    if problem != FINE:
        return problem
    for row in rows:
        name = row["operator"]
        right = operators.get(name)
        if right is None:
            return f"a row is called {name}", "it is no operator that this work calls"
        if row["self_bytes"] != right:
            measured = f"{name} has {row['self_bytes']:,.0f} B; {right:,} B are right"
            return measured, "these are the bytes that an operator allocates by itself"
    named = {row["operator"] for row in rows}
    others = {name: size for name, size in operators.items() if name not in named}
    return _order_problem(rows, "self_bytes", others)


def peak_problem(peak: float | None, ways: Sequence[Mapping[str, Any]]) -> Problem:
    """Compare a peak with those of each way to write the same work."""
    peaks = [way["peak"] for way in ways]
    if peak in peaks:
        return FINE
    if peak is None:
        return "peak_bytes is no number", "it is a number of bytes"
    measured = f"{peak:,.0f} B; {peaks[0]:,} B are right"
    for slip, why in SLIPS.items():
        if any(peak == way[slip] for way in ways):
            return measured, why
    if any(peak == sum(max(0, size) for size in way["operators"].values()) for way in ways):
        return measured, SLIPS["sum"]
    if not peak:
        return measured, "the allocator of a GPU knows nothing of a CPU's memory"
    return measured, "it is not the largest running sum of the [memory] events"


def steps_problem(
    files: Sequence[str],
    steps: Sequence[Mapping[str, Any]],
    sizes: Sequence[int],
    active: int,
) -> Problem:
    """Compare the steps in a file with those that were to be recorded: *active* ones after the first two."""
    if files != ["step_trace.json"]:
        listed = ", ".join(files) or "nothing"
        return f"the folder holds {listed}", "step_trace.json is written there, and nothing else"
    numbers = [step["number"] for step in steps]
    if not numbers:
        return (
            "no ProfilerStep in the file",
            "without a schedule and prof.step(), no step has a number",
        )
    held = f"the file holds steps {numbers[0]} to {numbers[-1]}"
    right = list(range(2, 2 + active))
    if numbers[0] > right[-1]:
        return f"written twice; {held}", "the schedule began again: repeat=1 lets it run once"
    if numbers != right:
        why = f"with active={active}, steps 2 to {right[-1]} are recorded: wait=1, warmup=1"
        return held, why
    return _batches_problem([step["rows"] for step in steps], right, sizes)


def plan_problem(prepared: Sequence[int]) -> Problem:
    """Compare how many steps were over whenever the profiler got ready to warm up, where that was noted, with one."""
    if not prepared or 1 in prepared:
        return FINE
    measured = f"the profiler began to warm up after {many(prepared[0], 'step')}"
    return measured, "one step is skipped and one warms up: wait=1, warmup=1"


def _batches_problem(
    rows: Sequence[Sequence[int]], numbers: Sequence[int], sizes: Sequence[int]
) -> Problem:
    """Compare the rows of the batches in some steps with those of the batches of the same numbers."""
    if not any(rows):
        return "no shapes in the file", "record_shapes is not set"
    if list(rows) == [[sizes[number]] for number in numbers]:
        return FINE
    batches = [sizes.index(it) for own in rows for it in own if it in sizes]
    span = f"batches {min(batches)} to {max(batches)}" if batches else "no batch"
    why = "prof.step() ends a step: it comes after step(batch)"
    return f"the steps hold {span}, not 2 to {numbers[-1]}", why


def ranges_problem(
    ranges: Sequence[Mapping[str, Any]],
    modules: Mapping[str, int],
    computing: Sequence[str],
    calls: int,
) -> Problem:
    """Compare ranges of one step with the calls of its modules, some of them *computing*; *calls* are the model's."""
    for name in ("forward", "backward"):
        count = _count(ranges, name)
        if count != 1:
            return f"{count} ranges '{name}'", "one step is recorded, with both of its halves"
    inside = [it for it in ranges if "forward" in it["inside"]]
    for name, right in modules.items():
        count, within = _count(ranges, name), _count(inside, name)
        if count != right:
            measured = f"{count} ranges '{name}' for {right} calls of it"
            return measured, "each call of a submodule is a range, called as in named_modules()"
        if within != right:
            return f"'{name}' is not inside of 'forward'", "the model is called in that range"
    if calls != 3:
        why = "two steps warm up, and the third is profiled"
        return f"the model was called {many(calls, 'time')}", why
    return _work_problem(ranges, inside, computing)


def _work_problem(
    ranges: Sequence[Mapping[str, Any]],
    inside: Sequence[Mapping[str, Any]],
    computing: Sequence[str],
) -> Problem:
    if any(it["name"] == "backward" for it in inside):
        return "'backward' is inside of 'forward'", "one range ends before the other begins"
    for it in ranges:
        if it["name"] in computing and not it["computes"]:
            measured = f"no operator runs in a range '{it['name']}'"
            return measured, "a range is entered before the work and left after it"
    return FINE


def left_problem(model: Mapping[str, Any]) -> tuple[str, str, str]:
    """Say what is left of a profile, why, and what to try; the model raised an exception in a *call*, or in none."""
    case = f" after an exception in step {model['call']}" if model["call"] else ""
    problem = _model_problem(model, case)
    if problem[0]:
        return problem
    if model["open"]:
        why = "a forward hook is not called after an exception, unless always_call=True"
        return f"{model['open']} ranges are open{case}", why, "always_call=True"
    if model["on"]:
        return f"a profiler is on{case}", "it was not stopped", "with profile(...):"
    if model["reached"] and not model["raised"]:
        why = "the exception of the model does not reach the caller"
        return f"nothing was raised{case}", why, "try: ... finally: and no except"
    return "", "", ""


def _model_problem(model: Mapping[str, Any], case: str) -> tuple[str, str, str]:
    if hooks := model["hooks"]:
        modules = sorted({it.split(":")[0] for it in hooks})
        measured = f"{many(len(modules), 'module')} with hooks{case}, '{modules[0]}' among them"
        return measured, "they are not removed", "try: ... finally: handle.remove()"
    if missing := model["missing"]:
        measured = f"a hook of the caller is gone{case}, from '{missing[0].split(':')[0]}'"
        return measured, "hooks that are not yours were removed", "handle.remove() for each handle"
    if not model["mode"]:
        why = "it stays in the mode that it came in, train or eval"
        return f"the model is in another mode{case}", why, "leave its mode alone"
    return "", "", ""


def _count(ranges: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(it["name"] == name for it in ranges)


def _form_problem(rows: Sequence[Mapping[str, Any]], names: set[str], count: int) -> Problem:
    if len(rows) != count:
        return f"{len(rows)} rows", f"expected {count}"
    for at, row in enumerate(rows, 1):
        if set(row) != names:
            return (
                f"row {at} has {', '.join(row) or 'nothing'}",
                f"it has {', '.join(sorted(names))}",
            )
        numbers = names - {"operator"}
        if not all(isinstance(row[name], int | float) for name in numbers):
            return f"row {at} holds text or nothing", f"{' and '.join(sorted(numbers))} are numbers"
    return FINE


def _order_problem(
    rows: Sequence[Mapping[str, Any]], column: str, others: Mapping[str, float]
) -> Problem:
    values = [row[column] for row in rows]
    if values != sorted(values, reverse=True):
        return f"{column} {GOES_UP}", "the most comes first"
    name = max(others, key=others.__getitem__, default="")
    least = values[-1] if values else 0.0
    if name and others[name] > least + _room(least):
        measured = f"{name} {IS_MISSING}, with {others[name]:,.1f} {column.removeprefix('self_')}"
        return measured, f"the last row has {least:,.1f}: it is not among the most"
    return FINE


def is_order(measured: str) -> bool:
    """Whether a problem is one of which rows there are, and in what order."""
    return GOES_UP in measured or IS_MISSING in measured


def _room(value: float) -> float:
    """Return how far two readings of one time may be apart."""
    return 1.0 + 0.01 * abs(value)
