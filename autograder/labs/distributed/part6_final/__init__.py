"""Part 6: what it was worth. One program with every option, five configurations of equal work, more processes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from autograder.checks.trace import has_gpu
from autograder.claims.exercise import Exercise
from autograder.claims.groups import division_problem, order_problem
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Device,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Table,
    Text,
    Unavailable,
    Verdict,
    exactly,
    list_of,
    optional,
    record,
)
from autograder.labs.distributed.part6_final import judges
from autograder.labs.distributed.part6_final.judges import RESULTS, Processes
from autograder.model import Observation, verdict
from autograder.traces import Trace

if TYPE_CHECKING:
    import numpy as np

    from autograder.labs.distributed.part6_final.rig import Rig
else:
    Rig = Any

PROGRAM = "train_distributed.py"
FIGURE = "distributed_comparison.png"
TRACES = ("before_trace.json.gz", "after_trace.json.gz")
PROSE = ("analysis.md", "recommendations.md")
WRITE = "write it, with the figures of your table by their names"
part = Part(
    "part6_final",
    writes=["compare_configurations"],
    hands_in=[PROGRAM, RESULTS.file, FIGURE, *TRACES, *PROSE],
    tables=[RESULTS],
    made_by=dict.fromkeys(PROSE, WRITE),
    warm=["torch._dynamo", "torch.distributed"],
)
SEE = 'see "The program" in the part 6 handout'
TABLE = 'see "The table" in the part 6 handout'

# --- the program ------------------------------------------------------------------------------------------------------

LOADER = ("num_workers", "pin_memory", "persistent_workers")
FIGURES = ("samples", "steps", "accuracy", "loss")
CALLS = list_of(list_of(record(kind=TEXT, bytes=INTEGER)))
PROCESS = record(
    asked=list_of(INTEGER),
    wrote=BOOLEAN,
    open=BOOLEAN,
    half=list_of(TEXT),
    kept=list_of(TEXT),
    steps=CALLS,
    taken=INTEGER,
    loaders=list_of(record(**dict.fromkeys(LOADER, INTEGER))),
)
RUN: dict[str, Any] = {
    "values": {
        "samples": INTEGER,
        "names": list_of(TEXT),
        "ranks": exactly(2, PROCESS),
        "written": record(**dict.fromkeys(FIGURES, optional(NUMBER))),
        "gradient_bytes": INTEGER,
    },
    "arrays": dict.fromkeys(
        ("start", "weights0", "weights1", "seconds", "peak_mb"), ("float64", 1)
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "no option": {},
    "--amp": {"amp": True},
    "--accumulate": {"accumulate": 4},
    "--workers": {"workers": 2},
    "all options": {"amp": True, "accumulate": 4, "workers": 2},
}


def ran(student: Student, rig: Rig, options: str) -> Answer:
    """Run the program in two processes with an epoch of one step; the baseline is one process without options."""
    training, asked = rig.training(), OPTIONS[options]
    if rig.side != "student":
        return training.alone()
    words = ["--amp"] * asked.get("amp", False) + ["--workers", asked.get("workers", 0)]
    group = asked.get("accumulate", 1)
    words += ["--accumulate", group, "--batch-size", training.share // group]
    return training.together(rig.program(student, PROGRAM), *words)


@part.probe(pair=True, **RUN)
def plain(student: Student, rig: Rig) -> Answer:
    return ran(student, rig, "no option")


@part.probe(pair=True, **RUN)
def halved(student: Student, rig: Rig) -> Answer:
    return ran(student, rig, "--amp")


@part.probe(pair=True, **RUN)
def grouped(student: Student, rig: Rig) -> Answer:
    return ran(student, rig, "--accumulate")


@part.probe(pair=True, **RUN)
def loaded(student: Student, rig: Rig) -> Answer:
    return ran(student, rig, "--workers")


@part.probe(pair=True, **RUN)
def together(student: Student, rig: Rig) -> Answer:
    return ran(student, rig, "all options")


processes = Processes(part, plain, SEE)


@part.check(basis="outputs", compared="weights, loss and accuracy")
def program_trains_as_one(plain: Pair) -> Verdict:
    """Two processes of train_distributed.py arrive at the weights, the loss and the accuracy of one process."""
    trained = processes.trained(plain, judges.NEAR[0])
    if not isinstance(trained, Passed):
        return trained
    measured, why = judges.written(plain)
    return verdict(
        f"{trained.measured}; {measured}", why, f"add up over all processes, then divide; {SEE}"
    )


@part.check(basis="report")
def divides_the_samples(plain: Pair) -> Verdict:
    """Each sample is read by one process in each epoch, and the order is new in each."""
    read = [each["asked"] for each in plain.student.values["ranks"]]
    epochs = plain.baseline.values["ranks"][0]["taken"]
    why = division_problem(read, plain.student.values["samples"], epochs)
    measured = f"the processes read {' and '.join(str(len(each)) for each in read)} samples"
    try_ = f"DistributedSampler, and sampler.set_epoch(epoch); {SEE}"
    return verdict(measured, why or order_problem(read, epochs), try_)


@part.check(basis="report", needs=[program_trains_as_one])
def options_do_what_they_say(
    plain: Pair, halved: Pair, grouped: Pair, loaded: Pair, together: Pair
) -> Verdict:
    """Each option of the program, and all together: precision, collectives of a step, loaders, and nothing else."""
    runs = zip(OPTIONS.items(), (plain, halved, grouped, loaded, together), strict=True)
    for (name, options), ranks in runs:
        near, loss = judges.HALF_NEAR if "amp" in options else judges.NEAR
        trained = processes.trained(ranks, near)
        apart = trained.why if isinstance(trained, Failed) else judges.loss_problem(ranks, loss)
        if problem := judges.does(ranks, options, plain, apart):
            return Failed(
                f"with {name}: {problem}", "an option changes one thing, whatever else is on", SEE
            )
    return Passed(f"{len(OPTIONS)} runs")


@part.check(basis="report")
def one_process_writes(plain: Pair) -> Verdict:
    """Rank 0 alone writes, the figures of all processes, times of the slowest; and no group is left."""
    return verdict(*judges.one_writes(plain), SEE)


# --- the table --------------------------------------------------------------------------------------------------------

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
    for seconds in rig.seconds(2.0, 9.0, len(judges.NAMES)):
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
        name = judges.kind(runs[-1])
        at = judges.NAMES.index(name) if name in judges.NAMES else (len(runs) - 1) % 5
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
    """compare_configurations changes one thing in each run, all in the last, and each trains as much."""
    values, script = compared.student.values, compared.baseline.values
    why = judges.work_problem(values["runs"], script["samples"], script["batch"])
    return verdict(f"{len(values['runs'])} runs", why, f"{START}; {TABLE}")


study.is_measured(
    "rows_are_right",
    lambda compared: judges.row_problem(compared.student.values["rows"], compared.baseline.values),
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
    oracle=judges.predicted,
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
            judges.predicted("one latency", **it)
        ),
        "a ring goes round twice: 2 (n - 1) rounds": lambda **it: judges.predicted(
            "once around", **it
        ),
        "in strong scaling only hideable_ms / n can hide it": lambda **it: judges.predicted(
            "hides the whole", **it
        ),
    },
)

# --- the files --------------------------------------------------------------------------------------------------------

csv_is_consistent = study.is_consistent(
    judges.same_steps,
    says="The distributed_results.csv handed in has five rows of one device and of equally many steps.",
)
study.is_pictured(FIGURE)


@part.check(basis="artefact")
def profiles_before_and_after(before_trace: Trace, after_trace: Trace) -> Verdict:
    """Both traces are of rank 0 of a group and hold 3 steps; afterwards a step has fewer collectives."""
    return verdict(
        *judges.profiled(before_trace, after_trace), "hand in the traces that part6_final.py wrote"
    )


NAMED = "write figures by their names, {+ AMP.speedup}, under the headings of the template"


@part.check(basis="artefact")
def analysis_has_its_form(analysis: Text, distributed_results: Table) -> Verdict:
    """analysis.md has its headings, 800 to 1300 words, and names 6 figures or more, of 4 rows."""
    return verdict(*judges.analysed(analysis, distributed_results), NAMED)


@part.check(basis="artefact")
def recommendations_have_figures(recommendations: Text, distributed_results: Table) -> Verdict:
    """recommendations.md has three measures, each with a figure of the table by its name."""
    return verdict(*judges.recommended(recommendations, distributed_results), NAMED)


FASTER = 1.5  # of the baseline's throughput


@part.check(basis="artefact", needs=[csv_is_consistent])
def all_is_faster(distributed_results: Table, after_trace: Trace, device: Device) -> Verdict:
    """With 2 GPUs, + All has at least 1.5 times the throughput of Baseline."""
    rows = RESULTS.read(distributed_results)
    measured = f"{rows[-1]['speedup']:.4g} times as fast"
    if not has_gpu(after_trace):
        return Unavailable(f"{measured}, without a GPU: this needs 2 GPUs")
    if rows[-1]["speedup"] < FASTER:
        return Failed(
            measured, f"it is less than {FASTER:g} times", f"look for what waits; {TABLE}"
        )
    if not device.name.startswith(rows[0]["device"].strip()):
        return Unavailable(f"{measured}, and this machine is {device.name}: not comparable here")
    return Passed(measured)
