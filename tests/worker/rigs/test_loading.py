"""What probes about data loading are handed: random numbers, scripted loaders and steps, recorders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.loading import SOURCES, Dice, Loading, Moves
from autograder.worker.rigs.nets import make_loader


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


@pytest.mark.parametrize("source", SOURCES)
def test_dice_fall_anew_each_time(source):
    dice = Dice(source, 3)

    assert 3 == len(dice)
    assert dice[0] != dice[0]
    with pytest.raises(IndexError):
        dice[3]


def test_pictures_are_new_ones_each_time(loading):
    first, second = (loading.pictures(5).tensors[0] for _ in range(2))

    assert (5, 3, 4, 4) == tuple(first.shape)
    assert not torch.equal(first, second)


def test_the_last_loader_that_was_made_is_seen(loading):
    with loading.built() as built:
        assert built.last() is None
        DataLoader(range(3), 2)
        DataLoader(range(3), 2, False, num_workers=2, pin_memory=True)
    DataLoader(range(3), num_workers=1)

    assert {"num_workers": 2, "pin_memory": True, "persistent_workers": False} == built.last()


MOVED = {
    "non_blocking": (lambda x: x.to("cpu", non_blocking=True), (1, 0)),
    "by position": (lambda x: x.to("cpu", torch.float32, True), (1, 0)),
    "blocking": (lambda x: x.to("cpu"), (1, 1)),
    "said to block": (lambda x: x.to("cpu", non_blocking=False), (1, 1)),
    "not moved": (lambda x: x + 1, (0, 0)),
}


@pytest.mark.parametrize(("move", "counts"), MOVED.values(), ids=MOVED)
def test_moves_are_counted(move, counts):
    with Moves() as seen:
        move(torch.zeros(2))

    assert counts == (seen.moved, seen.waited)


def test_moves_count_while_a_batch_is_worked_on():
    """What is moved before the loop or after it is nobody's business."""
    loader, there = make_loader(1, [4, 4]), torch.device("meta")
    with Moves(loader) as seen:
        torch.zeros(2).to(there)
        for images, labels in loader:
            images.to(there, non_blocking=True)
            labels.to(there)
        torch.zeros(2).to(there)

    assert {4: 2, 1: 2} == dict(seen.by_dimensions)
    assert 2 == seen.waited
