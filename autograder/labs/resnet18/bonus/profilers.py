"""Profilers that disturb nothing: a decorator, calls and lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import Causes, cause
from autograder.checks.numerics import close, shown
from autograder.checks.table_form import Row, shown_cell
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
    answers, decorated = rig.answers(), rig.decorated()
    timed = student.timed if rig.side == "student" else None
    for case, passed, noted in decorated.timings(timed):
        seconds = rig.series(noted, "seconds") if timed else np.array(passed)
        if "device" in case:
            waits = decorated.synchronized or not timed
            answers.add(f"{case}: synchronize()", "right" if waits else "it was never called")
        answers.add(f"{case}: calls noted", len(seconds))
        for number, each in enumerate(seconds[: len(passed)], 1):
            answers.add(f"{case}: seconds of call {number}", float(each))
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


NOTICED: Causes = {  # words of a fact -> why it is different, and what to try
    "a generator function": (
        "a generator function was wrapped",
        "return a generator function as it is",
    ),
    "the result of a method": (
        "the decorated function does not get `self`, or its result is not handed on",
        "let timed return a function, which hands on *args and **kwargs",
    ),
    "the result": (
        "the wrapper does not hand on what the function returned",
        "return what the function returned",
    ),
    "an exception": (
        "the exception does not reach the caller as it was",
        "do not catch it: a finally without return lets it go on",
    ),
    "": (
        "the wrapper does not take over name, docstring and signature",
        "functools.wraps(function) on the wrapper",
    ),
}


@part.check(basis="report")
def decorator_is_not_noticed(decorated: Pair) -> Verdict:
    """timed keeps name, docstring, signature, results and exceptions, also of methods; a generator stays as it is."""
    facts, expected = decorated.student.values["facts"], decorated.baseline.values["facts"]
    for fact, right in expected.items():
        if facts.get(fact) == right:
            continue
        measured = f"{fact}: {facts.get(fact)}, and {right} is right"
        return Failed(measured, *cause(NOTICED, fact, ""))
    return Passed(f"{len(expected)} facts are as they were")


SYNCHRONIZE = "call synchronize() before each reading of the clock, first and last"
NOTED: Causes = {  # words of a case -> why its seconds are wrong, and what to try
    "synchronize()": (
        "timed(synchronize=...) was given a function, and did nothing with it",
        SYNCHRONIZE,
    ),
    "raises": (
        "your code does not note both calls where the first one raises",
        "note the seconds, and lower the count of nested calls, in a finally",
    ),
    "itself": (
        "a call within a call of the same function must not be noted again",
        "count how deep the calls are, and note the outermost one only",
    ),
    "worked before": (
        "the first reading of the clock came while the device still worked",
        "call synchronize() before the first reading of the clock too",
    ),
    "device": (
        "the last reading of the clock came while the device still worked",
        "call synchronize() before the last reading of the clock too",
    ),
    "within another: calls noted": (
        "a call within a call of another function was not noted",
        "count nested calls of each decorated function on its own",
    ),
    "calls noted": (
        "the list of a function must hold each of its own calls once",
        "make the list where a function is decorated, and append once for each call",
    ),
    "": (
        "the seconds must be those of the unchanged time.perf_counter() from before the call to after it",
        "read time.perf_counter() right before and right after the call; assign nothing to time.perf_counter",
    ),
}
SECONDS_OF_CALLS = "append the seconds of each call, as a float, to the list `seconds`"


@part.check(basis="scripted")
def decorator_times_honestly(decorator_times: Pair) -> Verdict:
    """@timed notes the seconds of each outermost call once, with the device's work, also when the call raises."""
    return outputs.same(decorator_times, SECONDS, why=NOTED, try_=SECONDS_OF_CALLS)


FAINT = 1e-3  # of the seconds is none of them: what the code itself takes on a real clock
PAIR = "return both: what the function returned, then the rows"
ORDER = "take the figures in the order of pstats: primitive calls, calls, own seconds, seconds"
NO_END = (
    "the function's last line is not timed: its end is the event 'return'",
    "take the time at the event 'return' as at each 'line'",
)
CALLED = (
    "the lines of the called function are traced too: the line that calls it loses its time",
    "let `entered` return None for a frame whose f_code is not that of the function",
)
NO_CLOCK = "the clock is not time.perf_counter"
NOTHING = "no time was added up"


