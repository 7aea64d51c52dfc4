"""Eleven answers: their form, as the schema has it too; against made profiles; against one handed in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import autograder
from autograder.checks import profiling
from autograder.model import Failed, Passed, Text
from autograder.traces.record import Figure, Slice, Trace
from autograder.worker.timelines import Timeline

ROOT = Path(autograder.__file__).parent.parent
SCHEMA = json.loads(
    (ROOT / "assignments/gpu_profiling/schemas/answers.schema.json").read_text(encoding="utf-8")
)
RIGHT = {
    "operators_percent": 16.0,
    "operator_gaps_over_1ms": 12,
    "gap_cause": "data loading",
    "host_to_device_ms": None,
    "copy_overlap_percent": None,
    "data_wait_percent": 78.0,
    "small_operators_percent": 87.7,
    "operator_mean_us": 50.9,
    "python_percent": 6.0,
    "host_busy_percent": 94.0,
    "longest_wait_ms": 123.0,
    "reason": "no GPU",
}
TRACE = Trace(
    "a_profile.gz",
    "0",
    "kineto",
    figures=(
        Figure("op_busy", 16.0, "%", "steps"),
        Figure("op_gaps_over_1ms", 12, "count", "steps"),
        Figure("dataloader", 78.0, "%", "steps"),
        Figure("ops_under_10us", 87.7, "%", "trace"),
        Figure("op_mean", 50_900, "ns", "trace"),
        Figure("host_busy", 94.0, "%", "steps"),
        Figure("dataloader_longest", 123_000_000, "ns", "steps"),
    ),
    breakdown={
        "cpu": (Slice("data loading", 780), Slice("operators", 160), Slice("Python and other", 60))
    },
)
FORMS = {
    "none is missing": ({}, ""),
    "null for a number": ({"longest_wait_ms": None}, ""),
    "one too many": ({"note": 1}, "'note' is none of the answers"),
    "of the other form": ({"launching_percent": 3.0}, "'operators_percent' is of the other form: the names are those with a GPU, or those without one"),
    "text for a number": ({"data_wait_percent": "78 %"}, "data_wait_percent is '78 %'; it must be a number from 0 to 100, or null"),
    "true for a number": ({"data_wait_percent": True}, "data_wait_percent is True; it must be a number from 0 to 100, or null"),
    "more than all": ({"data_wait_percent": 130}, "data_wait_percent is 130; it must be a number from 0 to 100, or null"),
    "less than none": ({"longest_wait_ms": -1}, "longest_wait_ms is -1; it must be a number from 0 to 1e+12, or null"),
    "a cause of its own": ({"gap_cause": "lunch"}, f"gap_cause is 'lunch'; it must be one of {', '.join(profiling.CAUSES)}, or null"),
    "a reason that is no text": ({"reason": 1}, "reason is 1; it must be words, or null"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "problem"), FORMS.values(), ids=FORMS)
def test_the_form_is_that_of_the_schema(changed, problem):
    told = {**RIGHT, **changed}

    assert problem == profiling.form_problem(told)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(told) == (not problem)


BETWEEN = {
    "null without a reason": ({"reason": None}, "host_to_device_ms is null, and reason does not say why"),
    "a reason of spaces": ({"reason": "  "}, "host_to_device_ms is null, and reason does not say why"),
    "a reason for nothing": ({"host_to_device_ms": 1, "copy_overlap_percent": 1}, "reason says why something is null, and nothing is"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "problem"), BETWEEN.values(), ids=BETWEEN)
def test_a_reason_is_there_when_it_is_needed(changed, problem):
    assert problem == profiling.form_problem({**RIGHT, **changed})


TEXTS = {
    "right": (json.dumps(RIGHT), ""),
    "missing": (
        json.dumps({n: v for n, v in RIGHT.items() if n != "gap_cause"}),
        "'gap_cause' is missing",
    ),
    "no JSON": (
        "{",
        "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "a list": ("[1]", "it is not one object, {...}"),
    "nested": ("[" * 51, "it is nested; it must be one object"),
}


@pytest.mark.parametrize(("text", "problem"), TEXTS.values(), ids=TEXTS)
def test_a_file_is_read_or_says_why_not(text, problem):
    assert problem == profiling.parsed(Text("answers.json", text))[1]


def test_both_forms_have_the_same_groups():
    assert [len(profiling.ON_A_GPU), len(profiling.ON_A_CPU)] == [11, 11]
    for questions in (profiling.ON_A_GPU, profiling.ON_A_CPU):
        found = [
            name for group in profiling.GROUPS for name in profiling.of_group(questions, group)
        ]
        assert list(questions) == found


# --- made profiles ----------------------------------------------------------------------------------------------------

GPU = Timeline(np.random.default_rng(3), gpu=True)
KNOWN, SLIPS = GPU.known(), GPU.slips()
STORIES = {
    "right": ("gpu", {}, ""),
    "missing": ("gpu", {"gap_cause": ...}, "'gap_cause' is missing"),
    "another cause": ("gpu", {"gap_cause": "lunch"}, f"gap_cause is 'lunch', and '{KNOWN['gap_cause']}' is right"),
    "added up": ("gpu", {"gpu_utilization_percent": SLIPS["gpu_utilization_percent"]["durations were added up, and kernels that overlap counted twice"]}, ": durations were added up, and kernels that overlap counted twice"),
    "a fraction": ("data", {"data_wait_percent": KNOWN["data_wait_percent"] / 100}, ": that is the fraction, and it must be in percent"),
    "the rest": ("data", {"copy_overlap_percent": 100 - KNOWN["copy_overlap_percent"]}, ": that is the rest"),
    "in seconds": ("cpu", {"longest_wait_ms": KNOWN["longest_wait_ms"] / 1000}, ": the unit is one step too large"),
    "in ns": ("work", {"kernel_mean_us": KNOWN["kernel_mean_us"] * 1000}, ": the unit is one step too small"),
    "text": ("work", {"kernel_mean_us": "many"}, "kernel_mean_us is 'many', and "),
    "nothing": ("cpu", {"host_busy_percent": None}, "host_busy_percent is None, and "),
    "a reason for nothing": ("data", {"reason": "no GPU"}, "reason is 'no GPU', and 0 of the answers are None"),
}  # fmt: skip


@pytest.mark.parametrize(("group", "changed", "words"), STORIES.values(), ids=STORIES)
def test_a_wrong_answer_about_a_made_profile_is_told_what_it_is(group, changed, words):
    told = {
        name: value
        for name, value in {**KNOWN, "reason": None, **changed}.items()
        if value is not ...
    }

    found = profiling.made_problem(told, KNOWN, SLIPS, group)

    assert words in found
    assert bool(words) == bool(found)


def test_a_wrong_answer_where_none_is_right_has_no_story():
    known = Timeline(np.random.default_rng(3), gpu=False).known()

    found = profiling.made_problem(
        {**known, "host_to_device_ms": 0.0, "reason": None}, known, {}, "data"
    )

    assert "host_to_device_ms is 0, and None is right" == found


# --- a profile that was handed in -------------------------------------------------------------------------------------

FITS = {
    "the gaps": ("gpu", {}, ""),
    "the data": ("data", {}, ""),
    "the work": ("work", {}, ""),
    "the CPU": ("cpu", {}, ""),
    "another share": ("gpu", {"operators_percent": 40.0}, "no accepted definition gives that number"),
    "a small cause": ("gpu", {"gap_cause": "Python and other"}, "data loading is the largest"),
    "no slice of that size": ("work", {"python_percent": 30.0}, "Python and other takes 6.0 % of the steps"),
    "null for what it says": ("cpu", {"longest_wait_ms": None}, "a_profile.gz says it: 123 ms (dataloader_longest over steps)"),
    "null for a cause": ("gpu", {"gap_cause": None}, "a_profile.gz says it: data loading 78.0 %, Python and other 6.0 %"),
    "a copy that is not there": ("data", {"host_to_device_ms": 3.0}, "a_profile.gz cannot say it: null is right, with a reason"),
}  # fmt: skip


@pytest.mark.parametrize(("group", "changed", "why"), FITS.values(), ids=FITS)
def test_an_answer_fits_the_profile_or_is_told_why_not(group, changed, why):
    found = profiling.fit({**RIGHT, **changed}, TRACE, group, try_="look")

    assert isinstance(found, Failed if why else Passed)
    assert getattr(found, "why", "").startswith(why)


def test_the_answers_of_the_other_form_do_not_fit():
    gpu = replace(TRACE, figures=(Figure("busy_any", 30.0, "%", "steps", 0),))
    told = dict.fromkeys([*profiling.ON_A_GPU, "reason"])

    assert "a_profile.gz holds the work of a GPU" == profiling.fit(RIGHT, gpu, "gpu", try_="").why
    assert "a_profile.gz holds no work of a GPU" == profiling.fit(told, TRACE, "gpu", try_="").why


def test_a_slice_that_is_not_there_is_none_of_the_time():
    busy = replace(TRACE, breakdown={"cpu": (Slice("data loading", 1000),)})

    assert isinstance(
        profiling.fit({**RIGHT, "python_percent": 0.5}, busy, "work", try_=""), Passed
    )
