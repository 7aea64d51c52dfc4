"""Part 2: loops. Four functions without a loop over elements: the same results, a fixed number of operations, speed.

Above 60 lines an exercise: each loop has its own rules for NaN, empty rows and dtypes, and its own words for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.checks import table
from autograder.checks.slips import COUNTS, counts, median_problem
from autograder.checks.table_form import DEVICE, Form, positive, ratio, words
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.claims.several import Several
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import INTEGER, NUMBER, TEXT, Answer, Close, Pair, Part, Rig, Student, list_of
from autograder.labs.foundations.part2_loops.judges import (
    ADDED,
    APART,
    DISTANCES,
    FAR,
    FAR_OFF,
    FIRST,
    HITS,
    HOLES,
    MASKED,
    MEANS,
    MIRRORED,
    NAN,
    NONE,
    UNMASKED,
    clips_the_mean,
)

FUNCTIONS = ("running_clipped_mean", "masked_mean", "pairwise_distances", "top_k_hits")
SPEEDUPS = Form(
    "loop_speedups.csv",
    (
        words("function", "its name in `cases`"),
        positive("loop_ms", "median of the loop's calls, after a warm-up", "ms"),
        positive("vectorized_ms", "median of yours", "ms"),
        ratio("speedup", "loop_ms", "vectorized_ms"),
        DEVICE,
    ),
    rows=FUNCTIONS,
)
part = Part("part2_loops", writes=["measure_speedups"], hands_in=[SPEEDUPS.file], tables=[SPEEDUPS])

# --- what a call is given ---


def by_position(function: Any, given: Mapping[str, Any]) -> Any:
    return function(*given.values())


means, masked, distances, hits = (Exercise(name, part, call=by_position) for name in FUNCTIONS)


def numbers(random: np.random.Generator, shape: tuple[int, ...], whole: bool) -> Any:
    return random.integers(-9, 10, shape) if whole else random.normal(size=shape)


@means.inputs
def draw_values(
    random: np.random.Generator, length: Any = (0, 200), whole: Any = "", kind: Any = ""
) -> dict[str, Any]:
    values = numbers(random, (length,), bool(whole)).astype(whole or float)
    if kind == "NaN in the middle":
        values[random.integers(1, length - 1)] = np.nan
    if kind == "infinity among them":
        values[random.integers(0, length // 2, 2)] = np.inf, -np.inf
    if kind == "nothing to clip at first":
        values *= 4
        values[: length // 2] *= 2**-6
    return {"values": values, "low": random.uniform(-1.5, -0.4), "high": random.uniform(0.4, 1.5)}


@masked.inputs
def draw_table(
    random: np.random.Generator,
    rows: Any = (0, 40),
    columns: Any = (0, 17),
    whole: Any = False,
    kind: Any = "",
) -> dict[str, Any]:
    shape = (rows, columns)
    values = numbers(random, shape, whole)
    mask = random.random(shape) < 0.5
    mask[:, :1] |= ~mask.any(axis=1, keepdims=True)  # rows without any True are a case of their own
    if kind == HOLES:
        values[~mask] = random.choice([np.nan, np.inf, -np.inf], int((~mask).sum()))
    if kind == NAN:
        mask[0], values[0, 1] = True, np.nan
    if kind == NONE:
        mask[random.integers(rows)] = False
    if kind == "all True in the first half":
        mask[: rows // 2] = True
    if kind == "all True":
        mask[:] = True
    return {"values": values, "mask": mask}


@distances.inputs
def draw_points(
    random: np.random.Generator,
    rows: Any = (0, 20),
    others: Any = (0, 20),
    size: Any = (2, 9),
    whole: Any = False,
    kind: Any = "",
) -> dict[str, Any]:
    points, centers = (numbers(random, (each, size), whole) for each in (rows, others))
    if kind in (FAR, APART):
        points += random.uniform(2000, 5000)
        centers[:] = points[:others] + (9.5 if kind == APART else 0.0)
    if kind == MIRRORED:
        centers[: others // 2] = points[: others // 2]
    return {"points": points, "centers": centers}


@hits.inputs
def draw_logits(
    random: np.random.Generator,
    rows: Any = (0, 60),
    classes: Any = (6, 12),
    k: Any = (2, 4),
    kind: Any = "",
) -> dict[str, Any]:
    logits, labels = random.normal(size=(rows, classes)), random.integers(0, classes, rows)
    if kind == "all hits in the first half":
        labels[: rows // 2] = logits[: rows // 2].argmax(axis=1)
    if kind == "negative labels":
        labels[:: random.integers(2, 5)] = -100
    return {"logits": logits, "labels": labels, "k": k}


# --- what is claimed of each function ---

SOME: Sizes = {"length": (20, 200)}
FULL: Sizes = {"rows": (5, 40), "columns": (3, 17)}
ROWS: Sizes = {"rows": (20, 60)}
EIGHT: Sizes = {**ROWS, "classes": 8}
PAIRS: Sizes = {"rows": 30, "others": 30}

means.same(
    {
        "whole numbers": {**SOME, "whole": "int64"},
        "small whole numbers": {**SOME, "whole": "int8"},
        "many in float64": {**SOME, "dtype": "float64"},  # of few none may be clipped
        **{
            kind: {**SOME, "kind": kind}
            for kind in ("NaN in the middle", "infinity among them", "nothing to clip at first")
        },
    },
    gradients=(),
    name="running_mean_is_right",
    says="running_clipped_mean equals the loop, also for no value, one value, whole numbers and NaN.",
    why=MEANS,
    slips={
        (
            "your code clips the running mean, and not each value before the sum",
            MEANS[""][1],
        ): clips_the_mean
    },
    try_=FIRST,
)
masked.same(
    {
        "whole numbers": {**FULL, "whole": True},
        **{
            kind: {**FULL, "kind": kind}
            for kind in (HOLES, "all True in the first half", NAN, NONE, "all True")
        },
    },
    gradients=(),
    name="masked_mean_is_right",
    says="masked_mean equals the loop, also for rows without any True, NaN where the mask is False, whole numbers.",
    why=MASKED,
    slips=UNMASKED,
    try_=FIRST,
)
SMALL = ("times 0.001", "zeros")
distances.same(
    {
        "one column": {**PAIRS, "size": 1},
        "whole numbers": {"whole": True},
        MIRRORED: {**PAIRS, "kind": MIRRORED},
    },
    within={"float32": 2e-3, "float64": 1e-6},
    gradients=(),
    skip_families=dict.fromkeys(SMALL, "distances_keep_digits tries them"),
    name="distances_are_right",
    says="pairwise_distances equals the loop, also without points or centers.",
    why=DISTANCES,
    try_=FIRST,
)
FEW: Sizes = {"others": 5, "size": 3}
distances.same(
    {
        APART: {**FEW, "rows": 30, "kind": APART},
        "one column": {**PAIRS, "size": 1},
        MIRRORED: {**PAIRS, "kind": MIRRORED},
        **{f"{rows} points {FAR}": {**FEW, "rows": rows, "kind": FAR} for rows in (30, 7)},
        "any sizes": {},
    },
    families=("rows is 1", "others is 1", "float64", *SMALL),
    gradients=(),
    name="distances_keep_digits",
    says="Distances keep their digits, also for points close together and far from zero.",
    why=FAR_OFF,
    slips=ADDED,
    try_=FIRST,
)
TIES = "of equal logits any may come first"
hits.same(
    {
        "all hits in the first half": {**ROWS, "kind": "all hits in the first half"},
        "k is 1": {**ROWS, "k": 1},
        "k is more than there are classes": {**EIGHT, "k": 11},
        "negative labels": {**ROWS, "kind": "negative labels"},
        "negative labels, and k is all classes": {**EIGHT, "k": 8, "kind": "negative labels"},
        "900 rows": {"rows": 900},
        # A few counts are the same by chance, so other numbers are tried in more rows as well.
        **{f"other numbers in {rows} rows": {"rows": rows, "again": True} for rows in (900, 1000)},
    },
    gradients=(),
    skip_families={"a constant row": TIES, "zeros": TIES},
    name="hits_are_right",
    says="top_k_hits equals the loop, also for negative labels and k above the number of classes.",
    why=HITS,
    try_=FIRST,
)

# --- what is claimed of all four ---

SHORT, LONG = 48, 432  # rows
# A few rows, many rows, what WIDE times as many are counted with, and what to try.
GROWN: dict[str, tuple[Sizes, Sizes, str, str]] = {
    "running_clipped_mean": (
        {"length": SHORT},
        {"length": LONG},
        "values",
        "cumsum adds up all values in one call",
    ),
    "masked_mean": (
        {"rows": SHORT, "columns": 6},
        {"rows": LONG, "columns": 6},
        "columns",
        "sum(dim=1) adds up all rows in one call",
    ),
    "pairwise_distances": (
        {"rows": SHORT, "others": 4, "size": 3},
        {"rows": LONG, "others": 4, "size": 3},
        "centers or columns",
        "points[:, None, :] - centers[None, :, :] takes all pairs in one call",
    ),
    "top_k_hits": (
        {"rows": SHORT, "classes": 10, "k": 3},
        {"rows": LONG, "classes": 10, "k": 3},
        "classes or k",
        "topk takes all rows in one call, and == compares all of the k best at once",
    ),
}
WIDE = 24  # times as many


def do_not_grow(exercise: Exercise) -> None:
    short, long, wide, at_once = GROWN[exercise.function]
    kept = ("rows", "length")
    exercise.operations_do_not_grow(
        short,
        long,
        also={wide: {name: n if name in kept else WIDE * n for name, n in short.items()}},
        more=(LONG - SHORT) / 4,  # blocks of 64 rows are fine, with 16 operations each
        name="operations_do_not_grow",
        why={
            wide: f"your code loops in Python over {wide}",
            "": "your code loops in Python over rows or elements",
        },
        try_=at_once,
    )


def leave_inputs_alone(exercise: Exercise) -> None:
    odd = {"kind": "negative labels"}  # where there are labels
    exercise.leaves_inputs_alone(
        odd,
        {**odd, "dtype": "float64"},  # double() copies float32, and hands float64 back
        name="leaves_inputs_alone",
        try_="clamp_ and other methods whose names end in _ change the tensor; clamp does not",
    )


def fetch_nothing(exercise: Exercise) -> None:
    exercise.fetches_nothing(
        name="no_host_fetch",
        try_="leave out if, .item(), float() and .tolist(); where a value decides, use torch.where or a mask",
    )


four = Several(means, masked, distances, hits)
four.claim("No function changes what it was given.", leave_inputs_alone)
four.claim(
    "The number of torch operations does not grow with columns, centers, classes or k; "
    "with rows only by a loop over blocks of 64 rows or more.",
    do_not_grow,
)
four.claim("No function brings a tensor's values to the host.", fetch_nothing)
means.faster(
    {"length": 5000},
    Close(rtol=1e-4, atol=1e-5),  # beside a count of hits, a mean is next to nothing
    beside={
        masked: {"rows": 110, "columns": 16},
        distances: {"rows": 40, "others": 12, "size": 3},
        hits: {"rows": 900, "classes": 10, "k": 3},
    },
    name="vectorized_is_faster",
    says="The four functions together are at least {bar} as fast as the loops. If one "
    "of the four still loops over elements, this check fails.",
    needs=[
        "running_mean_is_right",
        "masked_mean_is_right",
        "distances_are_right",
        "hits_are_right",
    ],
    why="bound by launches: at least one of the four still goes element by element",
    try_="look at operations_do_not_grow",
)

# --- what is claimed of the measurement ---


@part.probe(
    pair=True,
    values={
        **WRITTEN,
        "names": list_of(TEXT),
        "seconds": list_of(NUMBER),
        "repeats": INTEGER,
        "calls": COUNTS,
    },
)
def scripted_times(student: Student, rig: Rig) -> Answer:
    """Functions that take scripted seconds: (loop, vectorized) for each name."""
    names, rows = list(FUNCTIONS[: rig.integer(3, 4)]), rig.integer(10, 90)
    repeats = 2 * rig.integer(3, 5) + 1  # not the default
    seconds = [[rig.random.uniform(0.01, 0.09), rig.random.uniform(3e-4, 8e-4)] for _ in names]
    values = rig.tensor(rig.random.normal(size=(rows, 2)))
    both = [[rig.scripted_call({rows: each}, {}, repeats) for each in own] for own in seconds]
    cases = {name: (*calls, (values, 1.0)) for name, calls in zip(names, both, strict=True)}
    returned = student.measure_speedups(
        cases, rig.device, folder=str(rig.made_folder()), repeats=repeats
    )
    return {
        **written(rig, SPEEDUPS, "measure_speedups", returned),
        "names": names,
        "seconds": [each for own in seconds for each in own],
        "repeats": repeats,
        "calls": [call.counts(rows) for calls in both for call in calls],
    }


def _measured(scripted_times: Pair) -> str:
    values, script = scripted_times.student.values, scripted_times.baseline.values
    rows = values["rows"]
    places = [(row, column) for row in rows for column in ("loop_ms", "vectorized_ms")]
    problems = (
        median_problem(SPEEDUPS, row, column, seconds, script["repeats"], calls=calls)
        for (row, column), seconds, calls in zip(
            places, script["seconds"], counts(values["calls"]), strict=False
        )
    )
    return next(filter(None, problems), "") or table.other_device(rows, script["rows"][0]["device"])


study = Study(
    part,
    SPEEDUPS,
    "measure_speedups",
    by=scripted_times,
    expected=lambda script: script["names"],
)
study.is_measured(
    "measures_honestly",
    _measured,
    says="measure_speedups returns the median times after a warm-up, and their ratio.",
    try_="one call, then `repeats` calls, each between two readings of perf_counter(); 1000 * the median",
    shows=["loop_ms", "vectorized_ms"],
)
study.is_written()
study.is_consistent(
    says="The submitted loop_speedups.csv has a row for each of the four functions, with speedups that fit the times.",
)
