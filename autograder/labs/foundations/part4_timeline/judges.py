"""Judges whether a table is of a trace, and says why it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.checks.table import read
from autograder.checks.table_form import Form
from autograder.errors import SubmissionError
from autograder.labs.foundations.part4_timeline.made import TABLE, Row
from autograder.traces import Trace

ROUNDED = 0.01  # microseconds

OWN = 'own_times(json.load(gzip.open(file, "rt"))["traceEvents"])[:top]'
AS_IT_IS = "fix own_times_are_right first if it fails; then write own_us as own_times returns it"
CAUSES = {
    "calls of": (
        "calls must be the number of events of this name in the trace of this cycle alone",
        "read the file that this call of the handler wrote, and count each event once",
    ),
    "is a range or a call": (
        "your table has an event that is no operator: key_averages(), for example, also has ranges",
        f'keep the events whose "cat" is cpu_op: {OWN}',
    ),
    "has more": (
        "the rows of a cycle must be those with the most own time, the most first",
        "fix own_times_are_right first if it fails; then sort by own_us, and take [:top]",
    ),
    "in total": ("your own_us is the total time, with the operators inside", AS_IT_IS),
    "us, rounded": ("your own_us is rounded", AS_IT_IS),
    "us; the trace has": (
        "own_us must be the time without the operators inside, in microseconds",
        AS_IT_IS,
    ),
    "again": (
        "each call of the handler writes the names of the columns",
        'header=True in the first call of the handler, mode="a" and header=False later',
    ),
    "cells": (
        "an operators.csv was there before: usually the first call added its rows to this file",
        'mode="w" in the first call of each handler, mode="a" in later calls',
    ),
    "rows; top is": ("each cycle must have `top` rows, whatever top is", OWN),
    **dict.fromkeys(
        ("in that order", "one row too many"),
        (
            (
                "each cycle must append exactly `top` rows, after the rows of "
                "earlier cycles; 2 1 means cycle 2, place 1"
            ),
            f'append: mode="a" from the second call on; {OWN}',
        ),
    ),
    "column '": (
        "the table must have the five columns that the handout lists, and no other",
        "write cycle, place, operator, calls and own_us: own_times also returns total_us",
    ),
    "": (
        "each cycle must add the operators with the most own time in its own trace",
        f"cycle, place and the rows of {OWN}",
    ),
}
"""Words of a problem -> its cause, and the next step."""


def cause(problem: str) -> tuple[str, str]:
    """Return why the table is not of its traces, and what to try."""
    return next(it for words, it in CAUSES.items() if words in problem)


def misnamed(measured: str) -> tuple[str, str] | None:
    """Return what is wrong with the names of files and what to try, where the names tell it."""
    own, _, right = measured.partition(" instead of ")
    rank = right.partition("rank")[2].partition("_")[0]
    if "cycle0_" in own:
        return (
            "the first call writes cycle 1, not cycle 0",
            "add 1 to the counter before the name is made",
        )
    if rank and "rank" in own.partition("names")[2] and f"rank{rank}_" not in own:
        return (
            f"the rank in the names is wrong: make_handler was given {rank}",
            "rank{rank} in an f-string",
        )
    if ".json," in own or ".json'" in own:
        return "a trace is there without compression", "export to the name with .json.gz alone"
    return None


STEPS = re.compile(r"'steps ([\d, ]+|none) as ProfilerStep# ([\d, ]+|none)'")
"""What a trace holds, by `made.held`."""
CALLED = re.compile(r"prof\.step\(\) was called (\d+) times? in (\d+) steps")
"""Of a profiler that never called its handler, by `made.profiled`."""


def misscheduled(measured: str) -> tuple[str, str] | None:
    """Return what is wrong with a schedule and what to try, where steps or calls tell it."""
    if called := CALLED.search(measured):
        if int(called[1]) < int(called[2]):
            why = "prof.step() is not called after each step"
            return why, "in the loop step(i), then prof.step()"
        why = "usually the profiler did not get the handler"
        return why, "profile(on_trace_ready=handler, ...)"
    held = STEPS.findall(measured)
    return _mistimed(*held) if len(held) == 2 else None


def _mistimed(own: tuple[str, str], right: tuple[str, str]) -> tuple[str, str]:
    """Return why a trace holds other steps, by marks of their own and by the profiler's."""
    if own[1] == "none":
        return "the profiler has no schedule", "profile(schedule=schedule(wait=wait, ...), ...)"
    if own[0] != own[1]:
        why = "usually prof.step() is called before step(i), and not after it"
        return why, "in the loop step(i), then prof.step()"
    if own[0].count(",") != right[0].count(","):
        return "a cycle must record `active` steps", "schedule(active=active, ...)"
    why = "your schedule begins to record at another step: usually wait or warmup is not handed on"
    return why, "schedule(wait=wait, warmup=warmup, ...)"


