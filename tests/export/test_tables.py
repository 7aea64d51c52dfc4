"""Tables for Canvas, Moodle and spreadsheets: the columns of those systems, nobody guessed, nothing owed in silence.

The headers are held against what those systems read: Canvas's lib/gradebook_importer.rb (`header?`, `process_student`),
Moodle's mod/assign/feedback/offline/importgradeslib.php (`init`, `next`).
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from autograder import export
from autograder.errors import UserError
from autograder.export import canvas, moodle
from autograder.export import csv as plain
from autograder.handed_in.late import Late
from autograder.handed_in.roster import Student
from autograder.handed_in.times import Handed
from autograder.results.overrides import Override, applied
from autograder.results.standing import Standing
from tests.samples import a_check, a_part, a_result, a_silent_check

ADA = Student("ada", "Lovelace, Ada", "ada@example.org", "1001", "657737")
FORMULA = Student("eve", '=HYPERLINK("http://x")', "eve@example.org", "1002")
AMP = a_part(
    "part3_amp",
    "Mixed precision",
    a_check(outcome="partial", points=2.5),
    a_check(id="other", points=6),
)


def a_standing(student=ADA, *, listed=True, late=None, source="", unclear="", **changes):
    result = a_result(AMP, submission=student.student, **changes)
    return Standing(
        result, Path(student.student), student, listed, Handed(source=source), late, unclear
    )


UNREAD = replace(
    a_standing(),
    result=a_result(a_part("p", "P", a_silent_check(outcome="unread")), submission="ada"),
)
LATE = Late(timedelta(days=1, hours=2), 0.2, 1.7)


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def read_by_canvas(text):
    """The rules of `gradebook_importer.rb` for a header, the row of points and the rows of students."""
    header, possible, *students = rows(text)
    assert len(header) > 3
    assert "Student" in header[0]
    assert "ID" in header[1]
    assert ("SIS User ID", "SIS Login ID", "Section") == tuple(
        header[2:5]
    )  # else a column too many is an assignment
    assert "Points Possible" in possible[0]
    return {row[1]: dict(zip(header[5:], row[5:], strict=True)) for row in [possible, *students]}


def test_canvas_reads_scores_by_number():
    """What lateness takes is off the score; a name with a comma is one cell, and a formula is none."""
    text, notes = canvas.table([a_standing(late=LATE), a_standing(FORMULA)], "Lab 3 (4410)")

    assert {
        "": {"Lab 3 (4410)": "12"},
        "1001": {"Lab 3 (4410)": "6.8"},
        "1002": {"Lab 3 (4410)": "8.5"},
    } == read_by_canvas(text)
    assert ["Lovelace, Ada", '\'=HYPERLINK("http://x")'] == [row[0] for row in rows(text)[2:]]
    assert [] == notes


def test_canvas_takes_nobody_without_a_number():
    """It would take the first of that name."""
    zoe = Student("zoe", "Ada Lovelace")
    text, notes = canvas.table([a_standing(zoe), a_standing(Student("kim"), listed=False)], "Lab 3")

    assert [[*canvas.HEADER, "Lab 3"]] == rows(text)
    assert [
        "zoe is left out: has no canvas_id in the roster",
        "kim is left out: is not in the roster",
    ] == notes


def test_canvas_has_one_row_a_student_and_one_worth():
    """Two results of one student, or of two labs, are for a person to choose from."""
    with pytest.raises(
        UserError, match="ada has 2 results; leave the one that counts in the folder"
    ):
        canvas.table([a_standing(), a_standing()], "Lab")
    with pytest.raises(UserError, match="results are of 12 and 30 points; export one lab"):
        canvas.table([a_standing(), a_standing(FORMULA, max_score=30)], "Lab")


def read_by_moodle(text):
    """The rules of `importgradeslib.php`: three columns by their names, the number behind 'Participant '."""
    header, *students = rows(text)
    ids, grades, _ = (
        header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)")
    )
    return {row[ids][len("Participant ") :]: float(row[grades]) for row in students}


def test_moodle_reads_scores_by_its_number_of_the_student():
    """That of the download, since it is one of the assignment; else the roster's; else the address is left."""
    downloaded = a_standing(late=LATE, source="Ada Lovelace_99_assignsubmission_file_")
    text, notes = moodle.table([downloaded, a_standing(FORMULA)])

    assert {"99": 6.8, "": 8.5} == read_by_moodle(text)
    assert {"657737": 8.5} == read_by_moodle(moodle.table([a_standing()])[0])
    assert ["ada@example.org", "eve@example.org"] == [row[2] for row in rows(text)[1:]]
    assert ["-", "-", "Mixed precision 8.5/12; 1 day 2 h late, -20 %"] == rows(text)[1][-3:]
    assert [] == notes


