"""A function that one kernel of Triton computes: launches, what computes beside them, and what is owed."""

from __future__ import annotations

import pytest

from autograder.checks import tiles
from autograder.model import Failed, Observation, Pair, Passed, Unavailable

ONE = {"launches": ["kernel"], "operators": ["aten::empty_like", "aten::view"], "wrote": True}


def test_one_launch_with_allocations_and_views_passes():
    assert isinstance(tiles.one_launch(ONE), Passed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"launches": []}, "0 launches", id="none"),
        pytest.param({"launches": ["a", "b"]}, "2 launches", id="two"),
        pytest.param({"operators": ["aten::add"]}, "of torch: aten::add", id="torch"),
        pytest.param({"wrote": False}, "something else computed it", id="for show"),
    ],
)
def test_more_than_one_launch_is_said(change, words):
    verdict = tiles.one_launch({**ONE, **change})

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


def test_what_no_launch_has_written_is_no_kernels():
    assert tiles.no_kernel(ONE, "try") is None
    assert isinstance(tiles.no_kernel({**ONE, "wrote": False}, "try"), Failed)


def test_what_a_tool_is_missing_for_is_owed():
    there = Observation("tools", "ok", {"tools": ["Triton"]})

    assert tiles.without(Pair(there, there), "Triton") is None
    assert isinstance(tiles.without(Pair(there, there), "nvcc"), Unavailable)
