"""Part 2: loops. Four functions without a loop over elements: the same results, a fixed number of operations, speed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import outputs, speedup, table
from autograder.checks.forms import DEVICE, Form, positive, ratio, words
from autograder.checks.slips import median_problem
from autograder.claims.studies import Study
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Bar,
    Close,
    Failed,
    Observation,
    Pair,
    Part,
    Partial,
    Passed,
    Timed,
    Verdict,
    list_of,
    map_of,
    record,
)

WIDTH = {  # what TIMES as many are counted with
    "running_clipped_mean": "values",
    "masked_mean": "columns",
    "pairwise_distances": "centers and columns",
    "top_k_hits": "classes and k",
}
FUNCTIONS = tuple(WIDTH)
SPEEDUPS = Form(
    "loop_speedups.csv",
    (
        words("function", "its name"),
        positive("loop_ms", "median of the loop's calls, after a warm-up", "ms"),
        positive("vectorized_ms", "median of yours", "ms"),
        ratio("speedup", "loop_ms", "vectorized_ms"),
        DEVICE,
    ),
    rows=FUNCTIONS,
)
part = Part(
    "part2_loops",
    writes=[*FUNCTIONS, "measure_speedups"],
    hands_in=[SPEEDUPS.file],
    tables=[SPEEDUPS],
)

WRONG = 'see "What usually goes wrong" in the part 2 handout'
SHORT, LONG = 48, 432  # rows
TIMES = 24  # as many columns, centers or classes
SIZES = ((SHORT, 1), (LONG, 1), (SHORT, TIMES))  # at which operations are counted
FINE = Close(
    rtol=1e-4, atol=1e-5
)  # of each number: beside a count of hits, a mean is next to nothing
ROWS_PER_OPERATION = 8  # blocks of rows are fine, single rows are not


# --- what is run ------------------------------------------------------------------------------------------------------


def normal(rig: Any, *shape: int, dtype: str = "float32") -> Any:
    """Return a tensor of normal numbers."""
    return rig.tensor(rig.random.normal(size=shape), dtype)


def whole(rig: Any, *shape: int, dtype: str = "int64") -> Any:
    """Return a tensor of whole numbers from -9 to 9."""
    return rig.tensor(rig.random.integers(-9, 10, size=shape), dtype)


@part.outputs
def running_means(student: Any, rig: Any) -> Any:
    some, seen = rig.integer(20, 200), rig.answers(student)
    cases = {
        "drawn length": normal(rig, some),
        "none": normal(rig, 0),
        "one number": normal(rig, 1),
        "float64": normal(rig, some, dtype="float64"),
        "every third": normal(rig, 3 * some)[::3],
        "whole numbers": whole(rig, some),
        "small whole numbers": whole(rig, some, dtype="int8"),
        "NaN in the middle": with_nan(normal(rig, some), rig.integer(1, some - 2)),
    }
    low, high = rig.random.uniform(-1.5, -0.4), rig.random.uniform(0.4, 1.5)
    cases["nothing to clip at first"] = 4 * normal(rig, some)
    cases["nothing to clip at first"][: some // 2] *= 2**-6
    again = rig.redrawn([cases["drawn length"]])  # before anything can have written into it
    for name, values in cases.items():
        seen.ask(name, student.running_clipped_mean, values, low, high)
    seen.ask("the drawn length, other numbers", student.running_clipped_mean, *again, low, high)
    return seen.seen()


def with_nan(values: Any, place: Any) -> Any:
    """Return the values with NaN at one place."""
    values = values.clone()
    values[place] = float("nan")
    return values


@part.outputs
def masked_means(student: Any, rig: Any) -> Any:
    rows, width, seen = rig.integer(5, 40), rig.integer(3, 17), rig.answers(student)
    values, mask = normal(rig, rows, width), normal(rig, rows, width) > 0
    mask[:, 0] |= ~mask.any(dim=1)  # rows without any True are a case of their own
    holes = values.clone()
    holes[~mask] = rig.tensor(rig.random.choice([np.nan, np.inf, -np.inf], int((~mask).sum())))
    none = mask.clone()
    none[rig.integer(0, rows - 1)] = False
    known = mask.clone()
    known[0] = True
    filled = mask.clone()
    filled[: rows // 2] = True
    cases = {
        "drawn shape": (values, mask),
        "all True in the first half": (normal(rig, rows, width), filled),
        "all True": (normal(rig, rows, width), mask | True),
        "no rows": (values[:0], mask[:0]),
        "no columns": (values[:, :0], mask[:, :0]),
        "a row without any True": (values, none),
        "NaN and infinity where the mask is False": (holes, mask),
        "NaN where the mask is True": (with_nan(values, (0, 1)), known),
        "whole numbers": (whole(rig, rows, width), mask),
        "float64, columns as rows": (normal(rig, width, rows, dtype="float64").t(), mask),
    }
    again = rig.redrawn([values])
    for name, arguments in cases.items():
        seen.ask(name, student.masked_mean, *arguments)
    seen.ask("the drawn shape, other numbers", student.masked_mean, *again, mask)
    return seen.seen()


@part.outputs
def distances(student: Any, rig: Any) -> Any:
    n, m, seen = rig.integer(2, 20), rig.integer(2, 20), rig.answers(student)
    for name, dtype, (rows, centers, size) in (
        ("drawn shape", "float32", (n, m, rig.integer(1, 9))),
        ("one point", "float32", (1, m, 3)),
        ("one center", "float32", (n, 1, 3)),
        ("no points", "float32", (0, m, 3)),
        ("no centers", "float32", (n, 0, 3)),
        ("float64", "float64", (n, m, 4)),
    ):
        points, others = (
            normal(rig, rows, size, dtype=dtype),
            normal(rig, centers, size, dtype=dtype),
        )
        seen.ask(name, student.pairwise_distances, points, others)
    seen.ask("whole numbers", student.pairwise_distances, whole(rig, n, 3), whole(rig, m, 3))
    points, centers = normal(rig, 2 * n, 3), normal(rig, 2 * n, 3)
    centers[:n] = points[:n]
    again = rig.redrawn([points, centers])
    seen.ask(
        "centers that are points in the first half", student.pairwise_distances, points, centers
    )
    seen.ask("the same shapes, other numbers", student.pairwise_distances, *again)
    return seen.seen()


@part.outputs
def far_distances(student: Any, rig: Any) -> Any:
    """Points some units apart, some thousands of units from zero; among them equal ones."""
    seen = rig.answers(student)
    for name, rows in (("30 points far from zero", 30), ("7 points far from zero", 7)):
        points = normal(rig, rows, 3) + rig.random.uniform(2000, 5000)
        seen.ask(name, student.pairwise_distances, points, points[:5].clone())
    return seen.seen()


@part.outputs
def hits(student: Any, rig: Any) -> Any:
    rows, classes, seen = rig.integer(20, 60), rig.integer(6, 12), rig.answers(student)
    logits = rig.tensor(
        rig.random.permuted(np.tile(np.arange(classes), (rows, 1)), axis=1)
    )  # no two alike in a row
    labels = rig.tensor(rig.random.integers(0, classes, rows), "int64")
    easy = labels.clone()
    easy[: rows // 2] = logits[: rows // 2].argmax(1)
    unknown = labels.clone()
    unknown[:: rig.integer(2, 4)] = -100
    again = rig.redrawn([logits])
    for name, arguments in {
        "drawn shape": (logits, labels, rig.integer(2, 4)),
        "all hits in the first half": (logits, easy, rig.integer(2, 4)),
        "k is 1": (logits, labels, 1),
        "k is more than there are classes": (logits, labels, classes + 3),
        "no rows": (logits[:0], labels[:0], 2),
        "negative labels": (logits, unknown, 3),
        "negative labels, and k is all classes": (logits, unknown, classes),
    }.items():
        seen.ask(name, student.top_k_hits, *arguments)
    seen.ask("the drawn shape, other numbers", student.top_k_hits, *again, labels, 2)
    return seen.seen()


def tables(
    rig: Any, rows: int, times: int = 1, dtype: str = "float32"
) -> dict[str, dict[str, Any]]:
    """Return arguments for each function, by their names: *rows* rows, *times* as many columns, centers, classes."""
    some = partial(normal, rig, dtype=dtype)
    mask = normal(rig, rows, 6 * times) > 0
    labels = rig.tensor(rig.random.integers(0, 10 * times, rows), "int64")
    labels[rig.integer(0, rows - 1)] = -100
    return {
        "running_clipped_mean": {"values": some(rows), "low": -1.0, "high": 1.0},
        "masked_mean": {"values": some(rows, 6 * times), "mask": mask},
        "pairwise_distances": {
            "points": some(rows, 3 * times),
            "centers": some(4 * times, 3 * times),
        },
        "top_k_hits": {"logits": some(rows, 10 * times), "labels": labels, "k": 3 * times},
    }


def returns(student: Any, rig: Any, name: str, arguments: Mapping[str, Any]) -> bool:
    """Call a function and say whether it returns; what it raises is told where its numbers are judged."""
    call = partial(getattr(student, name), *arguments.values())
    return not isinstance(rig.answers(student).tried(call), Exception)


@part.probe(values={"changed": map_of(list_of(TEXT))})
def inputs_after(student: Any, rig: Any) -> Any:
    changed: dict[str, list[str]] = {}
    for dtype in ("float32", "float64"):  # double() copies the one, and hands back the other
        for name, arguments in tables(rig, 30, dtype=dtype).items():
            before = rig.copies(arguments)
            if returns(student, rig, name, arguments):
                changed[name] = changed.get(name) or rig.changed(arguments, before)
    return {"changed": changed}


@part.probe(values={"operations": map_of(list_of(INTEGER))})
def operations(student: Any, rig: Any) -> Any:
    counts: dict[str, list[int]] = {}
    for size in SIZES:
        for name, arguments in tables(rig, *size).items():
            with rig.ops() as seen:
                returned = returns(student, rig, name, arguments)
            if returned:
                counts.setdefault(name, []).append(seen.count)
    return {"operations": counts}


FETCHES = list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))


@part.probe(values={"fetches": map_of(FETCHES)})
def fetches(student: Any, rig: Any) -> Any:
    found = {}
    for name, arguments in tables(rig, 20).items():
        with rig.fetches(student) as seen:
            returned = returns(student, rig, name, arguments)
        if returned:
            found[name] = seen.values()
    return {"fetches": found}


def draw_tables(random: np.random.Generator) -> Mapping[str, Any]:
    """Draw one timed call: sizes at which each loop takes about as long as the others."""
    return {
        "values": random.normal(size=5000).astype(np.float32),
        "table": random.normal(size=(110, 16)).astype(np.float32),
        "mask": random.random((110, 16)) < 0.5,
        "points": random.normal(size=(40, 3)).astype(np.float32),
        "centers": random.normal(size=(12, 3)).astype(np.float32),
        "logits": random.normal(size=(900, 10)).astype(np.float32),
        "labels": random.integers(0, 10, 900),
    }


@part.timed("call", inputs=draw_tables, within=FINE)
def fast(student: Any, inputs: Any) -> Any:
    return [
        student.running_clipped_mean(inputs["values"], -1.0, 1.0),
        student.masked_mean(inputs["table"], inputs["mask"]),
        student.pairwise_distances(inputs["points"], inputs["centers"]),
        student.top_k_hits(inputs["logits"], inputs["labels"], 3),
    ]


@part.probe(
    pair=True,
    values={
        "rows": list_of(map_of(CELL)),
        "csv": TEXT,
        "names": list_of(TEXT),
        "seconds": list_of(list_of(NUMBER)),
        "repeats": INTEGER,
    },
)
def scripted_times(student: Any, rig: Any) -> Any:
    """Functions that take scripted seconds: (loop, vectorized) for each name."""
    names, rows = list(FUNCTIONS[: rig.integer(3, 4)]), rig.integer(10, 90)
    repeats = 2 * rig.integer(3, 5) + 1  # not the default
    seconds = [[rig.random.uniform(0.1, 0.9), rig.random.uniform(0.005, 0.02)] for _ in names]
    cases = {
        name: (
            *(rig.scripted_call({rows: each}, {}, repeats) for each in own),
            (normal(rig, rows, 2), 1.0),
        )
        for name, own in zip(names, seconds, strict=True)
    }
    returned = student.measure_speedups(
        cases, rig.device, folder=str(rig.made_folder()), repeats=repeats
    )
    return {
        "rows": rig.rows(returned, "measure_speedups"),
        "csv": rig.file_text(rig.made_folder() / "loop_speedups.csv"),
        "names": names,
        "seconds": seconds,
        "repeats": repeats,
    }


# --- what is judged: the numbers --------------------------------------------------------------------------------------

CLOSE = {"float32": 1e-5, "float64": 1e-12, "int64": 0.0}  # of a row's largest number
FIRST = "compare with given.loops on a few rows"
DIGITS = (
    "float64 values keep their digits: a sum, or a bound or divisor beside it, has those of float32"
)


@part.check(basis="outputs")
def running_mean_is_right(running_means: Pair) -> Verdict:
    """running_clipped_mean equals the loop: none, one, whole numbers, NaN."""
    why = {
        "NaN": "from the first NaN on, every mean is NaN, and before it none",
        "float64": DIGITS,
        "whole": "whole numbers are clipped and averaged as float32: bounds are no whole numbers",
        "": "each value is clipped, to low ... high as they are; their running sum divided by i + 1 is the mean",
    }
    return outputs.same(
        running_means, CLOSE, why=why, try_=f"clamp, cumsum, and divide by 1 ... n; {FIRST}"
    )


@part.check(basis="outputs")
def masked_mean_is_right(masked_means: Pair) -> Verdict:
    """masked_mean equals the loop: rows without any True, NaN behind the mask, whole numbers."""
    why = {
        "NaN and infinity": "what is masked out has an influence: 0 * NaN is NaN, and 0 * infinity as well",
        "NaN where": "a NaN that counts makes the mean of its row NaN",
        "without any": "a row without any True has no mean: NaN",
        "no columns": "a row without any True has no mean: NaN",
        "float64": DIGITS,
        "": "the sum is divided by the number of True in the row, not by the number of columns",
    }
    return outputs.same(
        masked_means,
        CLOSE,
        why=why,
        try_=f"masked_fill(~mask, 0), sum, and divide by mask.sum; {FIRST}",
    )


@part.check(basis="outputs")
def distances_are_right(distances: Pair) -> Verdict:
    """pairwise_distances equals the loop: one row per point, one column per center, none of either."""
    why = "entry (i, j) is the root of the sum of squares of points[i] - centers[j]"
    within = {"float32": 2e-3, "float64": 1e-6}  # the digits are judged apart
    return outputs.same(
        distances, within, why=why, try_=f"points[:, None, :] - centers[None, :, :]; {FIRST}"
    )


@part.check(basis="outputs", needs=[distances_are_right])
def distances_keep_digits(distances: Pair, far_distances: Pair) -> Verdict:
    """Distances keep their digits, for points close together and far from zero as well."""
    why = "|a|^2 + |b|^2 - 2ab takes two large numbers off each other; torch.cdist does so above 25 rows by default"
    try_ = 'subtract first, or torch.cdist(..., compute_mode="donot_use_mm_for_euclid_dist")'
    digits = f"{DIGITS}; or an eps is added, as F.pairwise_distance does"
    near = outputs.same(distances, CLOSE, why={"float64": digits, "": why}, try_=try_)
    return (
        near if isinstance(near, Failed) else outputs.same(far_distances, CLOSE, why=why, try_=try_)
    )


@part.check(basis="outputs")
def hits_are_right(hits: Pair) -> Verdict:
    """top_k_hits equals the loop: one whole number as a tensor, negative labels, k above the number of classes."""
    why = {
        "negative": "a negative label is no hit; as an index it would mean a class from the end",
        "": "a row counts when its label is among its k largest logits",
    }
    return outputs.same(
        hits, CLOSE, why=why, try_=f"topk, compare with labels[:, None], and sum; {FIRST}"
    )


@part.check(basis="report")
def leaves_inputs_alone(inputs_after: Observation) -> Verdict:
    """No function changes what it was given."""
    changed = inputs_after.values["changed"]
    names = [f"{which} of {name}" for name, own in changed.items() for which in own]
    try_ = "clamp and masked_fill make new tensors; clamp_ does not"
    return _of_each(changed, outputs.unchanged(names, try_=try_))


def _of_each(seen: Collection[str], verdict: Verdict) -> Verdict:
    """Give each function its share of the points: one that raises an exception was not *seen*, and earns none."""
    missing = [name for name in FUNCTIONS if name not in seen]
    if not missing or not isinstance(verdict, Passed):
        return verdict
    share = 1 - len(missing) / len(FUNCTIONS)
    why = f"{missing[0]} raises an exception, so nothing is known of it here"
    return Partial(
        share,
        verdict.measured,
        why,
        "mend the call that its own check names: it has this share of the points",
    )


# --- what is judged: how it is computed -------------------------------------------------------------------------------


@part.check(basis="report")
def operations_do_not_grow(operations: Observation) -> Verdict:
    """The number of torch operations does not grow with rows, columns, centers, classes or k."""
    seen = operations.values["operations"]
    counts = {name: seen[name] for name in FUNCTIONS if len(seen.get(name, [])) == len(SIZES)}
    unseen = [name for name, own in counts.items() if not all(own)]
    if unseen:
        why = (
            "it computes where no operation is seen: in another thread or process, or without torch"
        )
        return Failed(f"{unseen[0]}: no operations", why, WRONG)
    for name, (short, long, wide) in counts.items():
        if max(long, wide) - short > (LONG - SHORT) / ROWS_PER_OPERATION:
            over = "rows or elements" if long >= wide else WIDTH[name]
            more = (
                f"{long} for {LONG}" if long >= wide else f"{wide} for {TIMES} times as many {over}"
            )
            why = f"a Python loop over {over}: each round pays for a call"
            return Failed(f"{name}: {short} operations for {SHORT} rows, {more}", why, WRONG)
    measured = ", ".join(f"{name} {own[1]}" for name, own in counts.items()) + " operations"
    return _of_each(counts, Passed(measured))


@part.check(basis="report")
def no_host_fetch(fetches: Observation) -> Verdict:
    """No function brings a tensor's values to the host."""
    found = [(name, fetch) for name, own in fetches.values["fetches"].items() for fetch in own]
    if not found:
        return _of_each(fetches.values["fetches"], Passed("none"))
    measured = "; ".join(
        f"{name} (line {fetch['line']}: {fetch['call']})" for name, fetch in found[:4]
    )
    why = "the host waits until the device has caught up, and what it computes then has to go back to the device"
    return Failed(
        measured, why, "stay with tensors; the caller fetches the result when it is needed"
    )


