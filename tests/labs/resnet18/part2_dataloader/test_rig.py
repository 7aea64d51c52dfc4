"""Scripted loaders and steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.labs.resnet18.part2_dataloader.rig import Loading
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


OPTIONS = {
    "no workers": ({}, [5.0, 2.0]),
    "workers": ({"num_workers": 2}, [5.0, 2.0]),
    "an unknown number of them": ({"num_workers": 3}, [6.5, 3.5]),
    "workers that stay": ({"num_workers": 2, "persistent_workers": True}, [5.0, 1.0]),
    "workers that read further ahead": ({"num_workers": 2, "prefetch_factor": 4}, [4.8, 1.8]),
    "two batches ahead, as ever": ({"num_workers": 2, "prefetch_factor": 2}, [5.0, 2.0]),
}


@pytest.mark.parametrize(("options", "epochs"), OPTIONS.values(), ids=OPTIONS)
def test_epochs_take_what_their_options_say(loading, options, epochs):
    """Two batches: 1 s each with none, 0.5 s with two workers, each of which takes 0.5 s to start; 3 s at first."""
    loader = loading.scripted([4, 2], {0: 1.0, 2: 0.5}, start=0.5, cold=3.0)(**options)

    assert epochs == [seconds(loader) for _ in epochs]


def test_a_scripted_loader_refuses_what_a_dataloader_does(loading):
    with pytest.raises(ValueError, match="num_workers > 0"):
        loading.scripted([4], {0: 1.0}, start=0.0, cold=0.0)(persistent_workers=True)


def test_a_step_takes_its_seconds_and_notes_where_its_batches_were(loading, clock):
    clock.freeze()
    step = loading.step([1.0, 2.0])

    def run():
        for label in (7, 8, 9):
            yield step(torch.zeros(1, 3), torch.tensor([label]))
        step(torch.zeros(1, device="meta"), torch.zeros(1, device="meta"))

    assert 6.0 == seconds(run())
    assert ["cpu"] * 6 + ["meta"] * 2 == step.devices
