"""Profilers that disturb nothing: a decorator, calls and lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.numerics import close, shown
from autograder.checks.table_form import Row
from autograder.lab import (
    CELL,
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.resnet18.bonus.part import Rig, part
from autograder.traces.words import many

SECONDS = 0.005  # relative: reading the scripted clock takes a microsecond
PROFILE = 'see "What a profiler must not disturb" in the bonus handout'


@part.probe(pair=True, values={"facts": map_of(TEXT)})
def decorated(student: Student, rig: Rig) -> Answer:
    """What a caller sees of functions of every kind; on the baseline's side they are left as they are."""
    ways = {
        "@timed": student.timed,
        "@timed(synchronize=...)": student.timed(synchronize=lambda: None),
    }
    if rig.side != "student":
        ways = dict.fromkeys(ways, lambda function: function)
    return {"facts": rig.decorated().facts(ways)}


@part.outputs
def decorator_times(student: Student, rig: Rig) -> Answer:
    """Calls that take scripted seconds: those that were noted, or on the baseline's side those that passed."""
    rig.clock.freeze()
    answers = rig.answers()
    timed = student.timed if rig.side == "student" else None
    for case, passed, noted in rig.decorated().timings(timed):
        seconds = rig.series(noted, "seconds") if timed else np.array(passed)
        answers.add(f"{case}: calls noted", len(seconds))
        answers.add(f"{case}: seconds", rig.tensor(seconds[:, None], "float64"))
    return answers.values()


ROWS = list_of(map_of(CELL))
PROFILED = {"rows": ROWS, "result": optional(NUMBER)}


def profiled(rig: Rig, function: Any, drawn: Any) -> dict[str, Any]:
    """Let a student's profiler run a drawn program; the baseline's side says what there is to find."""
    program, expected = drawn
    rig.clock.freeze()
    if rig.side != "student":
        return {"rows": expected, "result": program(4)}
    returned = function(program, 4)
    result, rows = returned if isinstance(returned, tuple) and len(returned) == 2 else (None, [])
    return {"rows": rig.rows(rows, "the profiler"), "result": rig.number(result)}


@part.probe(pair=True, values=PROFILED)
def calls(student: Student, rig: Rig) -> Answer:
    return profiled(rig, student.profile_calls, rig.programs.calls())


@part.probe(pair=True, values=PROFILED)
def lines(student: Student, rig: Rig) -> Answer:
    return profiled(rig, student.time_lines, rig.programs.lines())


@part.probe(values={"left": list_of(TEXT)})
def after_profiling(student: Student, rig: Rig) -> Answer:
    """What is still traced or profiled after a call, and after one that raised."""
    left = rig.programs.left(student.profile_calls)
    return {"left": left + rig.programs.left(student.time_lines)}


OF_GENERATORS = ("a generator", "begun before it is asked", "its values", "calls noted of it")


@part.check(basis="report")
def decorator_is_not_noticed(decorated: Pair) -> Verdict:
    """timed leaves name, docstring, signature, results, exceptions, methods and generators as they are."""
    facts, expected = decorated.student.values["facts"], decorated.baseline.values["facts"]
    for fact, right in expected.items():
        if facts.get(fact) == right:
            continue
        why, try_ = "the decorated function looks different to its caller", "functools.wraps"
        if fact.endswith(OF_GENERATORS):
            why = "a generator function was wrapped"
            try_ = "return a generator function as it is"
        measured = f"{fact}: {facts.get(fact)}, expected {right}"
        return Failed(measured, why, try_)
    return Passed(f"{len(expected)} facts are as they were")


NOTED = {  # words of a case -> why its seconds are wrong, and what to try
    "raises": (
        "a call is missing: one that raised, or one after it",
        "note the seconds in a finally",
    ),
    "itself": (
        "a call within a call of the same function is part of it, and must not be noted again",
        "count how deep the calls are",
    ),
    "before": (
        "work that was queued before the call is counted",
        "synchronize() before the first reading of the clock too",
    ),
    "device": (
        "the clock was read while the device still worked",
        "synchronize() before the last reading of the clock",
    ),
    "": (
        "expected the difference of time.perf_counter() after and before the call, in seconds",
        "read time.perf_counter() right before and right after the call",
    ),
}


