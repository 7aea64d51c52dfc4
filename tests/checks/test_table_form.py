"""A table's form: what is wrong with rows, the schema that says the same, and the list of columns."""

from __future__ import annotations

import jsonschema
import pytest

from autograder.checks.table_form import (
    DEVICE,
    UNUSUAL,
    Form,
    any_number,
    chosen,
    count,
    not_negative,
    parted,
    percent,
    positive,
    ratio,
    told_wrong,
    words,
)
from autograder.model import Table

FORM = Form(
    "made.csv",
    (
        words("mode", "plain first"),
        positive("rate", "samples per second", "samples/s"),
        not_negative("wait", "seconds of waiting", "s"),
        percent("accuracy", "of the samples"),
        count("workers", "processes", least=0),
        any_number("loss", "mean"),
        words("note", "what you saw"),
        chosen("kind", "of the two", "large", "small"),
        DEVICE,
    ),
    rows=("plain", "fast"),
)


def row(mode="plain", **other):
    right = {
        "rate": 10.5,
        "wait": 0.0,
        "accuracy": 30.1,
        "workers": 2,
        "loss": -1.0,
        "note": "fine",
        "kind": "large",
        "device": "a CPU",
    }
    return {"mode": mode, **right, **other}


WRONG = {
    "as it should be": ({}, ""),
    "whole numbers are numbers": ({"rate": 10}, ""),
    "text": ({"rate": "2.10x"}, "rate of fast is '2.10x'"),
    "nothing": ({"loss": None}, "loss of fast is None"),
    "zero": ({"rate": 0.0}, "rate of fast is 0, and has to be above 0"),
    "negative": ({"wait": -0.5}, "wait of fast is -0.5, and has to be at least 0"),
    "too large": ({"accuracy": 140.0}, "accuracy of fast is 140, and has to be at most 100"),
    "a fraction": ({"workers": 1.5}, "workers of fast is 1.5, and has to be a whole number"),
    "empty": ({"note": ""}, "note of fast is '', and must not be empty"),
    "a number for a text": ({"note": 3}, "note of fast is 3, and has to be a text"),
    "another word": ({"kind": "huge"}, "kind of fast is 'huge', and has to be one of large, small"),
    "two machines": ({"device": "a GPU"}, "the rows are from two machines"),
    "a column more": ({"extra": 1}, "column 'extra'"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_row_is_said(change, said):
    """And the schema refuses what the judge refuses of a single row."""
    changed = row("fast", **change)

    found = FORM.problem([row(), changed])

    assert (said in found) if said else "" == found
    validator = jsonschema.Draft202012Validator(FORM.schema())
    assert validator.is_valid(changed) == (not said or said.startswith("the rows"))


def test_the_rows_are_those_of_the_form():
    assert "ends after row 1; missing: fast" in FORM.problem([row()])
    assert "" == FORM.problem([row("fast")], expected=["fast"])
    assert "there are no rows" == FORM.problem([], expected=[])
    assert "the device is not named" == FORM.problem([row(), row("fast", device=" ")])


def test_numbers_of_a_file_are_read_as_numbers():
    """Whole ones as well; other cells stay text."""
    cells = {
        "mode": "plain",
        "rate": "10.5",
        "wait": "0",
        "accuracy": "x",
        "workers": "2",
        "loss": "1",
        "note": "7",
    }

    (read,) = FORM.read(Table("made.csv", tuple(cells), (cells,)))

    assert {
        "rate": 10.5,
        "wait": 0.0,
        "accuracy": "x",
        "workers": 2.0,
        "note": "7",
    }.items() <= read.items()


def test_what_the_form_says_of_its_columns():
    assert {"rate": "samples/s", "wait": "s", "accuracy": "%"} == FORM.units
    assert ["plain", "fast"] == FORM.schema()["properties"]["mode"]["enum"]
    assert "| `rate` | samples/s | samples per second |" in FORM.listed().splitlines()
    assert "samples per second (samples/s)" == FORM.schema()["properties"]["rate"]["description"]
    jsonschema.Draft202012Validator.check_schema(FORM.schema())


PARTED = {
    "with a cause": (told_wrong("rate is 3", "it is the mean: take the median", "5 is right"), ("rate is 3, and 5 is right", "it is the mean: take the median")),
    "without one": (told_wrong("rate is 3 s", "", "5 is right"), ("rate is 3 s, and 5 is right", UNUSUAL)),
    "of names": (told_wrong("top is ['a']", "", "['b', 'c'] is right"), ("top is ['a'], and ['b', 'c'] is right", UNUSUAL)),
    "no figure": ("there are no rows", ("there are no rows", "")),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "parts"), PARTED.values(), ids=PARTED)
def test_a_wrong_figure_is_parted_from_its_cause(problem, parts):
    assert parts == parted(problem)


@pytest.mark.parametrize(("rate", "told", "known"), [(150.0, 0.667, True), (100.7, 0.995, False)])
def test_a_ratio_is_told_as_upside_down_only_far_from_1(rate, told, known):
    form = Form(
        "a.csv", (words("name", "a"), positive("rate", "b"), ratio("x", "rate", "first rate"))
    )
    rows = [{"name": "a", "rate": 100.0, "x": 1.0}, {"name": "b", "rate": rate, "x": told}]

    assert ("upside down" in form.ratio_problem(rows)) is known
    assert form.ratio_problem(rows).startswith("x of b is")
