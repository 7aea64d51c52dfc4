"""Part 2: communication. What a step waits for, what its transfers take, and what a link costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import table
from autograder.checks.hints import caused, hinted
from autograder.checks.numerics import close
from autograder.claims.exercise import Exercise
from autograder.claims.studies import Study
from autograder.lab import (
    BOOLEAN,
    CELL,
    INTEGER,
    NUMBER,
    TEXT,
    Answer,
    Pair,
    Part,
    Student,
    Verdict,
    exactly,
    list_of,
    map_of,
    record,
)
from autograder.labs.distributed.part2_communication import judges, stories
from autograder.model import verdict

if TYPE_CHECKING:
    from autograder.labs.distributed.part2_communication.rig import Rig
else:
    Rig = Any

part = Part(
    "part2_communication",
    writes=["measure_communication"],
    hands_in=[judges.LINK.file, "part2_notes.md"],
    tables=[judges.LINK],
    warm=["torch._dynamo"],
)

# --- a step ---

RANK = record(
    figures=map_of(CELL),
    passes=list_of(INTEGER),
    start=TEXT,
    end=TEXT,
    gradients=INTEGER,
    zeros=INTEGER,
    outside=BOOLEAN,
    buckets=list_of(INTEGER),
    alone=list_of(INTEGER),
)
NOT_RUN = {
    "figures": {}, "passes": [], "start": "", "end": "", "gradients": 0, "zeros": 0,
    "outside": False, "buckets": [], "alone": [],
}  # fmt: skip
CASE = record(
    ranks=exactly(judges.RANKS, RANK),
    figures=map_of(NUMBER),
    slips=map_of(map_of(NUMBER)),
    steps=INTEGER,
)


RAISED = {"raised": "run python part2_communication.py, and read the whole traceback"}


@part.probe(
    pair=True,
    values={"cases": exactly(2, CASE)},
    takes=["measure_communication"],
    hints=RAISED,
)
def measured(student: Student, rig: Rig) -> Answer:
    """Two trainings in two processes; steps and collectives take scripted time."""
    own = rig.side == "student"
    cases: list[dict[str, Any]] = []
    for story in stories.drawn_stories(rig.random):
        ranks = rig.measured(student, story) if own else [NOT_RUN] * judges.RANKS
        right = {} if own else story.figures()
        slips = {} if own else story.slips()
        steps = len(story.script.pattern)
        cases.append({"ranks": ranks, "figures": right, "slips": slips, "steps": steps})
    return {"cases": cases}


MEDIANS = "statistics.median of each rank's times, then dist.all_reduce with ReduceOp.MAX"


def judged(pair: Pair, problem: Any, try_: str) -> Verdict:
    """Judge one training after the other."""
    own, expected = pair.student.values["cases"], pair.baseline.values["cases"]
    problems = [problem(*each) for each in zip(own, expected, strict=True)]
    measured, why = next((it for it in problems if it[1]), problems[-1])
    return hinted(verdict(measured, why, try_), judges.TIMED)


@part.check(basis="scripted")
def times_are_medians_of_the_slowest(measured: Pair) -> Verdict:
    """step_ms is the largest of all ranks' medians, and the same in every process."""
    problem = partial(judges.figure_problem, names=["step_ms"])
    return judged(measured, problem, MEDIANS)


@part.check(basis="scripted", needs=[times_are_medians_of_the_slowest])
def exposed_is_not_total(measured: Pair) -> Verdict:
    """compute_ms is timed in no_sync(), total_ms for the buckets alone, in turns; exposed_ms and percentages follow."""
    return judged(measured, judges.rest_problem, MEDIANS)


@part.check(basis="report")
def counts_after_warm_up(measured: Pair) -> Verdict:
    """collectives and bytes count the calls and bytes of one step after the warm-up."""
    try_ = "a step in given.watch_collectives(), after the warm-up"
    return judged(measured, judges.count_problem, try_)


@part.check(basis="report", needs=[times_are_medians_of_the_slowest])
def leaves_the_model_alone(measured: Pair) -> Verdict:
    """Weights stay as they are, in both processes, and all gradients are None at the end."""
    try_ = "no optimizer, and model.zero_grad(set_to_none=True) after each backward"
    return judged(measured, judges.state_problem, try_)


# --- a link ---

