"""A study of the CPU: options and numbers of threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from autograder.checks.hints import caused
from autograder.checks.table_form import Row
from autograder.claims.studies import DRAWN, PICTURE, Study, drawn
from autograder.lab import INTEGER, NUMBER, Answer, Pair, Student, list_of
from autograder.labs.resnet18.bonus.part import CPU, OPTIONS, PICTURED, Rig, part


@part.probe(
    pair=True,
    values={
        **DRAWN,
        "ms": list_of(NUMBER),
        "counts": list_of(INTEGER),
        **dict.fromkeys(("before", "after"), INTEGER),
    },
    arrays=PICTURE,
)
def study(student: Student, rig: Rig) -> Answer:
    """Steps of scripted length; the clock moves only by what is scripted."""
    rig.clock.freeze()
    counts = sorted({1, *(rig.integer(2, 9) for _ in range(2))})
    gains = dict(zip(counts, np.cumsum([1.0, *rig.seconds(0.2, 0.6, 2)]).tolist(), strict=False))
    seconds = dict(zip(OPTIONS, rig.seconds(0.05, 0.9, 3), strict=True))
    # A number that neither the study nor the machine sets, so that it is seen who restores it.
    others = {*counts, os.cpu_count()}
    before = rig.programs.threads(next(n for n in (2, 3, 4, 5) if n not in others))
    steps = rig.programs.steps(seconds, gains)
    answer = drawn(rig, CPU, PICTURED, student.study_cpu, steps, counts)
    after = rig.programs.threads()
    rig.programs.threads(1)
    pairs = product(OPTIONS, counts)
    return {
        **answer,
        "ms": [1000 * seconds[option] / gains[count] for option, count in pairs],
        "counts": counts,
        "before": before,
        "after": after,
    }


def _keys(script: Mapping[str, Any]) -> list[tuple[str, int]]:
    return list(product(OPTIONS, script["counts"]))


PACE = 0.02  # relative
MEAN = 11.8 / 7  # of seven calls, over their median
COLD = 1.2  # the median of a cold call and six others
COUNTS = (0.8, 0.85, 0.9, 0.95, 1.05)
"""Medians of three to ten calls, but not of seven."""
OTHER_THREADS = "the step ran before with a different number of threads"
PROCESS_TIME = "usually its clock is time.process_time(), which adds up over threads"
NOT_SET = "torch had a different number of threads"
NOT_SEVEN = "that is the median of fewer or more than seven calls"
TRIES = {
    OTHER_THREADS: "make a fresh step for each row, after the number of threads was set",
    NOT_SET: "torch.set_num_threads for each row, before its step is made and called",
    NOT_SEVEN: "time seven calls, after one that does not count",
}
USED = 2.5  # times as long takes a scripted step that ran with another number of threads before


def options_problem(rows: Sequence[Row]) -> str:
    """Say that a file has not each option with each of its numbers of threads, in their order."""
    pairs = [(row["option"], row["threads"]) for row in rows]
    counts = list(dict.fromkeys(count for _, count in pairs))
    if pairs == list(product(OPTIONS, counts)):
        return ""
    return (
        f"the rows are {len(pairs)} pairs of option and threads, "
        "but must be each option with each number of threads, in order"
    )


def time_problem(rows: Sequence[Row], expected: Sequence[float]) -> str:
    """Say how milliseconds differ from what a scripted clock showed."""
    for row, ms in zip(rows, expected, strict=True):
        usual = [
            (ms * MEAN, "it is the mean, which one slow call decides: take the median"),
            (ms * 0.6, "it is the fastest call: take the median"),
            (ms / 1000, "it is in seconds"),
            (ms * COLD, "it includes the slow first call"),
            *((ms * times, NOT_SEVEN) for times in COUNTS),
            (ms * USED, OTHER_THREADS),
            (ms * row["threads"], f"{PROCESS_TIME}: take time.perf_counter()"),
        ]
        if wrong := CPU.mismatch(row, "ms", ms, PACE, usual, _otherwise(row["ms"], ms)):
            return wrong
    return ""


def _otherwise(value: float, ms: float) -> str:
    return NOT_SET if value >= 50 * ms else "that is not the median of seven timed calls of step()"


def _restored(study: Pair) -> str | tuple[str, ...]:
    observed, script = study.student.values, study.baseline.values
    problem = time_problem(observed["rows"], script["ms"])
    if problem or observed["after"] == script["before"]:
        return caused(problem, TRIES)
    threads = f"torch has {observed['after']} threads after study_cpu, and had {script['before']}"
    if observed["after"] == script["counts"][-1]:
        why = "your code leaves the number of the last row"
        return why, "set the number that torch had before again, in a finally", threads
    why = "the number that is set at the end is not the one that torch had before"
    return why, "take torch.get_num_threads() first, and set that at the end", threads


cpu = Study(part, CPU, "study_cpu", by=study, expected=_keys)
cpu.is_measured(
    "study_is_honest",
    _restored,
    says=(
        "study_cpu takes the median of warm steps, "
        "for each option and number of threads, and restores the threads."
    ),
    try_="time seven calls of step() one by one, and take ms from these seconds alone",
    shows=["threads", "ms"],
)
cpu.is_written()
cpu.is_drawn(
    PICTURED,
    {"ms": r"\bms\b|[Mm]illisecond"},
    try_="a line or bars for each option, as high as the rows say, and the unit on the axis",
)
cpu.is_consistent(
    options_problem,
    says=(
        "The submitted cpu_study.csv has a row for each "
        "option and number of threads, and consistent numbers."
    ),
)
cpu.is_pictured(PICTURED)
