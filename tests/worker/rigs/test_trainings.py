"""make_training as a comparison is handed it: what each training did, and what was kept of the others."""

from __future__ import annotations

import copy

import pytest
import torch

from autograder.worker.rig import Rig
from autograder.worker.rigs.trainings import Trainings

UNUSED = {
    "fresh": True,
    "full": 0,
    "half": 0,
    "back": 0,
    "scaled": 0,
    "misplaced": 0,
    "steps": 0,
    "alive": [],
}


@pytest.fixture
def rig(tmp_path):
    return Rig(seed=7, side="student", device="cpu", folder=tmp_path)


@pytest.fixture
def clock():
    """Seconds, one for each pass."""
    return []


@pytest.fixture
def trainings(rig, clock):
    def make():
        window = rig.window()
        return window.model, window.criterion, window.optimizer

    with Trainings(make, clock.append, {False: 1.0, True: 0.5}, cold=10.0) as made:
        yield made


def epoch(rig, training, *, use_amp=False, scaler=None):
    """Two steps."""
    model, criterion, optimizer = training
    for images, labels in rig.window([2, 2]).loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=use_amp):
            loss = criterion(model(images), labels)
        (scaler.scale(loss) if scaler else loss).backward()
        optimizer.step()


def test_trainings_are_logged_by_precision_scaler_and_what_was_kept(rig, trainings, clock):
    kept = trainings(rig.device)
    epoch(rig, trainings(rig.device))
    epoch(rig, trainings(rig.device), use_amp=True, scaler=torch.amp.GradScaler("cpu"))

    assert [
        UNUSED,
        {**UNUSED, "full": 2, "back": 2, "steps": 2, "alive": [0]},
        {**UNUSED, "half": 2, "back": 2, "scaled": 2, "steps": 2, "alive": [0]},
    ] == trainings.values()
    assert [11.0, 1.0, 10.5, 0.5] == clock
    assert kept


def test_a_copy_of_a_model_is_a_training_of_its_own(rig, trainings):
    """A warm-up on a deep copy leaves the measured model fresh, and takes time as any other."""
    model, criterion, _ = trainings(rig.device)
    other = copy.deepcopy(model)
    epoch(rig, (other, criterion, torch.optim.SGD(other.parameters(), lr=0.1)))
    late = copy.deepcopy(other)
    epoch(rig, (model, criterion, torch.optim.SGD(model.parameters(), lr=0.1)))
    epoch(rig, (late, criterion, torch.optim.SGD(late.parameters(), lr=0.1)))

    assert [(True, 2), (True, 2), (False, 2)] == [
        (it["fresh"], it["full"]) for it in trainings.values()
    ]
    assert [[1], [0], [0, 1]] == [
        it["alive"] for it in trainings.values()
    ]  # a copy is known from its first pass on


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_weights_that_were_only_rounded_are_still_fresh(rig, trainings, kind):
    model, _, _ = trainings(rig.device)
    model.to(kind)(torch.ones(2, 3, 8, 8, dtype=kind))

    assert [(True, 0, 1)] == [(it["fresh"], it["full"], it["half"]) for it in trainings.values()]


def test_half_precision_is_what_computed_and_not_what_a_flag_says(rig, trainings, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: True)
    trainings(rig.device)[0](torch.ones(2, 3, 8, 8))

    assert [(1, 0)] == [(it["full"], it["half"]) for it in trainings.values()]


@pytest.mark.filterwarnings("ignore")
def test_a_scaler_for_another_device_is_told_from_one_that_is_switched_off(rig, trainings):
    for scaler in (torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cpu", enabled=False)):
        epoch(rig, trainings(rig.device), use_amp=True, scaler=scaler)

    assert [(0, 2), (0, 0)] == [(it["scaled"], it["misplaced"]) for it in trainings.values()]
