"""What the author of a part is told, and what an answer must look like."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import labs
from autograder.course.labs import load_lab
from autograder.errors import CourseError
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Lab,
    Part,
    Passed,
    Probe,
    conform,
    list_of,
    load_part,
    map_of,
    optional,
    record,
)
from autograder.model import Observation


def part():
    return Part("part9_new", writes=["work"], hands_in=["table.csv"])


def test_a_parameter_that_names_nothing_is_an_error_with_the_nearest_name():
    """It is found when the lab is loaded, not while grading."""
    new = part()

    @new.probe(values={"x": NUMBER})
    def losses(student, rig): ...

    @new.check(basis="outputs")
    def holds(loses, table, bar, device):
        """It holds."""

    assert [
        "part9_new.holds: parameter 'loses' is no probe, file, bar, device or parts (did you mean 'losses'?)"
    ] == new.problems()


def test_two_things_of_one_name_are_an_error():
    """A check asks for them by name, and would get the other one."""
    new = Part("part9_new", writes=[], hands_in=["losses.csv", "losses.png"])

    assert [
        "part9_new: 2 things are called 'losses', of probes and of files without their ending; rename one"
    ] == new.problems()


def test_a_type_of_python_is_no_form_of_an_answer():
    new = part()

    @new.probe(values={"text": str})
    def told(student, rig): ...

    assert [
        "part9_new.told: values 'text' is no form; use NUMBER, TEXT, list_of(...) of autograder.lab"
    ] == new.problems()


def test_a_check_without_a_docstring_is_an_error():
    """Students read it."""
    new = part()

    @new.check(basis="outputs")
    def holds(): ...

    assert ["part9_new.holds: has no docstring; students read it"] == new.problems()


def test_a_check_needs_only_what_is_declared_above_it():
    """Otherwise checks could wait for each other for ever."""
    new = part()

    def later(): ...

    @new.check(basis="outputs", needs=[later])
    def holds():
        """It holds."""

    assert ["part9_new.holds: needs 'later', which is not declared above it"] == new.problems()


def test_the_decorators_return_what_they_decorate():
    """So that a check can be called in a test, and named in `needs`."""
    new = part()

    @new.check(basis="outputs")
    def holds():
        """It holds."""
        return Passed("yes")

    assert Passed("yes") == holds()


def test_a_part_is_found_by_the_beginning_of_its_name():
    """perflab check part3."""
    assert "part3_amp" == load_lab("resnet18").part("part3").id


MANY = Lab("many", tuple(Part(f"part{at:02}_of_many") for at in range(1, 15)))


@pytest.mark.parametrize("asked", ["part1", "part01", "part001", "part01_of_many", "part01_"])
def test_a_part_is_found_by_its_number_among_fourteen(asked):
    """Though part1 is also the beginning of part10."""
    assert "part01_of_many" == MANY.part(asked).id
    assert "part11_of_many" == MANY.part("part11").id


def test_the_number_of_a_part_is_all_of_it():
    few = Lab("few", (Part("part1_one"), Part("part10_ten"), Part("bonus")))

    assert ["part1_one", "part10_ten", "bonus"] == [
        few.part(asked).id for asked in ("part1", "part10", "bonus")
    ]
    with pytest.raises(CourseError, match="has no part 'part2'"):
        few.part("part2")


def test_a_title_comes_from_the_files_first_sentence():
    """One home for it."""
    assert load_lab("resnet18").part("part3").title.startswith("Part 3: mixed precision")


PROBE = Probe(
    "p",
    run=lambda student, rig: None,
    values=record(n=INTEGER, xs=list_of(NUMBER), names=map_of(TEXT), maybe=optional(NUMBER)),
    arrays={"losses": ("float64", 1)},
)
GOOD = {"n": 1, "xs": [1, 2.5], "names": {"a": "b"}, "maybe": None}
ARRAYS = {"losses": np.zeros(3)}
REFUSED = {
    "another type": ({**GOOD, "n": "1"}, ARRAYS, "$.n does not have its declared form"),
    "a bool for a number": ({**GOOD, "n": True}, ARRAYS, "$.n does not have its declared form"),
    "a missing name": (
        {k: v for k, v in GOOD.items() if k != "n"},
        ARRAYS,
        "$ does not have its declared form",
    ),
    "one name too many": ({**GOOD, "score": 100}, ARRAYS, "$ does not have its declared form"),
    "deep inside": ({**GOOD, "xs": [1, None]}, ARRAYS, "$.xs[1] does not have its declared form"),
    "far too many": ({**GOOD, "xs": [0] * 5000}, ARRAYS, "$.xs does not have its declared form"),
    "a missing array": (GOOD, {}, "arrays [] instead of ['losses']"),
    "another dtype": (
        GOOD,
        {"losses": np.zeros(3, dtype="float32")},
        "array losses is not float64 with 1 dimension",
    ),
    "another shape": (
        GOOD,
        {"losses": np.zeros((3, 3))},
        "array losses is not float64 with 1 dimension",
    ),
}


@pytest.mark.parametrize(("values", "arrays", "words"), REFUSED.values(), ids=REFUSED)
def test_an_answer_of_another_form_is_refused(values, arrays, words):
    """Exactly what the probe declared, or nothing."""
    seen = conform(PROBE, Observation("p", "ok", values, arrays))

    assert ("refused", f"the worker's answer was refused: {words}") == (seen.ended, seen.error)


def test_an_answer_of_the_declared_form_is_taken():
    """And one that did not end well is handed on as it is."""
    good, bad = Observation("p", "ok", GOOD, ARRAYS), Observation("p", "timeout")

    assert good is conform(PROBE, good)
    assert bad is conform(PROBE, bad)


def test_an_artefact_is_known_by_its_name_up_to_the_first_dot():
    part = Part("part1_first", writes=[], hands_in=["a_table.csv", "a_trace.json.gz"])

    assert {"a_table": "a_table.csv", "a_trace": "a_trace.json.gz"} == part.artefacts


BROKEN = {
    "an argument is missing": ("part.fewer_operations({})", "line 3: TypeError: "),
    "a word that is no Python": ("part.same(", "SyntaxError: "),
    "a name of a family": (
        'part.inputs(lambda random, rows=(0, 9): {"x": random.normal(size=rows)})\npart.same(skip_families={"zero": "x"}, why="", try_="")',
        "line 4: skip_families names 'zero', which is no family here (did you mean 'zeros'?); families: sizes drawn at random, ",
    ),
    "a claim that there is not": (
        "part.is_faster({})",
        "line 3: AttributeError: 'Exercise' object has no attribute 'is_faster' (did you mean 'faster'?)",
    ),
    "there is no part": ("del part", "AttributeError: "),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_mistake_in_a_part_file_is_told_with_its_line(text, words, tmp_path, monkeypatch):
    """It is the author's, and no fault of perflab."""
    home = tmp_path / "labs" / tmp_path.name
    home.mkdir(parents=True)
    head = (
        'from autograder.claims.exercise import Exercise\npart = Exercise("sums", "part1_sums")\n'
    )
    (home / "part1_sums.py").write_text(f"{head}{text}\n")
    monkeypatch.setattr(labs, "__path__", [str(home.parent)])

    with pytest.raises(CourseError) as raised:
        load_part(f"autograder.labs.{tmp_path.name}.part1_sums")
    assert str(raised.value).startswith(f"labs/{tmp_path.name}/part1_sums.py")
    assert words in str(raised.value)
