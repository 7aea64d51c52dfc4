"""Three exercises as an author writes them: right work passes every claim, each mistake fails the claim it breaks."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.claims import families
from autograder.claims.exercise import Exercise
from autograder.errors import CourseError
from autograder.grading.failures import failed_to_run
from autograder.model import Failed, Observation, Passed, Unavailable
from tests.claims import exercises
from tests.claims.harness import judged
from tests.claims.written import RIGHT, SLOW, WRONG
from tests.worker.harness import observe

BY_NAME = {it.function: it for it in (exercises.products, exercises.clip, exercises.cache)}


@pytest.mark.parametrize(("name", "style"), RIGHT, ids=[" ".join(each) for each in RIGHT])
def test_right_work_passes_whatever_its_style(name, style, tmp_path):
    found = judged(BY_NAME[name], RIGHT[name, style], SLOW[name], tmp_path)

    assert set(BY_NAME[name].part.checks) == set(found)
    assert [] == [
        (check, it) for check, it in found.items() if not isinstance(it, Passed | Unavailable)
    ]


@pytest.mark.parametrize(("name", "mistake"), WRONG, ids=[" ".join(each) for each in WRONG])
def test_a_mistake_fails_the_claims_that_it_breaks(name, mistake, tmp_path):
    text, fails = WRONG[name, mistake]
    found = judged(BY_NAME[name], text, SLOW[name], tmp_path)
    failed = {
        check: f"{it.measured} {it.why}" for check, it in found.items() if isinstance(it, Failed)
    }

    assert {check for check in fails if check != "is_faster"} == set(failed)
    for check, words in failed.items():
        assert fails[check] in words


def test_a_result_has_the_dtype_that_the_slow_version_gives_it(tmp_path):
    """Whatever the dtypes of its inputs, and beside whole numbers."""
    norms = Exercise("norms")

    @norms.inputs
    def draw(random, rows=(1, 5)):
        return {
            "x": (random.normal(size=(rows, 4)), "bfloat16"),
            "keep": random.random((rows, 4)) < 0.5,
        }

    norms.same(why="the norm in float32", try_="x.float()", dtypes=[], gradients=[])
    right = "def norms(x, keep):\n    return (x.float() * keep).norm(dim=1), keep.sum(), x * 2\n"
    found = [
        judged(norms, text, right, tmp_path)["same_results"]
        for text in (right, right.replace(".float()", ""))
    ]

    assert isinstance(found[0], Passed)
    assert 'sizes drawn at random, result[0]": bfloat16' in found[1].measured


HALVES = "def halves(x, keep):\n    return x / 2 * keep\n"


@pytest.fixture
def halves():
    """An exercise whose inputs have a dtype beside them, and a number that is no tensor."""
    exercise = Exercise("halves")
    exercise.inputs(
        lambda random, rows=(2, 5): {"x": (random.normal(size=rows), "bfloat16"), "keep": 0.5}
    )
    return exercise


def test_timed_calls_have_the_dtypes_that_were_declared(halves, tmp_path):
    halves.faster({"rows": 3}, why="half", try_="halve it")
    probe = halves.part.probes["fast"]
    seen = "def halves(x, keep):\n    assert (str(x.dtype), keep) == ('torch.bfloat16', 0.5)\n    return x\n"
    (tmp_path / "seen.py").write_text(seen)

    assert {"x": "bfloat16"} == probe.dtypes
    assert ["float32"] == [str(it.dtype) for it in probe.inputs(np.random.default_rng(1)).values()]
    answer = observe(halves.part, "fast", tmp_path / "seen.py", 1)
    assert "ok" == answer.ended, answer.error


def test_a_slip_is_named_by_its_numbers_and_a_claim_has_the_name_that_it_is_given(halves, tmp_path):
    halves.same(
        name="is_halved",
        why="half of each number",
        slips={("it is doubled", "halve it"): lambda x, keep: x * 2 * keep},
        try_="x / 2",
        gradients=(),
        dtypes=(),
    )
    found = [
        judged(halves, HALVES.replace("/ 2", change), HALVES, tmp_path)["is_halved"]
        for change in ("/ 2", "* 2", "* 3")
    ]

    assert isinstance(found[0], Passed)
    assert ["it is doubled", "half of each number"] == [it.why for it in found[1:]]
    assert ["halve it", "x / 2"] == [it.try_ for it in found[1:]]


def test_a_mistake_that_another_check_answers_for_costs_that_check_alone(tmp_path):
    tripled = Exercise("tripled", holes={})
    tripled.inputs(
        lambda random, rows=(2, 5), odd=False: {"x": random.normal(size=rows), "odd": odd}
    )
    words = {"why": "three times", "try_": "3 * x", "gradients": (), "families": ()}
    tripled.same({"odd": {"odd": True}}, name="odd_ones", **words)
    tripled.same(
        {"even": {}, "odd": {"odd": True}}, name="all", apart={"odd": "odd_ones"}, needs=[], **words
    )
    right = "def tripled(x, odd):\n    return 3 * x\n"
    found = judged(tripled, right.replace("3 * x", "x if odd else 3 * x"), right, tmp_path)

    assert (Failed, Passed) == (type(found["odd_ones"]), type(found["all"]))


SCALED = """
def scaled(x, factor):
    return x * factor.item() if factor.item() > 0 else x
