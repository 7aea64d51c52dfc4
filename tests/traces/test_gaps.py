"""The longest stretches in which a GPU did nothing are told with their place and their cause."""

from __future__ import annotations

from autograder.traces import Trace
from tests.traces.made import event, kernel, kineto, read_made, step, training

US = 1000


def told(trace: Trace):
    return [
        (gap.device, gap.start / US, gap.length / US, gap.before, gap.after, gap.meanwhile)
        for gap in trace.gaps
    ]


def test_each_gap_has_its_place_what_ran_around_it_and_what_took_most_of_it(tmp_path):
    """A cause that took less than half of it is none."""
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

    assert [
        (0, 0, 300, "", "Memcpy HtoD (Pinned -> Device)", "data loading"),
        (0, 660, 290, nccl, "relu", "Python and other"),
    ] == told(read_made(tmp_path, kineto(training())))


def test_the_ten_longest_of_each_gpu_are_kept(tmp_path):
    """The longest comes first; times count from the first step."""
    made = [step(1, 100, 2000)]
    made += [kernel(100 + 100 * n, 100 - n, device=device) for n in range(20) for device in (0, 1)]
    found = told(read_made(tmp_path, kineto([event("cpu_op", "aten::relu", 0, 5), *made])))

    assert [10, 10] == [[one[0] for one in found].count(device) for device in (0, 1)]
    assert [(0, 1981, 19), (0, 1882, 18)] == [one[:3] for one in found[:2]]
