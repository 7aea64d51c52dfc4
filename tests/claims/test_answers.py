"""Answers about profiles: their form, as the schema has it too; about made profiles; beside one handed in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import autograder
from autograder.claims.answers import CAUSES, FORMED, Answers, Known
from autograder.lab import Part
from autograder.labs.gpu_profiling.part1_profile.profile import ON_A_CPU, ON_A_GPU
from autograder.labs.gpu_profiling.part1_profile.profile import questions as eleven
from autograder.model import Failed, Passed, Table, Text
from autograder.traces.record import Figure, Slice, Trace
from autograder.worker.rigs.timelines import Timeline

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
    "one too many": ({"note": 1}, "'note' is not one of the names"),
    "of the other form": ({"launching_percent": 3.0}, "'operators_percent' is of the other form: the names are those with a GPU, or those without one"),
    "text for a number": ({"data_wait_percent": "78 %"}, "data_wait_percent is '78 %'; it must be a number from 0 to 100, or null"),
    "true for a number": ({"data_wait_percent": True}, "data_wait_percent is True; it must be a number from 0 to 100, or null"),
    "more than all": ({"data_wait_percent": 130}, "data_wait_percent is 130; it must be a number from 0 to 100, or null"),
    "less than none": ({"longest_wait_ms": -1}, "longest_wait_ms is -1; it must be a number from 0 to 1e+12, or null"),
    "a cause of its own": ({"gap_cause": "lunch"}, f"gap_cause is 'lunch'; it must be one of {', '.join(CAUSES)}, or null"),
    "a reason that is no text": ({"reason": 1}, "reason is 1; it must be words, or null"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "problem"), FORMS.values(), ids=FORMS)
def test_the_form_is_that_of_the_schema(changed, problem):
    told = {**RIGHT, **changed}

    assert problem == eleven.form_problem(told)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(told) == (not problem)


BETWEEN = {
    "null without a reason": ({"reason": None}, "host_to_device_ms is null, and reason is empty"),
    "a reason of spaces": ({"reason": "  "}, "host_to_device_ms is null, and reason is empty"),
    "a reason for nothing": ({"host_to_device_ms": 1, "copy_overlap_percent": 1}, "reason says why something is null, and nothing is; what was not recorded is null, not 0"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "problem"), BETWEEN.values(), ids=BETWEEN)
def test_a_reason_is_there_when_it_is_needed(changed, problem):
    assert problem == eleven.form_problem({**RIGHT, **changed})


TEXTS = {
    "right": (json.dumps(RIGHT), ""),
    "missing": (
        json.dumps({n: v for n, v in RIGHT.items() if n != "gap_cause"}),
        "'gap_cause' is missing",
    ),
    "no JSON": (
        "{",
        "it is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); json.dumps(answers) writes it, null for None, 61.5 for 61,5",
    ),
    "a decimal comma": (
        json.dumps(RIGHT).replace(".0", ",0", 1),
        "it is not JSON (Expecting property name enclosed in double quotes: line 1 column 26 (char 25)); json.dumps(answers) writes it, null for None, 61.5 for 61,5",
    ),
    "a list": ("[1]", "it is not one object, {...}"),
    "nested": ("[" * 51, "it is nested; it must be one object"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), TEXTS.values(), ids=TEXTS)
def test_a_file_is_read_or_says_why_not(text, problem):
    assert problem == eleven.parsed(Text("answers.json", text))[1]


def test_both_forms_have_the_same_groups():
    assert 11 == len(ON_A_GPU)
    assert [it.group for it in ON_A_GPU.values()] == [it.group for it in ON_A_CPU.values()]


# --- made profiles ----------------------------------------------------------------------------------------------------

GPU = Timeline(np.random.default_rng(3), gpu=True)
KNOWN, SLIPS = GPU.expected(), GPU.slips()
STORIES = {
    "right": ("gpu", {}, ""),
    "missing": ("gpu", {"gap_cause": ...}, "'gap_cause' is missing"),
    "another cause": ("gpu", {"gap_cause": "lunch"}, f"gap_cause is 'lunch' where '{KNOWN['gap_cause']}' is right"),
    "added up": ("gpu", {"gpu_utilization_percent": SLIPS["gpu_utilization_percent"]["durations were added up, and kernels that overlap counted twice"]}, ": durations were added up, and kernels that overlap counted twice"),
    "a fraction": ("data", {"data_wait_percent": KNOWN["data_wait_percent"] / 100}, ": that is the fraction, and it must be in percent"),
    "the rest": ("data", {"copy_overlap_percent": 100 - KNOWN["copy_overlap_percent"]}, ": that is the rest"),
    "in seconds": ("cpu", {"longest_wait_ms": KNOWN["longest_wait_ms"] / 1000}, ": that is 1000 times too little"),
    "in ns": ("work", {"kernel_mean_us": KNOWN["kernel_mean_us"] * 1000}, ": that is 1000 times too much"),
    "text": ("work", {"kernel_mean_us": "many"}, "kernel_mean_us is 'many' where "),
    "nothing": ("cpu", {"host_busy_percent": None}, "host_busy_percent is None: this profile answers the question"),
    "a reason for nothing": ("data", {"reason": "no GPU"}, "reason says why something is null, and nothing is"),
}  # fmt: skip


@pytest.mark.parametrize(("group", "changed", "words"), STORIES.values(), ids=STORIES)
def test_a_wrong_answer_about_a_made_profile_is_told_what_it_is(group, changed, words):
    told = {
        name: value
        for name, value in {**KNOWN, "reason": None, **changed}.items()
        if value is not ...
    }

    found = eleven.made_problem(told, KNOWN, SLIPS, group)

    assert words in found
    assert bool(words) == bool(found)


def test_a_wrong_answer_where_none_is_right_has_no_story():
    known = Timeline(np.random.default_rng(3), gpu=False).expected()

    found = eleven.made_problem(
        {**known, "host_to_device_ms": 0.0, "reason": "no GPU"}, known, {}, "data"
    )

    assert (
        "host_to_device_ms is 0: this profile does not answer the question (None is right)" == found
    )


# --- a profile that was handed in -------------------------------------------------------------------------------------

FITS = {
    "the gaps": ("gpu", {}, ""),
    "the data": ("data", {}, ""),
    "the work": ("work", {}, ""),
    "the CPU": ("cpu", {}, ""),
    "another share": ("gpu", {"operators_percent": 40.0}, "no accepted definition gives that number"),
    "a small cause": ("gpu", {"gap_cause": "Python and other"}, "data loading is the largest"),
    "no slice of that size": ("work", {"python_percent": 30.0}, "Python and other takes 6.0 % of the steps"),
    "null for what it says": ("cpu", {"longest_wait_ms": None}, "a_profile.gz says it: 123 ms (`dataloader_longest` in perflab trace, over the steps)"),
    "null for a cause": ("gpu", {"gap_cause": None}, "a_profile.gz says it: data loading 78.0 %, Python and other 6.0 %"),
    "a copy that is not there": ("data", {"host_to_device_ms": 3.0}, "a_profile.gz cannot say it: null is right, with a reason"),
}  # fmt: skip


@pytest.mark.parametrize(("group", "changed", "why"), FITS.values(), ids=FITS)
def test_an_answer_fits_the_profile_or_is_told_why_not(group, changed, why):
    found = eleven.fit({**RIGHT, **changed}, TRACE, group, try_="look")

    assert isinstance(found, Failed if why else Passed)
    assert getattr(found, "why", "").startswith(why)


def test_the_answers_of_the_other_form_do_not_fit():
    gpu = replace(TRACE, figures=(Figure("busy_any", 30.0, "%", "steps", 0),))
    told = dict.fromkeys([*ON_A_GPU, "reason"])

    assert "a_profile.gz holds the work of a GPU" == eleven.fit(RIGHT, gpu, "gpu", try_="").why
    assert "a_profile.gz holds no work of a GPU" == eleven.fit(told, TRACE, "gpu", try_="").why


def test_a_slice_that_is_not_there_is_none_of_the_time():
    busy = replace(TRACE, breakdown={"cpu": (Slice("data loading", 1000),)})

    assert isinstance(eleven.fit({**RIGHT, "python_percent": 0.5}, busy, "work", try_=""), Passed)


# --- answers about any file, or about none ----------------------------------------------------------------------------

NETS = ("small", "wide")
TABLE = Table("nets.csv", ("net", "ms"), ({"net": "small", "ms": "2"}, {"net": "wide", "ms": "5"}))


def times(table):
    return [float(row["ms"]) for row in table.rows]


def fastest(table):
    return min(table.rows, key=lambda row: float(row["ms"]))["net"]


ASKED = {
    "largest_half": Known(65504, slips={"that is bfloat16's": 3.39e38}, why="max of torch.finfo"),
    "epsilon": Known((9e-4, 1e-3)),
    "scales": Known(right=True),
    "ratio": Known(
        lambda table: times(table)[1] / times(table)[0],
        within=0.01,
        slips={"it is the other way round": lambda table: times(table)[0] / times(table)[1]},
    ),
    "fastest": Known(fastest, one_of=NETS),
}
ANSWERED = {
    "largest_half": 65504,
    "epsilon": 9.77e-4,
    "scales": True,
    "ratio": 2.51,
    "fastest": "small",
}
WRONG = {
    "right": ({}, "largest_half is 6.55e+04; ", ""),
    "too small": ({"largest_half": 65500}, "largest_half is 6.55e+04", "max of torch.finfo"),
    "a usual mistake": ({"largest_half": 3.39e38}, "largest_half is 3.39e+38", "that is bfloat16's"),
    "no number": ({"largest_half": "65504"}, "answers.json: largest_half is '65504'; it must be a number", FORMED),
    "a truth for a number": ({"largest_half": True}, "answers.json: largest_half is True; it must be a number", FORMED),
    "outside of the band": ({"epsilon": 1.2e-7}, "epsilon is 1.2e-07", "it is not the right answer"),
    "not a number": ({"epsilon": float("nan")}, "answers.json: epsilon is nan; it must be a number", FORMED),
    "thousands of digits": ({"largest_half": 10**400}, f"answers.json: largest_half is 1{59 * '0'}; it must be a number", FORMED),
    "a number for a truth": ({"scales": 1}, "scales is 1", "it is not the right answer"),
    "of the table, upside down": ({"ratio": 0.4}, "ratio is 0.4; nets.csv gives 2.5", "it is the other way round"),
    "another row": ({"fastest": "wide"}, "fastest is 'wide'; nets.csv gives 'small'", "it is not the right answer"),
    "no row": ({"fastest": "deep"}, "answers.json: fastest is 'deep'; it must be one of small, wide", FORMED),
    "null": ({"fastest": None}, "answers.json: fastest is null; it must be one of small, wide", FORMED),
    "a reason": ({"reason": "none"}, "answers.json: 'reason' is not one of the names", FORMED),
}  # fmt: skip


def quiz(asked, **options):
    part = Part("part1_numbers")
    Answers(part, "", asked, see="see the handout").fits("are_right", "They are right.", **options)
    return part.checks["are_right"]


@pytest.mark.parametrize(("changed", "measured", "why"), WRONG.values(), ids=WRONG)
def test_answers_are_held_against_what_is_known_and_against_a_table(changed, measured, why):
    told = Text("answers.json", json.dumps({**ANSWERED, **changed}))

    verdict = quiz(ASKED, about="nets").judge(answers=told, nets=TABLE)

    assert isinstance(verdict, Failed) == bool(why), verdict
    assert verdict.measured.startswith(measured)
    assert why == getattr(verdict, "why", "")
    in_quotes = "'; it must be a number" in verdict.measured
    hint = "write the number alone, without quotes or a unit" if in_quotes else "see the handout"
    assert hint == getattr(verdict, "try_", hint)


def test_a_quiz_needs_no_other_file():
    check = quiz({"largest_half": ASKED["largest_half"]}, file="numbers")

    assert (("numbers",), "artefact") == (check.reads, check.basis)
    assert isinstance(check.judge(numbers=Text("n.json", '{"largest_half": 65504}')), Passed)
    assert isinstance(check.judge(numbers=Text("n.json", '{"largest_half": 1}')), Failed)


@pytest.mark.parametrize(
    "about", [Text("notes.md", "three lines"), replace(TRACE, file="notes.md")]
)
def test_a_file_of_any_kind_gives_the_answer(about):
    check = quiz({"name": Known(lambda file: file.file)}, about="notes")

    assert isinstance(check.judge(answers=Text("a", '{"name": "notes.md"}'), notes=about), Passed)
    wrong = check.judge(answers=Text("a", '{"name": "other"}'), notes=about)
    assert "name is 'other'; notes.md gives 'notes.md'" == wrong.measured