"""


@pytest.fixture
def scaled():
    """An exercise about what is captured when a function is compiled."""
    exercise = Exercise("scaled")
    exercise.inputs(
        lambda random, rows=(2, 9), size=1.0: {
            "x": random.normal(size=(rows, 3)),
            "factor": size * np.ones(1),
        }
    )
    return exercise


def test_what_is_compiled_is_built_once_for_later_calls(scaled, tmp_path):
    first = [{"rows": 2}, {"rows": 3}]
    words = {"why": "a number became part of the graph", "try_": "x * factor"}
    scaled.builds_nothing_later(first, [{"rows": 5}, {"rows": 7, "size": 2.0}], **words)
    right = "def scaled(x, factor):\n    return x * factor\n"
    by_rows = "def scaled(x, factor):\n    return x * factor * [1] [0] if x.shape[0] != 7 else x + factor\n"
    found = [
        judged(scaled, text, SCALED, tmp_path)["builds_nothing_later"]
        for text in (right, by_rows, "def scaled(x, factor):\n    return x\n")
    ]

    assert isinstance(found[0], Passed), found[0]
    assert [Failed, Failed] == [type(it) for it in found[1:]]
    assert "a number became part of the graph" == found[1].why
    assert "nothing was left to compile" in found[2].why


def test_fewer_operations_are_captured_than_of_a_loop(scaled, tmp_path):
    scaled.captures_less(0.5, {"rows": 9}, why="each row is captured", try_="x * factor")
    right = "def scaled(x, factor):\n    return x * factor\n"
    loop = "import torch\n\n\ndef scaled(x, factor):\n    return torch.stack([row * factor for row in x])\n"
    found = [
        judged(scaled, text, loop, tmp_path)["captures_less"]
        for text in (right, loop, "def scaled(x, factor):\n    return x\n")
    ]

    assert isinstance(found[0], Passed), found[0]
    assert ["each row is captured", "nothing was left to compile"] == [it.why for it in found[1:]]


def test_who_runs_out_of_memory_is_told_what_the_claim_says():
    sums = Exercise("sums")

    @sums.inputs
    def draw(random, rows=(1, 9)):
        return {"rows": random.normal(size=rows)}

    sums.needs_less_memory(0.5, {"rows": 9}, {"rows": 1}, why="", try_="one block at a time")
    ended = Observation("peak", "memory", error="more than 64 MB")

    assert "one block at a time" == failed_to_run(ended, sums.part.probes["peak"].hints).try_


def test_what_is_compiled_as_one_graph_is_compared_counted_and_watched_like_other_code(tmp_path):
    """Its author insists on one graph, and torch does not compile while operations are seen."""
    doubled = Exercise("doubled")

    @doubled.inputs
    def draw(random, rows=(1, 9)):
        return {"x": random.normal(size=rows)}

    words = {"why": "twice as much", "try_": "x * 2"}
    doubled.same(**words)
    doubled.operations_do_not_grow({"rows": 2}, {"rows": 9}, **words)
    doubled.fetches_nothing({"rows": 9}, **words)
    right = "import torch\n\n\ndef doubled(x):\n    return x * 2\n"
    insists = '@torch.compile(fullgraph=True, backend="eager")\ndef '
    found = judged(doubled, right.replace("def ", insists), right, tmp_path)

    assert [] == [it for it in found.values() if not isinstance(it, Passed)]


def test_whole_numbers_are_tried_in_order_and_at_their_ends(tmp_path):
    taken = Exercise("taken")
    taken.inputs(
        lambda random, rows=(4, 9): {
            "x": random.normal(size=(9, 3)),
            "rows": random.permutation(rows),
        }
    )
    taken.same(why="x[rows]", try_="x[rows]", dtypes=[], gradients=())
    right = "def taken(x, rows):\n    return x[rows]\n"
    wrong = {
        "in order": "x[rows] if (rows.diff() <= 0).any() else x[rows] + 1",
        "at their ends": "x[rows] if len(set(rows.tolist())) == len(rows) else x[rows] + 1",
        "": "x[rows]",
    }
    for case, text in wrong.items():
        found = judged(taken, right.replace("x[rows]", text), right, tmp_path)["same_results"]
        assert isinstance(found, Failed) == bool(case)
        assert case in found.measured


@pytest.mark.parametrize("drawn", [np.ones(2, "complex64"), (np.ones(2), "float8_e4m3fn")])
def test_a_dtype_that_is_not_supported_is_refused(drawn):
    odd = Exercise("odd")
    odd.inputs(lambda random: {"x": drawn})

    with pytest.raises(CourseError, match=r"odd: x is drawn as (complex64|float8_e4m3fn); use fl"):
        odd.same(why="", try_="")


def test_ten_bits_lose_a_part_of_each_number_in_one_direction():
    change = next(it.change for it in families.NUMBERS if it.name == "lost in ten bits")
    drawn = np.random.default_rng(0).normal(size=(40, 3))
    given = change(drawn, None).astype(np.float32)
    rounded = ((given.view(np.int32) + (1 << 12)) & -(1 << 13)).view(np.float32)

    assert np.allclose(given, drawn, rtol=2e-3)
    assert np.allclose(1 - rounded / given, 2.0**-12, rtol=1e-3)


MEAN = """
import torch