def same_profile(profiled: Pair, key: str) -> Verdict:
    """Pass rows, one for each *key*, that say what the program is known to do; others may be among them."""
    rows, expected = (side.values["rows"] for side in (profiled.student, profiled.baseline))
    result, asked = (side.values["result"] for side in (profiled.student, profiled.baseline))
    if result != asked:
        why = "the profiler must return what the function returned, and the rows"
        measured = f"the result is {shown(result)}, and {shown(asked)} is right"
        return Failed(measured, why, PAIR)
    for right in expected:
        where = f"{key} {right[key]}"
        if "text" in right:
            where += f" of the grader's program, `{right['text']}`"
        named = [row for row in rows if row.get(key) == right[key]]
        if len(named) != 1:
            there = ", ".join(shown_cell(row.get(key)) for row in rows[:6]) or "nothing"
            measured = f"{many(len(named), 'row')} for {where}; the rows are of {there}"
            return Failed(measured, *_miscounted(len(named), rows, expected, right))
        for figure in [name for name in right if name not in (key, "text")]:
            value, want = named[0].get(figure), right[figure]
            if not _alike(value, want):
                measured = f"{where}: {figure} is {shown(value)}, and {want:.4g} is right"
                return Failed(measured, *_mistake(figure, value, expected, right))
    ordered = "line" if key == "line" else "own_seconds"
    keys = [right[key] for right in expected]
    order = [row[ordered] for row in rows if row.get(key) in keys]
    if order == sorted(order, reverse=ordered != key):
        return Passed(f"{len(expected)} rows, on a clock that the grader moves")
    measured = f"{ordered}: {', '.join(map(shown, order[:6]))}"
    least = "least" if ordered == key else "most"
    return Failed(measured, "the rows are in the wrong order", f"sort by {ordered}, {least} first")


def _miscounted(
    count: int, rows: Sequence[Row], expected: Sequence[Row], right: Row
) -> tuple[str, str]:
    """Say why a function or a line has no row, or several, and what to try."""
    of = "line" if "line" in right else "function"
    if count:
        return f"one {of} must have one row", f"add up what belongs to one {of}, for one row"
    numbers = [row["line"] for row in rows if isinstance(row.get("line"), float | int)]
    if of == "line" and numbers and max(numbers) < expected[0]["line"]:
        first = "the lines are numbered from the first line of the function"
        return first, "take frame.f_lineno as it is: the line's number in the file"
    if rows and right.get("line") == expected[-1].get("line", 0):
        return NO_END
    why = f"each {of} that ran must have a row"
    if of == "line":
        return why, "let `entered` return the function that is called at each line"
    return why, "the keys of pstats are (file, line, name): take the name"


def _alike(value: Any, expected: float) -> bool:
    """Whether seconds or counts agree."""
    if not isinstance(value, float | int):
        return False
    return close(value, expected, SECONDS) if isinstance(expected, float) else value == expected


def _mistake(figure: str, reported: Any, expected: Sequence[Row], right: Row) -> tuple[str, str]:
    """Say which mistake gives a figure, and what to try."""
    others = [
        name for name, value in right.items() if name != figure and isinstance(value, float | int)
    ]
    if not isinstance(reported, float | int):
        return "it must be a number", f"put {figure} into each row, as a number"
    if swapped := next((name for name in others if close(reported, right[name], 1e-3)), ""):
        own = "put each figure under its own name"
        return f"that is its {swapped}", own if "hits" in right else ORDER
    is_faint = "seconds" in figure and reported < FAINT * right[figure]
    if "hits" in right:
        return _of_a_line(figure, reported, expected, right, is_faint=is_faint)
    if is_faint:
        try_ = "profile the call with cProfile.Profile(time.perf_counter)"
        return NO_CLOCK if reported else NOTHING, try_
    if figure == "calls" and "seconds" not in right:
        why = "the function calls itself: your code counts primitive calls alone"
        return why, "take the second number of pstats: calls"
    less, more = f"some {figure} are missing", f"{figure} of another function are counted too"
    return less if reported < right[figure] else more, ORDER


def _of_a_line(
    figure: str, reported: float, expected: Sequence[Row], right: Row, *, is_faint: bool
) -> tuple[str, str]:
    if figure == "hits":
        return "hits must be how often the line ran", "count one hit at each of its events 'line'"
    if is_faint and right == expected[0]:
        return NO_CLOCK if reported else NOTHING, "read time.perf_counter() at each event"
    if is_faint:
        return NO_END if right == expected[-1] else CALLED
    if close(reported * right["hits"], right[figure], SECONDS):
        return "that is the time of one hit", "add up the time of all hits"
    why = "its time must go on until the next line, or the function's end, with what it calls"
    return why, "at each event add the time since the last one to the line before"


@part.check(basis="scripted")
def finds_the_hot_function(calls: Pair) -> Verdict:
    """profile_calls returns calls and seconds of each function, the one with the most own time first."""
    return same_profile(calls, "function")


@part.check(basis="scripted")
def finds_the_hot_line(lines: Pair) -> Verdict:
    """time_lines returns hits and seconds of each line; the seconds include functions that the line calls."""
    return same_profile(lines, "line")


LEFT: Causes = {  # words of what is left -> why it matters, and what to try
    "is off": (
        "your code ends every trace, also that of a debugger",
        "take sys.gettrace() first, and set that again in the finally, not None",
    ),
    "still watches": (
        "your code does not end the trace or profile here",
        "end the trace or profile in a finally, which also runs after an exception",
    ),
    "": (
        "your code catches the exception of the function",
        "do not catch the exception: a finally without return lets it go on",
    ),
}


@part.check(basis="report", needs=[finds_the_hot_function, finds_the_hot_line])
def profilers_let_go(after_profiling: Observation) -> Verdict:
    """profile_calls ends its profiler; time_lines restores the earlier trace function. Exceptions pass unchanged."""
    left = after_profiling.values["left"]
    if not left:
        return Passed("nothing is left behind")
    return Failed("; ".join(left), *cause(LEFT, "; ".join(left), ""))
