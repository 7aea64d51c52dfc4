"""A call that stays on the device of its inputs; device meta stands in for a GPU."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.model import Failed, Passed
from tests.claims.harness import judged

RIGHT = """
import torch


def picked(x, keep):
    places = torch.arange(x.shape[1], device=x.device)
    return torch.where(keep[:, None], x + places, x)
"""
WHERE = "torch.where(keep[:, None], x + places, x)"
WRONG = {
    "made on the CPU": (
        ", device=x.device",
        "",
        "a tensor is on the CPU, and the inputs are on another device",
    ),
    "a mask as an index": (WHERE, "x[keep]", "a mask as an index asks how many are True"),
    "a value": (WHERE, "x * keep.sum().item()", "the host asks for a value"),
    "an if": (WHERE, "x if keep.any() else x + 1", "the host asks for a value"),
    "a list": (WHERE, "x * len(keep.tolist())", "the host asks for a value"),
    "numpy": (WHERE, "torch.from_numpy(x.numpy())", "the host asks for a value"),
    "a result on the CPU": (WHERE, "torch.zeros(x.shape)", "the result is on cpu"),
    "no result": (WHERE, "None", "the result is on no device"),
}


@pytest.fixture
def picked():
    exercise = Exercise("picked")
    exercise.inputs(
        lambda random, rows=(2, 5): {
            "x": random.normal(size=(rows, 3)),
            "keep": random.random(rows) < 0.5,
        }
    )
    return exercise


@pytest.mark.parametrize("mistake", WRONG)
def test_what_needs_the_host_is_named(picked, mistake, tmp_path):
    old, new, words = WRONG[mistake]
    picked.stays_on_the_device({"rows": 3}, try_="where")
    found = judged(picked, RIGHT.replace(old, new), RIGHT, tmp_path)["stays_on_the_device"]

    assert isinstance(found, Failed)
    assert words in f"{found.measured} {found.why}"


def test_right_work_stays(picked, tmp_path):
    picked.stays_on_the_device(try_="where")
    found = judged(picked, RIGHT, RIGHT, tmp_path)["stays_on_the_device"]

    assert found == Passed("it returns where its inputs are")


MOVES = "def picked(x, device):\n    return x.to(device) + 1\n"
COPIES = """
import torch


def picked(x, device):
    return torch.empty(x.shape, device=device).copy_(x)
"""


@pytest.mark.parametrize("text", [MOVES, COPIES])
def test_bytes_that_cross_are_counted(picked, text, tmp_path):
    picked.stays_on_the_device(
        {"rows": 5},
        call=lambda written, given, device, rig: written(given["x"], device),
        bytes=5 * 3 * 4,
        why="doubles crossed",
        try_="x.to(device)",
    )
    texts = (text, text.replace("x.to", "x.double().to").replace("_(x)", "_(x.double())"))
    right, doubles = (judged(picked, it, text, tmp_path)["stays_on_the_device"] for it in texts)

    assert Passed("60 bytes crossed to the device") == right
    said = "120 bytes crossed to the device for rows=5; expected at most 60"
    assert Failed(said, "doubles crossed", "x.to(device)") == doubles


def test_a_template_says_that_it_is_not_written(picked, tmp_path):
    picked.stays_on_the_device(try_="where")
    text = "def picked(x, keep):\n    raise NotImplementedError\n"
    found = judged(picked, text, RIGHT, tmp_path)["stays_on_the_device"]

    assert "picked is not written yet" in str(found)