def test_moodle_takes_nobody_who_is_not_in_the_roster():
    """A number in a folder's name is not enough to be somebody."""
    stranger = a_standing(Student("kim"), listed=False, source="Kim_5_assignsubmission_file_")
    text, notes = moodle.table([stranger, a_standing(Student("zoe"))])

    assert [list(moodle.HEADER)] == rows(text)
    assert [
        "kim is left out: is not in the roster",
        "zoe is left out: has no moodle_id or email in the roster",
    ] == notes


def test_moodle_says_what_is_owed():
    """For provisional grades."""
    owed = a_part("part4", "Memory", a_check(outcome="unavailable", points=0))
    one = replace(a_standing(), result=a_result(owed))

    assert "Memory 0/6; 6 points still owed" == rows(moodle.table([one])[0])[1][-1]


def test_the_plain_table_says_all(tmp_path):
    """Sums, lateness beside the score, parts, and what was set by hand with its reason; no cell is a formula."""
    made = Override("part3_amp.other", 0.0, "=1+1", "meera", "now", a_result().submission_sha256)
    by_hand = replace(a_standing(FORMULA), result=applied(a_standing(FORMULA).result, [made]))
    text = plain.table([a_standing(late=LATE), by_hand, a_standing(unclear="marked as late")])
    lines = [dict(zip(rows(text)[0], row, strict=True)) for row in rows(text)[1:]]

    assert {
        "student": "ada",
        "name": "Lovelace, Ada",
        "email": "ada@example.org",
        "submission": "ada",
        "score": "8.5",
        "late": "1 day 2 h late, -20 %",
        "late_points": "1.7",
        "final": "6.8",
        "owed": "0",
        "lost": "3.5",
        "max_score": "12",
        "part3_amp": "8.5",
        "set_by_hand": "",
    } == lines[0]
    assert "part3_amp.other: =1+1 (the grader: failed, 6 of 6)" == lines[1]["set_by_hand"]
    assert "marked as late" == lines[2]["late"]
    assert not [cell for row in rows(text) for cell in row if cell.startswith(("=", "+", "-", "@"))]


def test_a_part_that_a_result_does_not_have_is_an_empty_cell():
    """Empty is not nothing scored."""
    other = replace(a_standing(FORMULA), result=a_result(a_part("part4", "Memory", a_check())))

    assert [["8.5", ""], ["", "0"]] == [
        row[-3:-1] for row in rows(plain.table([a_standing(), other]))[1:]
    ]


def owing(name, points):
    part = a_part("part4", "Memory", a_check(outcome="inconclusive", points=0, max_points=points))
    return replace(a_standing(Student(name)), result=a_result(part, submission=name))


REFUSED = {
    "one who is owed": (
        [a_standing(), owing("ben", 6)],
        "points are still owed: ben 6; settle them, or export with --provisional",
    ),
    "many": (
        [owing(f"s{n}", n + 0.5) for n in range(10)],
        "points are still owed: s0 0.5, s1 1.5, s2 2.5, s3 3.5, s4 4.5, s5 5.5, s6 6.5, s7 7.5 and 2 more; settle them, or export with --provisional",
    ),
    "one who is late, nobody knows how much": (
        [a_standing(unclear="marked as late, and when is not known")],
        "ada marked as late, and when is not known; fill in handed_in.csv, or export with --provisional",
    ),
    "all at once": (
        [UNREAD, a_standing(unclear="marked as late")],
        "could not be read: ada; ask for another file; ada marked as late; fill in handed_in.csv; points are still owed: ada 6; settle them, or export with --provisional",
    ),
}


@pytest.mark.parametrize(("standings", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_settled_is_refused_in_one_line_that_says_whose(standings, message):
    """Unless it is asked for."""
    with pytest.raises(UserError) as raised:
        export.settled(standings, provisional=False)

    assert message == str(raised.value)
    assert standings == export.settled(standings, provisional=True)
    assert [] == export.settled([], provisional=False)
