"""Answers about a profile: their form, as the schema has it too, and how they are compared with a trace."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import autograder
from autograder import checks
from autograder.checks import questions
from autograder.model import Failed, Passed, Text
from autograder.traces.record import Figure, Row, Trace
from autograder.worker.profiles import Made

ROOT = Path(autograder.__file__).parent.parent
SCHEMA = json.loads(
    (ROOT / "assignments/resnet18/schemas/answers.schema.json").read_text(encoding="utf-8")
)
NAMES = ["aten::convolution", "aten::mm", "aten::add"]
ANSWERS = {
    "data_loading_percent": 31.4,
    "gpu_utilization_percent": None,
    "gpu_utilization_band": None,
    "host_to_device_ms": None,
    "top_operators": NAMES,
    "reason": "no GPU",
}
TRACE = Trace(
    "a_trace.json",
    "0",
    "kineto",
    figures=(Figure("dataloader", 31.4, "%", "steps"),),
    tables={
        "operators": tuple(Row(name, 1, 90 - 20 * i, 30.0) for i, name in enumerate(NAMES)),
        "ranges": tuple(
            Row(name, 10, 90, 30.0) for name in ("forward", "backward", "optimizer_step")
        ),
    },
)
ON_A_GPU = {
    **ANSWERS,
    "gpu_utilization_percent": 61.0,
    "gpu_utilization_band": "medium",
    "host_to_device_ms": 3.5,
    "reason": None,
}
FORMS = {
    "none is missing": (ANSWERS, ""),
    "with a GPU": (ON_A_GPU, ""),
    "one is missing": ({k: v for k, v in ANSWERS.items() if k != "reason"}, "'reason' is missing"),
    "one too many": ({**ANSWERS, "note": 1}, "'note' is not asked for"),
    "text for a number": (
        {**ANSWERS, "data_loading_percent": "31 %"},
        "data_loading_percent is '31 %'; it must be a number from 0 to 100",
    ),
    "true for a number": (
        {**ANSWERS, "data_loading_percent": True},
        "data_loading_percent is True; it must be a number from 0 to 100",
    ),
    "more than all": (
        {**ON_A_GPU, "gpu_utilization_percent": 130.0},
        "gpu_utilization_percent is 130.0; it must be a number from 0 to 100, or null without a GPU",
    ),
    "two names": (
        {**ANSWERS, "top_operators": ["a", "b"]},
        "top_operators is ['a', 'b']; it must be a list of three names",
    ),
    "a name of nothing": (
        {**ANSWERS, "top_operators": ["a", "b", ""]},
        "top_operators is ['a', 'b', '']; it must be a list of three names",
    ),
    "a reason that is no text": (
        {**ANSWERS, "reason": 1},
        "reason is 1; it must be words, or null",
    ),
}
BETWEEN = {  # what a schema does not say: one answer beside another
    "null without a reason": (
        {**ANSWERS, "reason": None},
        "gpu_utilization_percent is null, and reason does not say why",
    ),
    "a reason for nothing": (
        {**ON_A_GPU, "reason": "no GPU"},
        "reason says why something is null, and nothing is",
    ),
    "another band": (
        {**ON_A_GPU, "gpu_utilization_band": "high"},
        "gpu_utilization_band is 'high', and 61 % is 'medium'",
    ),
    "a band of nothing": (
        {**ANSWERS, "gpu_utilization_band": "n/a"},
        "gpu_utilization_band is 'n/a', and a utilization of null has no band: null",
    ),
}


@pytest.mark.parametrize(
    ("answers", "words"), [*FORMS.values(), *BETWEEN.values()], ids=[*FORMS, *BETWEEN]
)
def test_answers_have_a_form(answers, words):
    assert words == questions.form_problem(answers)


@pytest.mark.parametrize(("answers", "words"), FORMS.values(), ids=FORMS)
def test_the_schema_says_the_same(answers, words):
    assert (not words) == jsonschema.Draft202012Validator(SCHEMA).is_valid(answers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is not JSON: json.dumps(answers) writes it"),
        ("[1]", "it is not one object"),
        ("[" * 99, "it is nested"),
        ("{}", "'data_loading_percent' is missing"),
    ],
)
def test_a_file_that_holds_no_answers(text, words):
    assert questions.parsed(Text("answers.json", text))[1].startswith(words)


@pytest.mark.parametrize(
    ("told", "percent", "word"), [("low", 49.9, "low"), ("medium", 50, "medium"), ("medium", 80, "medium"), ("high", 80.1, "high")]
)  # fmt: skip
def test_bands(told, percent, word):
    assert word == told == questions.band(percent)


@pytest.mark.parametrize(
    ("told", "percent", "right"), [("high", 80.0, True), ("medium", 80.0, True), ("low", 50, True), ("high", 79.9, False), ("medium", 80.1, False)]
)  # fmt: skip
def test_at_a_limit_either_band_is_right(told, percent, right):
    of_a_gpu = {
        "gpu_utilization_percent": percent,
        "gpu_utilization_band": told,
        "host_to_device_ms": 1.0,
        "reason": None,
    }

    assert (questions.form_problem({**ANSWERS, **of_a_gpu}) == "") == right


OTHERS = {
    "of another run": ({"data_loading_percent": 45.0}, "no accepted definition gives that number"),
    "one point apart": ({"data_loading_percent": ANSWERS["data_loading_percent"] + 1.0}, None),
    "ranges for operators": (
        {"top_operators": ["forward", "backward", "optimizer_step"]},
        "the profile's largest are operators",
    ),
    "a GPU that is not there": ({k: ON_A_GPU[k] for k in questions.OF_A_GPU} | {"reason": None}, "holds no work of a GPU"),
    "copies that are not there": ({"host_to_device_ms": 3.0}, "holds no copy"),
    "rounded": ({"data_loading_percent": 31}, None),
}  # fmt: skip


@pytest.mark.parametrize(("other", "words"), OTHERS.values(), ids=OTHERS)
def test_answers_are_compared_with_the_trace(other, words):
    found = questions.fit({**ANSWERS, **other}, TRACE, try_="try")

    assert isinstance(found, Failed) == (words is not None), found
    assert words is None or words in found.why


@functools.cache
def made(gpu):
    return Made(np.random.default_rng(3), busy=0.3 * gpu)


@pytest.fixture
def on_a_gpu():
    """A profile with everything that is known of it, as an answer."""
    known = made(True).known()
    right = {
        "data_loading_percent": known["loading"],
        "gpu_utilization_percent": known["busy"],
        "gpu_utilization_band": questions.band(known["busy"]),
        "host_to_device_ms": known["copied"],
        "top_operators": known["top"],
        "reason": None,
    }
    return checks.read(made(True).data(), "made_trace.json.gz"), right


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("top_operators", ["aten::zeros", "aten::conv2d", "kernel"], "the profile's largest are"),
        ("host_to_device_ms", None, "no accepted definition"),
        ("gpu_utilization_percent", None, "holds the work of a GPU"),
    ],
)
def test_answers_of_a_gpu_are_compared_too(on_a_gpu, name, value, words):
    trace, right = on_a_gpu

    assert isinstance(questions.fit(right, trace, try_="try"), Passed)
    assert words in questions.fit({**right, name: value}, trace, try_="try").why


KNOWN = {
    "loading": 30.0,
    "loading_outside": 44.0,
    "loading_of_all": 20.0,
    "loading_of_gpu": 9.0,
    "busy": 60.0,
    "summed": 75.0,
    "busy_of_all": 50.0,
    "busy_of_gpu": 18.0,
    "copied": 4.0,
    "copied_both": 5.0,
    "copied_inside": 3.0,
    "top": NAMES,
}
TOLD = {
    **ANSWERS,
    "data_loading_percent": 30.0,
    "gpu_utilization_percent": 60.0,
    "gpu_utilization_band": "medium",
}
TOLD |= {"host_to_device_ms": 4.0, "reason": None}
LOADING = {
    "right": (30.0, ""),
    "one decimal": (30.05, ""),
    "more than rounding": (30.06, "data_loading_percent is 30.06, and 30 is right"),
    "of outside": (
        44.0,
        "data_loading_percent is 44, and 30 is right: waits outside of the steps are counted as well",
    ),
    "a fraction": (
        0.3,
        "data_loading_percent is 0.3, and 30 is right: that is the fraction, and it must be in percent",
    ),
    "of all": (
        20.0,
        "data_loading_percent is 20, and 30 is right: that is the share of the whole recording, and the steps are the window",
    ),
    "of the GPU's steps": (
        9.0,
        f"data_loading_percent is 9, and 30 is right: {questions.GPU_WINDOW}",
    ),
    "the rest": (
        70.0,
        "data_loading_percent is 70, and 30 is right: that is the rest of the window",
    ),
    "something": (33.0, "data_loading_percent is 33, and 30 is right"),
    "nothing": (None, "data_loading_percent is None, and 30 is right"),
}
GPU = {
    "right": ({}, ""),
    "added up": (
        {"gpu_utilization_percent": 75.0},
        "gpu_utilization_percent is 75, and 60 is right: durations were added up, and kernels that overlap counted twice",
    ),
    "two decimals": ({"host_to_device_ms": 4.005}, ""),
    "more than rounding": (
        {"host_to_device_ms": 4.0062},
        "host_to_device_ms is 4.006, and 4 is right",
    ),
    "microseconds": (
        {"host_to_device_ms": 4000.0},
        "host_to_device_ms is 4000, and 4 is right: that is in microseconds, and it must be in ms",
    ),
    "copies both ways": (
        {"host_to_device_ms": 5.0},
        "host_to_device_ms is 5, and 4 is right: that counts the copies from the device as well",
    ),
    "copies of the window": (
        {"host_to_device_ms": 3.0},
        "host_to_device_ms is 3, and 4 is right: that is what the window holds, and all of the trace counts",
    ),
    "another band": (
        {"gpu_utilization_band": "high"},
        "gpu_utilization_band is 'high', and 60 % is 'medium'",
    ),
    "a reason for nothing": (
        {"reason": "none"},
        "reason says why something is null, and nothing is",
    ),
}
NO_GPU = {
    "right": (ANSWERS, ""),
    "an idle one": (
        {**ANSWERS, "gpu_utilization_percent": 0.0},
        "gpu_utilization_percent is 0 in a trace without a GPU",
    ),
    "a band": (
        {**ANSWERS, "gpu_utilization_band": "low"},
        "gpu_utilization_band is 'low' in a trace without a GPU",
    ),
    "no reason": (
        {**ANSWERS, "reason": " "},
        "gpu_utilization_percent is null, and reason does not say why",
    ),
}


@pytest.mark.parametrize(("value", "words"), LOADING.values(), ids=LOADING)
def test_the_share_of_a_made_trace(value, words):
    assert words == questions.loading_problem({**TOLD, "data_loading_percent": value}, KNOWN)


@pytest.mark.parametrize(("other", "words"), GPU.values(), ids=GPU)
def test_the_gpu_of_a_made_trace(other, words):
    assert words == questions.gpu_problem({**TOLD, **other}, KNOWN)


@pytest.mark.parametrize(("answers", "words"), NO_GPU.values(), ids=NO_GPU)
def test_a_made_trace_without_a_gpu(answers, words):
    assert words == questions.gpu_problem(answers, {**KNOWN, "busy": None, "copied": None})


def test_the_operators_of_a_made_trace():
    assert "" == questions.top_problem(TOLD, KNOWN)
    words = "top_operators are aten::mm; by their own time they are aten::convolution, aten::mm, aten::add"
    assert words == questions.top_problem({**TOLD, "top_operators": ["aten::mm"]}, KNOWN)
