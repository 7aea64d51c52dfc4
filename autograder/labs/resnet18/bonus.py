"""Bonus: look closer. Memory planned to the byte, profilers that disturb nothing, a study of the CPU, two processes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from autograder.checks import outputs, studies, together
from autograder.checks.numerics import close, shown
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    BOOLEAN,
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
    record,
)

part = Part(
    "bonus",
    writes=[
        "plan_memory", "largest_batch", "timed", "profile_calls", "time_lines", "study_cpu", "train_distributed"
    ],
    hands_in=["memory_plan.csv", "cpu_study.csv", "cpu_threads.png", "bonus_notes.md"],
    tables=[studies.PLANS, studies.CPU],
)  # fmt: skip

KINDS = (*studies.BYTES, "total")
PLAN = record(case=TEXT, bytes=map_of(optional(NUMBER)))
FAKE = "make the training under FakeTensorMode, images and labels too, and take the step there"
COUNT = 'see "What counts as what" in the bonus handout'
PROFILE = 'see "What a profiler must not disturb" in the bonus handout'
AGAIN = "run bonus.py again and hand in the file that it wrote, unchanged"
TOGETHER = 'see "Two processes, one training" in the bonus handout'


# --- what is run: plans -----------------------------------------------------------------------------------------------


def planned(rig: Any, told: Any) -> dict[str, Any]:
    """Read a plan that a student's function returned."""
    told = rig.returned("plan_memory", told)
    return {kind: rig.number(told[kind]) for kind in KINDS}


@part.probe(pair=True, values={"plans": exactly(4, PLAN)})
def plans(student: Any, rig: Any) -> Any:
    """Small networks of secret widths; what is expected is counted on real tensors."""
    found = []
    for case, make in rig.plans.small().items():
        batch, size = rig.integer(3, 40), rig.integer(9, 24)
        plan = (
            planned(rig, student.plan_memory(make, batch, size)) if rig.side == "student" else None
        )
        found.append({"case": case, "bytes": plan or rig.plans.measured(make, batch, size)})
    return {"plans": found}


def grown(rig: Any, make: Any, size: int, batch: int) -> dict[str, int]:
    """Return what a batch too large to be had needs: each image adds the same number of bytes."""
    two, three = (rig.plans.measured(make, it, size) for it in (2, 3))
    return {kind: two[kind] + (batch - 2) * (three[kind] - two[kind]) for kind in KINDS}


@part.probe(pair=True, values={"plans": exactly(1, PLAN)}, hints={"memory": FAKE})
def large_plans(student: Any, rig: Any) -> Any:
    """ResNet-50 on batches that need terabytes."""
    batch, size = rig.integer(20_000, 60_000), 64
    make = rig.plans.resnet50()
    if rig.side == "student":
        return {
            "plans": [
                {"case": "ResNet-50", "bytes": planned(rig, student.plan_memory(make, batch, size))}
            ]
        }
    return {"plans": [{"case": "ResNet-50", "bytes": grown(rig, make, size, batch)}]}


@part.probe(pair=True, values={"budgets": exactly(5, record(case=TEXT, fits=optional(NUMBER)))})
def budgets(student: Any, rig: Any) -> Any:
    """Budgets for exactly so many images, or a byte less, in turns; and one that does not even hold the weights.

    One for each network: whoever plans many batches to find the largest one takes half as long.
    """
    found, short = [], rig.integer(0, 1)
    for case, make in rig.plans.small().items():
        size, fits = rig.integer(9, 24), rig.integer(100, 90_000)
        total = grown(rig, make, size, fits)["total"]
        known, words = fits - short, "one byte too few for" if short else "exactly"
        told = (
            rig.number(student.largest_batch(make, size, total - short))
            if rig.side == "student"
            else known
        )
        found.append({"case": f"{case}, {words} {fits:,} images", "fits": told})
        short = 1 - short
    told = rig.number(student.largest_batch(make, size, 1000)) if rig.side == "student" else 0
    return {"budgets": [*found, {"case": "a budget of 1000 bytes", "fits": told}]}


# --- what is run: profilers -------------------------------------------------------------------------------------------


@part.probe(pair=True, values={"facts": map_of(TEXT)})
def decorated(student: Any, rig: Any) -> Any:
    """What a caller sees of functions of every kind; on the baseline's side they are left as they are."""
    plain = {
        "@timed": lambda function: function,
        "@timed(synchronize=...)": lambda function: function,
    }
    ways = {
        "@timed": student.timed,
        "@timed(synchronize=...)": student.timed(synchronize=lambda: None),
    }
    return {"facts": rig.decorated().facts(ways if rig.side == "student" else plain)}


