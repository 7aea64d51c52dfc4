"""The records: the same in JSON, and strict when they are read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from autograder.errors import ReadError
from autograder.model import (
    OWED,
    Bar,
    CheckResult,
    Device,
    Failed,
    Limits,
    Owed,
    Partial,
    PartResult,
    Result,
)
from autograder.records import from_json, to_json
from autograder.result_file import FORMAT, load_result, read_result

CHECKS = (
    CheckResult(
        "follows_fp32",
        "passed",
        "outputs",
        6.0,
        6.0,
        "follows FP32",
        "0.1 %",
        evidence={"losses": [2.3, None], "n": 1},
    ),
    CheckResult(
        "unscales", "partial", "report", 1.5, 3.0, "clips true gradients", "half", "why", "try this"
    ),
    CheckResult(
        "amp_is_faster", "unavailable", "outputs", 0.0, 6.0, "is faster", reason="needs a GPU"
    ),
    CheckResult("explains_autocast", "unavailable", "person", 0.0, 2.0, "Explains autocast"),
)
RESULT = Result(
    format=FORMAT,
    lab="resnet18",
    lab_version="1",
    submission="ada",
    submission_sha256="0" * 64,
    attempt=1,
    seed=7,
    started="2027-01-09T10:00:00+00:00",
    seconds=12.5,
    device=Device("Tesla T4", "cuda", "t4", {"torch": "2.11"}),
    isolation="bubblewrap",
    score=7.5,
    max_score=17.0,
    owed=(
        Owed("part3_amp.amp_is_faster", 6.0, "gpu"),
        Owed("part3_amp.explains_autocast", 2.0, "person"),
    ),
    parts=(PartResult("part3_amp", "Mixed precision", 7.5, 17.0, CHECKS),),
    notes=("not listed: notes.txt",),
)


def as_json() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(to_json(RESULT), allow_nan=False))
    return found


def test_a_result_comes_back_from_json_as_it_was():
    assert read_result(as_json(), "result.json") == RESULT


def test_what_may_be_missing_has_its_default():
    value = as_json()
    del value["notes"], value["device"]["versions"], value["parts"][0]["checks"][0]["evidence"]
    found = read_result(value, "result.json")

    assert ((), {}, {}) == (found.notes, found.device.versions, found.parts[0].checks[0].evidence)


@pytest.mark.parametrize(
    "record", [Failed("1.0x", "why", "do"), Partial(0.5, "1.2x", "why", "do"), CHECKS[1]]
)
def test_what_to_try_is_called_try_in_json(record: Failed | Partial | CheckResult):
    value = to_json(record)

    assert (True, False) == ("try" in value, "try_" in value)
    assert record == from_json(type(record), value)


def test_a_whole_number_is_read_as_the_float_that_a_field_declares():
    seconds = from_json(Limits, {"seconds": 60, "memory_mb": 1, "output_mb": 1}).seconds

    assert (60.0, float) == (seconds, type(seconds))


def test_points_owed_and_lost_are_told_apart():
    assert (8.0, 1.5) == (RESULT.points_owed, RESULT.lost)


def test_a_check_owes_its_points_while_nobody_could_judge_it():
    owing = {
        outcome: CheckResult("c", outcome, "outputs", 0.0, 6.0, "t").owed
        for outcome in [*OWED, "failed", "skipped", "passed"]
    }

    assert {
        "unavailable": 6.0,
        "inconclusive": 6.0,
        "error": 6.0,
        "unread": 6.0,
        "failed": 0.0,
        "skipped": 0.0,
        "passed": 0.0,
    } == owing


def test_a_bar_is_shown_as_students_read_it():
    assert str(Bar(1.5, "seed")) == "1.50x"


def test_a_record_cannot_be_changed_after_it_was_handed_over():
    with pytest.raises(FrozenInstanceError):
        RESULT.score = 17.0


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    """Make a change: the value at a path."""

    def change(whole: Any) -> None:
        for step in path[:-1]:
            whole = whole[step]
        whole[path[-1]] = value

    return change


CHECK = ("parts", 0, "checks", 0)
REFUSED = {
    "newer format": (put("format", value=3), "result.json: format 3; this perflab reads formats 1 to 2"),
    "no format": (lambda whole: whole.pop("format"), "result.json: format None; this perflab reads formats 1 to 2"),
    "format as true": (put("format", value=True), "result.json.format: True is not a whole number"),
    "misspelt name": (put("scoer", value=1), "result.json: unknown name 'scoer' (did you mean 'score'?)"),
    "name of Python": (put(*CHECK, "try_", value=""), "result.json.parts[0].checks[0]: unknown name 'try_' (did you mean 'try'?)"),
    "missing name": (lambda whole: whole.pop("seed"), "result.json: 'seed' is missing"),
    "text as number": (put("score", value="7.5"), "result.json.score: '7.5' is not a finite number"),
    "true as number": (put("score", value=True), "result.json.score: True is not a finite number"),
    "not a number": (put("score", value=float("nan")), "result.json.score: nan is not a finite number"),
    "infinite": (put("score", value=float("inf")), "result.json.score: inf is not a finite number"),
    "past all floats": (put("score", value=10**400), f"result.json.score: {10**400} is not a finite number"),
    "float as whole number": (put("attempt", value=1.0), "result.json.attempt: 1.0 is not a whole number"),
    "number as text": (put("lab", value=5), "result.json.lab: 5 is not text"),
    "null": (put("lab", value=None), "result.json.lab: None is not text"),
    "unknown outcome": (put(*CHECK, "outcome", value="won"), "result.json.parts[0].checks[0].outcome: 'won' is not one of passed, partial, failed, skipped, unavailable, inconclusive, error, unread"),
    "list as outcome": (put(*CHECK, "outcome", value=[]), "result.json.parts[0].checks[0].outcome: [] is not one of passed, partial, failed, skipped, unavailable, inconclusive, error, unread"),
    "object as list": (put("parts", value={}), "result.json.parts: {} is not a list"),
    "list as record": (put("device", value=[]), "result.json.device: [] is not an object"),
    "list as mapping": (put("device", "versions", value=[]), "result.json.device.versions: [] is not an object"),
    "number in a mapping of texts": (put("device", "versions", "torch", value=2), "result.json.device.versions.torch: 2 is not text"),
    "text as record": (put("parts", 0, value="x"), "result.json.parts[0]: 'x' is not an object"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "line"), REFUSED.values(), ids=REFUSED)
def test_a_result_of_another_form_is_refused_with_the_path_to_it(
    change: Callable[[dict[str, Any]], None], line: str
):
    value = as_json()
    change(value)

    with pytest.raises(ReadError) as caught:
        read_result(value, "result.json")

    assert line == str(caught.value)


@pytest.mark.parametrize("value", [None, [], 1, "x"])
def test_what_is_no_object_is_no_result(value: Any):
    with pytest.raises(
        ReadError, match=r"result.json: format None; this perflab reads formats 1 to 2"
    ):
        read_result(value, "result.json")


def test_an_optional_value_is_read_or_null_and_a_flag_only_true_or_false():
    assert [1.5, None, True] == [
        from_json(float | None, 1.5, "x"),
        from_json(float | None, None, "x"),
        from_json(bool, True, "x"),
    ]
    with pytest.raises(ReadError, match=r"x: 1 is not true or false"):
        from_json(bool, 1, "x")


def test_a_result_that_is_not_there_is_looked_for_where_it_lies(tmp_path):
    """The folder of the class is not the folder of a submission."""
    with pytest.raises(
        ReadError, match=r"^results/result.json: no result there; each lies in the folder of its"
    ):
        load_result(tmp_path / "results" / "result.json")
