"""What a window would take without one of its causes, against answers by hand and a slow replay."""

from __future__ import annotations

import random
from statistics import median

import pytest

from autograder.traces.whatif import FED
from tests.traces.made import event, kernel, kineto, processor, read_made, step, training

US = 1000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def launch(ts, number, tid=1):
    return event("cuda_runtime", "cudaLaunchKernel", ts, 5, tid, correlation=number)


def sync(ts, dur, tid=1):
    return event("cuda_runtime", "cudaStreamSynchronize", ts, dur, tid, correlation=900 + ts)


def answers(folder, events):
    """Return the figures of a recording in microseconds, by name."""
    ids = ("without_data", "without_sync", "never_idle")
    trace = read_made(folder, kineto(events))
    return {one.id: one.value / US for one in trace.figures if one.id in ids}


def test_what_a_step_would_take_is_worked_out_by_hand(tmp_path):
    """The wait of 300 and the synchronization of 60 are taken out of the host's time.

    The last kernel still ends 50 after the step. The GPU works for 410 of 1000.
    """
    expected = {"without_data": 700, "without_sync": 940, "never_idle": 410}

    assert expected == answers(tmp_path, training())


def test_without_synchronization_the_host_runs_ahead_until_the_gpu_is_the_limit(tmp_path):
    """Two steps of 100 with a kernel of 80: the second follows the first at once."""
    events = []
    for number in (0, 1):
        at = 100 * number
        events += [step(number, at, 100), launch(at, number), sync(at + 10, 80)]
        events.append(kernel(at + 10, 80, correlation=number))

    assert {"without_sync": 170, "never_idle": 160} == answers(tmp_path, events)


def test_a_wait_behind_which_the_gpu_works_costs_nothing(tmp_path):
    events = [
        event("cpu_op", "aten::mm", 0, 10), step(0, 0, 200), launch(0, 1), kernel(10, 190, correlation=1),
        event("user_annotation", LOADER, 20, 100), sync(120, 80),
    ]  # fmt: skip

    assert {"without_data": 200, "without_sync": 200} == {
        name: value for name, value in answers(tmp_path, events).items() if name != "never_idle"
    }


def test_work_that_is_queued_keeps_its_distance_and_so_does_work_that_now_is(tmp_path):
    """The second kernel was queued and began 4 later. The third was late, and is queued now."""
    events = [
        step(0, 0, 300), launch(0, 1), launch(10, 2), sync(50, 160), launch(215, 3),
        kernel(10, 90, correlation=1), kernel(104, 96, correlation=2), kernel(230, 50, correlation=3),
    ]  # fmt: skip

    assert 200 + 4 + 50 == answers(tmp_path, events)["without_sync"]


def test_a_copy_to_pageable_memory_is_waited_for_until_it_is_done(tmp_path):
    events = [
        step(0, 0, 100), event("cuda_runtime", "cudaMemcpyAsync", 10, 50, correlation=1),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 50, 5, 7, device=0, stream=7, correlation=1),
    ]  # fmt: skip

    assert 100 - 45 == answers(tmp_path, events)["without_sync"]


def test_threads_that_launch_nothing_may_wait(tmp_path):
    """The thread that pins memory waits beside the training."""
    events = [step(0, 0, 100), launch(0, 1), kernel(10, 20, correlation=1), sync(40, 50, tid=5)]

    assert "without_sync" not in answers(tmp_path, events)


def test_a_profile_without_a_gpu_loses_the_wait_alone(tmp_path):
    assert {"without_data": 120} == answers(tmp_path, processor())


def test_without_a_wait_or_work_nothing_is_said(tmp_path):
    assert {} == answers(tmp_path, [event("cpu_op", "aten::mm", 0, 10)])
    assert "queued" in FED[-1]


def drawn(seed):
    """Return steps of random launches, kernels on two streams, waits, and a sync in each."""
    draw = random.Random(seed)
    events, number, clock, free = [], 0, 0, {7: 0, 8: 0}
    for count in range(4):
        begin = clock
        events.append(event("user_annotation", LOADER, clock, wait := draw.randint(1, 90)))
        clock += wait
        for _ in range(draw.randint(1, 6)):
            number += 1
            events.append(launch(clock, number))
            stream = draw.choice((7, 8))
            start = max(clock + draw.randint(2, 9), free[stream] + draw.randint(0, 3))
            free[stream] = start + draw.randint(1, 60)
            length = free[stream] - start
            events.append(kernel(start, length, stream=stream, correlation=number))
            clock += draw.randint(6, 30)
        if draw.random() < 0.7:
            until = max(clock, *free.values())
            events.append(sync(clock, until - clock + 1))
            clock = until + 1
        events.append(step(count, begin, clock - begin))
    return events


def replay(events, removed):
    """Return the length of the steps, kernel by kernel: the slow way."""
    steps = [one for one in events if "ProfilerStep" in one["name"]]
    end = steps[-1]["ts"] + steps[-1]["dur"]
    spans = [(one["ts"], one["ts"] + one["dur"]) for one in events if removed in one["name"]]
    launches = {one["args"]["correlation"]: one["ts"] for one in events if "Launch" in one["name"]}
    host = end - sum(stop - start for start, stop in spans)
    kernels = [one for one in events if one["cat"] == "kernel" and one["ts"] < end]
    kernels.sort(key=lambda one: one["ts"])
    return max(host, *_ends(kernels, launches, spans, end))


def _ends(kernels, launches, spans, end):
    """Yield when each piece of work ends; those of all streams keep their order."""
    gaps, busy = [], -1e9
    for one in kernels:
        launched = launches[one["args"]["correlation"]]
        gaps.append(
            (launched, launched <= busy, one["ts"] - busy, max(busy, one["ts"] + one["dur"]))
        )
        busy = gaps[-1][-1]
    usual = max(median([gap for _, was, gap, _ in gaps if was] or [0]), 0)
    free = -1e9
    for one, (launched, was, gap, until) in zip(kernels, gaps, strict=True):
        moved = launched - sum(max(min(stop, launched) - start, 0) for start, stop in spans)
        own = moved if was else moved + one["ts"] - launched
        free = max(free + (gap if was else min(gap, usual)), own) + until - one["ts"]
        yield free - max(until - end, 0)


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_replay_says_the_same(tmp_path, seed):
    events = drawn(seed)
    said = answers(tmp_path, events)

    assert replay(events, "DataLoader") == pytest.approx(said["without_data"], abs=0.001)
    if "without_sync" in said:
        assert replay(events, "Synchronize") == pytest.approx(said["without_sync"], abs=0.001)
    assert said["never_idle"] <= said["without_data"]