@part.probe(pair=True, values={"cases": exactly(7, record(case=TEXT, seconds=list_of(NUMBER)))})
def decorator_times(student: Any, rig: Any) -> Any:
    """Calls that take scripted seconds: those that were noted, or on the baseline's side those that passed."""
    rig.clock.freeze()
    found = []
    for case, passed, noted in rig.decorated().timings(
        student.timed if rig.side == "student" else None
    ):
        seconds = rig.series(noted, "seconds").tolist() if rig.side == "student" else passed
        found.append({"case": case, "seconds": seconds})
    return {"cases": found}


ROWS = list_of(map_of(CELL))
PROFILED = {"rows": ROWS, "result": optional(NUMBER)}


def profiled(rig: Any, function: Any, drawn: Any) -> dict[str, Any]:
    """Let a student's profiler run a drawn program; the baseline's side says what there is to find."""
    program, known = drawn
    rig.clock.freeze()
    if rig.side != "student":
        return {"rows": known, "result": program(4)}
    told = function(program, 4)
    result, rows = told if isinstance(told, tuple) and len(told) == 2 else (None, [])
    return {"rows": rig.rows(rows, "the profiler"), "result": rig.number(result)}


@part.probe(pair=True, values=PROFILED)
def calls(student: Any, rig: Any) -> Any:
    return profiled(rig, student.profile_calls, rig.programs.calls())


@part.probe(pair=True, values=PROFILED)
def lines(student: Any, rig: Any) -> Any:
    return profiled(rig, student.time_lines, rig.programs.lines())


@part.probe(values={"left": list_of(TEXT)})
def after_profiling(student: Any, rig: Any) -> Any:
    """What is still traced or profiled after a call, and after one that raised."""
    return {
        "left": rig.programs.left(student.profile_calls) + rig.programs.left(student.time_lines)
    }


# --- what is run: the CPU ---------------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    values={
        **DRAWN,
        "ms": list_of(NUMBER),
        "counts": list_of(INTEGER),
        "before": INTEGER,
        "after": INTEGER,
    },
    arrays=PICTURE,
)
def study(student: Any, rig: Any) -> Any:
    """Steps of scripted length; the clock moves only by what is scripted."""
    rig.clock.freeze()
    counts = sorted({1, *(rig.integer(2, 9) for _ in range(2))})
    gains = dict(zip(counts, np.cumsum([1.0, *rig.seconds(0.2, 0.6, 2)]).tolist(), strict=False))
    seconds = dict(zip(studies.OPTIONS, rig.seconds(0.05, 0.9, 3), strict=True))
    before = rig.programs.threads(
        next(n for n in (2, 3, 4) if n not in counts)
    )  # so that it is seen who restores it
    with rig.figures() as seen:
        told = student.study_cpu(
            rig.programs.steps(seconds, gains), counts, folder=str(rig.made_folder())
        )
    after, _ = rig.programs.threads(), rig.programs.threads(1)
    return {
        **written(rig, studies.CPU, "study_cpu", told, "cpu_threads.png", seen),
        "ms": [
            1000 * seconds[option] / gains[count] for option in studies.OPTIONS for count in counts
        ],
        "counts": counts,
        "before": before,
        "after": after,
    }


# --- what is run: two processes ---------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    values={
        "samples": INTEGER,
        "names": list_of(TEXT),
        "left_open": BOOLEAN,
        "ranks": exactly(2, record(asked=list_of(INTEGER), files=list_of(TEXT), open=BOOLEAN)),
    },
    arrays=dict.fromkeys(("start", "saved", "weights0", "weights1", "losses0", "losses1"), ("float64", 1)),
)  # fmt: skip
def ranks(student: Any, rig: Any) -> Any:
    """Two processes, each alone on its machine; what is expected is one process on the joined batches."""
    training = rig.ranks()
    if rig.side != "student":
        return {**training.alone(), "left_open": False}
    train = student.train_distributed
    return {**training.together(train), "left_open": training.left_open(train)}


# --- what is judged: plans --------------------------------------------------------------------------------------------


@part.check(basis="outputs", compared="bytes")
def plans_to_the_byte(plans: Pair) -> Verdict:
    """plan_memory counts the bytes of a training step: each storage once, and every kind of it."""
    return studies.same_plans(plans, try_=COUNT)


