"""Part 4: a timeline. Which operators take the time, a trace for each cycle, and a schedule that is whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import trace as profile
from autograder.checks.table_form import Form, count, not_negative, words
from autograder.claims.exercise import Exercise
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Table,
    Verdict,
    exactly,
    list_of,
    map_of,
    optional,
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
WRONG = 'see "What usually goes wrong" in the part 4 handout'
AGAIN = "run python part4_timeline.py and submit the files that it writes, unchanged"

# --- which operator ---------------------------------------------------------------------------

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
    },
    families=("drawn sizes",),
    oracle=made.own_times,
    within=1e-6,
    slips={
        "own_us still has the time of nested operators": partial(made.own_times, slip="whole"),
        "an operator is taken from all that surround it: take it from the innermost one": (
            partial(made.own_times, slip="all")
        ),
    },
    name="own_times_are_right",
    says="own_times returns calls, total and own time of each operator, most own time first.",
    why={
        "length": "each name of an operator has one row",
        "operator": "the row with the most own_us comes first, and events come in any order",
        "calls": "calls counts the events of this name",
        "total_us": "total_us is the sum of the durations of this name",
        "": "own_us is total_us without the operators directly inside; events come in any order",
    },
    try_=f"sort by start, longer ones first, and keep a stack of open operators; {WRONG}",
)
own.same(
    {
        kind: {"blocks": 6, "kind": kind}
        for kind in (
            made.THREADS,
            made.PROCESSES,
            made.ONE_START,
            made.NO_GAP,
            made.NO_DURATION,
            made.TIES,
        )
    },
    families=(),
    oracle=made.own_times,
    within=1e-6,
    slips={
        "operators of two threads are not nested, even if their times overlap": (
            partial(made.own_times, slip=made.THREADS)
        )
    },
    name="threads_and_ties",
    says="own_times separates threads, and is right where times or own times are equal.",
    why={
        "two": "operators are nested only on one thread, which pid and tid name together",
        made.ONE_START: "of two operators with one start, the longer one surrounds the other",
        made.NO_GAP: "an operator that starts where another ends is not inside it",
        made.TIES: "rows with equal own_us are in the order of their names",
        "": "an operator may have a duration of 0, and it counts as a call",
    },
    try_=f"a stack for each (pid, tid), sorted by (start, -duration); {WRONG}",
)
own.same(
    {kind: {"blocks": 6, "kind": kind} for kind in (made.RANGES, made.OTHERS)},
    families=(),
    oracle=made.own_times,
    within=1e-6,
    slips={
        "ranges, calls and kernels are in the table as well": (
            partial(made.own_times, slip=made.RANGES)
        )
    },
    name="ranges_are_no_operators",
    says="own_times leaves out ranges, Python functions, CUDA calls and kernels.",
    why='an operator is an event with "ph" X and "cat" cpu_op, whatever its name; only operators '
    "are taken from the time of an operator",
    try_=f'event.get("ph") == "X" and event.get("cat") == "cpu_op"; {WRONG}',
)

# --- a handler --------------------------------------------------------------------------------

HELD = {"batches": list_of(INTEGER), "steps": list_of(INTEGER)}
LARGEST = list_of(record(name=TEXT, calls=INTEGER, own_us=NUMBER))
TRACES = map_of(record(**HELD, operators=LARGEST))
WRITTEN = record(files=list_of(TEXT), traces=TRACES, table=TEXT, top=INTEGER)


@part.probe(pair=True, values={"handlers": exactly(2, WRITTEN)}, takes=["make_handler"])
def written(student: Student, rig: Rig) -> Any:
    """Let two handlers write, the second one into a folder of its own."""
    handlers = []
    for cycles in (Cycles(wait=0, spare=1), Cycles(wait=0, repeat=1)):
        rank, top = rig.integer(0, 9), rig.integer(3, 6)
        files = [f"rank{rank}_cycle{n + 1}_trace.json.gz" for n in range(cycles.repeat)]
        expected = {"files": sorted([*files, made.TABLE]), "table": ""}
        steps = [{"batches": it, "steps": it, "operators": []} for it in cycles.recorded]
        answer = {**expected, "traces": dict(zip(files, steps, strict=True))}
        if rig.side == "student":
            folder = rig.made_folder() / f"rank {rank}, {cycles.repeat}"
            folder.mkdir()
            handler = student.make_handler(str(folder), rank=rank, top=top)
            answer = rig.handled(folder, handler, cycles)
        handlers.append({**answer, "top": top})
    return {"handlers": handlers}


def pairs(evidence: Pair, name: str) -> Any:
    """Return what was expected and observed, one after the other."""
    sides = (evidence.baseline.values[name], evidence.student.values[name])
    return zip(*sides, strict=False)


@part.check(basis="report")
def one_file_for_each_cycle(written: Pair) -> Verdict:
    """Cycle n is in rank{rank}_cycle{n}_trace.json.gz, and no file but operators.csv is beside them."""
    for expected, observed in pairs(written, "handlers"):
        measured, why = judges.files_problem(expected, observed)
        if measured:
            try_ = "count the calls in the handler, and export once in each call"
            return Failed(f"{measured} are expected", why, f"{try_}; {WRONG}")
    return Passed("each cycle has its file")


@part.check(basis="report", needs=[one_file_for_each_cycle])
def operators_fit_the_traces(written: Pair) -> Verdict:
    """operators.csv has the largest operators of each trace that was written, to 0.01 us."""
    for expected, observed in pairs(written, "handlers"):
        problem = judges.written_problem(OPERATORS, expected["top"], observed)
        if problem:
            why, try_ = judges.cause(problem)
            return Failed(problem, why, f"{try_}; {WRONG}")
    return Passed("each row is what its trace says")


# --- a schedule -------------------------------------------------------------------------------

RUN = record(
    taken=list_of(INTEGER),
    traces=list_of(record(**HELD)),
    count=optional(NUMBER),
)


@part.probe(pair=True, values={"runs": exactly(3, RUN)}, takes=["profile_cycles"])
def recorded(student: Student, rig: Rig) -> Any:
    """Profile steps that mark themselves."""
    runs = []
    for cycles in made.schedules(rig.random):
        answer = {"taken": list(range(cycles.steps)), "count": cycles.repeat}
        answer["traces"] = [{"batches": it, "steps": it} for it in cycles.recorded]
        if rig.side == "student":
            answer = rig.cycles(student.profile_cycles, cycles)
        runs.append(answer)
    return {"runs": runs}


@part.check(basis="report")
def records_the_right_steps(recorded: Pair) -> Verdict:
    """profile_cycles records the active steps of each cycle, and returns how many cycles it recorded."""
    for expected, observed in pairs(recorded, "runs"):
        verdict = judges.cycles_verdict(expected, observed)
        if isinstance(verdict, Failed):
            return verdict
    return Passed("each cycle holds its active steps")


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
    return {"step": abs, "steps": steps, "handler": str, **options}


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
    why="a cycle that is cut has half of its steps, or none, and torch does not say so",
    try_="compare steps with repeat * (wait + warmup + active) before anything else",
    needs=[],
)

# --- what is handed in ------------------------------------------------------------------------

RECORDED, PASSED_OVER, CONVOLUTIONS = 3, 7, 2
PLACES = [(cycle, place) for cycle in (1, 2) for place in range(1, 6)]


@part.check(basis="artefact")
def trace_is_whole(rank0_cycle2_trace: Trace) -> Verdict:
    """The trace handed in holds steps 7 to 9 of the training, with a forward and a backward range each."""
    ranges = ("forward", "backward")
    why = profile.recorded(rank0_cycle2_trace, RECORDED, PASSED_OVER, ranges)
    why = why or profile.another_network(rank0_cycle2_trace, CONVOLUTIONS)
    measured = f"{len(rank0_cycle2_trace.steps)} steps"
    evidence = profile.consists_of(rank0_cycle2_trace)
    return Failed(measured, why, AGAIN, evidence) if why else Passed(measured, evidence)


@part.check(basis="artefact", needs=[trace_is_whole])
def csv_fits_the_trace(operators: Table, rank0_cycle2_trace: Trace) -> Verdict:
    """The operators.csv handed in has the largest operators of the trace handed in, to 3 %."""
    rows = OPERATORS.read(operators)
    problem = OPERATORS.problem(rows, PLACES)
    second = [row for row in rows if row["cycle"] == 2]
    problem = problem or judges.handed_in_problem(second, rank0_cycle2_trace, 0.03)
    if problem:
        return Failed(f"{len(rows)} rows", problem, AGAIN)
    return Passed(f"{len(second)} rows of cycle 2")
