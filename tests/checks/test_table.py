"""CSV files and rows: what is read, what is refused in which words, and where rows differ."""

from __future__ import annotations

import math
from itertools import islice

import pytest

from autograder.checks import read, table
from autograder.errors import SubmissionError
from autograder.model import Passed, Table

COLUMNS = ("precision", "throughput")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"precision,throughput\nFP32,1.5\n", id="plain"),
        pytest.param(
            b"\xef\xbb\xbfprecision,throughput\r\nFP32,1.5\r\n", id="as spreadsheets write it"
        ),
        pytest.param(
            b'"precision"," throughput"\n\n"FP32","1.5"', id="quoted, an empty line, no line end"
        ),
    ],
)
def test_a_table_is_its_header_and_rows(data):
    assert Table("r.csv", COLUMNS, ({"precision": "FP32", "throughput": "1.5"},)) == read(
        data, "r.csv"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "r.csv: is empty", id="empty"),
        pytest.param(b"\n \n", "r.csv: is empty", id="blank"),
        pytest.param(
            b"a,b\n1\n",
            "r.csv, line 2: 1 cells, but the first line names 2 columns",
            id="short row",
        ),
        pytest.param(b"a,a\n", "r.csv: column 'a' appears twice", id="twice"),
        pytest.param(
            b"a;b\n1,5;2\n",
            "r.csv: its columns are separated by semicolons; write commas",
            id="semicolons",
        ),
        pytest.param(b"a\tb\n1\t2\n", "r.csv: its columns are separated by tabs", id="tabs"),
        pytest.param(
            b"a,b\n1,2\na,b\n1,2\n",
            "r.csv, line 3: names the columns again",
            id="two runs",
        ),
        pytest.param(b"a\0b", "r.csv: holds a NUL byte", id="NUL"),
        pytest.param(b"a\n\xff", "r.csv: byte 2 is not UTF-8", id="not UTF-8"),
        pytest.param(b'a\n"1', "r.csv, line 2: unexpected end of data", id="open quote"),
        pytest.param(
            b",".join(b"%d" % i for i in range(65)), "r.csv: 1 lines of 65 columns", id="too wide"
        ),
        pytest.param(b"a\n" * 10_001, "r.csv: more than 10000 lines of 1 columns", id="too long"),
        pytest.param(b"a" * (table.BYTES + 1), "bytes; at most 1048576 are read", id="too large"),
        pytest.param(b"a\n" + b"1" * 200_000, "field larger than field limit", id="a huge cell"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(data, words):
    with pytest.raises(SubmissionError) as refused:
        table.read(data, "r.csv")

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2.0), ("-.5", -0.5), ("1e3", 1000.0), ("2.10x", None), ("nan", None), ("inf", None), ("1e999", None), ("", None),
        ("1_000", None), ("٣", None), ("0x10", None), ("1,5", None), ("12 %", None),
    ],
)  # fmt: skip
def test_a_number_is_what_programs_read(text, value):
    assert value == table.number(text)


def test_only_named_columns_become_numbers():
    rows = [{"precision": "16", "throughput": "1.5", "speedup": "2.1x"}]

    assert [{"precision": "16", "throughput": 1.5, "speedup": "2.1x"}] == table.as_numbers(
        rows, ["throughput", "speedup"]
    )


