"""Part 4: a timeline. Which operators take the time, a trace for each cycle, and a schedule that is whole.

Above 60 lines an exercise: a trace is drawn with eight kinds of events, own times have an oracle with its slips, two
functions are run under the profiler, and a trace and a table are compared row by row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import outputs
from autograder.checks import trace as profile
from autograder.checks.hints import Causes
from autograder.checks.table_form import Form, count, not_negative, words
from autograder.claims.exercise import Exercise
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Table,
    Verdict,
    list_of,
    record,
)
from autograder.labs.foundations.part4_timeline import judges, made
from autograder.labs.foundations.part4_timeline.made import Cycles
from autograder.traces import Trace

if TYPE_CHECKING:
    from autograder.labs.foundations.part4_timeline.rig import Rig
else:
    Rig = Any

OPERATORS = Form(
    made.TABLE,
    (
        count("cycle", "which call of the handler wrote it"),
        count("place", "1 for the most own time, and so on"),
        words("operator", "its name"),
        count("calls", "how often it ran"),
        not_negative("own_us", "its own time", "us"),
    ),
    keys=2,
)
TRACE = "rank0_cycle2_trace.json.gz"
part = Part(
    "part4_timeline",
    hands_in=[TRACE, OPERATORS.file, "part4_notes.md"],
    tables=[OPERATORS],
)
DOCSTRING = "compare with the docstring of"
AGAIN = "run python part4_timeline.py and submit the files that it writes, unchanged"

# --- which operator ---

own = Exercise("own_times", part)


@own.inputs
def draw_events(
    random: np.random.Generator, blocks: Any = (2, 9), kind: Any = ""
) -> dict[str, Any]:
    return {"events": made.events(random, blocks, kind)}


own.same(
    {
        "no events": {"blocks": 0},
        "a long trace": {"blocks": 90},
        "another trace": {"blocks": 30},  # by chance one trace may have both orders alike
    },
    families=("sizes drawn at random",),
    oracle=made.own_times,
    within=1e-6,
    slips={
        why: partial(made.own_times, slip=slip)
        for slip, why in {
            "whole": (
                "own_us still has the time of nested operators",
                "subtract each operator from the one on top of the stack",
            ),
            "all": (
                "the time of an operator is subtracted from all operators around it",
                "subtract from the last operator of the stack alone",
            ),
            "same": (
                "an operator inside one of its own name is not subtracted: it counts twice",
                "subtract also where both have one name",
            ),
            "once": (
                "your code closes one operator before the next starts, but several may have ended",
                "pop in a while loop, and not in an if",
            ),
            "order": (
                "your rows are in the order of total_us, and must be in that of own_us",
                "sort by (-own_us, operator)",
            ),
        }.items()
    },
    name="own_times_are_right",
    says="own_times returns calls, total and own time of each operator, most own time first.",
    why={
        "number of entries": (
            "each name of an operator must have one row, whatever the name begins with",
            "one dict by name; not all names begin with aten::",
        ),
        "calls": ("calls must be the number of events of this name", "add 1 for each event"),
        "total_us": (
            "total_us must be the sum of the durations of this name, nested operators included",
            "add dur for each event, before anything is subtracted",
        ),
        "": (
            "an own_us is wrong: usually events are not sorted, and they come in any order",
            "sort by (start, -duration), and keep a stack of open operators",
        ),
    },
    try_=f"{DOCSTRING} own_times",
)
own.same(
    {
        kind: {"blocks": 16, "kind": kind}
        for kind in (
            made.THREADS,
            made.PROCESSES,
            made.TIES,
            made.ONE_START,
            made.NO_GAP,
            made.NO_DURATION,
        )
    },
    families=(),
    oracle=made.own_times,
    within=1e-6,
    slips={
        (
            "your code nests operators of two threads, because their times overlap",
            "a stack for each (pid, tid)",
        ): partial(made.own_times, slip=made.THREADS)
    },
    name="threads_and_ties",
    says="own_times separates threads. Operators may have equal starts, no gap between them, a duration of 0, or equal "
    "own_us.",
    why={
        "two": (
            "operators must be nested only within a thread, which pid and tid name together",
            "a stack for each (pid, tid)",
        ),
        made.ONE_START: (
            "of two operators with one start, the longer one must surround the shorter one",
            "sort by (start, -duration)",
        ),
        made.NO_GAP: (
            "an operator that starts where another one ends must not be inside that one",
            "close an operator whose end is <= the next start",
        ),
        made.TIES: (
            "rows with equal own_us must be in the order of their names",
            "sort by (-own_us, operator)",
        ),
        "": (
            "an operator with a duration of 0 must count as a call",
            "look at ph and cat alone, not at whether dur is 0",
        ),
    },
    try_=f"{DOCSTRING} own_times",
)
own.same(
    {made.OTHERS: {"blocks": 6, "kind": made.OTHERS}},
    families=(),
    oracle=made.own_times,
    within=1e-6,
    slips={
        "your table also has ranges, CUDA calls and kernels": (
            partial(made.own_times, slip=made.OTHERS)
        )
    },
    name="ranges_are_no_operators",
    says="own_times leaves out ranges, Python functions, CUDA calls and kernels.",
    why='an operator must be an event with "ph" X and "cat" cpu_op; only operators may be subtracted',
    try_='event.get("ph") == "X" and event.get("cat") == "cpu_op"',
)

# --- a handler ---

LARGEST = record(operator=TEXT, calls=INTEGER, total_us=NUMBER, own_us=NUMBER)
TABLE = record(text=TEXT, top=INTEGER, traces=list_of(list_of(LARGEST)))


@part.probe(
    pair=True,
    values={**CASES, "tables": list_of(TABLE)},
    arrays=NUMBERS,
    takes=["make_handler"],
)
def written(student: Student, rig: Rig) -> Any:
    """Let two handlers write, the second one into a folder of its own."""
    answers, tables = rig.answers(student), []
    for number, cycles in (
        ("first", Cycles(wait=0, spare=1)),
        ("second", Cycles(wait=0, repeat=1)),
    ):
        rank = rig.integer(0, 9)
        top = rig.integer(8, 9)  # nested operators are among so many
        names = [f"rank{rank}_cycle{n + 1}_trace.json.gz" for n in range(cycles.repeat)]
        files = {made.TABLE: "a table", **dict(zip(names, cycles.traces, strict=True))}
        if rig.side == "student":
            folder = rig.made_folder() / f"rank {rank}, {cycles.repeat}"
            folder.mkdir()
            handler = student.make_handler(str(folder), rank=rank, top=top)
            files = rig.handled(folder, handler, cycles)
            tables.append(rig.table(folder, top))
        answers.add(f"files of the {number} handler, rank={rank}", files)
    return {**answers.values(), "tables": tables}


@part.check(basis="report")
def one_file_for_each_cycle(written: Pair) -> Verdict:
    """Cycle n is in rank{rank}_cycle{n}_trace.json.gz, and no file but operators.csv is beside them."""
    why = {
        "second handler": (
            "the first handler is right: usually the second one counts with the same counter",
            "set the counter to 0 in make_handler, and change it in the handler by nonlocal",
        ),
        "names": (
            "the n-th call of a handler must write cycle n, and no other file but operators.csv",
            'count the calls in the handler: f"rank{rank}_cycle{cycle}_trace.json.gz"',
        ),
        "": (
            "each file must hold the steps of its own cycle, as gzipped JSON",
            "prof.export_chrome_trace(str(file)), once in each call",
        ),
    }
    verdict = outputs.same(written, 0.0, why=why, try_=f"{DOCSTRING} make_handler")
    cause = isinstance(verdict, Failed) and judges.misnamed(verdict.measured)
    return Failed(verdict.measured, *cause) if cause else verdict


@part.check(basis="report", needs=[one_file_for_each_cycle])
def operators_fit_the_traces(written: Pair) -> Verdict:
    """operators.csv has the largest operators of each trace that was written, to 0.01 us."""
    for table in written.student.values["tables"]:
        problem = judges.written_problem(OPERATORS, **table)
        if problem:
            why, try_ = judges.cause(problem)
            return Failed(problem, why, try_)
    return Passed("each row is what its trace says")


# --- a schedule ---


@part.outputs
def recorded(student: Student, rig: Rig) -> Any:
    """Profile steps that mark themselves."""
    answers = rig.answers(student)
    for cycles in made.schedules(rig.random):
        seen = made.profiled(range(cycles.steps), cycles.traces, cycles.warm_up, cycles.repeat)
        if rig.side == "student":
            seen = rig.cycles(student.profile_cycles, cycles)
        for name, it in seen.items():
            answers.add(f"{cycles}; {name}", it)
    return answers.values()


@part.check(basis="report")
def records_the_right_steps(recorded: Pair) -> Verdict:
    """profile_cycles records the active steps of each cycle, and returns how many cycles it recorded."""
    why: Causes = {
        "calls of step": (
            "step(i) must be called once for each i from 0 to steps - 1, also after the last cycle",
            "for i in range(steps): step(i)",
        ),
        "number of traces": (
            "the schedule must end after `repeat` cycles: without repeat= cycles go on",
            "schedule(..., repeat=repeat)",
        ),
        "warm-up": (
            "wait + warmup is right, but neither alone: usually your code exchanges wait and warmup",
            "schedule(wait=wait, warmup=warmup, ...)",
        ),
        "returned": (
            "profile_cycles must return how many cycles were recorded",
            "return repeat",
        ),
        "": "each cycle must record its `active` steps in a trace of its own",
    }
    verdict = outputs.same(recorded, 0.0, why=why, try_=f"{DOCSTRING} profile_cycles")
    cause = isinstance(verdict, Failed) and judges.misscheduled(verdict.measured)
    return Failed(verdict.measured, *cause) if cause else verdict


cut = Exercise("profile_cycles", part)


@cut.inputs
def draw_steps(
    random: np.random.Generator,
    steps: Any = 8,
    wait: Any = 1,
    warmup: Any = 1,
    active: Any = 2,
    repeat: Any = 2,
) -> dict[str, Any]:
    options = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
    return {"step": abs, "steps": steps, "handler": lambda _: None, **options}


cut.refuses(
    {
        "7 steps for two cycles of 4": {"steps": 7},
        "6 steps for two cycles of 4": {"steps": 6},
        "8 steps for three cycles of 3": {"wait": 0, "repeat": 3},
    },
    before="step",
    takes={
        "8 steps for two cycles of 4": {"steps": 8},
        "9 steps for two cycles of 4": {"steps": 9},
    },
    name="refuses_a_cut_cycle",
    says="profile_cycles raises ValueError before the first step if the steps end before the cycles.",
    why="too few steps for all cycles must raise ValueError before the first step: torch raises nothing",
    try_="raise ValueError if steps < repeat * (wait + warmup + active)",
    needs=[],
)

# --- what is handed in ---

RECORDED, PASSED_OVER, CONVOLUTIONS = 3, 7, 2
PLACES = [(cycle, place) for cycle in (1, 2) for place in range(1, 6)]


@part.check(basis="artefact")
def trace_is_whole(rank0_cycle2_trace: Trace) -> Verdict:
    """The trace handed in holds step(7) to step(9), with a forward and a backward range each."""
    ranges = ("forward", "backward")
    why = profile.recorded(rank0_cycle2_trace, RECORDED, PASSED_OVER, ranges)
    why = why or profile.another_network(rank0_cycle2_trace, CONVOLUTIONS)
    evidence = profile.consists_of(rank0_cycle2_trace)
    if why:
        cause = "the file is of another cycle or program"
        return Failed(f"{rank0_cycle2_trace.file}: {why}", cause, AGAIN, evidence)
    return Passed(f"{len(rank0_cycle2_trace.steps)} steps", evidence)


@part.check(basis="artefact", needs=[trace_is_whole])
def csv_fits_the_trace(operators: Table, rank0_cycle2_trace: Trace) -> Verdict:
    """The operators.csv handed in has the largest operators of the trace handed in, to 3 %."""
    rows = OPERATORS.read(operators)
    problem = OPERATORS.problem(rows, PLACES)
    second = [row for row in rows if row["cycle"] == 2]
    problem = problem or judges.handed_in_problem(second, rank0_cycle2_trace, 0.03)
    if problem:
        cause = "usually the table and the trace are of two runs"
        try_ = f"fix operators_fit_the_traces first if it fails; then {AGAIN}"
        return Failed(problem, cause, try_)
    return Passed(f"{len(second)} rows of cycle 2")
