"""Judges of part 4: which steps were recorded, and whether a table is of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autograder.checks.table import read
from autograder.checks.table_form import Form
from autograder.errors import SubmissionError
from autograder.labs.foundations.part4_timeline.made import TABLE, Row
from autograder.model import Failed, Passed
from autograder.traces import Trace

ROUNDED = 0.01  # microseconds
SHOWN = 6

# --- which steps were recorded ----------------------------------------------------------------


def cycles_verdict(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> Passed | Failed:
    """Judge one call of profile_cycles."""
    if observed["taken"] != expected["taken"]:
        taken = observed["taken"]
        measured = f"step was called {len(taken)} times, with {_listed(taken)}"
        why = f"step(i) has to be called once for each i from 0 to {expected['taken'][-1]}"
        return Failed(measured, why, "for i in range(steps): step(i)")
    if not observed["traces"]:
        why = "the schedule moves on only at prof.step(), and nothing says that it is missing"
        return Failed("the handler was never called", why, "call prof.step() after each step(i)")
    return _traces_verdict(expected, observed)


def _traces_verdict(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> Passed | Failed:
    traces, count = observed["traces"], len(expected["traces"])
    for at, (trace, right) in enumerate(zip(traces, expected["traces"], strict=False), 1):
        if trace != right:
            named = f"as ProfilerStep {_listed(trace['steps'])}"
            steps = f"{_listed(trace['batches'])} {named if trace['steps'] else 'without names'}"
            measured = f"trace {at} holds steps {steps}; {_listed(right['batches'])} are expected"
            why = "prof.step() ends a step of the schedule, so the work comes before it"
            if len(trace["batches"]) != len(right["batches"]):
                why = "the schedule decides which steps are recorded"
            try_ = "schedule(wait=wait, ...), and in the loop step(i), then prof.step()"
            return Failed(measured, why, try_)
    if len(traces) != count:
        why = "without repeat= the cycles go on until the last step"
        measured = f"the handler was called {len(traces)} times; {count} cycles are expected"
        return Failed(measured, why, "schedule(..., repeat=repeat)")
    if observed["count"] != count:
        measured = f"profile_cycles returned {observed['count']}; it recorded {count} cycles"
        return Failed(measured, "it returns how many cycles were recorded", "return the number")
    return Passed(f"{count} cycles")


def _listed(numbers: Sequence[int]) -> str:
    """List numbers, only the first of many."""
    more = ", ..." if len(numbers) > SHOWN else ""
    return ", ".join(map(str, numbers[:SHOWN])) + more or "nothing"


# --- what a handler wrote ---------------------------------------------------------------------


def files_problem(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> tuple[str, str]:
    """Return what was measured and why it is wrong, or two empty texts."""
    names, written = expected["files"], observed["files"]
    if written != names:
        why = "the n-th call of a handler writes cycle n, and each handler counts its own calls"
        return f"the files are {', '.join(written[:SHOWN]) or 'none'}; {', '.join(names)}", why
    for name, right in expected["traces"].items():
        steps = observed["traces"][name]["batches"]
        if steps != right["batches"]:
            measured = f"{name} holds steps {_listed(steps)}; {_listed(right['batches'])}"
            return measured, "each file is of its own cycle, as gzipped JSON"
    return "", ""


class Operator(NamedTuple):
    """What a trace says of an operator."""

    name: str
    calls: int
    own_us: float


OWN = 'own_times(json.load(gzip.open(file, "rt"))["traceEvents"])[:top]'
CAUSES = {
    "calls of": (
        "calls counts the events of one name in the trace of this cycle alone",
        "read the file that this call of the handler wrote, and count each event once",
    ),
    "is a range or a call": (
        "key_averages() also has ranges, and a trace also has calls and kernels",
        f'keep the events whose "cat" is cpu_op: {OWN}',
    ),
    "has more": (
        "the rows of a cycle are those with the most own time, the most first",
        "sort by own_us, and take [:top] after that",
    ),
    "us; the trace has": (
        "own_us is the time without operators inside, in microseconds, as it is",
        "try own_times on two nested operators, and do not round what it returns",
    ),
    "again": (
        "each cycle writes the names of the columns",
        'header=True in the first call of the handler, mode="a" and header=False later',
    ),
    "cells": (
        "the file also has rows of another table, without the names of the columns",
        'mode="w" in the first call of each handler, which counts its own calls',
    ),
    **dict.fromkeys(
        ("in that order", "one row too many"),
        (
            "each cycle appends exactly `top` rows after the rows of earlier cycles",
            f'append: mode="a" from the second call on; {OWN}',
        ),
    ),
    "": (
        "each cycle adds the operators with the most own time in its own trace",
        f"cycle, place and the rows of {OWN}",
    ),
}
"""Words of a problem -> its cause, and the next step."""


def cause(problem: str) -> tuple[str, str]:
    """Return why the table is not of its traces, and what to try."""
    return next(it for words, it in CAUSES.items() if words in problem)


def written_problem(form: Form, top: int, observed: Mapping[str, Any]) -> str:
    """Say how the table that a handler wrote is not of the traces that it wrote; or nothing."""
    traces = list(observed["traces"].values())
    try:
        rows = form.read(read(observed["table"].encode(), TABLE))
    except SubmissionError as error:
        return str(error)
    places = [(cycle, place) for cycle in range(1, len(traces) + 1) for place in range(1, top + 1)]
    problem = form.problem(rows, places)
    for cycle, trace in enumerate([] if problem else traces, 1):
        own = [row for row in rows if row["cycle"] == cycle]
        problem = problem or rows_problem(own, [Operator(**it) for it in trace["operators"]])
    return problem


def handed_in_problem(rows: Sequence[Row], trace: Trace, share: float) -> str:
    """Say how the rows handed in are not of the trace handed in; or nothing."""
    operators = [Operator(it.name, it.count, it.total_ns / 1000) for it in trace.rows("operators")]
    # The reader takes CUDA calls from the operator around them, and a table does not.
    on_gpu = bool(trace.rows("calls"))
    return rows_problem(rows, operators, share, at_least=on_gpu)


def rows_problem(
    rows: Sequence[Row],
    operators: Sequence[Operator],
    share: float = 0.0,
    *,
    at_least: bool = False,
) -> str:
    """Say which row is not what a trace says of its largest operators; or nothing."""
    by_name = {it.name: it for it in operators}
    for row, leader in zip(rows, operators, strict=False):
        name, own = row["operator"], by_name.get(row["operator"])
        where = f"cycle {row['cycle']:g}, place {row['place']:g}"
        if own is None:
            return f"{where}: {name[:60]} is a range or a call, and no operator of the trace"
        if row["calls"] != own.calls:
            return f"{where}: {row['calls']:g} calls of {name}; the trace has {own.calls}"
        off = row["own_us"] - own.own_us
        allowed = max(ROUNDED, share * own.own_us)
        if off < -allowed or (off > allowed and not at_least):
            return f"{where}: {name} has {row['own_us']:.2f} us; the trace has {own.own_us:.2f}"
        if own.own_us < leader.own_us - allowed and not at_least:
            more = f"{leader.name} has more, {leader.own_us:.2f}"
            return f"{where}: {name} has {own.own_us:.2f} us; {more}"
    return ""
