"""The worker's toolkit: what recorders note of a student's training."""

from __future__ import annotations

import pytest
import torch

STEP = """
def step(window, images, labels, dtype):
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        outputs = window.model(images)
        loss = window.criterion(outputs, labels)
    outputs.softmax(1)  # neither the model's nor the loss's
    return loss
"""


def step(window, dtype=None):
    """Forward pass and loss of the first batch."""
    names = {"torch": torch}
    exec(STEP, names)
    return names["step"](window, *next(iter(window.loader)), dtype)


def test_dtypes_are_those_that_computed_in_the_model_and_the_loss(rig):
    window = rig.window()
    with rig.op_dtypes(window) as seen:
        step(window, torch.bfloat16)
    kinds = {kind: set(dtypes) for kind, dtypes in seen.values().items()}

    assert {"bfloat16"} == kinds["convolution"] == kinds["matrix product"]
    assert {"float32"} == kinds["loss"] == kinds["parameters"]
    assert 1 == sum(seen.values()["softmax"].values())


def test_dtypes_without_autocast_are_float32(rig):
    window = rig.window()
    with rig.op_dtypes(window) as seen:
        step(window)

    assert {"float32"} == {dtype for dtypes in seen.values().values() for dtype in dtypes}


def test_calls_of_a_scaler_are_noted_in_order_and_its_own_are_not(rig):
    window = rig.window()
    calls = rig.scaler_calls(window)
    window.scaler.scale(step(window)).backward()
    window.scaler.step(window.optimizer)  # calls unscale_ and optimizer.step itself
    window.scaler.update()

    assert ["scale", "backward", "step", "update"] == calls.events


def test_a_backward_pass_past_the_scaler_is_noted_as_such(rig):
    window = rig.window()
    calls = rig.scaler_calls(window)
    loss = step(window)
    window.scaler.scale(loss)
    loss.backward()
    window.optimizer.step()

    past = "backward of a loss not scaled by the given scaler"
    assert ["scale", past, "optimizer.step"] == calls.events


@pytest.mark.parametrize(("keep", "kept"), [("loss", 5), ("loss.detach()", 1)])
def test_graphs_of_earlier_steps_are_counted_while_something_holds_them(rig, keep, kept):
    """The variable of the loop holds the last one."""
    window = rig.window([2] * 6)
    graphs = rig.graphs(window)
    losses = []
    for images, labels in window.loader:
        loss = window.criterion(window.model(images), labels)
        loss.backward()
        losses.append(eval(keep))

    assert kept == graphs.kept