ROUNDED = 1e-6  # relative: of float32
TABLE = list_of(map_of(CELL))
NOT_ROUNDED = "write the rows as they are, not rounded"
MADE = {"rows": TABLE, "alike": BOOLEAN, "csv": TEXT, "files": list_of(TEXT)}
SCRIPT = {"sizes": list_of(INTEGER), "ms": list_of(NUMBER), "device": TEXT}


@part.probe(
    pair=True,
    values={**SCRIPT, "slips": list_of(map_of(NUMBER)), **MADE},
    takes=["measure_link"],
    hints=RAISED,
)
def linked(student: Student, rig: Rig) -> Answer:
    """A link of scripted latency and bandwidth, three processes, and one that is slower."""
    world = judges.WORLD
    # Three processes divide them: another check looks at what is rounded where they do not.
    sizes = [12 * rig.integer(85 * 8**k, 100 * 8**k) for k in range(4)]
    link = stories.drawn_link(rig.random)
    script = stories.drawn_script(rig.random, rig.integer(0, world - 1))
    made = {"rows": [], "alike": True, "csv": "", "files": []}
    if rig.side == "student":
        made = rig.linked(student, sizes, link, script, world)
    ms = [1e3 * link.seconds(it) for it in sizes]
    device = rig.text(rig.given("device_name")(rig.tensor([0]).cpu().device))
    slips = [
        {
            **script.slips(time, world, 1e3 * link.latency),
            judges.FOURFOLD: 1e3 * link.seconds(4 * size),
        }
        for size, time in zip(sizes, ms, strict=True)
    ]
    return {"sizes": sizes, "ms": ms, "device": device, "slips": slips, **made}


def link_rule(linked: Pair) -> str | tuple[str, ...]:
    problem = judges.link_problem(linked.student.values, linked.baseline.values)
    return caused(problem, judges.LINKED) if isinstance(problem, str) else problem


def also_in_the_file(linked: Pair) -> tuple[str, ...] | None:
    own = linked.student.values
    if files := ", ".join(own["files"]):
        return "only rank 0 must write", "write if dist.get_rank() == 0, and only then", files
    for row, returned in zip(
        table.read(own["csv"].encode(), judges.LINK.file).rows, own["rows"], strict=False
    ):
        for name in ("bytes", "ms", "bus_gb_s"):
            cell, value = row.get(name, ""), returned.get(name)
            if isinstance(value, float) and not close(table.number(cell), value, ROUNDED):
                both = f"{name} is {cell[:60]} in the file and {value!r} in the rows returned"
                return "the file must hold the rows themselves", NOT_ROUNDED, both
    return None


study = Study(part, judges.LINK, "measure_link", by=linked, expected=lambda it: it["sizes"])
study.is_measured(
    "measures_the_link",
    link_rule,
    says="Each row has the largest of all ranks' medians as ms, and the bus_gb_s that follows from it.",
    try_="wait for each call, and take 1e3 * the median of a rank's times",
    shows=["bytes", "ms", "bus_gb_s"],
)
study.is_written(also_in_the_file)
study.is_consistent(
    judges.table_problem,
    says="The submitted allreduce_times.csv has rising sizes, and bandwidths that follow from times.",
    try_="fix measures_the_link first if it fails; else run python part2_communication.py "
    "with the template's SIZES, and submit its file",
)

# --- arithmetic ---


POLYFIT = (
    "np.polyfit(bytes, ms, 1), bytes first, gives slope and latency; bytes_per_ms is 1 / slope"
)
FITTED = ("latency_ms", "bytes_per_ms")


