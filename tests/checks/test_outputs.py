"""Tensors that a function returned: form first, then numbers; NaN belongs where it is expected and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import outputs
from autograder.model import Failed, Observation, Pair, Passed, Timed
from autograder.probe import Close

NAN, INF = float("nan"), float("inf")


def seen(*cases):
    """An answer of `rig.answers()`: (case, numbers, dtype, shape)."""
    forms = [
        {"case": name, "shape": list(shape), "dtype": dtype} for name, _, dtype, shape in cases
    ]
    numbers = np.concatenate([np.zeros(0), *[np.asarray(it[1], dtype=np.float64) for it in cases]])
    return Observation("p", "ok", {"cases": forms}, {"numbers": numbers})


def case(name="a case", numbers=(1.0, 2.0), dtype="float32", shape=None):
    return name, numbers, dtype, (len(numbers),) if shape is None else shape


def judged(student, baseline, within=1e-3, why="because", without=()):
    return outputs.same(
        Pair(seen(*student), seen(*baseline)), within, why=why, try_="try", without=without
    )


RIGHT = {
    "equal": ([case()], [case()]),
    "rounding": ([case(numbers=(1.0, 2.001))], [case()]),
    "NaN and infinity where they belong": (
        [case(numbers=(NAN, INF, 1))],
        [case(numbers=(NAN, INF, 1))],
    ),
    "nothing but NaN": ([case(numbers=(NAN,))], [case(numbers=(NAN,))]),
    "no numbers": ([case(numbers=())], [case(numbers=())]),
    "several cases": ([case(), case("b", (3.0,))], [case(), case("b", (3.0,))]),
}


@pytest.mark.parametrize(("student", "baseline"), RIGHT.values(), ids=RIGHT)
def test_right_outputs_pass(student, baseline):
    assert isinstance(judged(student, baseline), Passed)


WRONG = {
    "a number apart": ([case(numbers=(1.0, 2.1))], 'case "a case": furthest off at [1]: your number is 2.1, and 2 is right', "because"),
    "NaN for a number": ([case(numbers=(NAN, 2.0))], 'case "a case": 1 of 2 numbers are NaN or infinite, one of them at [0]', "because"),
    "another dtype": ([case(dtype="float64")], 'case "a case": float64 (2,) instead of float32 (2,)', "the dtype of the result is wrong"),
    "another shape": ([case(shape=(2, 1))], 'case "a case": float32 (2, 1) instead of float32 (2,)', "the shape of the result is wrong"),
    "a shorter one": ([case(numbers=(1.0,), shape=(1,))], "instead of", "the shape of the result is wrong: dimension 0 is too short"),
    "no tensor": ([case(numbers=(), dtype="int", shape=())], 'case "a case": int instead of', "the type of the result is wrong"),
    "nothing": ([], 'case "a case": nothing instead of', "the result is missing"),
    "a form without its numbers": ([case(numbers=(1.0,), shape=(2,))], "instead of", "the shape of the result is wrong"),
}  # fmt: skip


@pytest.mark.parametrize(("student", "measured", "why"), WRONG.values(), ids=WRONG)
def test_wrong_outputs_fail_in_words(student, measured, why):
    found = judged(student, [case()])

    assert isinstance(found, Failed)
    assert measured in found.measured
    assert why in found.why


def test_numbers_that_must_be_exact_are_counted_where_they_differ():
    found = judged([case(numbers=(1.0, 3.0))], [case()], within=0.0)

    assert (
        'case "a case": 1 of 2 numbers differ, the first at [1]: 3 instead of 2' == found.measured
    )


NAMES = case("x, names", (NAN,), "'high, low'", ())
LENGTH = case("x, number of entries", (2.0,), "int", ())
RESULTS = [case("x, result 1"), case("x, result 2")]
IN_PLACE = {
    "a tensor for a dict": (
        [case("x")],
        [NAMES],
        'case "x": one tensor, float32 (2,), instead of a dict with high, low',
        "return a dict with high, low",
    ),
    "None for a dict": (
        [case("x", (NAN,), "nothing", ())],
        [NAMES],
        'case "x": nothing instead of a dict with high, low',
        "return a dict with high, low; a function that ends without `return` returns None",
    ),
    "a list for a dict": (
        [LENGTH],
        [NAMES],
        'case "x": a list or tuple instead of a dict with high, low',
        "return a dict with high, low",
    ),
    "tensors in a dict": (
        [case("x, result high"), case("x, result low")],
        [NAMES],
        'case "x": a tuple, list or dict of tensors instead of a dict with high, low',
        ".item() makes a number of a tensor",
    ),
    "a tensor for a list": (
        [case("x")],
        [LENGTH],
        'case "x": one tensor, float32 (2,), instead of a list',
        "return a list",
    ),
    "a tensor for two": (
        [case("x")],
        RESULTS,
        'case "x": one tensor, float32 (2,), instead of a tuple of tensors',
        "return a tuple of tensors",
    ),
    "one of two": (
        RESULTS[:1],
        RESULTS,
        'case "x, result[1]": nothing instead of float32 (2,)',
        "return it as well",
    ),
    "two for one": (
        [LENGTH],
        [case("x")],
        'case "x": a list or dict instead of',
        "return that value",
    ),
    "a tensor for a number": (
        [case("x", (2.0,), shape=())],
        [case("x", (2.0,), "float", ())],
        'case "x": float32 () instead of float',
        ".item() makes one of a tensor",
    ),
    "numbers for bool": (
        [case("x", (1.0, 0.0), "int64")],
        [case("x", (1.0, 0.0), "bool")],
        'case "x": int64 (2,) instead of bool (2,)',
        ".to(torch.bool)",
    ),
    "another key": (
        [case("x, names", (NAN,), "'high, middle'", ())],
        [NAMES],
        "case \"x, names\": 'high, middle' instead of 'high, low'",
        "the keys must be high, low",
    ),
}


@pytest.mark.parametrize(
    ("student", "baseline", "measured", "try_"), IN_PLACE.values(), ids=IN_PLACE
)
def test_another_form_is_told_by_what_came_in_the_place_of_what(student, baseline, measured, try_):
    found = judged(student, baseline)

    assert measured in found.measured
    assert try_ in found.try_
    assert "because" != found.why


def test_a_missing_key_is_named_unless_the_author_has_words_for_names():
    other = [case("x, names", (NAN,), "'high'", ())]

    assert "missing in the dict: low" == judged(other, [NAMES], why={"": "because"}).why
    assert "files" == judged(other, [NAMES], why={"names": "files", "": "because"}).why


def test_of_an_exception_only_words_for_its_case_are_said():
    pointer = "fix sums first if it fails; else divide"  # is settled only where it stands alone
    causes = {"first": ("one", "min(k, n)"), "third": ("three", pointer), "": ("two", "topk")}
    raised = "raised ValueError: no (a.py, line 3)"

    for name, hint in {"first": "min(k, n)", "second": "this case; try"}.items():
        found = judged([case(name, (NAN,), raised, ())], [case(name)], why=causes)
        assert found.try_.endswith(hint)
    found = judged([case("third", (NAN,), raised, ())], [case("third")], why=causes)
    assert pointer == found.try_


def test_a_case_that_raised_says_so_and_the_ones_after_it_keep_their_numbers():
    raised = case("first", (NAN,), "raised ValueError: no (a.py, line 3)", ())
    wanted = [case("first"), case("second", (3.0, 4.0))]
    found = judged([raised, wanted[1]], wanted)

    assert ('case "first": raised ValueError', "ValueError: no (a.py, line 3)") == (
        found.measured,
        found.why,
    )
    assert isinstance(judged([raised, wanted[1]], wanted, without=["first"]), Passed)
    assert (
        'case "second": furthest off at [1]: your number is 5, and 4 is right'
        in judged([raised, case("second", (3.0, 5.0))], wanted, without=["first"]).measured
    )


def test_the_second_case_is_found_by_its_place_and_explained_by_its_name():
    found = judged(
        [case(), case("NaN inside", (9.0,))],
        [case(), case("NaN inside", (3.0,))],
        why={"NaN": "one", "": "two"},
    )

    assert ('case "NaN inside": 9, and 3 is right', "one") == (found.measured, found.why)


def test_numbers_have_as_many_digits_as_it_takes_to_tell_them_apart():
    found = judged([case(numbers=(1.0, 2.00000001))], [case()], within=1e-12)

    words = "furthest off at [1]: your number is 2.00000001, and 2 is right: off by 5.0e-09 of"
    assert words in found.measured


@pytest.mark.parametrize(
    ("shape", "largest"),
    [((2,), "the largest number; allowed"), ((1, 2), "the largest number in this row; allowed")],
)
def test_a_difference_is_a_share_of_a_rows_largest_number_only_where_there_are_rows(shape, largest):
    wrong = case(numbers=(1.0, 2.00000001), shape=shape)

    assert largest in judged([wrong], [case(shape=shape)], within=1e-12).measured


def test_a_truth_is_told_as_one():
    found = judged(
        [case(numbers=(1.0,), dtype="bool", shape=())],
        [case(numbers=(0.0,), dtype="bool", shape=())],
    )

    assert 'case "a case": True, and False is right' == found.measured


def test_a_fraction_in_percent_is_told():
    found = judged([case(numbers=(25.0,), shape=())], [case(numbers=(0.25,), shape=())])

    assert "that is a percentage, 100 times the fraction that is expected" == found.why


@pytest.mark.parametrize(
    ("name", "why", "try_"),
    [
        pytest.param("NaN inside", "one", "drop it", id="with what to try there"),
        pytest.param("a case", "two", "try", id="without"),
    ],
)
def test_a_cause_may_come_with_what_to_try(name, why, try_):
    causes = {"NaN": ("one", "drop it"), "": "two"}
    found = judged([case(name, (9.0,))], [case(name, (3.0,))], why=causes)

    assert (why, try_) == (found.why, found.try_)


def test_a_tolerance_may_go_by_dtype():
    within = {"float32": 1e-6, "bfloat16": 1e-1}
    rounded = [case(numbers=(1.0, 2.1), dtype="bfloat16")]

    passed = judged(rounded, [case(dtype="bfloat16")], within)
    assert isinstance(passed, Passed)
    assert passed.measured.endswith("off by at most 5.0e-02 of a row's largest number (bfloat16)")
    assert isinstance(judged([case(numbers=(1.0, 2.1))], [case()], within), Failed)


@pytest.mark.parametrize(
    ("got", "want", "apart"),
    [
        pytest.param([1.0], [1.0, 2.0], INF, id="another length"),
        pytest.param([1.0, 2.0], [NAN, 2.0], INF, id="a number for NaN"),
        pytest.param([-INF, 2.0], [INF, 2.0], INF, id="the other infinity"),
        pytest.param([0.0], [0.0], 0.0, id="zero"),
        pytest.param([3.0, 4.0], [3.0, 5.0], 0.2, id="a fifth"),
    ],
)
def test_apart_is_relative_to_the_largest_number(got, want, apart):
    assert apart == outputs.furthest(np.array(got), np.array(want))


@pytest.mark.parametrize(
    ("got", "apart"),
    [
        pytest.param([100.1, 50.0, 1.0, 2.0], 0.001, id="in a large row"),
        pytest.param([100.0, 50.0, 1.0, 2.2], 0.1, id="in a small row"),
        pytest.param([100.0, 50.0, 1.0, NAN], INF, id="NaN in a small row"),
    ],
)
def test_apart_is_relative_to_the_largest_number_of_its_row(got, apart):
    assert pytest.approx(apart) == outputs.furthest(
        np.array(got), np.array([100.0, 50.0, 1.0, 2.0]), row=2
    )


def test_a_row_of_nearly_nothing_counts_as_a_hundredth_of_the_largest_number():
    """What is left of sums that cancel has no digits of its own."""
    got, want = np.array([1.0, 0.5, 1e-7, 0.0]), np.array([1.0, 0.5, 0.0, 0.0])

    assert pytest.approx(1e-5) == outputs.furthest(got, want, row=2)


def test_one_wrong_row_of_a_hundred_fails_however_small_its_numbers_are():
    want = np.repeat(np.linspace(4.0, 0.1, 100), 8)
    copied = want.copy()
    copied[-8:] = want[-16:-8]
    shape = (1, 100, 8)
    found = judged(
        [case(numbers=copied, shape=shape)], [case(numbers=want, shape=shape)], within=0.1
    )

    assert isinstance(found, Failed)
    assert "furthest off at [0, 99, 0]: your number is" in found.measured


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        pytest.param([300.0, 0.1], Passed, id="right"),
        pytest.param([300.0, 0.100001], Passed, id="rounding"),
        pytest.param([300.0, 0.101], Failed, id="a small number, beside a large one"),
        pytest.param([301.0, 0.1], Failed, id="a large number"),
        pytest.param([300.0, NAN], Failed, id="NaN"),
        pytest.param([300.0], Failed, id="too few"),
    ],
)
def test_each_number_of_timed_calls_is_compared(got, kind):
    student, baseline = (
        Observation("p", "ok", {}, {"outputs": np.array(it)}) for it in (got, [300.0, 0.1])
    )

    assert isinstance(
        outputs.same_calls(Timed(student, baseline), Close(1e-4, 1e-5), why="why", try_="try"), kind
    )


def test_an_input_that_was_changed_is_named():
    assert isinstance(outputs.unchanged([], try_="try"), Passed)
    assert "changed: q, k" == outputs.unchanged(["q", "k"], try_="try").measured


MULTIPLES = {
    "twice": ((2.0, 4.0), 2.0),
    "the same": ((1.0, 2.0), None),
    "something else": ((1.0, 4.0), None),
    "not finite": ((NAN, 4.0), None),
    "overflowing": ((1e308, 1e308), None),
    "another length": ((2.0,), None),
}


@pytest.mark.parametrize(("got", "times"), MULTIPLES.values(), ids=MULTIPLES)
def test_numbers_that_are_a_multiple_are_told(got, times):
    assert times == outputs.multiple(np.array(got), np.array([1.0, 2.0]), 1e-3)