@part.check(basis="outputs", needs=[plans_to_the_byte], compared="bytes")
def plans_what_does_not_fit(large_plans: Pair) -> Verdict:
    """plan_memory plans ResNet-50 for tens of thousands of images, in a process with little memory."""
    return studies.same_plans(large_plans, try_=COUNT)


@part.check(basis="scripted", needs=[plans_to_the_byte])
def finds_the_largest_batch(budgets: Pair) -> Verdict:
    """largest_batch returns the last batch size whose plan is within the budget."""
    pairs = studies.beside(budgets, "budgets")
    for got, want in pairs:
        if got.get("fits") != want["fits"]:
            told = got.get("fits")
            number = shown(told) if told is None else f"{told:,.10g}"
            measured = f"{want['case']}: {number} images, and it is {want['fits']:,.10g}"
            why = "a plan of one image more, or less, is on the other side of the budget"
            return Failed(
                measured,
                why,
                f"(budget - what does not grow) // bytes of an image, at least 0; {COUNT}",
            )
    return Passed(f"{len(pairs)} budgets")


Study(part, studies.PLANS, "write_plans").is_consistent(
    studies.plan_problem,
    says="The memory_plan.csv handed in plans ResNet-18 and ResNet-50 at 224 pixels, and its rows fit each other.",
    try_=AGAIN,
    name="memory_plan_adds_up",
)


# --- what is judged: profilers ----------------------------------------------------------------------------------------


OF_GENERATORS = ("a generator", "begun before it is asked", "its values", "calls noted of it")


@part.check(basis="report")
def decorator_is_not_noticed(decorated: Pair) -> Verdict:
    """timed leaves name, docstring, signature, results, exceptions, methods and generators as they are."""
    told, known = decorated.student.values["facts"], decorated.baseline.values["facts"]
    for fact, want in known.items():
        if told.get(fact) != want:
            generator = any(fact.endswith(words) for words in OF_GENERATORS)
            why = (
                "a generator function was wrapped"
                if generator
                else "whoever uses the function sees another one"
            )
            try_ = "return a generator function as it is" if generator else "functools.wraps"
            return Failed(f"{fact}: {told.get(fact)}, and it was {want}", why, f"{try_}; {PROFILE}")
    return Passed(f"{len(known)} facts are as they were")


@part.check(basis="scripted")
def decorator_times_honestly(decorator_times: Pair) -> Verdict:
    """timed notes each outermost call once, with the device's work, and when it raises as well."""
    cases = studies.beside(decorator_times, "cases")
    for got, want in cases:
        told, passed = got.get("seconds", []), want["seconds"]
        if len(told) != len(passed) or not all(map(studies.alike, told, passed)):
            measured = f"{want['case']}: {studies.listed(told)} s noted, and {studies.listed(passed)} s passed"
            return Failed(measured, studies.timing_reason(told, passed), PROFILE)
    return Passed(f"{len(cases)} cases, on a clock that the grader moves")


@part.check(basis="scripted")
def finds_the_hot_function(calls: Pair) -> Verdict:
    """profile_calls returns calls and seconds of each function, the one with most time of its own first."""
    figures = ("calls", "own_seconds", "seconds")
    return studies.same_profile(calls, "function", figures, "own_seconds", try_=PROFILE)


@part.check(basis="scripted")
def finds_the_hot_line(lines: Pair) -> Verdict:
    """time_lines returns hits and seconds of each line, called functions included."""
    return studies.same_profile(lines, "line", ("hits", "seconds"), "line", try_=PROFILE)


@part.check(basis="report", needs=[finds_the_hot_function, finds_the_hot_line])
def profilers_let_go(after_profiling: Observation) -> Verdict:
    """After profile_calls and time_lines nothing is traced any more, and exceptions have gone through."""
    left = after_profiling.values["left"]
    why = "every call after it is slower, and the next profiler cannot start"
    return (
        Failed("; ".join(left), why, f"try and finally; {PROFILE}")
        if left
        else Passed("nothing is left behind")
    )


# --- what is judged: the CPU ------------------------------------------------------------------------------------------


def _asked(known: Mapping[str, Any]) -> list[tuple[str, int]]:
    return list(product(studies.OPTIONS, known["counts"]))


