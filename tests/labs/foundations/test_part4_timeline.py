"""Part 4 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from autograder.labs.foundations.part4_timeline import OPERATORS, PLACES, TRACE, judges, made, part
from autograder.traces.record import Row, Trace
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


# --- what is drawn ----------------------------------------------------------------------------


def event(name, start, lasts, tid=1, cat="cpu_op"):
    shape = {"ph": "X", "cat": cat, "pid": 9, "tid": tid}
    return {**shape, "name": name, "ts": start, "dur": lasts}


def test_own_times_by_hand():
    events = [
        event("inner", 2, 3),
        event("outer", 0, 10),
        event("range", 1, 8, cat="user_annotation"),
        event("inmost", 3, 1),
        event("outer", 10, 2),
        event("inner", 1, 4, tid=2),
        {"ph": "M", "name": "process_name"},
    ]
    rows = [tuple(row.values()) for row in made.own_times(events)]

    assert [("outer", 2, 12, 9), ("inner", 2, 7, 6), ("inmost", 1, 1, 1)] == rows


def test_own_times_are_those_of_the_trace_reader():
    """In a real trace on a CPU: operators hold no ranges and no calls there."""
    data = (bench.reference / TRACE).read_bytes()
    rows = made.own_times(json.loads(gzip.decompress(data))["traceEvents"])
    table = bench.handed_in(TRACE).rows("operators")

    assert [(it["operator"], it["calls"]) for it in rows[:9]] == [
        (it.name, it.count) for it in table[:9]
    ]
    assert [it["own_us"] for it in rows[:9]] == pytest.approx(
        [it.total_ns / 1000 for it in table[:9]], abs=0.01
    )


SLIPS = {"whole": "", "all": "", made.THREADS: made.THREADS, made.OTHERS: made.OTHERS}


@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_shows_in_what_is_drawn(slip):
    for seed in range(20):
        events = made.events(np.random.default_rng(seed), 6, SLIPS[slip])

        assert made.own_times(events) != made.own_times(events, slip)


def test_the_cycles_of_a_schedule():
    cycles = made.Cycles(spare=3)

    assert [[2, 3], [6, 7]] == cycles.recorded
    assert 11 == cycles.steps
    assert "11 steps, wait=1, warmup=1, active=2, repeat=2" == str(cycles)


# --- what is handed in ------------------------------------------------------------------------

TABLE = {
    "operators": (Row("aten::mm", 6, 900_000, 60.0), Row("aten::relu", 3, 600_000, 40.0)),
}
RIGHT = ("aten::mm", 6, 900.0), ("aten::relu", 3, 600.0)
WRONG = {
    "is a range or a call": ("ProfilerStep*", 3, 600.0),
    "4 calls of aten::relu; the trace has 3": ("aten::relu", 4, 600.0),
    "aten::relu has 630.00 us; the trace has 600.00": ("aten::relu", 3, 630.0),
}


def rows_of(*rows):
    names = ("operator", "calls", "own_us")
    return [
        {"cycle": 2, "place": place, **dict(zip(names, row, strict=True))}
        for place, row in enumerate(rows, 1)
    ]


def trace_of(**tables):
    return Trace(TRACE, "", "kineto", tables={**TABLE, **tables})


def test_rows_of_the_trace_fit():
    assert "" == judges.handed_in_problem(rows_of(*RIGHT), trace_of(), 0.03)


@pytest.mark.parametrize("words", WRONG)
def test_a_row_of_something_else_is_told(words):
    rows = rows_of(RIGHT[0], WRONG[words])

    assert words in judges.handed_in_problem(rows, trace_of(), 0.03)


def test_the_largest_come_first():
    rows = rows_of(*RIGHT[::-1])

    assert "aten::mm has more" in judges.handed_in_problem(rows, trace_of(), 0.03)


def test_calls_of_a_gpu_may_be_in_the_time_of_an_operator():
    """The reader of traces takes them out, and so an operator may have more."""
    on_gpu = trace_of(calls=(Row("cudaLaunchKernel", 9, 500_000, 100.0),))

    assert "" == judges.handed_in_problem(rows_of(("aten::relu", 3, 950.0)), on_gpu, 0.03)
    assert "" != judges.handed_in_problem(rows_of(("aten::relu", 3, 500.0)), on_gpu, 0.03)


def test_the_table_of_the_reference_is_of_both_cycles():
    rows = OPERATORS.read(bench.handed_in(OPERATORS.file))

    assert "" == OPERATORS.problem(rows, PLACES)
