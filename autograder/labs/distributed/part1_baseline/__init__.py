"""Part 1: a profile of each process. What a step consists of, and who waits for whom."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import trace as profile
from autograder.checks.hints import hinted
from autograder.claims.answers import Answers, Known
from autograder.claims.exercise import Exercise
from autograder.claims.questions import Question
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Observation,
    Part,
    Student,
    Text,
    Verdict,
    exactly,
    list_of,
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
WRITE = 'under "What to write" in the part 1 handout'
COPIED = {"empties_its_inputs": "it is given a copy of the events, to sort and to mark"}
AGAIN = "run python part1_baseline.py again and submit its files unchanged; first correct your "
AGAIN += "code if its checks fail"

# --- a trace of each process ---

CALL = record(taken=INTEGER, raised=TEXT)
OWN = record(returned=TEXT, calls=exactly(3, CALL))
HELD = record(rank=INTEGER, steps=list_of(INTEGER), shapes=BOOLEAN)


@part.probe(
    values={"ranks": exactly(2, OWN), "files": list_of(TEXT), "traces": exactly(2, HELD)},
    takes=["profile_rank"],
)
def profiled(student: Student, rig: Rig) -> Answer:
    """Two processes profile steps that mark themselves: twelve, then too few, and just enough."""
    return rig.profiled(student)


@part.check(basis="report")
def one_trace_for_each_rank(profiled: Observation) -> Verdict:
    """Each process writes rank{rank}_trace.json.gz with its own rank, and no other file."""
    named = 'export_chrome_trace(f"{folder}/rank{rank}_trace.json.gz"), with this ending'
    judged = verdict(*judges.files_problem(profiled.values), named)
    return hinted(judged, judges.FILES)


@part.check(basis="report", needs=[one_trace_for_each_rank])
def follows_the_schedule(profiled: Observation) -> Verdict:
    """Each trace holds the active steps, with shapes; too few steps are a ValueError at once."""
    try_ = "schedule(wait=wait, warmup=warmup, active=active, repeat=1), prof.step() after step()"
    judged = verdict(*judges.schedule_problem(profiled.values), try_)
    return hinted(judged, judges.SCHEDULES)


# --- a step ---

step = Exercise("summarise", part, call=made.chosen, holes=COPIED)


@step.inputs
def draw_events(random: np.random.Generator, gpu: Any = False, names: Any = "") -> dict[str, Any]:
    return {"events": made.drawn_trace(random, gpu=gpu), "names": names}


def summarises(*names: str, **words: Any) -> None:
    """Claim some of what summarise returns, of two traces of a CPU and two of a GPU."""
    traces = {
        f"{it} trace of a {device}": {"gpu": device == "GPU", "names": list(names)}
        for it in ("first", "second")
        for device in ("CPU", "GPU")
    }
    words["slips"] = {
        why: partial(made.asked, slip=slip) for why, slip in words.pop("slips").items()
    }
    try_ = f"see {names[-1]} {WRITE}"
    step.same(traces, families=(), oracle=made.asked, within=1e-6, needs=[], try_=try_, **words)


summarises(
    *judges.TIMES,
    name="splits_the_step",
    says="Times per step are right: compute, communication, and the part of it that is exposed.",
    why=judges.WHY,
    slips=judges.SLIPS,
)
summarises(
    "top_operators",
    name="finds_the_top_operators",
    says="top_operators names the 5 operators with the most own time, and no communication.",
    why={
        "number of entries": (
            "your list has not 5 names, and the trace has more operators",
            "take the first five of all names that do not begin with c10d::",
        ),
        "": (
            "the names must go from the most own time to the least, without c10d:: calls",
            "keep a stack for each (pid, tid) over all of cat cpu_op; leave out c10d:: at the end",
        ),
    },
    slips=judges.TOP_SLIPS,
    hints=judges.TOP_HINTS,
)
summarises(
    "utilization_percent",
    name="says_nothing_of_no_gpu",
    says="utilization_percent: time with a kernel, in percent of the steps; None without a kernel.",
    why={
        "CPU": (
            "your code returns a number where there is no GPU; 0 means a GPU that does nothing",
            "return None where no event is of cat kernel",
        ),
        "GPU": (
            "your number must be the time in which any kernel runs, in percent of the steps' time",
            "join the intervals of all kernels, and divide by the time of the steps",
        ),
    },
    slips={
        (
            "your code leaves out kernels of NCCL, but a GPU that runs one is in use",
            "count the time in which any kernel runs",
        ): "no NCCL",
        ("your number is a share and not in percent", "multiply by 100"): "share",
        judges.ADDED_UP: "added up",
        judges.ONE_START: "one start",
        judges.ANY_STEPS: "any steps",
    },
)

# --- who waits ---

waits = Exercise(
    "waiting",
    part,
    call=lambda waiting, given: waiting(deepcopy(given["traces"])),
    holes=COPIED,
)


@waits.inputs
def draw_traces(
    random: np.random.Generator, world: Any = 2, calls: Any = (2, 5), gpu: Any = False
) -> dict[str, Any]:
    return {"traces": made.drawn_traces(random, world, calls, gpu)}


waits.same(
    {"four ranks": {"world": 4}, "a GPU": {"gpu": True}, "four GPUs": {"world": 4, "gpu": True}},
    families=("sizes drawn at random",),
    oracle=made.waiting,
    within=1e-6,
    name="finds_who_waits",
    says="waiting returns for each rank how long it waited, the one that waits least first.",
    why=judges.WAITS,
    try_=f"see the paragraph on waiting {WRITE}",
    slips={why: partial(made.waiting, slip=slip) for why, slip in judges.WAIT_SLIPS.items()},
)

# --- what is handed in ---

SHARES = ("compute", "communication", "exposed")
FORM: dict[str, Question | Known] = {
    "top_operators": Question("", names=made.TOP, required=True),
    **{
        f"{it}_percent": Known(
            judges.band(it),
            judges.NEAR,
            slips=judges.slips(it),
            group="shares",
            why=judges.OF_STEPS,
        )
        for it in SHARES
    },
    "slow_rank": Known(judges.NONE, one_of=(0, 1, judges.NONE)),
}
answered = Answers(part, "summarise", FORM, see=SEE)


@part.check(basis="artefact")
def traces_fit_each_other(rank0_trace: Trace, rank1_trace: Trace) -> Verdict:
    """The traces handed in are of ranks 0 and 1 of one run, with 3 steps or more and the same collectives."""
    return verdict(*judges.pair_problem([rank0_trace, rank1_trace]), AGAIN)


@part.check(basis="artefact", needs=[traces_fit_each_other])
def answers_fit_the_traces(answers: Text, rank0_trace: Trace, rank1_trace: Trace) -> Verdict:
    """The answers.json handed in names rank 0's top operators and shares, and the slow rank."""
    values, problem = answered.parsed(answers)
    if problem:
        why = "the file differs from the dict that your function `answers` returns"
        return Failed(f"{answers.file}: {problem}", why, AGAIN)
    operators = judges.without_calls(rank0_trace)
    if calls := [it for it in values["top_operators"] if it.startswith("c10d::")]:
        return Failed(f"top_operators names {calls[0]}", judges.NO_OPERATOR, AGAIN)
    named = profile.names_top(operators, values["top_operators"], try_=AGAIN)
    fit = answered.fit(values, rank0_trace, "shares", try_=AGAIN)
    for part_of_it in (named, fit):
        if isinstance(part_of_it, Failed):
            return part_of_it
    slow = judges.slow_problem(values["slow_rank"], [rank0_trace, rank1_trace])
    return verdict(*slow, AGAIN)
