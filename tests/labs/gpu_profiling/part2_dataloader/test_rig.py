"""Loaders each batch of which has a wait of its own."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.gpu_profiling.part2_dataloader.rig import Loading
from autograder.worker.rigs.clock import VirtualClock


@pytest.fixture
def clock():
    """Installed, so that time.perf_counter is what it shows."""
    one = VirtualClock()
    one.install()
    yield one
    one.uninstall()


@pytest.fixture
def loading(clock):
    return Loading(np.random.default_rng(1), clock)


def seconds(loader):
    """How long an epoch takes, to the millisecond."""
    import time

    began = time.perf_counter()
    for _ in loader:
        pass
    return round(time.perf_counter() - began, 3)


def test_each_batch_of_a_stream_has_its_wait(loading, clock):
    """Whoever begins waits for the workers, the first one longer; then each batch takes its own wait, at its pace."""
    import time

    stream = loading.streams(10, [1.0, 2.0, 0.5], {(2, 3, True): 2.0}, start=4.0, cold=3.0)
    loader, took = stream(batch_size=2, num_workers=3, pin_memory=True), []
    for _ in range(2):
        began = time.perf_counter()
        for _, labels in loader:
            took.append((labels.tolist(), round(time.perf_counter() - began, 3)))
            began = time.perf_counter()

    assert [9.0, 4.0, 1.0, 2.0, 4.0, 6.0, 4.0, 1.0, 2.0, 4.0] == [seconds for _, seconds in took]
    assert [0, 1] == took[0][0]


def test_a_stream_of_unknown_options_has_the_pace_of_its_waits(loading):
    loader = loading.streams(3, [0.5, 1.0], {}, start=0.0, cold=2.0)(2)

    assert [3.5, 1.5] == [seconds(loader), seconds(loader)]
