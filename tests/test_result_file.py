"""Results that an older version wrote are read as if this one had written them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.records import to_json
from autograder.result_file import FORMAT, load_result, read_result
from autograder.results.agenda import is_aside

FORMAT_1 = Path(__file__).parent / "format_1"
OLD = sorted(path.parent.name for path in FORMAT_1.glob("*/result.json"))


def old(name):
    return load_result(FORMAT_1 / name / "result.json")


def causes(name):
    return {check.id: check.cause for check in old(name).parts[0].checks if check.cause}


@pytest.mark.parametrize("name", OLD)
def test_an_old_result_becomes_one_of_today(name):
    """It can be written again, and is read back as it is then."""
    result = old(name)
    value = json.loads(json.dumps(to_json(result)))

    assert FORMAT == result.format
    assert result == read_result(value, "result.json")


@pytest.mark.parametrize("name", OLD)
def test_its_words_and_points_stay(name):
    """But for a word for programs, which stood where the sentence of what is owed stands."""
    before = json.loads((FORMAT_1 / name / "result.json").read_text(encoding="utf-8"))
    after = json.loads(json.dumps(to_json(old(name))))
    for check in after["parts"][0]["checks"]:
        cause = check.pop("cause")
        if check["outcome"] == "failed":
            check["reason"] = "raised" if cause == "unwritten" else cause

    assert before == {**after, "format": 1}


def test_sentences_become_causes():
    assert {"faster": "clock", "has_picture": "missing"} == causes("waits_for_the_clock")
    assert {"positive": "unwritten", "has_picture": "missing"} == causes("unwritten")
    assert {"positive": "raised", "has_picture": "missing"} == causes("raised")
    assert {"aside"} == set(causes("set_aside").values())


def test_what_an_old_result_waits_for_is_known():
    assert [0, 0, 0, 1] == [min(old(name).waits_for_the_clock, 1) for name in OLD]
    assert [False, True, False, False] == [is_aside(old(name)) for name in OLD]
