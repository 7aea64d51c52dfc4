"""The program: two processes of it beside one process, with each option and with all of them."""

from __future__ import annotations

from typing import Any

from autograder.claims.groups import division_problem, order_problem
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    exactly,
    list_of,
    optional,
    record,
)
from autograder.labs.distributed.part6_final import judges
from autograder.labs.distributed.part6_final.judges import Processes
from autograder.labs.distributed.part6_final.part import PROGRAM, SEE, Rig, part
from autograder.model import verdict

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
    training, asked = rig.grouped(), OPTIONS[options]
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
    """Rank 0 alone writes the figures of all processes and the times of the slowest; no process group is left."""
    return verdict(*judges.one_writes(plain), SEE)
