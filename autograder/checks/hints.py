"""Gives a failure the hint for its cause, by the words with which it says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.model import Failed, Verdict

Why = str | Mapping[str, str]
"""What to say of numbers that differ; or by words in the name of the case, the first that fit."""
Causes = Mapping[str, str | tuple[str, str]]
"""The same; a tuple has what to try there as well."""
Hints = Mapping[str, str]
"""What to try, by words that stand in what a failure says; the first that fits counts."""

USUAL: Hints = {
    "it is the mean, and it includes": (
        "make one call that is not timed; then statistics.median(seconds) of calls timed one by one"
    ),
    "take the median": "statistics.median(seconds) of the calls that were timed one by one",
    "fewer calls than repeats": (
        "time `repeats` calls one by one, after one call that is not timed"
    ),
    "includes the slow first call": "make one call before those that are timed, for each row",
    "times the right time": "1000 * the median of the seconds; leave time.perf_counter as it is",
    "it is rounded": "put the number into the row as it is; round only what you print",
    "it was timed while": "time calls in a loop of their own, and measure all else in another call",
    "process_time()": "time.perf_counter() before and after each call",
    "time.time()": "time.perf_counter() before and after each call",
    "the device is": "put given.device_name(...) of the device that is measured into each row",
    "no GPU was there to ask": "write None for the peak where there is no GPU",
    "folder is ignored": "write to Path(folder) / the name of the file",
    "it is in seconds": "multiply by 1e3: the column holds milliseconds",
    "it is in milliseconds": "divide by 1e3: the column holds seconds",
    "it is in MiB": "divide the bytes by 1e6: the column holds MB",
    "it is in bytes": "divide the bytes by 1e6: the column holds MB",
}
"""For figures that are wrong in a way that is common to all studies."""
FORMS: Hints = {
    "there are no rows": "return the list of rows, one for each case",
    "the table ends after row": "return one row for each case, after the loop",
    "one row too many": "add one row for each case, and no other",
    "in that order": "append a row for each case, with the names and in the order that are expected",
    "has to be above 0": "write what was measured, without a minus; a time is the later reading minus the earlier",
    "it is in percent": "leave out the factor 100",
    " of the first row is ": "divide the figure of each row by that of the first row",
    "' is missing": "put this column into each row",
    "' is not expected": "leave this column out of the rows",
    "a number or None": USUAL["no GPU was there to ask"],
    "and it must be a number": "put the number itself into the row, without a unit",
    "the device is": USUAL["the device is"],
    "epoch_time of": "time.perf_counter() after the epoch, minus time.perf_counter() before it",
}
"""For rows that have another form than the table asks for."""


def hinted(judged: Verdict, hints: Causes) -> Verdict:
    """Give a failure the hint for its cause.

    A hint that is a tuple says why as well. A failure without a hint keeps its own.
    """
    if not isinstance(judged, Failed):
        return judged
    said = f"{judged.measured}; {judged.why}"
    found = next((it for words, it in hints.items() if words in said), "")
    why, hint = found if isinstance(found, tuple) else (judged.why, found)
    return replace(judged, why=why, try_=hint or judged.try_)


def hint_for(problem: str, hints: Hints) -> str:
    """Return the hint for the first words that a problem says; nothing where it says none."""
    return next((hint for words, hint in hints.items() if words in problem), "")


def caused(problem: str, hints: Hints) -> str | tuple[str, str]:
    """Return a problem with the hint for its cause, as the rule of a study does."""
    hint = hint_for(problem, hints)
    return (problem, hint) if hint else problem


def reason(why: Why, case: str) -> str:
    """Return what is said of a case, or of what has its name."""
    if isinstance(why, str):
        return why
    return next(words for part, words in why.items() if part in case)


def cause(why: str | Causes, case: str, try_: str) -> tuple[str, str]:
    """Return what is said of a case, and what to try there."""
    if isinstance(why, str):
        return why, try_
    said = next((words for part, words in why.items() if part in case), "")
    return (said, try_) if isinstance(said, str) else said
