"""The map of a wrong result, in words and in pieces of one level."""

import pytest

from autograder.report.error_picture import wrong


def noted(levels, shape, count, rows, columns):
    places = {"wrong": count, "rows": rows, "columns": columns}
    return {"error_map": {"case": "8 rows", "shape": shape, "levels": levels, **places}}


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (
            noted(["0011", "0000"], [2, 4], 2, [0, 0], [2, 3]),
            "2 of 8 numbers are wrong: in row 0 of 0 to 1, in columns 2 to 3 of 0 to 3",
        ),
        (
            noted(["1111", "1111"], [2, 4], 8, [0, 1], [0, 3]),
            "8 of 8 numbers are wrong",
        ),
        (
            noted(["0110"], [4], 2, [0, 0], [1, 2]),
            "2 of 4 numbers are wrong: in columns 1 to 2 of 0 to 3",
        ),
        (
            noted(["01", "01"], [5, 2, 2], 2, [0, 1], [1, 1]),
            (
                "2 of 4 places in the last two dimensions are wrong: "
                "in all rows from 0 to 1, in column 1 of 0 to 1"
            ),
        ),
        (
            noted(["0" * 63 + "1"] * 2, [2, 128], 2, [0, 1], [127, 127]),
            (
                "2 of 256 numbers are wrong: in all rows from 0 to 1, in column 127 of 0 to 127; "
                "a cell is 1 x 2 numbers or less, and its worst one counts"
            ),
        ),
    ],
)
def test_a_map_is_said_in_words(evidence, said):
    assert wrong(evidence).said == said


def test_neighbours_of_one_level_are_one_piece():
    drawn = wrong(noted(["0011", "1111"], [2, 4], 6, [0, 1], [0, 3]))
    assert list(drawn.runs()) == [(0, 0, 2, "0"), (0, 2, 2, "1"), (1, 0, 4, "1")]


def test_a_check_without_a_map_draws_none():
    assert wrong({"shares": {"numbers": 2.0}}) is None