@part.check(basis="scripted")
def decorator_times_honestly(decorator_times: Pair) -> Verdict:
    """The decorator timed records each outermost call once, with the device's work, also when it raises."""
    return outputs.same(decorator_times, SECONDS, why=NOTED, try_=PROFILE)


FAINT = 1e-3  # of the seconds is none of them: what the code itself takes on a real clock
NO_END = "its end was not seen: of the last line that runs it is the event 'return'"
OTHER_CLOCK = (
    "nothing was counted, or the clock is not time.perf_counter: "
    "use cProfile.Profile(time.perf_counter)"
)


def same_profile(profiled: Pair, key: str) -> Verdict:
    """Pass rows, one for each *key*, that say what the program is known to do; others may be among them."""
    rows, expected = (side.values["rows"] for side in (profiled.student, profiled.baseline))
    if profiled.student.values["result"] != profiled.baseline.values["result"]:
        why = "it must return a pair: the function's result, and the rows"
        return Failed("the result is missing or different", why, PROFILE)
    for right in expected:
        where = f"{key} {right[key]}"
        if "text" in right:
            where += f" of the grader's program, `{right['text']}`"
        named = [row for row in rows if row.get(key) == right[key]]
        if len(named) != 1:
            measured = f"{many(len(named), 'row')} for {where}"
            return Failed(measured, f"expected one row for each {key}", PROFILE)
        for figure in [name for name in right if name not in (key, "text")]:
            value, want = named[0].get(figure), right[figure]
            if not _alike(value, want):
                measured = f"{where}: {figure} {shown(value)}, expected {want:.4g}"
                return Failed(measured, _profile_reason(figure, value, right), PROFILE)
    ordered = "line" if key == "line" else "own_seconds"
    keys = [right[key] for right in expected]
    order = [row[ordered] for row in rows if row.get(key) in keys]
    if order == sorted(order, reverse=ordered != key):
        return Passed(f"{len(expected)} rows, on a clock that the grader moves")
    measured = f"{ordered}: {', '.join(map(shown, order[:6]))}"
    return Failed(measured, "the rows are in the wrong order", f"sort by {ordered}")


def _alike(value: Any, expected: float) -> bool:
    """Whether seconds or counts agree."""
    if not isinstance(value, float | int):
        return False
    return close(value, expected, SECONDS) if isinstance(expected, float) else value == expected


def _profile_reason(figure: str, reported: Any, row: Row) -> str:
    """Recognise which figure stands in another's place."""
    others = [
        name for name, value in row.items() if name != figure and isinstance(value, float | int)
    ]
    if not isinstance(reported, float | int):
        return "it must be a number"
    if swapped := next((name for name in others if close(reported, row[name], 1e-3)), ""):
        return f"that is its {swapped}"
    if "seconds" in figure and reported < FAINT * row[figure]:
        return NO_END if "hits" in row else OTHER_CLOCK
    if "calls" in row and "seconds" not in row:
        return (
            "the function calls itself, and each of its calls counts; "
            "pstats has primitive calls first, then all calls"
        )
    if "hits" in row:
        return (
            "a line lasts until the next line begins or the function ends, "
            "with the functions that it calls"
        )
    return "calls or time are missing, or those of another function are counted too"


@part.check(basis="scripted")
def finds_the_hot_function(calls: Pair) -> Verdict:
    """profile_calls returns calls and seconds of each function, the one with the most own time first."""
    return same_profile(calls, "function")


@part.check(basis="scripted")
def finds_the_hot_line(lines: Pair) -> Verdict:
    """time_lines returns hits and seconds of each line, called functions included."""
    return same_profile(lines, "line")


@part.check(basis="report", needs=[finds_the_hot_function, finds_the_hot_line])
def profilers_let_go(after_profiling: Observation) -> Verdict:
    """After profile_calls and time_lines nothing is traced, and exceptions come out unchanged."""
    left = after_profiling.values["left"]
    if not left:
        return Passed("nothing is left behind")
    why = "every call after it is slower, and the next profiler cannot start"
    try_ = "stop in a finally"
    if all("exception" in it for it in left):
        why = "the caller never learns that the function failed"
        try_ = "do not catch the exception: a finally without return lets it go on"
    return Failed("; ".join(left), why, try_)