def named(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Name the figures that it returns."""
    returned = written(**inputs)
    both = isinstance(returned, (list, tuple)) and len(returned) == 2
    return dict(zip(FITTED, returned, strict=True)) if both else returned


fit = Exercise("fit_link", part, call=named)


@fit.inputs
def draw_rows(
    random: np.random.Generator, rows: Any = (5, 15), noise: Any = 0.05, cold: Any = 1.0
) -> dict[str, Any]:
    sizes = 4 * np.unique(np.geomspace(256, 2**22, rows).astype(int))
    latency, rate = random.uniform(0.1, 1.0), random.uniform(1e5, 1e6)
    apart = latency * random.uniform(-noise, noise, len(sizes))
    ms = latency + sizes / rate + apart
    ms[0] *= cold
    return {
        "rows": [
            {"bytes": int(size), "ms": float(it), "bus_gb_s": size / it / 1e6, "device": "a CPU"}
            for size, it in zip(sizes, ms, strict=True)
        ]
    }


def fitted(rows: list[dict[str, Any]], slip: str = "") -> dict[str, float]:
    """Return what fit_link has to return, or what somebody returns who makes this *slip*."""
    rows = [rows[0], rows[-1]] if slip == "two rows" else rows
    sizes, ms = (np.array([float(it[name]) for it in rows]) for name in ("bytes", "ms"))
    slope, latency = np.polyfit(sizes, ms, 1)
    if slip == "turned round":
        rate, less = np.polyfit(ms, sizes, 1)
        slope, latency = 1 / rate, -less / rate
    rate = slope if slip == "slope" else 1 / slope
    return dict(zip(FITTED, (float(latency), float(rate)), strict=True))


fit.same(
    {
        "two sizes": {"rows": 2, "noise": 0.0},
        "rows whose smallest size took twice as long": {"cold": 2.0},
    },
    families=("sizes drawn at random",),
    oracle=fitted,
    within=1e-4,
    name="fits_the_link",
    says="fit_link returns the latency and the bandwidth of the line with the least squares.",
    why={
        "two sizes": "two rows give one line, and yours is another: usually logarithms were fitted",
        "": "the line must have the least squares of the errors in ms, over all rows",
    },
    hints={
        'latency_ms": 0,': (
            "your line goes through 0, without a latency",
            POLYFIT,
        ),
    },
    try_=POLYFIT,
    slips={
        (
            "your second figure is the slope; bytes_per_ms is 1 / slope",
            "return the latency and 1 / slope",
        ): partial(fitted, slip="slope"),
        (
            "your line goes through two rows alone",
            "give np.polyfit the bytes and ms of all rows",
        ): partial(fitted, slip="two rows"),
        "your line has the least squares of the errors in bytes; it must be those of the errors in ms": partial(
            fitted, slip="turned round"
        ),
    },
)

ring = Exercise("sent_bytes", part)


@ring.inputs
def draw_transfer(
    random: np.random.Generator, operation: Any = "all_reduce", processes: Any = (2, 64)
) -> dict[str, Any]:
    nbytes = 4 * (1 + 2 * int(random.integers(10**6)))  # processes need not divide it
    return {"operation": operation, "nbytes": nbytes, "processes": processes}


def sent(operation: str, nbytes: int, processes: int) -> float:
    times_round = 1 + (operation == "all_reduce")
    return times_round * nbytes * (processes - 1) / processes


def _whole_shares(nbytes: int, processes: int, **_: Any) -> int:
    return nbytes // processes * processes


OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter")
ring.same(
    {
        f"{operation} of {processes}": {"operation": operation, "processes": processes}
        for operation in OPERATIONS
        for processes in (1, 8, 2, 64)  # of 2, other mistakes give the same number
    },
    families=("sizes drawn at random",),
    oracle=sent,
    within=1e-9,
    name="ring_bytes_are_right",
    says="sent_bytes returns what a rank sends in a ring of 1 to 64 processes.",
    slips={
        (
            "your number has a factor of 2, but only all_reduce goes round the ring twice",
            "(processes - 1) / processes * nbytes for all_gather and reduce_scatter",
        ): lambda **given: 2 * sent(**{**given, "operation": "all_gather"}),
        (
            "your number is n times the right one: each message is 1 / n of the tensor",
            "divide by processes",
        ): lambda **given: given["processes"] * sent(**given),
        (
            "your code rounds where the processes do not divide nbytes",
            "divide by /, and not by //",
        ): lambda **given: sent(**given) // 1,
        (
            "your code rounds nbytes / processes",
            "divide by /, and not by //",
        ): lambda **given: sent(**{**given, "nbytes": _whole_shares(**given)}),
    },
    why={
        "of 1": "with one process nothing must be sent",
        "all_reduce": "an all_reduce must send 2 (n - 1) / n * nbytes",
        "": "(n - 1) / n * nbytes must be sent: nbytes are those of the whole tensor",
    },
    try_="(processes - 1) / processes * nbytes, twice for all_reduce",
)

advice = Exercise("advise", part)
advice.inputs(stories.drawn_figures)
advice.same(
    stories.SITUATIONS,
    families=(),
    oracle=stories.advised,
    name="advises_what_helps",
    says="advise returns the first advice whose condition holds, also if a number equals the limit.",
    why=stories.ADVICE,
    try_="take the conditions in the handout's order, with < and > exactly as they stand there",
)