def test_rows_are_named_from_the_first_difference_on():
    keys = [(name, size) for name in ("small", "large") for size in (1, 2, 4, 8)]
    rows = [{"name": name, "size": size} for name, size in [*keys[:5], *reversed(keys[5:])]]
    found = table.form_problem(rows, ["name", "size"], ["size"], keys, keys=2)

    assert (
        "name, size of row 6 is large 8; expected from row 6 on, in that order: large 2, large 4, large 8"
        == found
    )


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        pytest.param([{"precision": "FP32", "throughput": 1.5}], "", id="right"),
        pytest.param([{"throughput": 1, "precision": "FP32"}], "", id="columns in another order"),
        pytest.param(
            [], "there are no rows; expected is a row for each precision: FP32", id="none"
        ),
        pytest.param(
            [{"precision": "AMP"}],
            "precision of row 1 is AMP; expected from row 1 on, in that order: FP32",
            id="another row",
        ),
        pytest.param([{"throughput": 1}], "column 'precision' is missing", id="no key"),
        pytest.param(
            [{"precision": "FP32"}], "column 'throughput' is missing in row 1", id="missing column"
        ),
        pytest.param(
            [{"precision": "FP32", "throughput": 1, "x": 1}],
            "column 'x' is not expected in row 1",
            id="one too many",
        ),
        pytest.param(
            [{"": 0, "precision": "FP32", "throughput": 1}],
            "column 1 has no name, and is not expected in row 1",
            id="an index",
        ),
        pytest.param(
            [{"precision": "FP32", "throughput": "1x"}],
            "throughput of FP32 is '1x', and it must be a number",
            id="text for a number",
        ),
    ],
)
def test_the_form_of_rows(rows, problem):
    assert problem == table.form_problem(rows, COLUMNS, ["throughput"], ["FP32"])


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        pytest.param(["a CPU", "a CPU "], "", id="one"),
        pytest.param(["a CPU", ""], "the device is not named", id="no name"),
        pytest.param([1.0, "a CPU"], "the device is not named", id="no text"),
        pytest.param(
            ["a CPU", "T4"],
            "the rows are from two machines, 'a CPU' and 'T4'; one machine has to measure all",
            id="two",
        ),
    ],
)
def test_rows_of_one_run_name_one_device(names, problem):
    found = table.device_problem([{"device": name} for name in names])

    assert (problem in found, bool(problem)) == (True, bool(found))


@pytest.mark.parametrize(
    ("cell", "value", "problem"),
    [
        pytest.param("1.5", 1.5, "", id="the same"),
        pytest.param("1.5", 1.504, "", id="two decimals"),
        pytest.param("a CPU", "a CPU ", "", id="text"),
        pytest.param(
            "1.80x", "1.80x", "", id="text that should be a number: the rows are judged elsewhere"
        ),
        pytest.param("", None, "", id="nothing"),
        pytest.param("1.5", 1.6, "x is 1.5 in the file and 1.6 in the rows returned", id="another"),
        pytest.param("1.5x", 1.5, "x is '1.5x' in the file, and it must be a number", id="a unit"),
        pytest.param(
            "None",
            None,
            "x is 'None' in the file, and it must be an empty cell",
            id="a word for nothing",
        ),
        pytest.param("", 1.5, "x is empty in the file and 1.5 in the rows returned", id="left out"),
        pytest.param(
            "1.5", math.inf, "x is 1.5 in the file and inf in the rows returned", id="inf"
        ),
        pytest.param(
            "T4",
            "a CPU",
            "x is T4 in the file and 'a CPU' in the rows returned",
            id="another device",
        ),
    ],
)
def test_a_cell_of_a_file_against_what_was_returned(cell, value, problem):
    assert problem == table.differ([{"x": cell}], [{"x": value}])


@pytest.mark.parametrize(
    ("written", "returned", "problem"),
    [
        pytest.param(
            [{"x": "1"}],
            [{"y": 1, "x": 1}],
            "column 'y' is only in the rows returned, in row 1",
            id="one less",
        ),
        pytest.param(
            [{"": "0", "x": "1"}],
            [{"x": 1}],
            "column 1 has no name, and is only in the file, in row 1",
            id="one more",
        ),
        pytest.param(
            [{"x": "1"}],
            [{"x": 1, "": 0}],
            "column 2 has no name, and is only in the rows returned, in row 1",
            id="one less, without a name",
        ),
        pytest.param([{"x": "1"}], [], "1 row in the file, 0 returned", id="other rows"),
        pytest.param([], [], "0 rows in the file, 0 returned", id="no rows"),
    ],
)
def test_rows_of_a_file_against_rows_returned(written, returned, problem):
    assert problem == table.differ(written, returned)


