"""The schema of result.json and the records that write it say the same."""

from __future__ import annotations

import copy
import dataclasses
import json
import typing
from pathlib import Path

import jsonschema
import pytest

import autograder
from autograder import model
from autograder.model import CheckResult, Device, Owed, PartResult, Result
from autograder.records import to_json
from autograder.result_file import FORMAT, read_result
from tests.samples import a_class, a_part, a_result, a_silent_check

SCHEMA = json.loads(
    (Path(autograder.__file__).parent / "schemas/result.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORDS = [Result, Device, Owed, PartResult, CheckResult]
WORDS = {
    ("CheckResult", "outcome"): model.Outcome,
    ("CheckResult", "basis"): model.Basis,
    ("Owed", "settled_by"): model.SettledBy,
    ("Device", "kind"): typing.get_type_hints(Device)["kind"],
}
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def sample() -> dict:
    """The result with every outcome, as it is written."""
    return json.loads(json.dumps(to_json(a_result())))


def records(value, path=()):
    """Every object with declared names in a result, as paths."""
    if isinstance(value, dict):
        yield path
        for name, item in value.items():
            if name not in ("evidence", "versions"):
                yield from records(item, (*path, name))
    elif isinstance(value, list) and value:
        yield from records(value[0], (*path, 0))


def at(value, path):
    for step in path:
        value = value[step]
    return value


NAMES = [(path, name) for path in records(sample()) for name in at(sample(), path)]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("outcome", typing.get_args(model.Outcome))
def test_a_result_of_each_outcome_validates(outcome):
    result = a_result(a_part("part3_amp", "Mixed precision", a_silent_check(outcome=outcome)))

    VALIDATOR.validate(to_json(result))


def test_samples_validate_and_are_read_back():
    for result in [a_result(), *a_class(5)]:
        value = json.loads(json.dumps(to_json(result)))
        VALIDATOR.validate(value)
        assert result == read_result(value, "result.json")


def test_the_sample_holds_every_record_and_word():
    """What the sample lacks, the tests below would not see."""
    checks = [check for part in a_result().parts for check in part.checks]

    assert set(typing.get_args(model.Outcome)) == {check.outcome for check in checks}
    assert set(typing.get_args(model.Basis)) == {check.basis for check in checks}
    assert set(typing.get_args(model.SettledBy)) == {owed.settled_by for owed in a_result().owed}
    assert sum(len(dataclasses.fields(record)) for record in RECORDS) == len(NAMES)


@pytest.mark.parametrize(
    ("path", "name"), NAMES, ids=[".".join(map(str, (*path, name))) for path, name in NAMES]
)
def test_no_name_may_be_missing(path, name):
    value = sample()
    del at(value, path)[name]

    assert [f"'{name}' is a required property"] == [
        error.message for error in VALIDATOR.iter_errors(value)
    ]


@pytest.mark.parametrize(
    "path", list(records(sample())), ids=lambda path: ".".join(map(str, path)) or "result"
)
def test_no_name_may_be_added(path):
    value = sample()
    at(value, path)["extra"] = 1

    assert ["additionalProperties"] == [error.validator for error in VALIDATOR.iter_errors(value)]


@pytest.mark.parametrize("record", RECORDS)
def test_the_schema_names_what_the_record_holds(record):
    """Names in the order of the fields, all of them required."""
    declared = SCHEMA["$defs"][record.__name__]
    fields = [field.name.rstrip("_") for field in dataclasses.fields(record)]

    assert fields == list(declared["properties"])
    assert fields == declared["required"]
    assert declared["additionalProperties"] is False


@pytest.mark.parametrize("record", RECORDS)
def test_the_schema_has_the_types_of_the_record(record):
    hints = {name.rstrip("_"): hint for name, hint in typing.get_type_hints(record).items()}
    properties = SCHEMA["$defs"][record.__name__]["properties"]
    resolved = {
        name: SCHEMA["$defs"]["points"] if p.get("$ref") == "#/$defs/points" else p
        for name, p in properties.items()
    }
    plain = {
        name: PLAIN[hint] for name, hint in hints.items() if hint in PLAIN and name != "format"
    }

    assert plain
    assert plain == {name: resolved[name].get("type") for name in plain}


@pytest.mark.parametrize(
    ("place", "words"), WORDS.items(), ids=[".".join(place) for place in WORDS]
)
def test_the_schema_knows_the_words_of_the_model(place, words):
    record, name = place

    assert list(typing.get_args(words)) == SCHEMA["$defs"][record]["properties"][name]["enum"]


def test_the_schema_has_the_format_of_the_model():
    assert FORMAT == SCHEMA["$defs"]["Result"]["properties"]["format"]["const"]


def test_evidence_and_versions_are_free():
    value = copy.deepcopy(sample())
    value["parts"][0]["checks"][0]["evidence"] = {"anything": [1, {"deep": None}]}
    value["device"]["versions"] = {"cuda": "13.0"}

    VALIDATOR.validate(value)
