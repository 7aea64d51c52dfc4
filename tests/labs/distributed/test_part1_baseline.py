"""Part 1 of distributed: right work passes on any seed and in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from autograder.labs.distributed.part1_baseline import judges, made, part
from autograder.model import Limits
from autograder.traces import Trace
from autograder.traces.record import Figure, Transfer, Window
from tests.labs.bench import Bench, failing

FORKS = ("one_trace_for_each_rank", "follows_the_schedule")
bench = Bench("distributed", part, without=FORKS)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.slow
def test_the_reference_writes_in_two_processes(workers):
    seen = bench.in_workers(workers, "profiled", Limits(40)).student

    assert {} == failing({name: part.checks[name].judge(profiled=seen) for name in FORKS})


# --- what is drawn ----------------------------------------------------------------------------


def event(cat, name, start, lasts, tid=1):
    times = {"ts": start * made.TICK, "dur": lasts * made.TICK}
    return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, **times}


def test_a_step_by_hand():
    ms = made.MS
    events = [
        event("user_annotation", "ProfilerStep#3", 0, 10 * ms),
        event("cpu_op", "outer", 0, 4 * ms),
        event("cpu_op", "inner", ms, 3 * ms),
        event("cpu_op", "beside", ms, 4 * ms, tid=2),
        event("cpu_op", made.CALLS[0], 5 * ms, ms),
        event("user_annotation", "gloo:all_reduce", 3 * ms, 4 * ms, tid=11),
        event("user_annotation", "gloo:broadcast", 6 * ms, 2 * ms, tid=12),
        {"ph": "M", "name": "process_name"},
    ]

    assert {
        "top_operators": ["beside", "inner", "outer"],
        "step_ms": 10.0,
        "compute_ms": 5.0,
        "communication_ms": 5.0,
        "exposed_ms": 3.0,
        "utilization_percent": None,
    } == made.summary(events)


def test_own_times_are_far_apart():
    for seed in range(20):
        events = made.drawn_trace(np.random.default_rng(seed), gpu=False)
        own = made.own_times([it for it in events if it.get("cat") == made.OPERATOR])
        assert made.CALLS[0] in sorted(own, key=own.get, reverse=True)[: made.TOP]

        times = sorted((us for name, us in own.items() if name not in made.CALLS), reverse=True)
        times = times[: made.TOP + 2]

        assert all(later < 0.99 * first for first, later in pairwise(times))


# --- what is handed in ------------------------------------------------------------------------

MS = 1_000_000


def trace_of(rank, transfers, **more):
    steps = tuple(Window(f"ProfilerStep#{n}", 10 * MS * n, 10 * MS) for n in range(3))
    signals = {"rank": f"{rank} of 2"}
    own = tuple(Transfer(ms * MS, 400) for ms in transfers)
    named = {"file": f"rank{rank}_trace.json.gz", "signals": signals, "collectives": own}
    return Trace(sha256="", tool="kineto", **{**named, "steps": steps, **more})


WRONG = {
    "is of rank 1 of 2": [trace_of(1, [1]), trace_of(0, [1])],
    "is of a process without a group": [trace_of(0, [1], signals={}), trace_of(1, [1])],
    "holds 0 steps": [trace_of(0, [1], steps=()), trace_of(1, [1])],
    "2 and 1 collectives": [trace_of(0, [1, 2]), trace_of(1, [1])],
    "0 and 0 collectives": [trace_of(0, []), trace_of(1, [])],
    "moved 400 and 8 bytes": [trace_of(0, [1]), trace_of(1, [1], collectives=(Transfer(1, 8),))],
}


@pytest.mark.parametrize("words", WRONG)
def test_traces_of_two_runs_are_told(words):
    measured, why = judges.pair_problem(WRONG[words])

    assert words in measured
    assert why


def test_traces_of_one_run_fit():
    assert "" == judges.pair_problem([trace_of(0, [3, 4]), trace_of(1, [1, 1])])[1]


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ([9, 9], [1, 1], {1}),
        ([1, 1], [9, 9], {0}),
        ([2, 1], [1, 1], {"none"}),
        ([4, 1], [1, 1], {1, "none"}),
    ],
)
def test_who_is_slow(first, second, right):
    traces = [trace_of(0, first), trace_of(1, second)]

    assert right == {it for it in (0, 1, "none") if not judges.slow_problem(it, traces)[1]}


def test_shares_of_a_gpu():
    figures = (
        Figure("busy_kernel", 80.0, "%", "steps", 0),
        Figure("comm_time", 12.0 * MS, "ns", "trace", 0),
        Figure("comm_exposed", 6.0 * MS, "ns", "trace", 0),
    )
    shares = judges.shares(replace(trace_of(0, [1]), figures=figures))

    assert pytest.approx([60.0, 40.0, 20.0]) == list(shares.values())


def test_what_the_reader_says_of_drawn_traces_is_known():
    for gpu in (False, True):
        events = made.drawn_trace(np.random.default_rng(3), gpu=gpu)
        trace = bench_read(events)
        expected = made.summary(events)
        shares = judges.shares(trace)

        for name in ("compute", "communication", "exposed"):
            share = 100 * expected[f"{name}_ms"] / expected["step_ms"]
            assert pytest.approx(share, abs=judges.POINTS) == shares[name]


def bench_read(events):
    """Read events as those of a file that is handed in."""
    from autograder.checks import trace

    return trace.read(json.dumps({"traceEvents": events}).encode(), "rank0_trace.json")