def written_problem(form: Form, text: str, top: int, traces: Sequence[Sequence[Row]]) -> str:
    """Say how the table that a handler wrote is not of the traces that it wrote; or nothing."""
    try:
        rows = form.read(read(text.encode(), TABLE))
    except SubmissionError as error:
        return str(error)
    cycles = range(1, len(traces) + 1)
    counts = [sum(row["cycle"] == cycle for row in rows) for cycle in cycles]
    if len(set(counts)) == 1 and counts[0] not in (0, top):
        return f"each cycle has {counts[0]} rows; top is {top}"
    problem = form.problem(rows, [(n, place) for n in cycles for place in range(1, top + 1)])
    for cycle, operators in zip(cycles if not problem else (), traces, strict=False):
        own = [row for row in rows if row["cycle"] == cycle]
        problem = problem or rows_problem(own, operators)
    return problem


def handed_in_problem(rows: Sequence[Row], trace: Trace, share: float) -> str:
    """Say how the rows handed in are not of the trace handed in; or nothing."""
    operators = [
        {"operator": it.name, "calls": it.count, "own_us": it.total_ns / 1000}
        for it in trace.rows("operators")
    ]
    # The reader takes CUDA calls from the operator around them, and a table does not.
    return rows_problem(rows, operators, share, at_least=bool(trace.rows("calls")))


def _us(told: float, own: Row) -> str:
    """Say that an own time is wrong, and whether it is the total time, or rounded."""
    right: float = own["own_us"]
    total: float = own.get("total_us") or right
    if total - right > ROUNDED >= abs(told - total):
        return f"{told:.2f} us; the trace has {right:.2f}, and {total:.2f} in total"
    rounded = ", rounded" * (told in (round(right), round(right, 1)))
    return f"{told:.2f} us{rounded}; the trace has {right:.2f}"


def rows_problem(
    rows: Sequence[Row],
    operators: Sequence[Row],
    share: float = 0.0,
    *,
    at_least: bool = False,
) -> str:
    """Say which row is not what a trace says of its largest operators; or nothing."""
    by_name = {it["operator"]: it for it in operators}
    for row, leader in zip(rows, operators, strict=False):
        name, own = row["operator"], by_name.get(row["operator"])
        where = f"cycle {row['cycle']:g}, place {row['place']:g}"
        if own is None:
            return f"{where}: {name[:60]} is a range or a call, and no operator of the trace"
        if row["calls"] != own["calls"]:
            return f"{where}: {row['calls']:g} calls of {name}; the trace has {own['calls']}"
        right, most = own["own_us"], leader["own_us"]
        off, allowed = row["own_us"] - right, max(ROUNDED, share * right)
        if off < -allowed or (off > allowed and not at_least):
            return f"{where}: {name} has {_us(row['own_us'], own)}"
        if right < most - allowed and not at_least:
            more = f"{leader['operator']} has more, {most:.2f}"
            return f"{where}: {name} has {right:.2f} us; {more}"
    return ""
