"""A recording again without a wait, against the same loop that never waits and a slow replay."""

from __future__ import annotations

import random
from functools import cache
from statistics import median

import pytest

from tests.traces.made import event, kernel, step
from tests.traces.test_whatif import LOADER, answers, launch, sync


def copy(way, ts, until, start, end, number):
    """Return a copy and the call that makes it."""
    call = event("cuda_runtime", "cudaMemcpyAsync", ts, until - ts, correlation=number)
    placed = {"device": 0, "stream": 7, "correlation": number}
    return [call, event("gpu_memcpy", f"Memcpy {way}", start, end - start, 7, **placed)]


def looped(waits, loading):
    """Record five steps of a made GPU, in which the host waits for data and in some call."""
    events, clock, free, number = [], 0, 0, 0
    for count in range(5):
        begin = clock
        events.append(event("user_annotation", LOADER, clock, loading))
        clock += loading
        for length in (300, *[5] * 60, *[45] * 40):
            number += 1
            start = max(clock + 8, free + 1)
            free = start + length
            clock += 20
            if length == 300 and waits == "a copy":
                events += copy(
                    "HtoD (Pageable -> Device)", clock - 20, free + 1, start, free, number
                )
                clock = free + 1
            else:
                events += [launch(clock - 20, number), kernel(start, length, correlation=number)]
            if length == 300 and waits == "a synchronization":
                events.append(sync(clock, max(free - clock, 0) + 2))
                clock = max(free, clock) + 2
        events.append(step(count, begin, clock - begin))
    return events


@pytest.mark.parametrize("waits", ["a copy", "a synchronization"])
def test_without_data_a_loop_takes_what_the_same_loop_takes_that_loads_nothing(tmp_path, waits):
    """Each step leaves work for the GPU behind that the wait for data hides."""
    loop = looped(waits, 6000)
    bare = looped(waits, 0)[-1]

    assert stop(bare) == pytest.approx(answers(tmp_path, loop)["without_data"], rel=0.01)


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
    """Return the length of the steps, one event after the other: the slow way."""
    steps = [one for one in events if "ProfilerStep" in one["name"]]
    until = steps[-1]["ts"] + steps[-1]["dur"]
    spans = [(one["ts"], stop(one)) for one in events if removed in one["name"]]
    syncs = [one for one in events if "Synchronize" in one["name"] and removed == "DataLoader"]
    launches = {one["args"]["correlation"]: one["ts"] for one in events if "Launch" in one["name"]}
    kernels = [one for one in events if one["cat"] == "kernel" and one["ts"] < until]
    kernels.sort(key=lambda one: one["ts"])
    slow = Slow(spans, syncs, kernels, launches)
    ends = [slow.done(at) - max(slow.busy(at) - until, 0) for at in range(len(kernels))]
    return max(slow.moved(until + 0.001), *ends)


def stop(one):
    return one["ts"] + one["dur"]


class Slow:
    """Kernels of all streams in their order, and a host that is late behind each wait."""

    def __init__(self, spans, syncs, kernels, launches):
        self.spans, self.syncs, self.kernels = spans, syncs, kernels
        self.moved, self.done = cache(self._moved), cache(self._done)
        self.launched = [launches[one["args"]["correlation"]] for one in kernels]
        gaps = [one["ts"] - self.busy(at - 1) for at, one in enumerate(kernels) if self.queued(at)]
        self.usual = max(median(gaps or [0]), 0)

    def busy(self, at):
        return max((stop(one) for one in self.kernels[: at + 1]), default=-1e9)

    def queued(self, at):
        return self.launched[at] <= self.busy(at - 1)

    def _moved(self, time):
        """Say when the host is where it was at a time."""
        before = [one for one in self.syncs if stop(one) < time]
        late = self.late(before[-1]["ts"]) if before else 0
        return self.early(time) + late

    def early(self, time):
        return time - sum(max(min(end, time) - start, 0) for start, end in self.spans)

    def late(self, ts):
        """Say how much later a synchronization returns: not before what was launched is done."""
        sync = next(one for one in self.syncs if one["ts"] == ts)
        last = max(at for at, launched in enumerate(self.launched) if launched <= ts)
        tail = stop(sync) - max(self.busy(last), ts)
        return max(self.moved(ts), self.done(last)) + tail - self.early(stop(sync))

    def _done(self, at):
        """Say when all kernels up to one have ended."""
        if at < 0:
            return -1e9
        one, behind = self.kernels[at], self.kernels[at]["ts"] - self.busy(at - 1)
        own = self.moved(self.launched[at])
        if not self.queued(at):
            own += one["ts"] - self.launched[at]
            behind = min(behind, self.usual)
        return max(self.done(at - 1) + behind, own) + self.busy(at) - one["ts"]


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_replay_says_the_same(tmp_path, seed):
    events = drawn(seed)
    said = answers(tmp_path, events)

    assert replay(events, "DataLoader") == pytest.approx(said["without_data"], abs=0.001)
    if "without_sync" in said:
        assert replay(events, "Synchronize") == pytest.approx(said["without_sync"], abs=0.001)
    assert said["never_idle"] <= said["without_data"]
