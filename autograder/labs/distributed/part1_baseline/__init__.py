"""Part 1: a profile of each process. What a step consists of, and who waits for whom."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import trace as profile
from autograder.claims.answers import Answers, Known, percent
from autograder.claims.exercise import Exercise
from autograder.claims.questions import Question
from autograder.lab import (
    BOOLEAN,
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Student,
    Text,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.labs.distributed.part1_baseline import judges, made
from autograder.model import verdict
from autograder.traces import Trace

if TYPE_CHECKING:
    from autograder.labs.distributed.part1_baseline.rig import Rig
else:
    Rig = Any

part = Part(
    "part1_baseline",
    writes=["profile_rank", "summarise"],
    hands_in=["rank0_trace.json.gz", "rank1_trace.json.gz", "answers.json", "part1_notes.md"],
    warm=["torch._dynamo"],
)
SEE = 'see "What usually goes wrong" in the part 1 handout'
AGAIN = "run python part1_baseline.py and submit the files that it writes, unchanged"

# --- a trace of each process ------------------------------------------------------------------

OWN = record(returned=TEXT, taken=INTEGER, late=INTEGER, raised=TEXT)
HELD = record(rank=INTEGER, steps=INTEGER, shapes=BOOLEAN, ranges=map_of(INTEGER))


@part.probe(
    values={"ranks": exactly(2, OWN), "files": list_of(TEXT), "traces": exactly(2, HELD)},
    takes=["profile_rank"],
)
def profiled(student: Student, rig: Rig) -> Answer:
    """Two processes profile ten steps with ranges, and then too few."""
    return rig.profiled(student)


@part.check(basis="report")
def one_trace_for_each_rank(profiled: Observation) -> Verdict:
    """Each process writes rank{rank}_trace.json.gz with its own rank, and no other file."""
    return verdict(*judges.files_problem(profiled.values), f"put the rank into the name; {SEE}")


@part.check(basis="report", needs=[one_trace_for_each_rank])
def follows_the_schedule(profiled: Observation) -> Verdict:
    """Each trace holds the active steps, with shapes; too few steps are a ValueError at once."""
    try_ = "schedule(wait=wait, warmup=warmup, active=active, repeat=1), prof.step() after a step"
    return verdict(*judges.schedule_problem(profiled.values), f"{try_}; {SEE}")


# --- a step -----------------------------------------------------------------------------------

SUMMARY = record(top_operators=list_of(TEXT), figures=map_of(CELL))
TIMES = map_of(map_of(NUMBER))


@part.probe(
    pair=True,
    values={"summaries": exactly(4, SUMMARY), "slips": list_of(TIMES)},
    takes=["summarise"],
)
def summarised(student: Student, rig: Rig) -> Answer:
    """Two traces of a CPU and two of a GPU, of which everything is known."""
    summaries, slips = [], []
    for gpu in (False, True, False, True):
        events = made.drawn_trace(rig.random, gpu=gpu)
        right = dict[str, Any](made.summary(events))
        if rig.side == "student":
            right = rig.returned("summarise", student.summarise(events))
        else:
            usual = {name: made.summary(events, name) for name in judges.SLIPS}
            slips.append({it: {t: own[t] for t in judges.TIMES} for it, own in usual.items()})
        top = right["top_operators"]
        names = [rig.text(it) for it in (list(top)[:10] if hasattr(top, "__len__") else [])]
        figures = {name: right[name] for name in (*judges.TIMES, "utilization_percent")}
        rows = rig.rows([figures], "summarise")
        summaries.append({"top_operators": names, "figures": rows[0]})
    return {"summaries": summaries, "slips": slips}


def judged(pair: Pair, problem: Any, try_: str) -> Verdict:
    own, expected = (side.values["summaries"] for side in (pair.student, pair.baseline))
    for number, each in enumerate(zip(own, expected, strict=True)):
        if why := problem(number, *each):
            trace = f"trace {number + 1}, {'with' if number % 2 else 'without'} a GPU"
            return Failed(trace, why, f"{try_}; {SEE}")
    return Passed(f"{len(own)} traces")


@part.check(basis="outputs")
def finds_the_top_operators(summarised: Pair) -> Verdict:
    """top_operators names the 5 operators with the most own time, and no communication."""
    try_ = "a stack for each (pid, tid) over all of cat cpu_op; then leave out c10d::"
    return judged(summarised, lambda _, *both: judges.top_problem(*both), try_)


@part.check(basis="outputs")
def splits_the_step(summarised: Pair) -> Verdict:
    """Times per step are right: compute, communication, and the part of it that is exposed."""

    def problem(number: int, own: Any, expected: Any) -> str:
        slips = summarised.baseline.values["slips"][number]
        return judges.split_problem(own, expected, slips)

    return judged(summarised, problem, "join the intervals that overlap before you add them up")


@part.check(basis="outputs")
def says_nothing_of_no_gpu(summarised: Pair) -> Verdict:
    """utilization_percent: time with a kernel, in percent of the steps; None without a kernel."""
    try_ = "None if no event has cat kernel: 0 would be a GPU that does nothing"
    return judged(summarised, lambda _, *both: judges.utilization_problem(*both), try_)


# --- who waits --------------------------------------------------------------------------------

waits = Exercise("waiting", part)


@waits.inputs
def draw_traces(
    random: np.random.Generator, world: Any = 2, calls: Any = (2, 5), gpu: Any = False
) -> dict[str, Any]:
    return {"traces": made.drawn_traces(random, world, calls, gpu)}


waits.same(
    {"four ranks": {"world": 4}, "a GPU": {"gpu": True}, "four GPUs": {"world": 4, "gpu": True}},
    families=("drawn sizes",),
    oracle=made.waiting,
    within=1e-6,
    slips={
        "a rank's own time is not the network's: it waits for the rank that comes last": (
            partial(made.waiting, slip="own")
        ),
        "the k-th collective is by start, and events are in no order": (
            partial(made.waiting, slip="file")
        ),
        "the least of each transfer counts, not the rank with the least sum": (
            partial(made.waiting, slip="sums")
        ),
    },
    name="finds_who_waits",
    says="waiting returns for each rank how long it waited, the one that waits least first.",
    why={
        "rank": "the rank that waits least comes first: it is the slow one",
        "communication_ms": "it is the sum of the durations of this rank's collectives, in ms",
        "transfer_ms": "it is the sum, over the transfers, of the least duration of all ranks",
        "": "it is communication_ms - transfer_ms",
    },
    try_=f"sort each rank's collectives by ts, and zip them; {SEE}",
)

# --- what is handed in ------------------------------------------------------------------------

FORM: dict[str, Question | Known] = {
    "top_operators": Question("", names=made.TOP, required=True),
    **{f"{it}_percent": percent("", "op_busy", required=True) for it in ("compute", "exposed")},
    "communication_percent": percent("", "cpu_comm", required=True),
    "slow_rank": Known(judges.NONE, one_of=(0, 1, judges.NONE)),
}
answered = Answers(part, "summarise", FORM, see=SEE)


@part.check(basis="artefact")
def traces_fit_each_other(rank0_trace: Trace, rank1_trace: Trace) -> Verdict:
    """The traces handed in are of ranks 0 and 1 of one run: 3 steps or more, equal collectives."""
    counts = " and ".join(str(len(it.collectives)) for it in (rank0_trace, rank1_trace))
    problem = judges.pair_problem([rank0_trace, rank1_trace])
    return verdict(f"{counts} collectives", problem, AGAIN)


@part.check(basis="artefact", needs=[traces_fit_each_other])
def answers_fit_the_traces(answers: Text, rank0_trace: Trace, rank1_trace: Trace) -> Verdict:
    """The answers.json handed in names rank 0's top operators and shares, and the slow rank."""
    values, problem = answered.parsed(answers)
    if problem:
        return Failed(answers.file, problem, AGAIN)
    named = profile.names_top(
        judges.without_calls(rank0_trace), values["top_operators"], try_=AGAIN
    )
    if isinstance(named, Failed):
        return named
    problem = judges.share_problem(values, rank0_trace)
    problem = problem or judges.slow_problem(values["slow_rank"], [rank0_trace, rank1_trace])
    return verdict(f"{len(values)} answers", problem, AGAIN)
