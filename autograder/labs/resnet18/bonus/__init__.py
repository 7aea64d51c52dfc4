"""Bonus: look closer. Memory planned to the byte, profilers that disturb nothing, a study of the CPU, two processes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import outputs
from autograder.claims.groups import Group, answered
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    BOOLEAN,
    CASES,
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
    optional,
)
from autograder.labs.resnet18.bonus import judges

if TYPE_CHECKING:
    from autograder.labs.resnet18.bonus.rig import Rig
else:
    Rig = Any

PICTURED = "cpu_threads.png"
part = Part(
    "bonus",
    writes=[
        "plan_memory", "largest_batch", "timed", "profile_calls", "time_lines", "study_cpu", "train_distributed"
    ],
    hands_in=[judges.PLANS.file, judges.CPU.file, PICTURED, "bonus_notes.md"],
    tables=[judges.PLANS, judges.CPU],
)  # fmt: skip

KINDS = (*judges.BYTES, "total")
FAKE = "make the training under FakeTensorMode, images and labels too, and take the step there"
COUNT = 'see "What counts as what" in the bonus handout'
PROFILE = 'see "What a profiler must not disturb" in the bonus handout'
AGAIN = "run bonus.py again and hand in the file that it wrote, unchanged"
TOGETHER = 'see "Two processes, one training" in the bonus handout'


# --- what is run: plans -----------------------------------------------------------------------------------------------


@part.outputs
def plans(student: Student, rig: Rig) -> Answer:
    """Small networks of secret widths; what is expected is counted on real tensors."""
    answers = rig.answers()
    for case, make in rig.plans.small().items():
        batch, size = rig.integer(3, 40), rig.integer(9, 24)
        measured = rig.plans.measured(make, batch, size) if rig.side != "student" else {}
        _add_plan(answers, student, rig, case, (make, batch, size), measured)
    return answers.seen()


def _add_plan(
    answers: Any, student: Student, rig: Rig, case: str, sizes: Any, expected: Any
) -> None:
    """Note what a student's function plans, or what is expected."""
    if rig.side == "student":
        expected = rig.returned("plan_memory", student.plan_memory(*sizes))
    for kind in KINDS:
        answers.add(f"{case}: bytes of {kind}", rig.number(expected[kind]))


def grown(rig: Rig, make: Any, size: int, batch: int) -> dict[str, int]:
    """Return what a batch too large to be had needs: each image adds the same number of bytes."""
    two, three = (rig.plans.measured(make, images, size) for images in (2, 3))
    return {kind: two[kind] + (batch - 2) * (three[kind] - two[kind]) for kind in KINDS}


@part.probe(pair=True, values=CASES, arrays=NUMBERS, hints={"memory": FAKE})
def large_plans(student: Student, rig: Rig) -> Answer:
    """ResNet-50 on batches that need terabytes."""
    answers, batch, size = rig.answers(), rig.integer(20_000, 60_000), 64
    make = rig.plans.resnet50()
    expected = grown(rig, make, size, batch) if rig.side != "student" else {}
    _add_plan(answers, student, rig, "ResNet-50", (make, batch, size), expected)
    return answers.seen()


@part.outputs
def budgets(student: Student, rig: Rig) -> Answer:
    """Budgets for exactly so many images, or a byte less, in turns; and one that does not even hold the weights.

    One for each network: whoever plans many batches to find the largest one takes half as long.
    """
    answers, short = rig.answers(), rig.integer(0, 1)
    for case, make in rig.plans.small().items():
        size, fits = rig.integer(9, 24), rig.integer(100, 90_000)
        budget, expected = grown(rig, make, size, fits)["total"] - short, fits - short
        if rig.side == "student":
            expected = student.largest_batch(make, size, budget)
        words = "one byte too few for" if short else "exactly"
        answers.add(f"{case}, {words} {fits:,} images", rig.number(expected))
        short = 1 - short
    expected = student.largest_batch(make, size, 1000) if rig.side == "student" else 0
    answers.add("a budget of 1000 bytes", rig.number(expected))
    return answers.seen()


# --- what is run: profilers -------------------------------------------------------------------------------------------


@part.probe(pair=True, values={"facts": map_of(TEXT)})
def decorated(student: Student, rig: Rig) -> Answer:
    """What a caller sees of functions of every kind; on the baseline's side they are left as they are."""
    ways = {
        "@timed": student.timed,
        "@timed(synchronize=...)": student.timed(synchronize=lambda: None),
    }
    if rig.side != "student":
        ways = dict.fromkeys(ways, lambda function: function)
    return {"facts": rig.decorated().facts(ways)}


@part.outputs
def decorator_times(student: Student, rig: Rig) -> Answer:
    """Calls that take scripted seconds: those that were noted, or on the baseline's side those that passed."""
    rig.clock.freeze()
    answers = rig.answers()
    timed = student.timed if rig.side == "student" else None
    for case, passed, noted in rig.decorated().timings(timed):
        seconds = rig.series(noted, "seconds") if timed else np.array(passed)
        answers.add(f"{case}: calls noted", len(seconds))
        answers.add(f"{case}: seconds", rig.tensor(seconds[:, None], "float64"))
    return answers.seen()


