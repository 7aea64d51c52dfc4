"""What a window would take without one of its causes, against answers by hand."""

from __future__ import annotations

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


def test_a_synchronization_returns_when_the_work_it_waits_for_is_done(tmp_path):
    """The wait for data hid 90 of the first kernel. The synchronization behind it takes 2 more."""
    events = [
        step(0, 0, 151), launch(0, 1), event("user_annotation", LOADER, 20, 100), sync(120, 2),
        launch(130, 2), sync(136, 15), kernel(10, 100, correlation=1), kernel(140, 10, correlation=2),
    ]  # fmt: skip

    assert 110 + 2 + (151 - 122) == answers(tmp_path, events)["without_data"]


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


def test_a_copy_from_pageable_memory_waits_for_what_is_queued_alone(tmp_path):
    """The call begins at 20, and the kernel ends at 70. The copy itself is work of the host."""
    events = [
        step(0, 0, 100), launch(0, 1), kernel(10, 60, correlation=1),
        event("cuda_runtime", "cudaMemcpyAsync", 20, 60, correlation=2),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 72, 8, 7, device=0, stream=7, correlation=2),
    ]  # fmt: skip

    assert 80 == answers(tmp_path, events)["without_sync"]
    assert "without_sync" not in answers(tmp_path, [events[0], *events[3:]])


def test_threads_that_launch_nothing_may_wait(tmp_path):
    """The thread that pins memory waits beside the training."""
    events = [step(0, 0, 100), launch(0, 1), kernel(10, 20, correlation=1), sync(40, 50, tid=5)]

    assert "without_sync" not in answers(tmp_path, events)


def test_a_profile_without_a_gpu_loses_the_wait_alone(tmp_path):
    assert {"without_data": 120} == answers(tmp_path, processor())


def test_without_a_wait_or_work_nothing_is_said(tmp_path):
    assert {} == answers(tmp_path, [event("cpu_op", "aten::mm", 0, 10)])
    assert "queued" in FED[-1]
