"""A step that compiles itself is judged by its weights and losses, and by what each step ran and built."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims.steps import LOSS, CompiledStep
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed

START = np.zeros(4)
ARRAYS = {"start": START, "weights": START + 1, "losses": np.array([2.0, 1.5, 1.0])}
CAPTURED = [(0, 4), (0, 2), (0, 0)]
EAGER = [(21, 0)] * 3


def claimed():
    part = Part("part1_steps")
    step = CompiledStep(part, lambda student, rig, compiler: None, 3)
    step.trains_alike("trains", 1e-3, "It trains.", "another loop", "try")
    step.runs_no_nodes("captured", "It is captured.", "try")
    step.builds_nothing_later("settles", "It settles.", "a list grows", "try", after=2)
    return part.checks


def seen(steps, keeps_graph=False, runs=5, settings=(), off=(), flag_off=False, **arrays):
    told = [{"nodes": nodes, "built": built, "runs": runs} for nodes, built in steps]
    returned = ["tensor that requires grad" if keeps_graph else LOSS]
    values = {"steps": told, "returned": returned}
    values |= {"settings": [*settings], "turned_off": [*off], "was_off": flag_off}
    return Observation("stepped", "ok", values, {**ARRAYS, **arrays})


def judged(name, student):
    return claimed()[name].judge(stepped=Pair(student, seen(EAGER, runs=0)))


@pytest.mark.parametrize("name", ["trains", "captured", "settles"])
def test_a_captured_step_passes(name):
    assert isinstance(judged(name, seen(CAPTURED)), Passed)


@pytest.mark.parametrize(
    ("name", "student", "words"),
    [
        pytest.param("trains", seen(CAPTURED, weights=START), "no weight moved", id="no step"),
        pytest.param("trains", seen(CAPTURED, weights=START + 1.1), "another loop", id="far"),
        pytest.param("trains", seen(CAPTURED, weights=START + 3), "before a step", id="added"),
        pytest.param("trains", seen(CAPTURED, losses=START), "its own batch", id="losses"),
        pytest.param("trains", seen(CAPTURED, losses=START[:3] + 2), "first batch", id="first"),
        pytest.param("trains", seen(CAPTURED, keeps_graph=True), "keeps the graph", id="graph"),
        pytest.param("captured", seen(CAPTURED, settings=["x"]), "config.x is still", id="a flag"),
        pytest.param("captured", seen(CAPTURED, off=["x"]), "was on before", id="off"),
        pytest.param("captured", seen(EAGER), "outside of what is compiled", id="nodes"),
        pytest.param(
            "captured",
            seen([(18, 0)] * 3, flag_off=True),
            "autograd was off",
            id="without the flag",
        ),
        pytest.param("captured", seen(EAGER, runs=0), "no compiled graph ran", id="eager"),
        pytest.param("captured", seen(CAPTURED, runs=0), "no compiled graph ran", id="by hand"),
        pytest.param("settles", seen([(0, 4), (0, 1), (0, 1)]), "a list grows", id="builds"),
    ],
)
def test_what_is_wrong_is_said(name, student, words):
    verdict = judged(name, student)

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


def test_an_answer_without_steps_is_a_failure():
    student = seen([])

    assert isinstance(judged("captured", student), Failed)