ROWS = list_of(map_of(CELL))
PROFILED = {"rows": ROWS, "result": optional(NUMBER)}


def profiled(rig: Rig, function: Any, drawn: Any) -> dict[str, Any]:
    """Let a student's profiler run a drawn program; the baseline's side says what there is to find."""
    program, expected = drawn
    rig.clock.freeze()
    if rig.side != "student":
        return {"rows": expected, "result": program(4)}
    returned = function(program, 4)
    result, rows = returned if isinstance(returned, tuple) and len(returned) == 2 else (None, [])
    return {"rows": rig.rows(rows, "the profiler"), "result": rig.number(result)}


@part.probe(pair=True, values=PROFILED)
def calls(student: Student, rig: Rig) -> Answer:
    return profiled(rig, student.profile_calls, rig.programs.calls())


@part.probe(pair=True, values=PROFILED)
def lines(student: Student, rig: Rig) -> Answer:
    return profiled(rig, student.time_lines, rig.programs.lines())


@part.probe(values={"left": list_of(TEXT)})
def after_profiling(student: Student, rig: Rig) -> Answer:
    """What is still traced or profiled after a call, and after one that raised."""
    left = rig.programs.left(student.profile_calls)
    return {"left": left + rig.programs.left(student.time_lines)}


# --- what is run: the CPU ---------------------------------------------------------------------------------------------


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
    seconds = dict(zip(judges.OPTIONS, rig.seconds(0.05, 0.9, 3), strict=True))
    # A number that the study does not set, so that it is seen who restores it.
    before = rig.programs.threads(next(n for n in (2, 3, 4) if n not in counts))
    steps = rig.programs.steps(seconds, gains)
    with rig.figures() as figures:
        returned = student.study_cpu(steps, counts, folder=str(rig.made_folder()))
    after = rig.programs.threads()
    rig.programs.threads(1)
    pairs = product(judges.OPTIONS, counts)
    return {
        **written(rig, judges.CPU, "study_cpu", returned, PICTURED, figures),
        "ms": [1000 * seconds[option] / gains[count] for option, count in pairs],
        "counts": counts,
        "before": before,
        "after": after,
    }


# --- what is run: two processes ---------------------------------------------------------------------------------------


@part.probe(pair=True, **answered("losses", left_open=BOOLEAN))
def ranks(student: Student, rig: Rig) -> Answer:
    """Two processes, each alone on its machine; what is expected is one process on the joined batches."""
    training = rig.ranks()
    if rig.side != "student":
        return {**training.alone(), "left_open": False}
    train = student.train_distributed
    return {**training.together(train), "left_open": training.left_open(train)}


# --- what is judged: plans --------------------------------------------------------------------------------------------


COUNTED = {
    "of parameters": "storages that two tensors share count once; "
    "fake ones all have the address 0, "
    "so data_ptr() makes one of them; id() does not",
    "of gradients": "a frozen parameter has no gradient",
    "of optimizer": "the state is there after the first step: every tensor of it counts, "
    "the step counts of Adam as well",
    "of activations": (
        "what model and loss keep to go back: each storage once, and none that is counted elsewhere"
    ),
    "of batch": "labels are int64, images float32",
    "of total": "it is the sum of the six others",
    "": "bytes of what is there after a step",
}


@part.check(basis="outputs", compared="bytes")
def plans_to_the_byte(plans: Pair) -> Verdict:
    """plan_memory counts the bytes of a training step: each storage once, and every kind of it."""
    return outputs.same(plans, 0.0, why=COUNTED, try_=COUNT)


@part.check(basis="outputs", needs=[plans_to_the_byte], compared="bytes")
def plans_what_does_not_fit(large_plans: Pair) -> Verdict:
    """plan_memory plans ResNet-50 for tens of thousands of images, in a process with little memory."""
    return outputs.same(large_plans, 0.0, why=COUNTED, try_=COUNT)


@part.check(basis="scripted", needs=[plans_to_the_byte])
def finds_the_largest_batch(budgets: Pair) -> Verdict:
    """largest_batch returns the last batch size whose plan is within the budget."""
    why = "a plan of one image more, or less, is on the other side of the budget"
    try_ = f"(budget - what does not grow) // bytes of an image, at least 0; {COUNT}"
    return outputs.same(budgets, 0.0, why=why, try_=try_)


Study(part, judges.PLANS, "write_plans").is_consistent(
    judges.plan_problem,
    says=(
        "The memory_plan.csv handed in plans ResNet-18 and ResNet-50 at 224 pixels, "
        "and its rows fit each other."
    ),
    try_=AGAIN,
    name="memory_plan_adds_up",
)


# --- what is judged: profilers ----------------------------------------------------------------------------------------


