"""Part 3: profilers. Which function takes the time, which line, and what memory each line needs.

Above 60 lines an exercise: a profile, images and a program are drawn, the memory of each line has to be known, and
two submitted files are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import hint_for
from autograder.checks.table_form import Form, any_number, count, not_negative, words
from autograder.claims.exercise import Exercise
from autograder.claims.studies import Study
from autograder.lab import Failed, Pair, Part, Passed, Rig, Student, Text, Verdict
from autograder.labs.foundations.part3_profilers import judges, made
from autograder.labs.foundations.part3_profilers.made import Entries

MEMORY = Form(
    "line_memory.csv",
    (
        count("line", "its number in the file"),
        words("code", "the text of the line"),
        count("hits", "how often it ran"),
        any_number("added_bytes", "alive after the line minus alive before it, over all hits"),
        not_negative("peak_bytes", "the most bytes that were alive while the line ran"),
    ),
)
part = Part(
    "part3_profilers",
    hands_in=["calls_top20.txt", MEMORY.file, "part3_notes.md"],
    tables=[MEMORY],
)
AGAIN = "run python part3_profilers.py, and submit the file that it writes, unchanged"
DOCSTRING = "compare with the docstring of"
FILE = {"empties_its_inputs": "the function gets a file and changes nothing of the caller's"}
IMAGES = {
    "writes_into_its_inputs": "images are arrays, and this entry writes into tensors",
    "read_as_contiguous": "the same: it reads tensors in another order",
    "no_tensor": "lists of so many numbers are refused for their size, before they are compared",
}

MOST = 50
"""Rows that are compared, of a program of ten lines."""

# --- which function ---


def by_file(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Put the profile into a file, and call with its path."""
    others = {name: it for name, it in given.items() if name != "entries"}
    with made.stats_file(given["entries"]) as file:
        return function(file, **others)


ranked = Exercise("rank_functions", part, call=by_file, holes=FILE)
gains = Exercise("speedup_if", part, call=by_file, holes=FILE)


@ranked.inputs
def draw_ranked(
    random: np.random.Generator, functions: Any = (9, 14), count: Any = (1, 12), ties: Any = False
) -> dict[str, Any]:
    return {"entries": made.entries(random, functions, ties=ties), "count": count}


@gains.inputs
def draw_gain(
    random: np.random.Generator, functions: Any = (6, 30), factor: Any = (2, 10), least: Any = False
) -> dict[str, Any]:
    entries = made.entries(random, functions)
    others = entries[1:]  # the first one is a whole program
    if least:
        others = [min(others, key=lambda it: it[made.SECONDS])]
    callers = [it for it in others if it[made.SECONDS] > it[made.OWN_SECONDS]]
    chosen = others[0] if not callers else callers[random.integers(len(callers))]
    return {"entries": entries, "function": made.printed(chosen), "factor": factor}


def ranking(entries: Entries, count: int, by: str = "seconds") -> list[dict[str, Any]]:
    return sorted(made.rows(entries), key=lambda row: (-row[by], row["function"]))[:count]


def gain(
    entries: Entries, function: str, factor: float, of: str = "seconds", whole: Any = None
) -> float:
    rows = {row["function"]: row for row in made.rows(entries)}
    total = sum(each["own_seconds"] for each in rows.values())
    total = whole(each["seconds"] for each in rows.values()) if whole else total
    left = total - rows[function][of] * (1 - 1 / factor)
    return float(total / left) if left else math.inf  # of the longest function itself


