"""Five configurations of equal work, and what more processes would do."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from autograder.claims.exercise import Exercise
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Observation,
    Pair,
    Student,
    Verdict,
    list_of,
    record,
)
from autograder.labs.distributed.part6_final import configurations
from autograder.labs.distributed.part6_final.configurations import RESULTS
from autograder.labs.distributed.part6_final.part import FIGURE, TABLE, Rig, part
from autograder.model import verdict

if TYPE_CHECKING:
    import numpy as np

PATTERN = (1.0, 0.7, 1.0, 1.3, 2.9)  # of the epochs after the first; their median is 1.0
COLD = 4.0
RESULT = record(
    seconds=list_of(NUMBER),
    peak_mb=list_of(NUMBER),
    **dict.fromkeys(("accuracy", "loss"), NUMBER),
    **dict.fromkeys(("samples", "steps"), INTEGER),
)
SCRIPT = {"samples": INTEGER, "batch": INTEGER, "results": list_of(RESULT), "device": TEXT}
ASKED = ("amp", "accumulate", "workers", "samples", "batch_size", "epochs")
RUNS = list_of(record(**dict.fromkeys(ASKED, NUMBER)))


def drawn(rig: Rig) -> dict[str, Any]:
    """Draw what each configuration returns; in the first row the largest peak is not that of rank 0."""
    batch = 8 * rig.integer(2, 6)
    results = list[dict[str, Any]]()
    for seconds in rig.seconds(2.0, 9.0, len(configurations.NAMES)):
        epochs = [seconds * factor for factor in (COLD, *rig.random.permutation(PATTERN).tolist())]
        result = {"samples": 240 * batch, "steps": 120, "seconds": epochs}
        accuracy, loss = rig.seconds(0.5, 0.99, 2)
        peaks = rig.seconds(300.0, 900.0, 2)
        results.append({**result, "peak_mb": peaks, "accuracy": accuracy, "loss": loss})
    (peak,) = rig.seconds(300.0, 900.0, 1)
    results[0]["peak_mb"] = [peak, 1.15 * peak]
    device = rig.text(rig.given("device_name")(rig.device))
    return {"samples": 240 * batch, "batch": batch, "results": results, "device": device}


@part.probe(pair=True, values={**DRAWN, **SCRIPT, "runs": RUNS}, arrays=PICTURE)
def compared(student: Student, rig: Rig) -> Answer:
    """Runs that return scripted figures, by what they are asked to change; nothing is trained."""
    script, runs = drawn(rig), list[dict[str, float]]()

    def run(**options: Any) -> dict[str, Any]:
        usual = {"amp": False, "accumulate": 1, "workers": 0, "epochs": 1, **options}
        runs.append({name: float(rig.number(usual.get(name)) or 0) for name in ASKED})
        runs[-1]["amp"] = float(bool(usual["amp"]))
        name = configurations.kind(runs[-1])
        at = (
            configurations.NAMES.index(name)
            if name in configurations.NAMES
            else (len(runs) - 1) % 5
        )
        result = script["results"][at]
        return copy.deepcopy(result)

    asked = script["samples"], script["batch"], rig.device
    with rig.figures() as figures:
        rows = student.compare_configurations(run, *asked, folder=str(rig.made_folder()))
    table = written(rig, RESULTS, "compare_configurations", rows, FIGURE, figures)
    return {**script, "runs": runs[:64], **table}


@part.probe(values={"runs": INTEGER, "came": TEXT})
def refused(student: Student, rig: Rig) -> Answer:
    """A batch that no number of batches divides, but itself and 1."""
    runs = list[int]()
    batch = (7, 11, 13, 17)[rig.integer(0, 3)]

    def run(**_: Any) -> dict[str, Any]:
        runs.append(1)
        figures = {"accuracy": 0.5, "loss": 1.0, "samples": 100 * batch, "steps": 2}
        return {"seconds": [4.0, 1.0, 1.0], "peak_mb": [1.0, 1.0], **figures}

    try:
        student.compare_configurations(run, 100 * batch, batch, rig.device, folder=str(rig.folder))
        came = "rows were returned"
    except Exception as error:
        came = rig.text(type(error).__name__, 60)
    return {"runs": len(runs), "came": came}


START = "begin each row with the baseline's options, and divide its batch by accumulate"
study = Study(part, RESULTS, "compare_configurations", by=compared)


@part.check(basis="scripted")
def same_work_in_every_row(compared: Pair) -> Verdict:
    """compare_configurations changes one thing in each run, all in the last; all train on equal amounts of data."""
    values, script = compared.student.values, compared.baseline.values
    why = configurations.work_problem(values["runs"], script["samples"], script["batch"])
    return verdict(f"{len(values['runs'])} runs", why, f"{START}; {TABLE}")


study.is_measured(
    "rows_are_right",
    lambda compared: configurations.row_problem(
        compared.student.values["rows"], compared.baseline.values
    ),
    says="Each row has samples / the median epoch after the first, the ratio of throughputs, and the largest peak.",
    try_=f"statistics.median(seconds[1:]) and max(peak_mb); {TABLE}",
    shows=["throughput", "memory_mb"],
    needs=["same_work_in_every_row"],
)


@part.check(basis="report")
def refuses_what_cannot_be_compared(refused: Observation) -> Verdict:
    """compare_configurations raises ValueError before the first run if ACCUMULATE does not divide the batch."""
    came, runs = refused.values["came"], refused.values["runs"]
    measured = f"a batch that 4 does not divide: {came}, after {runs} runs"
    why = "the rows would be of different trainings" if came != "ValueError" else ""
    why = why or "a run may take a night, and this is known before" * (runs > 0)
    return verdict(measured, why, f"if batch_size % ACCUMULATE: raise ValueError(...); {TABLE}")


study.is_written()
study.is_drawn(
    FIGURE,
    {
        "throughput": r"/|per|s⁻¹|\^\{?-1",
        "speedup": r"\bx\b|\u00d7|[Ss]peed-?up|ratio",
        "memory_mb": r"MB|[Mm]egabyte",
    },
    says=f"compare_configurations draws throughput, speedup and memory of its rows, and writes {FIGURE}.",
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
)

# --- more processes ---------------------------------------------------------------------------------------------------

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
        "all of it hidden": {"hides": 10**6},
        "nothing hidden": {"hides": 0},
    },
    oracle=configurations.predicted,
    name="predicts_scaling",
    says="predict_step returns the step and both efficiencies: 1, 2, 8 and 64 processes, all hidden, nothing hidden.",
    why={
        "one process": "one process sends nothing, and what could be hidden does not make its step shorter",
        "all of it hidden": "what is hidden does not make the step shorter than compute_ms",
        "": "each bucket pays 2 (n - 1) latencies, and what backward cannot hide comes on top",
    },
    try_='see "More processes" in the part 6 handout',
    slips={
        "each bucket pays 2 (n - 1) latencies, not all of them together": lambda **it: (
            configurations.predicted("one latency", **it)
        ),
        "a ring goes round twice: 2 (n - 1) rounds": lambda **it: configurations.predicted(
            "once around", **it
        ),
        "in strong scaling only hideable_ms / n can hide it": lambda **it: configurations.predicted(
            "hides the whole", **it
        ),
    },
)