def mean_of_products(left, right):
    return (left @ right).mean()
"""
BOTH_SIDES = """
import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, left, right):
        ctx.save_for_backward(left, right)
        return left @ right

    @staticmethod
    def backward(ctx, above):
        left, right = ctx.saved_tensors
        return above @ right.T, torch.zeros_like(right).addmm_(left.T, above)


def mean_of_products(left, right):
    return Product.apply(left, right).mean()
"""
ONCE_MORE = MEAN.replace("(left @ right)", "(left @ right + 0 * (left @ right).detach())")
BY_ELEMENTS = MEAN.replace("(left @ right)", "(left[:, :, None] * right).sum(1)")
FROZEN = {"rows": 8, "gradients": ["left"]}


@pytest.fixture
def mean():
    """An exercise of one product, and two in the backward pass."""
    exercise = Exercise("mean_of_products")

    @exercise.inputs
    def draw(random, rows=(1, 9)):
        return {"left": random.normal(size=(rows, 5)), "right": random.normal(size=(5, 4))}

    return exercise


COMPUTED = {
    "of the slow version, as much": (1.05, None, MEAN, "allowed 105% of that"),
    "of the slow version, one product more": (1.05, None, ONCE_MORE, "a product is computed twice"),
    "of another case, one product less": (0.7, {"with both": {"rows": 8}}, MEAN, "MFLOP with both"),
    "of another case, each product": (
        0.7,
        {"with both": {"rows": 8}},
        BOTH_SIDES,
        "a product is computed twice",
    ),
    "where nobody counts": (1.05, None, BY_ELEMENTS, "no matrix product was seen"),
}


@pytest.mark.parametrize(("at_most", "than", "text", "words"), COMPUTED.values(), ids=COMPUTED)
def test_products_are_counted_forward_and_backward(mean, at_most, than, text, words, tmp_path):
    """Those that are made in place too, which torch's own counter leaves out."""
    mean.computes_less(at_most, FROZEN, than=than, why="a product is computed twice", try_="frozen")
    verdict = judged(mean, text, MEAN, tmp_path)["computes_less"]

    assert ("MFLOP" in words or "allowed" in words) == isinstance(verdict, Passed)
    assert words in f"{verdict.measured} {getattr(verdict, 'why', '')}"
    assert [] == mean.structural


def test_gradients_are_judged_as_one_with_the_results_and_a_case_says_which_are_needed(
    mean, tmp_path
):
    mean.same(
        {"right is frozen": {"gradients": ["left"]}},
        families=["sizes drawn at random"],
        as_one=True,
        name="mean_matches",
        why={"frozen": "left alone has a gradient", "": "the mean of a product"},
        try_="left @ right",
    )
    names = ["gradient of left", "gradient of right", "right is frozen: gradient of left"]
    seen = observe(mean.part, "mean_matches", _written(tmp_path, MEAN), 1)
    cases = [case["case"] for case in seen.values["cases"]]
    frozen = MEAN.replace("left @", "(left if right.requires_grad else left.detach()) @")
    verdicts = [judged(mean, text, MEAN, tmp_path)["mean_matches"] for text in (MEAN, frozen)]

    assert ["mean_matches"] == list(mean.part.checks)
    assert {"mean_matches"} == set(mean.claimed.values())
    assert all(any(name in case for case in cases) for name in names)
    assert "right is frozen: gradient of right" not in cases
    assert isinstance(verdicts[0], Passed)
    assert "right is frozen: gradient of left" in verdicts[1].measured
    assert "left alone has a gradient" == verdicts[1].why


def _written(folder, text):
    path = folder / "written.py"
    path.write_text(text)
    return path


def test_a_size_that_is_named_as_what_a_case_fixes_is_refused():
    """It would never be drawn, and a check of it could not fail."""
    exercise = Exercise("anything")

    with pytest.raises(CourseError, match="inputs draws dtype, which a case fixes"):
        exercise.inputs(lambda random, dtype="float32": {"x": random.normal(size=3)})
