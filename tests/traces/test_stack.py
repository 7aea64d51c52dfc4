"""Where a speedup comes from: layers of a step that add up to it, and parts that add up to the ratio."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.traces.record import Figure, Slice, Trace, Window
from autograder.traces.stack import CPU, GPU, LAYERS, stacks
from tests.traces.made import kineto, processor, read_made, training

STEPS = (Window("steps", 0, 1), Window("trace", 0, 1))


def profile(steps, **parts):
    """Return a profile of so many steps on GPU 0; words stand for the slices."""
    slices = tuple(Slice(name.replace("_", " "), ns) for name, ns in parts.items())
    figures = (Figure("step_count", steps, "count", "steps"),)
    return Trace("a", "0", "kineto", windows=STEPS, figures=figures, breakdown={"gpu0": slices})


BEFORE = profile(2, kernels=800, copies=200, data_loading=600, synchronising=100, launching=300)
NOW = profile(4, kernels=1200, communication=200, between_queued_work=200, launching=400)


def test_parts_of_a_step_add_up_to_the_measured_ratio():
    """A step of 1000 became one of 500: 350, 50 and 100 less in three layers, 50 more in one."""
    (stack,) = stacks(NOW, BEFORE)
    layers = {one.name: (one.before, one.now, stack.part(one)) for one in stack.layers}

    assert {
        "waiting": (350, 0, 0.7),
        "launching": (150, 100, 0.1),
        "copying": (100, 0, 0.2),
        "communicating": (0, 50, -0.1),
        "computing": (400, 350, 0.1),
    } == layers
    assert (1000, 500, 2.0) == (stack.before, stack.now, stack.ratio)
    assert 2.0 == pytest.approx(1 + sum(part for *_, part in layers.values()))


def test_every_slice_of_a_breakdown_is_in_a_layer(tmp_path):
    gpu = read_made(tmp_path, kineto(training()))
    cpu = read_made(tmp_path, kineto(processor()))

    assert {piece.name for piece in cpu.breakdown["cpu"]} == set(CPU)
    assert {piece.name for piece in gpu.breakdown["gpu0"]} <= set(GPU)
    assert set(LAYERS) == {*GPU.values(), *CPU.values()}


def test_one_profile_beside_itself_gained_nothing(tmp_path):
    trace = read_made(tmp_path, kineto(training()))
    (stack,) = stacks(trace, trace)

    assert {0.0} == {stack.part(layer) for layer in stack.layers}
    assert 1_000_000 == stack.now == stack.before
    assert "kernels, and the gaps between queued work" == stack.definition(stack.layers[-1])


def test_whole_recordings_are_compared_where_neither_has_steps():
    """And nothing is where one has steps, or one has no GPU."""
    whole = [replace(one, windows=(STEPS[1],)) for one in (NOW, BEFORE)]
    (stack,) = stacks(*whole)

    assert (2000, 2000, False) == (stack.before, stack.now, stack.steps)
    assert [] == list(stacks(NOW, whole[1]))
    assert [] == list(stacks(NOW, replace(BEFORE, breakdown={"cpu": BEFORE.breakdown["gpu0"]})))
    assert [] == list(stacks(NOW, replace(BEFORE, breakdown={"gpu0": ()})))
