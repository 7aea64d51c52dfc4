"""Answers of other kinds than numbers: a band, names of operators, and figures of a trace."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from autograder import checks
from autograder.labs.resnet18.part1_baseline.rig import Rig
from autograder.labs.resnet18.part1_baseline.trace import made
from autograder.labs.resnet18.part1_baseline.trace import questions as four
from autograder.model import Failed, Passed
from autograder.traces.record import Figure, Row, Trace
from tests.labs.bench import ROOT

FOUR_SCHEMA = json.loads(
    (ROOT / "assignments/resnet18/schemas/answers.schema.json").read_text(encoding="utf-8")
)
NAMES = ["aten::convolution", "aten::mm", "aten::add"]
WITHOUT = {
    "data_loading_percent": 31.4,
    "gpu_utilization_percent": None,
    "gpu_utilization_band": None,
    "host_to_device_ms": None,
    "top_operators": NAMES,
    "reason": "no GPU",
}
WITH = {
    **WITHOUT,
    "gpu_utilization_percent": 61.0,
    "gpu_utilization_band": "medium",
    "host_to_device_ms": 3.5,
    "reason": None,
}
KINDS = {
    "with a GPU": (WITH, ""),
    "without one": (WITHOUT, ""),
    "no null": ({**WITHOUT, "data_loading_percent": None}, "data_loading_percent is null; it must be a number from 0 to 100"),
    "two names": ({**WITHOUT, "top_operators": ["a", "b"]}, "top_operators is ['a', 'b']; it must be a list of 3 names"),
    "a name of nothing": ({**WITHOUT, "top_operators": ["a", "b", ""]}, "top_operators is ['a', 'b', '']; it must be a list of 3 names"),
}  # fmt: skip
BANDS = {
    "another band": ("high", 61.0, "gpu_utilization_band is 'high': gpu_utilization_percent is 61 ('medium' is right)"),
    "a list": ([], 61.0, "gpu_utilization_band is []: gpu_utilization_percent is 61 ('medium' is right)"),
    "high at the limit": ("high", 80.0, ""),
    "medium at the limit": ("medium", 80.0, ""),
    "low at the limit": ("low", 50, ""),
    "high below it": ("high", 79.9, "gpu_utilization_band is 'high': gpu_utilization_percent is 79.9 ('medium' is right)"),
    "medium above it": ("medium", 80.1, "gpu_utilization_band is 'medium': gpu_utilization_percent is 80.1 ('high' is right)"),
}  # fmt: skip


@pytest.mark.parametrize(("told", "problem"), KINDS.values(), ids=KINDS)
def test_answers_of_other_kinds_have_a_form_too(told, problem):
    assert problem == four.form_problem(told)
    assert jsonschema.Draft202012Validator(FOUR_SCHEMA).is_valid(told) == (not problem)


@pytest.mark.parametrize(("band", "percents", "problem"), BANDS.values(), ids=BANDS)
def test_a_band_follows_from_its_number(band, percents, problem):
    told = {**WITH, "gpu_utilization_band": band, "gpu_utilization_percent": percents}

    assert problem == four.form_problem(told)


def test_a_band_of_nothing_is_none():
    assert "gpu_utilization_percent is None (None is right)" in four.form_problem(
        {**WITHOUT, "gpu_utilization_band": "n/a"}
    )


OPERATORS = Trace(
    "a_trace.json",
    "0",
    "kineto",
    figures=(Figure("dataloader", 31.4, "%", "steps"),),
    tables={
        "operators": tuple(Row(name, 1, 90 - 20 * i, 30.0) for i, name in enumerate(NAMES)),
        "ranges": tuple(Row(name, 10, 90, 30.0) for name in ("forward", "backward", "step")),
    },
)
OTHERS = {
    "right": ({}, None),
    "rounded": ({"data_loading_percent": 31}, None),
    "one point apart": ({"data_loading_percent": 32.4}, None),
    "of another run": ({"data_loading_percent": 45.0}, "no accepted definition"),
    "ranges": ({"top_operators": ["forward", "backward", "step"]}, "the profile's largest are"),
    "a GPU that is not there": ({"gpu_utilization_percent": 61.0}, "cannot say it: null is right"),
    "no copies without a GPU": ({"host_to_device_ms": 0.0}, "cannot say it: null is right"),
}


@pytest.mark.parametrize(("other", "words"), OTHERS.values(), ids=OTHERS)
def test_names_and_shares_are_held_against_the_trace(other, words):
    verdict = four.fit({**WITHOUT, **other}, OPERATORS, "data", "gpu", "top", try_="look")

    assert isinstance(verdict, Failed) == (words is not None), verdict
    assert words is None or words in verdict.why


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    rig = Rig(seed=3, side="baseline", device="cpu", folder=tmp_path_factory.mktemp("made"))
    return list(made(rig))


def test_answers_of_a_gpu_are_held_against_the_trace(drawn):
    data, right, _ = drawn[0]
    trace = checks.read(data, "made_trace.json.gz")

    def words(**changed):
        told = {**right, "reason": None, **changed}
        return getattr(four.fit(told, trace, "data", "gpu", "top", try_="look"), "why", "")

    assert "" == words()
    assert "made_trace.json.gz says it" in words(gpu_utilization_percent=None)
    assert "the profile's largest are" in words(top_operators=["aten::zeros", "a", "b"])


def test_a_gpu_to_which_nothing_was_copied_may_be_said_to_have_copied_nothing(drawn):
    data, right, _ = drawn[0]
    trace = checks.read(data, "made_trace.json.gz")
    figures = tuple(one for one in trace.figures if not one.id.startswith("h2d"))
    told = {**right, "reason": None, "host_to_device_ms": 0.0}

    assert isinstance(four.fit(told, replace(trace, figures=figures), "gpu", try_=""), Passed)


@pytest.mark.parametrize("number", [0, -1], ids=["a GPU", "no GPU"])
def test_right_answers_about_a_made_trace_are_right(drawn, number):
    _, right, slips = drawn[number]
    told = {**right, "reason": None if number == 0 else "no GPU"}

    for group in ("data", "gpu", "top"):
        assert "" == four.made_problem(told, right, slips, group)
    names = {**told, "top_operators": NAMES}
    assert "top_operators is " in four.made_problem(names, right, slips, "top")


def test_each_usual_mistake_about_a_made_trace_is_told(drawn):
    _, right, slips = drawn[0]
    told = {**right, "reason": None}

    for name, stories in slips.items():
        for words, value in stories.items():
            assert words in four.made_problem(
                {**told, name: value}, right, slips, four.forms[0][name].group
            )
