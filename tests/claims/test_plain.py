"""Results that are no tensors: names, counts and order are exact, numbers are near what an oracle says."""

from __future__ import annotations

import pytest

from autograder.claims.exercise import Exercise
from autograder.claims.mutants import made
from autograder.model import Failed, Passed
from tests.claims.harness import judged

RIGHT = """
def ranked(seconds):
    total = sum(seconds.values())
    names = sorted(seconds, key=lambda name: (-seconds[name], name))
    return [{"name": name, "share": seconds[name] / total, "place": i} for i, name in enumerate(names, 1)]
"""
SLOW = "def ranked(seconds):\n    return []\n"


def right(seconds):
    names = {}
    exec(RIGHT, names)
    return names["ranked"](seconds)


def shortest_first(seconds):
    return [{**row, "place": at} for at, row in enumerate(right(seconds)[::-1], 1)]


@pytest.fixture
def ranked():
    exercise = Exercise("ranked")

    @exercise.inputs
    def draw(random, count=(1, 6), ties=False):
        taken = random.integers(1, 4, count) if ties else random.uniform(1, 2, count)
        names = [f"n{at}" for at in range(count)][::-1]
        return {"seconds": dict(zip(names, map(float, taken), strict=True))}

    exercise.same(
        {"six": {"count": 6}, "a tie": {"count": 6, "ties": True}},
        oracle=right,
        slips={"the shortest comes first": shortest_first},
        why={
            "number of entries": "each name has a row",
            "tie": "of a tie by name",
            "": "the longest first",
        },
        try_="sorted(..., key=...)",
    )
    return exercise


def test_only_what_is_drawn_is_tried_and_no_gradient_is_claimed(ranked):
    assert ["same_results"] == list(ranked.part.checks)
    assert "six, a tie, count is 1" in ranked.part.checks["same_results"].title


STYLES = {
    "as it is": RIGHT,
    "a tuple": RIGHT.replace("return [", "return tuple([").replace("1)]", "1)])"),
    "other numbers": RIGHT.replace('"place": i', '"place": float(i)'),
    "another order of names": RIGHT.replace('"name": name, ', "").replace("i}", 'i, "name": name}'),
}


@pytest.mark.parametrize("style", STYLES)
def test_right_values_pass_in_whatever_form(ranked, style, tmp_path):
    found = judged(ranked, STYLES[style], SLOW, tmp_path)["same_results"]

    assert isinstance(found, Passed), found


WRONG = {
    "a name": ('"name": name,', '"name": "x",', "name of result[0]: 'x' instead of 'n", "longest first"),
    "a number": ("/ total", "/ total * (1 + 1e-7)", "share of result[0]: ", "longest first"),
    "a count": ("(names, 1)", "(names, 0)", "place of result[0]: 0, and 1 is right", "longest first"),
    "order of a tie": ("name: (-seconds[name], name)", "name: -seconds[name]", 'case "a tie", name of result[', "by name"),
    "a row less": ("(names, 1)]", "(names[1:], 1)]", 'number of entries": ', "each name has a row"),
    "names of a row": ('"place": i', '"rank": i', "keys of result[0]: 'name, rank, share' instead", "missing in the dict: place; not asked for in the dict: rank"),
    "no list": ("return [", "return 1 or [", 'case "six": int instead of a list', "the type of the result is wrong"),
    "an exception": ("total = ", "1 / 0; total = ", 'case "six": raised ZeroDivisionError', ""),
    "its inputs": ("    names", '    seconds.pop("n1", 0)\n    names', "changed: seconds", ""),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_told_with_its_place(ranked, mistake, tmp_path):
    old, new, measured, why = WRONG[mistake]
    found = judged(ranked, RIGHT.replace(old, new), SLOW, tmp_path)["same_results"]

    assert isinstance(found, Failed), found
    assert measured in found.measured
    assert why in found.why


def test_a_slip_may_differ_in_names_and_order(ranked, tmp_path):
    slipped = RIGHT.replace("(-seconds[name], name))", "(-seconds[name], name))[::-1]")
    found = judged(ranked, slipped, SLOW, tmp_path)["same_results"]

    assert "the shortest comes first" == found.why


def test_entries_are_of_plain_values(ranked, tmp_path):
    entries = list(made(ranked, RIGHT, SLOW))

    assert {"first_answer_again", "nothing", "other_values", "half_of_it", "empties_its_inputs"} == {
        it.name for it in entries
    }  # fmt: skip
    for entry in entries:
        found = judged(ranked, entry.text, SLOW, tmp_path)["same_results"]
        assert isinstance(found, Failed), entry.name