ranked.same(
    {
        judges.ALL: {"functions": 8, "count": 20},
        judges.SOME: {"functions": 12, "count": 5},
        judges.TIES: {"functions": 12, "count": 12, "ties": True},
    },
    families=("sizes drawn at random", "count is 1"),
    oracle=ranking,
    slips={
        (
            "the rows are sorted by own time",
            "sort by the seconds with callees, the fourth number of an entry",
        ): lambda **given: ranking(**given, by="own_seconds"),
        (
            "the folders are missing in the names: src/train.py and lib/train.py are two files",
            "leave strip_dirs() out",
        ): lambda entries, count: ranking(
            [[it[0].rpartition("/")[2], *it[1:]] for it in entries], count
        ),
    },
    name="ranks_by_total_time",
    says="rank_functions returns the rows of the profile, the one with the most seconds first.",
    why=judges.RANKED,
    try_=f"{DOCSTRING} rank_functions",
)
gains.same(
    {
        "factor 2": {"factor": 2.0},
        "factor 1.5": {"factor": 1.5},
        "factor 50": {"factor": 50.0},
        "factor infinity": {"factor": math.inf},
        "the last of 30 functions": {"functions": 30, "least": True},
    },
    oracle=gain,
    within=1e-6,
    slips={
        (
            "only the function's own seconds became less: what it calls is faster too",
            "take the row's seconds, not its own_seconds",
        ): lambda **given: gain(**given, of="own_seconds"),
        (
            "the factor has no influence: this is the gain without the function",
            "take off seconds * (1 - 1 / factor), not all of the seconds",
        ): lambda **given: gain(**{**given, "factor": math.inf}),
        (
            "it is the share of the time that is saved, not how many times as fast the program is",
            "old time / new time",
        ): lambda **given: 1 - 1 / gain(**given),
        (
            "your code cuts the factor to a whole number",
            "take factor as it is, without int() or //",
        ): lambda factor, **given: gain(**given, factor=float(int(min(factor, 1e9)))),
        (judges.LONGEST, judges.TOTAL): lambda **given: gain(**given, whole=max),
        (judges.CUMULATIVE, judges.TOTAL): lambda **given: gain(**given, whole=sum),
    },
    name="predicts_the_gain",
    says="speedup_if returns the speedup of the whole program, also for an infinite factor.",
    why=judges.GAINED,
    hints={
        '30 functions": raised ValueError': judges.ALL_ROWS,
        ": raised ValueError": "fix ranks_by_total_time first if it fails; else name rows as pstats prints them",
    },
    try_=f"{DOCSTRING} speedup_if",
)
gains.refuses(
    {
        "a function that the profile does not have": {"function": "nowhere.py:1(nothing)"},
        "the bare name 'forward'": {"function": made.SHARED_NAME},
    },
    name="refuses_unknown_functions",
    try_="fix ranks_by_total_time first if it fails; else "
    "raise ValueError when no row of the file has exactly this name",
    needs=[],
)

# --- which line ---

GREY, FLIPPED, READ_ONLY = "images of one value", "flipped images", "read-only images"