@part.check(
    basis="outputs",
    needs=[running_mean_is_right, masked_mean_is_right, distances_are_right, hits_are_right],
)
def vectorized_is_faster(fast: Timed, bar: Bar) -> Verdict:
    """The four functions together are at least {bar} as fast as the loops; one loop over elements is too slow."""
    try_ = f"look at operations_do_not_grow; {WRONG}"
    same = outputs.same_calls(
        fast, FINE, why="the timed calls return other numbers than the loops", try_=try_
    )
    why = "at least one of the four still goes element by element"
    return speedup.at_least(fast, bar, why=why, try_=try_, same=same)


# --- what is judged: the measurement ----------------------------------------------------------------------------------


def _measured(scripted_times: Pair) -> str:
    rows, script = scripted_times.student.values["rows"], scripted_times.baseline.values
    problems = (
        median_problem(SPEEDUPS, row, column, seconds, script["repeats"])
        for row, took in zip(rows, script["seconds"], strict=True)
        for column, seconds in zip(("loop_ms", "vectorized_ms"), took, strict=True)
    )
    return next(filter(None, problems), "") or table.other_device(rows, script["rows"][0]["device"])


study = Study(
    part,
    SPEEDUPS,
    "measure_speedups",
    by=scripted_times,
    expected=lambda known: known["names"],
)
study.is_measured(
    "measures_honestly",
    _measured,
    says="measure_speedups returns the median times after a warm-up, and their ratio.",
    try_=f"call once, then time repeats calls one by one; {WRONG}",
    shows=["loop_ms", "vectorized_ms"],
)
study.is_written()
study.is_consistent(
    says="The loop_speedups.csv handed in has a row for each of the four functions, with speedups that fit the times.",
)
