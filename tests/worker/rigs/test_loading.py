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

    options = {"num_workers": 2, "pin_memory": True, "persistent_workers": False, "pickles": True}
    assert options == built.last()


def test_whether_a_collation_can_be_pickled_is_seen(loading):
    with loading.built() as built:
        DataLoader(range(3), collate_fn=lambda rows: rows)

    assert built.last()["pickles"] is False


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