def by_arrays(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Cut the pixels into images."""
    pixels, images, start = given["images"].cpu().numpy(), [], 0
    for shape in given["shapes"]:
        image = pixels[start : start + math.prod(shape)].reshape(*shape)
        start += image.size
        images.append(image[::-1, ::-1] if given["kind"] == FLIPPED else image)
        images[-1].flags.writeable = given["kind"] != READ_ONLY
    return function(images, given["size"])


preprocessed = Exercise("preprocess", part, call=by_arrays, holes=IMAGES)


@preprocessed.inputs
def draw_images(
    random: np.random.Generator,
    images: Any = (0, 4),
    height: Any = (1, 30),
    width: Any = (1, 30),
    size: Any = (1, 40),
    kind: Any = "",
) -> dict[str, Any]:
    shapes = [[height + 5 * i % 17, width + 7 * i % 17, 3] for i in range(images)]
    darkest, brightest = random.integers(1, 90), random.integers(170, 256)
    pixels = random.integers(darkest, brightest, sum(map(math.prod, shapes)), np.uint8)
    if kind == GREY:
        pixels[:] = random.integers(1, 256)
    if kind == judges.TWO:
        pixels[:] = np.where(random.random(len(pixels)) < 0.5, darkest, brightest)
        pixels[::3] = brightest  # of a channel
    return {"images": pixels, "shapes": shapes, "size": size, "kind": kind}


SOME = {"images": 3, "height": 20, "width": 24}
SAME_SIZE = {"images": 1, "height": 12, "width": 12, "size": 12}
preprocessed.same(
    {
        judges.TWO: {**SAME_SIZE, "kind": judges.TWO},
        judges.KEPT: SAME_SIZE,
        "any sizes": {},
        "one pixel": {"images": 1, "height": 1, "width": 1},
        "images of noise": SOME,
        **{kind: {**SOME, "kind": kind} for kind in (GREY, FLIPPED, READ_ONLY)},
        "large images": {"images": 2, "height": 50, "width": 45, "size": 8},
    },
    families=(
        "images is 0",
        "images is 1",
        "height is 1",
        "width is 1",
        "size is 1",
        "every second of a row",
        "whole numbers at their ends",
        "other numbers in the same tensors",
    ),
    gradients=(),
    dtypes=(),
    name="preprocess_is_right",
    says="preprocess equals given.preprocess, also for no images, images of one pixel, "
    "images whose values are all equal, flipped and read-only images.",
    why=judges.IMAGES,
    hints={": raised IndexError": "make the pixels .int(): uint8 as an index is a mask"},
    try_="begin with a copy of given.preprocess, and change only the slow line",
)
preprocessed.leaves_inputs_alone(
    SOME,
    name="leaves_inputs_alone",
    says="preprocess leaves the images as they were.",
    try_="copy the array first: -= and methods that end in _ change it, also through torch.from_numpy",
    needs=["preprocess_is_right"],
)
preprocessed.faster(
    {"images": 16, "height": 40, "width": 40, "size": 32},
    name="preprocess_is_faster",
    says="preprocess is at least {bar} as fast as given.preprocess, timed by the grader.",
    why="bound by Python: usually image.tolist() is still there, and makes a Python number of each byte",
    try_="make a tensor of the array without a list: torch.from_numpy",
)

# --- the memory of each line ---


def by_program(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Let a program run line by line; keep one figure of each row, which a check is about."""
    sizes = [given[name] for name in ("kept", "large", "helper")]
    program = made.program(given["above"])
    result, rows = function(program, *sizes, rounds=given["rounds"])
    names = ("line", "hits", given["figure"])
    return {"result": result, "rows": [{name: row[name] for name in names} for row in rows[:MOST]]}


lines = Exercise("memory_by_line", part, call=by_program)


@lines.inputs
def draw_program(
    random: np.random.Generator,
    kept: Any = (1, 3000),
    large: Any = (9, 6000),
    helper: Any = (1, 20000),
    rounds: Any = (1, 5),
    above: Any = (2, 90),
    figure: Any = "added_bytes",
) -> dict[str, Any]:
    sizes = {"kept": kept, "large": large, "helper": helper, "rounds": rounds}
    return {**sizes, "above": above, "figure": figure}


lines.same(
    {"a loop of three rounds": {"kept": 1000, "large": 2000, "helper": 8000, "rounds": 3}},
    oracle=made.memory,
    within=0.0,
    slips={
        (
            "no line added a byte: tracemalloc, for example, does not see the memory of torch",
            "watch the call with given.Allocations",
        ): partial(made.memory, watch="nothing"),
        (
            "your line of a loop has the bytes of its last hit, not those of all hits",
            "add up the bytes of all hits of a line",
        ): partial(made.memory, watch="last hit"),
    },
    name="bytes_of_each_line",
    says="memory_by_line returns the result, and the hits and added bytes of each line.",
    why=judges.BYTES,
    try_=f"{DOCSTRING} memory_by_line",
)
PEAK = {"figure": "peak_bytes"}
lines.same(
    {
        "any sizes": PEAK,
        "a loop of three rounds": {
            **PEAK,
            "kept": 1000,
            "large": 2000,
            "helper": 8000,
            "rounds": 3,
        },
        "a loop of two rounds": {**PEAK, "kept": 3000, "large": 10, "helper": 10, "rounds": 2},
    },
    families=(),
    oracle=made.memory,
    within=0.0,
    slips={
        why: partial(made.memory, watch=watch)
        for watch, why in {
            "end": (
                (
                    "your peak is what is alive at the end of a line; the old "
                    "tensor is freed after the new one is made"
                ),
                "read Allocations.peak when a line ends, not live",
            ),
            "all": (
                "your row has the peak of an earlier line: restart it for each line",
                "call restart() when a line begins",
            ),
            "last hit": (
                "your line of a loop has the peak of its last hit, not of all hits",
                "keep the max of the peaks of all hits",
            ),
            "beyond": (
                "your peak leaves out what was alive when the line began",
                "take Allocations.peak as it is, without subtracting live",
            ),
        }.items()
    },
    name="peaks_within_a_line",
    says="memory_by_line returns the most bytes that were alive while each line ran.",
    why={
        "": (
            "a peak must count all bytes that are alive at one time, also older ones",
            "Allocations.peak when a line ends, then restart()",
        )
    },
    try_=f"{DOCSTRING} memory_by_line",
)


@part.outputs
def tracers(student: Student, rig: Rig) -> Any:
    """Who traces after a return and after an exception, and what the caller gets."""
    answers = rig.answers(student)
    for case, error in (("after a return", None), ("after an exception", LookupError())):
        right = made.left("as before", "LookupError" if error else "nothing")
        own = rig.side == "student"
        answers.add(case, made.ended(student.memory_by_line, error) if own else right)
    return answers.values()


@part.check(basis="report")
def stops_tracing(tracers: Pair) -> Verdict:
    """After memory_by_line, sys.gettrace() is what it was; an exception reaches the caller."""
    return outputs.same(tracers, 0.0, why=judges.TRACED, try_=f"{DOCSTRING} memory_by_line")


# --- what is handed in ---


@part.check(basis="artefact")
def top20_is_of_this_program(calls_top20: Text) -> Verdict:
    """The submitted calls_top20.txt is a report of pstats about train_epoch, by cumulative time."""
    rows, problem = judges.report(calls_top20.text)
    why = hint_for(problem, judges.REPORTED)
    return Failed(problem, why, AGAIN) if problem else Passed(f"{len(rows)} rows")


Study(part, MEMORY, "part3_profilers.py").is_consistent(
    judges.memory_problem,
    says="The submitted line_memory.csv lists the lines in order, and of the lines before "
    "optimizer.step(), backward has the largest peak.",
    try_=f"fix peaks_within_a_line first if it fails; else {AGAIN}",
)
