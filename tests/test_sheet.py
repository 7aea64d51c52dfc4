"""CSV that people edit: no cell is a formula, and every mistake is one line that names its place."""

from __future__ import annotations

import csv
import io

import pytest

from autograder import sheet
from autograder.errors import UserError, nowhere

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "a\rb",
    "ada, the first",
    'say "hi"',
    "two\nlines",
    "'",
]


@pytest.mark.parametrize("cell", HOSTILE)
def test_no_text_begins_like_a_formula_and_all_of_it_comes_back(tmp_path, cell):
    """What a student is called can run nothing in a spreadsheet."""
    written = sheet.text(["student"], [[cell]])
    [_, [read]] = csv.reader(io.StringIO(written, newline=""))

    assert not read.startswith(sheet.FORMULA)
    assert cell.replace("\r", "\n") == sheet.plain(read)


def test_a_dash_alone_is_no_formula():
    """Moodle writes it for nothing."""
    assert "-" == sheet.safe("-") == sheet.plain("-")
    assert "'--" == sheet.safe("--")


def test_numbers_stay_numbers():
    """Also negative ones, and without a trailing .0."""
    assert "points\n-0.5,6,7\n" == sheet.text(["points"], [[-0.5, 6.0, 7]])


def test_rows_come_with_their_line_and_empty_ones_do_not_count(tmp_path):
    """A byte order mark, spaces around cells and short rows are what spreadsheets make."""
    file = tmp_path / "a.csv"
    file.write_bytes('\ufeffstudent, name\r\nada," Ada "\r\n,\r\nben\r\n'.encode())

    assert [
        (2, {"student": "ada", "name": "Ada"}),
        (4, {"student": "ben", "name": ""}),
    ] == sheet.read(file, ["student"], ["student", "name"])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_columns_are_told_apart_as_the_spreadsheet_wrote_them(tmp_path, mark):
    """Where numbers have a decimal comma, 'CSV UTF-8' has semicolons."""
    file = tmp_path / "a.csv"
    file.write_text(f'student{mark}name\nada{mark}"a,b;c"\n')

    assert [(2, {"student": "ada", "name": "a,b;c"})] == sheet.read(
        file, ["student"], ["student", "name"]
    )


@pytest.mark.parametrize(
    ("cell", "number"), [("1.5", 1.5), ("1,5", 1.5), (" 0,25 ", 0.25), ("-1", -1), ("1e1", 10)]
)
def test_a_number_may_have_a_decimal_comma(cell, number):
    """As spreadsheets of half the world write it."""
    assert number == sheet.number(cell)


@pytest.mark.parametrize("cell", ["1,500", "1.500,5", "1,2,3", ",5", "1/2", "01. Mai", ""])
def test_what_may_be_another_number_is_none(cell):
    """1,500 is a thousand and a half of them, or one and a half."""
    with pytest.raises(ValueError, match="could not convert"):
        sheet.number(cell)


MISTAKES = {
    "a column is missing": ("name\nAda\n", "column 'student' is missing; columns: student, name"),
    "a column in capitals": (
        "Student,name\n",
        "unknown column 'Student' (did you mean 'student'?); columns: student, name",
    ),
    "nothing at all": ("", "column 'student' is missing; columns: student, name"),
    "a misspelt column": (
        "student,nmae\nada,Ada\n",
        "unknown column 'nmae' (did you mean 'name'?); columns: student, name",
    ),
    "a column twice": ("student,name,name\n", "column 'name' stands twice; keep one"),
    "a row too long": (
        "student,name\nada,Lovelace, Ada\n",
        "row 2: 3 cells under 2 columns; quote what has a comma",
    ),
    "a quote left open": (
        'student\n"ada',
        "this is no CSV in UTF-8: unexpected end of data; save it as 'CSV UTF-8'",
    ),
}


@pytest.mark.parametrize(("written", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path, written, message):
    """File, line, what to do."""
    file = tmp_path / "roster.csv"
    file.write_text(written)
    with pytest.raises(UserError) as raised:
        sheet.read(file, ["student"], ["student", "name"])

    assert f"{file}: {message}" == str(raised.value)


def test_latin_1_and_a_missing_file_are_said(tmp_path):
    """Neither is a traceback."""
    (tmp_path / "a.csv").write_bytes(b"student\nJos\xe9\n")
    with pytest.raises(UserError, match=r"no CSV in UTF-8: .* save it as 'CSV UTF-8'"):
        sheet.read(tmp_path / "a.csv", ["student"], ["student"])
    with pytest.raises(UserError, match=r"b.csv: No such file"):
        sheet.read(tmp_path / "b.csv", ["student"], ["student"])


def test_a_table_is_there_whole_or_as_it_was(tmp_path):
    """What fails on the way changes nothing."""
    file = sheet.write(tmp_path / "a.csv", ["student"], [["ada"]])
    with pytest.raises(UnicodeEncodeError):
        sheet.write(file, ["student"], [["ben"], ["\udced"]])

    assert "student\nada\n" == file.read_text()


def test_a_full_disk_is_said_with_the_file_that_it_had_no_room_for(tmp_path):
    (tmp_path / ".grades.csv.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*/grades\.csv'") as full:
        sheet.replace(tmp_path / "grades.csv", b"x")

    assert nowhere(full.value) == str(full.value)
    assert nowhere(OSError(28, "No space left on device")).endswith("/dev/shm: see df)")
