"""A map of the error says where a result is wrong, in few cells."""

import numpy as np
import pytest

from autograder.checks.error_map import MOST, NOT_FINITE, error_map


def mapped(apart, allowed=1e-3):
    apart = np.asarray(apart, dtype="float64")
    return error_map(apart.ravel(), allowed, "a case", apart.shape)["error_map"]


def test_a_wrong_corner_is_where_it_is():
    apart = np.zeros((4, 6))
    apart[2:, 4:] = 0.5
    assert mapped(apart) == {
        "case": "a case",
        "shape": [4, 6],
        "levels": ["000000", "000000", "000033", "000033"],
        "wrong": 4,
        "rows": [2, 3],
        "columns": [4, 5],
    }


@pytest.mark.parametrize(
    ("apart", "level"),
    [
        (1e-3, 0),  # just allowed
        (1.1e-3, 1),
        (1.1e-2, 2),
        (1.1e20, NOT_FINITE - 1),
        (np.inf, NOT_FINITE),
    ],
)
def test_each_level_is_ten_times_as_far(apart, level):
    assert mapped([[apart, 1.0], [1.0, 1.0]])["levels"][0][0] == str(level)


def test_the_furthest_of_all_before_the_last_two_dimensions_counts():
    apart = np.zeros((3, 2, 2))
    apart[1, 0, 1] = 2.0
    assert mapped(apart)["levels"] == ["04", "00"]


def test_a_row_of_numbers_is_a_map_of_one_row():
    assert mapped([0.0, 0.0, 0.0, 1.1])["levels"] == ["0004"]


@pytest.mark.parametrize("shape", [(1000, 3), (3, 1000), (65, 65), (64, 64)])
def test_a_map_is_small_and_loses_no_error(shape):
    apart = np.zeros(shape)
    apart[-1, -1] = 1.1
    levels = mapped(apart)["levels"]
    assert len(levels) == min(shape[0], MOST)
    assert {len(row) for row in levels} == {min(shape[1], MOST)}
    assert levels[-1][-1] == "4"


def test_where_nothing_is_allowed_each_difference_counts():
    assert mapped([0.0, 0.0, 2.0, 0.0], allowed=0.0)["levels"] == ["0010"]


def test_few_numbers_have_no_map():
    assert error_map(np.array([1.0, 2.0]), 1e-3, "a case", (2,)) == {}