def _restored(study: Pair) -> str | tuple[str, str]:
    seen, known = study.student.values, study.baseline.values
    wrong = studies.time_problem(seen["rows"], known["ms"])
    if wrong or seen["after"] == known["before"]:
        return wrong
    why = "whatever runs next runs with the threads of the last row"
    return (
        f"{seen['after']} threads afterwards, and {known['before']} before: {why}",
        "torch.get_num_threads() first, and torch.set_num_threads in a finally",
    )


cpu = Study(part, studies.CPU, "study_cpu", by=study, expected=_asked)
cpu.is_measured(
    "study_is_honest",
    _restored,
    says="study_cpu takes the median of warm steps, for each option and number of threads, and restores the threads.",
    try_="set_num_threads, a fresh step, a call that does not count, the median of seven",
    shows=["threads", "ms"],
)
cpu.is_written()
cpu.is_drawn(
    "cpu_threads.png",
    {"ms": r"\bms\b|[Mm]illisecond"},
    says="study_cpu draws the milliseconds of its rows, and writes cpu_threads.png.",
    try_="a line or bars for each option, as high as the rows say, and the unit on the axis",
)
cpu.is_consistent(
    studies.options_problem,
    says="The cpu_study.csv handed in has a row for each option and number of threads, and numbers that fit.",
)
cpu.is_pictured("cpu_threads.png")


# --- what is judged: two processes ------------------------------------------------------------------------------------


@part.check(basis="outputs", compared="weights")
def trains_as_one_process(ranks: Pair) -> Verdict:
    """Two processes arrive at the weights of one that trains on their joined batches."""
    return together.trained_as_one(ranks, try_=TOGETHER)


@part.check(basis="outputs", needs=[trains_as_one_process], compared="losses")
def loss_is_of_all(ranks: Pair) -> Verdict:
    """The losses are means over the samples of all processes, the same in each of them."""
    why = "it is that of this process alone, or batches count alike, whatever their size"
    try_ = f"dist.all_reduce the sum of the losses and the number of samples; {TOGETHER}"
    return together.told_alike(ranks, "losses", why, try_=try_)


@part.check(basis="report")
def divides_the_samples(ranks: Pair) -> Verdict:
    """In each epoch every sample is one process's, and the order is new."""
    asked, samples = (
        [it["asked"] for it in ranks.student.values["ranks"]],
        ranks.baseline.values["samples"],
    )
    epochs = len(ranks.baseline.arrays["losses0"])
    why = studies.share_problem(asked, samples, epochs)
    read = " and ".join(str(len(it)) for it in asked)
    measured = f"{read} samples were read in {epochs} epochs of {samples}"
    return (
        Failed(measured, why, f"DistributedSampler, and set_epoch in each epoch; {TOGETHER}")
        if why
        else Passed(measured)
    )


@part.check(basis="report")
def one_process_writes(ranks: Pair) -> Verdict:
    """Rank 0 writes weights.pt, which fits a model that is not distributed; the other process writes nothing."""
    seen, known = ranks.student, ranks.baseline
    files = [it["files"] for it in seen.values["ranks"]]
    written = "; ".join(
        f"rank {rank}: {', '.join(names) or 'nothing'}" for rank, names in enumerate(files)
    )
    if files[1]:
        return Failed(
            written,
            "both write at once, and on one disk one tears the other's file",
            "if dist.get_rank() == 0:",
        )
    if seen.values["names"] != known.values["names"]:
        named = ", ".join(seen.values["names"][:2]) or "none"
        why = f"its names are {named}, and {known.values['names'][0]} is the first of the model's"
        return Failed(
            written,
            why,
            "torch.save(model.state_dict(), Path(folder) / 'weights.pt'), not the wrapper's",
        )
    if not close(outputs.furthest(seen.arrays["saved"], seen.arrays["weights0"]) + 1, 1, 1e-6):
        return Failed(
            written,
            "the file holds other weights than the model at the end",
            "save after the last step",
        )
    return Passed(written)


@part.check(basis="report")
def ends_its_process_group(ranks: Pair) -> Verdict:
    """The process group is gone when train_distributed has returned, or raised."""
    left = [rank for rank, it in enumerate(ranks.student.values["ranks"]) if it["open"]]
    if left:
        measured = f"still open in the process of rank {' and '.join(map(str, left))}"
        return Failed(
            measured,
            "a second training cannot make one, and a process may wait at its exit",
            TOGETHER,
        )
    if ranks.student.values["left_open"]:
        measured = "still open after the criterion had raised an exception"
        return Failed(
            measured,
            "a second training in this process cannot make one",
            f"try and finally; {TOGETHER}",
        )
    return Passed("destroyed in both, and after an exception")
