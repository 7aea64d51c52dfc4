"""Five configurations of equal work, and what more processes would do."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from autograder.checks.hints import caused, hinted
from autograder.claims.exercise import Exercise
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Pair,
    Student,
    Verdict,
    list_of,
    map_of,
    record,
)
from autograder.labs.distributed.part6_final import configurations
from autograder.labs.distributed.part6_final.configurations import NAMES, RESULTS
from autograder.labs.distributed.part6_final.part import FIGURE, TABLE, Rig, part
from autograder.model import verdict

if TYPE_CHECKING:
    import numpy as np

PATTERN = (1.0, 0.7, 1.0, 1.3, 2.9)  # of the epochs after the first; their median is 1.0
COLD = 4.0
SCRIPT = {
    "samples": INTEGER,
    "batch": INTEGER,
    "expected": list_of(map_of(NUMBER)),
    "device": TEXT,
}
ASKED = ("amp", "accumulate", "workers", "samples", "batch_size", "epochs")
RUNS = list_of(record(**dict.fromkeys(ASKED, NUMBER)))


def drawn(rig: Rig, batch: int, *, uneven: bool) -> dict[str, Any]:
    """Draw what a run returns; where it is *uneven*, the largest peak is not that of rank 0."""
    (seconds,) = rig.seconds(2.0, 9.0, 1)
    epochs = [seconds * factor for factor in (COLD, *rig.random.permutation(PATTERN).tolist())]
    accuracy, loss = rig.seconds(0.5, 0.99, 2)
    first, second = rig.seconds(300.0, 900.0, 2)
    peaks = [first, 1.15 * first if uneven else second]
    figures = {"samples": 240 * batch, "steps": 120, "accuracy": accuracy, "loss": loss}
    return {**figures, "seconds": epochs, "peak_mb": peaks}


@part.probe(pair=True, values={**DRAWN, **SCRIPT, "runs": RUNS}, arrays=PICTURE)
def compared(student: Student, rig: Rig) -> Answer:
    """Runs that return scripted figures, by what they are asked to change; nothing is trained."""
    batch, runs = 8 * rig.integer(2, 6), list[dict[str, float]]()
    results = [drawn(rig, batch, uneven=name == NAMES[0]) for name in NAMES]
    expected = [
        {
            "throughput": 240 * batch / median(result["seconds"][1:]),
            "all epochs": 240 * batch / median(result["seconds"]),
            "mean": 240 * batch / mean(result["seconds"][1:]),
            "memory_mb": max(result["peak_mb"]),
            "rank 0": result["peak_mb"][0],
            "all ranks": sum(result["peak_mb"]),
            **{name: float(result[name]) for name in ("accuracy", "steps")},
        }
        for result in results
    ]
    device = rig.text(rig.given("device_name")(rig.device))

    def run(**options: Any) -> dict[str, Any]:
        usual = {"amp": False, "accumulate": 1, "workers": 0, "epochs": 1, **options}
        runs.append({name: float(rig.number(usual.get(name)) or 0) for name in ASKED})
        runs[-1]["amp"] = float(bool(usual["amp"]))
        name = configurations.kind(runs[-1])
        at = NAMES.index(name) if name in NAMES else (len(runs) - 1) % len(NAMES)
        return copy.deepcopy(results[at])

    asked = 240 * batch, batch, rig.device
    with rig.figures() as figures:
        rows = student.compare_configurations(run, *asked, folder=str(rig.made_folder()))
    table = written(rig, RESULTS, "compare_configurations", rows, FIGURE, figures)
    script = {"samples": 240 * batch, "batch": batch, "expected": expected, "device": device}
    return {**script, "runs": runs[:64], **table}


study = Study(part, RESULTS, "compare_configurations", by=compared)


@part.check(basis="scripted")
def same_work_in_every_row(compared: Pair) -> Verdict:
    """compare_configurations changes one thing in each run, all in the last; all train on equal amounts of data."""
    values, script = compared.student.values, compared.baseline.values
    work = configurations.work_problem(values["runs"], script["samples"], script["batch"])
    return hinted(verdict(*work, TABLE), configurations.WORK)


study.is_measured(
    "rows_are_right",
    lambda compared: caused(
        configurations.row_problem(compared.student.values["rows"], compared.baseline.values),
        configurations.TRIES,
    ),
    says="Each row has samples / the median of seconds after the first, the ratio of throughputs, the largest peak.",
    try_="statistics.median(seconds[1:]) and max(peak_mb)",
    shows=["throughput", "memory_mb"],
    needs=["same_work_in_every_row"],
)


def on_a_cpu(written: Any, given: Mapping[str, Any]) -> Any:
    return written(device=importlib.import_module("torch").device("cpu"), **given)


refusing = Exercise("compare_configurations", part, call=on_a_cpu)


@refusing.inputs
def draw_batch(random: np.random.Generator, batch_size: int = 8) -> dict[str, Any]:
    result = {"seconds": [4.0, 1.0, 1.0], "peak_mb": [1.0, 1.0], "accuracy": 0.5, "steps": 2}
    return {"run": lambda **_: result, "samples": 700, "batch_size": batch_size}


refusing.refuses(
    {"a batch of 7": {"batch_size": 7}, "a batch of 30": {"batch_size": 30}},
    before="run",
    name="refuses_what_cannot_be_compared",
    says="compare_configurations raises ValueError before the first run if ACCUMULATE does not divide the batch.",
    why="ACCUMULATE is 4, which does not divide this batch: the rows would train on different batches",
    try_="if batch_size % ACCUMULATE: raise ValueError(...)",
    hints={
        "run was called before": (
            "the batch size is checked too late: a row has run before the error",
            "check the batch size at the top of the function, before the loop over the rows",
        ),
    },
)
study.is_written()
study.is_drawn(
    FIGURE,
    {
        "throughput": r"/|per|s⁻¹|\^\{?-1",
        "speedup": r"\bx\b|\u00d7|[Ss]peed-?up|ratio",
        "memory_mb": r"MB|[Mm]egabyte",
    },
    says=f"compare_configurations draws throughput, speedup and memory of its rows, and writes {FIGURE}.",
    try_="in each panel one bar per row, from 0 to what the row says; set_ylabel with the unit",
    apart="bars",
)

# --- more processes ---

LEFT = "add max(0, communication - hideable_ms) to compute_ms"
predict = Exercise("predict_step", part)


@predict.inputs
def draw(
    random: np.random.Generator, processes: Any = (2, 64), count: Any = (2, 6), hides: Any = (0, 9)
) -> dict[str, Any]:
    compute = float(random.uniform(100, 400))
    return {
        "processes": processes,
        "compute_ms": compute,
        "buckets": [int(size) for size in random.integers(100_000, 30_000_000, count)],
        "latency_ms": float(random.uniform(0.1, 2)),
        "bytes_per_ms": float(random.uniform(50_000, 1_000_000)),
        "hideable_ms": hides / 10 * compute,
    }


predict.same(
    {
        "one process": {"processes": 1, "hides": 1},
        **{f"{n} processes": {"processes": n, "hides": 1} for n in (2, 8, 64)},
        "all communication hidden": {"hides": 10**6},
        "nothing hidden": {"hides": 0},
    },
    oracle=configurations.predicted,
    name="predicts_scaling",
    says="predict_step returns the step and both efficiencies for 1 to 64 processes, with all, some or nothing hidden.",
    why={
        "one process": (
            "one process sends nothing, so its step must be compute_ms, without hideable_ms",
            LEFT,
        ),
        "all communication hidden": ("step_ms must not be shorter than compute_ms", LEFT),
        "strong_efficiency": (
            "strong_efficiency must be that of a step in which n processes share the work of one",
            "divide compute_ms and hideable_ms by n, and then compute_ms / n by that step",
        ),
        "": (
            "each bucket must pay 2 (n - 1) latencies, and what is not hidden must be added",
            "compare the time of one bucket with n = 2, computed by hand",
        ),
    },
    try_='see "More processes" in the part 6 handout',
    slips={
        words: partial(configurations.predicted, slip)
        for slip, words in {
            "one latency": (
                "your code counts 2 (n - 1) latencies for all buckets together, not for each",
                "multiply the latencies by the number of buckets",
            ),
            "once around": (
                "a ring goes round twice, and yours goes round once",
                "double both: 2 (n - 1) latencies for each bucket, and 2 (n - 1) / n of its bytes",
            ),
            "hides the whole": (
                "your strong_efficiency hides hideable_ms; only hideable_ms / n can hide it",
                "divide hideable_ms by n there, as compute_ms",
            ),
            "hides each": (
                "your code takes hideable_ms off the time of each bucket, and not off their sum",
                "take hideable_ms off once",
            ),
        }.items()
    },
)