ROWS = [{"precision": "FP32", "throughput": 1.5, "memory": None}]


@pytest.mark.parametrize(
    ("text", "measured", "why"),
    [
        pytest.param("", "no r.csv in folder", "no file of this name", id="no file"),
        pytest.param("a,a\n", "r.csv cannot be read", "column 'a' appears twice", id="broken"),
        pytest.param("precision,throughput,memory\nFP32,2.5,\n", "throughput is 2.5 in the file and 1.5 in the rows returned", "must hold the rows", id="other figures"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_hold_the_rows_returned_fails(text, measured, why):
    found = table.holds_the_rows(text, "r.csv", ROWS)

    assert (measured, True) == (found.measured, why in found.why)


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_what_pandas_adds_to_a_file_is_told_as_such(index):
    found = table.holds_the_rows(
        f"{index},precision,throughput,memory\n0,FP32,1.5,\n", "r.csv", ROWS
    )

    assert "index=False is missing" in found.why
    assert found.try_.endswith("index=False)")


@pytest.mark.parametrize(
    ("problem", "is_of_pandas"),
    [
        ("column 1 has no name, and is not expected in row 1", True),
        ("r.csv: column 'Unnamed: 0' is not expected", True),
        ("column 4 has no name, and is not expected", False),
        ("column 'x' is not expected in row 1", False),
    ],
)
def test_only_the_first_column_without_a_name_is_the_index_of_pandas(problem, is_of_pandas):
    """A comma at the end of each line makes another one."""
    assert is_of_pandas == (table.indexed(problem) is not None)


def test_rows_that_are_written_and_not_returned_are_to_be_returned():
    found = table.holds_the_rows("precision,throughput,memory\nFP32,1.5,\n", "r.csv", [])

    assert ("1 row in the file, 0 returned", True) == (
        found.measured,
        "return all rows" in found.try_,
    )


@pytest.mark.parametrize(
    ("cell", "try_"), [("2.5", "return the rows that you write"), ("2.5 x", "the number alone")]
)
def test_what_to_try_fits_what_is_in_the_file(cell, try_):
    found = table.holds_the_rows(f"precision,throughput,memory\nFP32,{cell},\n", "r.csv", ROWS)

    assert try_ in found.try_


def test_a_file_with_the_rows_returned_passes_though_a_cell_is_empty():
    assert isinstance(
        table.holds_the_rows("precision,throughput,memory\nFP32,1.5,\n", "r.csv", ROWS), Passed
    )


def test_numbers_that_are_text_are_seen_to_be():
    found = table.form_problem([{"n": "0"}, {"n": "2"}], ["n"], ["n"], [0, 2])

    assert "n of row 1 is '0'; expected from row 1 on, in that order: 0, 2" == found


def test_rows_may_have_any_names_where_none_are_asked_for():
    assert "" == table.form_problem(
        [{"precision": "FP32", "throughput": 1.5}], COLUMNS, ["throughput"]
    )


def test_of_a_file_of_a_million_lines_no_more_are_read_than_are_taken(monkeypatch):
    seen = []
    monkeypatch.setattr(
        table, "islice", lambda lines, most: seen.append(most) or islice(lines, most)
    )

    with pytest.raises(SubmissionError, match="more than 10000 lines of 1 columns"):
        table.read(b"a\n" + b"1\n" * 500_000, "r.csv")
    assert [table.ROWS + 1] == seen


def test_a_table_of_as_many_lines_as_are_taken_is_read():
    """Long cells, empty lines and a last line without an end among them."""
    data = b"a,b\n\n" + b"1," + b"x" * 100_000 + b"\n" + b"1,2\n" * 9_997 + b"3,4"

    assert 9_999 == len(table.read(data, "r.csv").rows)