OF_GENERATORS = ("a generator", "begun before it is asked", "its values", "calls noted of it")


@part.check(basis="report")
def decorator_is_not_noticed(decorated: Pair) -> Verdict:
    """timed leaves name, docstring, signature, results, exceptions, methods and generators as they are."""
    facts, expected = decorated.student.values["facts"], decorated.baseline.values["facts"]
    for fact, right in expected.items():
        if facts.get(fact) == right:
            continue
        why, try_ = "whoever uses the function sees another one", "functools.wraps"
        if fact.endswith(OF_GENERATORS):
            why = "a generator function was wrapped"
            try_ = "return a generator function as it is"
        measured = f"{fact}: {facts.get(fact)}, and it was {right}"
        return Failed(measured, why, f"{try_}; {PROFILE}")
    return Passed(f"{len(expected)} facts are as they were")


@part.check(basis="scripted")
def decorator_times_honestly(decorator_times: Pair) -> Verdict:
    """timed notes each outermost call once, with the device's work, and when it raises as well."""
    why = {
        "raises": "a call is missing: one that raised, or one after it",
        "itself": "a call within a call of the same function is part of it, and not noted again",
        "before": "work is counted that was queued before the call",
        "device": "the clock was read while the device still worked",
        "": "what time.perf_counter() says after the call, less what it said before, in seconds",
    }
    return outputs.same(decorator_times, judges.SECONDS, why=why, try_=PROFILE)


@part.check(basis="scripted")
def finds_the_hot_function(calls: Pair) -> Verdict:
    """profile_calls returns calls and seconds of each function, the one with most time of its own first."""
    figures = ("calls", "own_seconds", "seconds")
    return judges.same_profile(calls, "function", figures, "own_seconds", try_=PROFILE)


@part.check(basis="scripted")
def finds_the_hot_line(lines: Pair) -> Verdict:
    """time_lines returns hits and seconds of each line, called functions included."""
    return judges.same_profile(lines, "line", ("hits", "seconds"), "line", try_=PROFILE)


@part.check(basis="report", needs=[finds_the_hot_function, finds_the_hot_line])
def profilers_let_go(after_profiling: Observation) -> Verdict:
    """After profile_calls and time_lines nothing is traced any more, and exceptions have gone through."""
    left = after_profiling.values["left"]
    if not left:
        return Passed("nothing is left behind")
    why = "every call after it is slower, and the next profiler cannot start"
    return Failed("; ".join(left), why, f"try and finally; {PROFILE}")


# --- what is judged: the CPU ------------------------------------------------------------------------------------------


def _keys(script: Mapping[str, Any]) -> list[tuple[str, int]]:
    return list(product(judges.OPTIONS, script["counts"]))


def _restored(study: Pair) -> str | tuple[str, str]:
    observed, script = study.student.values, study.baseline.values
    problem = judges.time_problem(observed["rows"], script["ms"])
    if problem or observed["after"] == script["before"]:
        return problem
    threads = f"{observed['after']} threads afterwards, and {script['before']} before"
    why = "whatever runs next runs with the threads of the last row"
    try_ = "torch.get_num_threads() first, and torch.set_num_threads in a finally"
    return f"{threads}: {why}", try_


cpu = Study(part, judges.CPU, "study_cpu", by=study, expected=_keys)
cpu.is_measured(
    "study_is_honest",
    _restored,
    says=(
        "study_cpu takes the median of warm steps, "
        "for each option and number of threads, and restores the threads."
    ),
    try_="set_num_threads, a fresh step, a call that does not count, the median of seven",
    shows=["threads", "ms"],
)
cpu.is_written()
cpu.is_drawn(
    PICTURED,
    {"ms": r"\bms\b|[Mm]illisecond"},
    says="study_cpu draws the milliseconds of its rows, and writes cpu_threads.png.",
    try_="a line or bars for each option, as high as the rows say, and the unit on the axis",
)
cpu.is_consistent(
    judges.options_problem,
    says=(
        "The cpu_study.csv handed in has a row for each "
        "option and number of threads, and numbers that fit."
    ),
)
cpu.is_pictured(PICTURED)


# --- what is judged: two processes ------------------------------------------------------------------------------------


group = Group(part, ranks, TOGETHER)
group.trains_as_one("trains_as_one_process")
group.same(
    "losses",
    "loss_is_of_all",
    "The losses are means over the samples of all processes, the same in each of them.",
    "it is that of this process alone, or batches count alike, whatever their size",
    "dist.all_reduce the sum of the losses and the number of samples",
)
group.divides_samples(
    "In each epoch every sample is one process's, and the order is new.",
    "DistributedSampler, and set_epoch in each epoch",
    new_order=True,
)
group.one_writes(
    "one_process_writes",
    "Rank 0 writes weights.pt, which fits a model that is not distributed; "
    "the other process writes nothing.",
)
group.leaves_no_group(
    "ends_its_process_group",
    "The process group is gone when train_distributed has returned, or raised.",
)
