"""Who is in the class: read strictly, found by what is theirs alone, never guessed."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.handed_in import roster
from autograder.handed_in.roster import Roster, Student

WHOLE = """student,name,email,canvas_id,moodle_id,extension_hours
ada,Ada Lovelace,ada@example.org,1001,657737,48
ben,Ben  Okri,BEN@example.org,1002,,
"""


def write(tmp_path, text):
    file = tmp_path / "roster.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_whole_roster_and_one_of_names_alone(tmp_path):
    """Only `student` is required."""
    ada = Student("ada", "Ada Lovelace", "ada@example.org", "1001", "657737", 48.0)
    ben = Student("ben", "Ben  Okri", "BEN@example.org", "1002")

    assert Roster({"ada": ada, "ben": ben}) == roster.read(write(tmp_path, WHOLE))
    assert Roster({"ada": Student("ada")}) == roster.read(write(tmp_path, "student\nada\n"))
    opted_out = Roster({"ada": Student("ada", leaderboard="no")})
    in_german = Roster({"ada": Student("ada", extension_hours=1.5)})
    assert in_german == roster.read(write(tmp_path, "student;extension_hours\nada;1,5\n"))
    assert opted_out == roster.read(write(tmp_path, "student,leaderboard\nada,no\n"))


FOUND = {
    "a name, whatever its case and spacing": ("name", "ben okri", "ben"),
    "a name as macOS writes it": ("name", "Jose\u0301", "jose"),
    "an address": ("email", "ben@EXAMPLE.org", "ben"),
    "a number": ("canvas_id", "1001", "ada"),
    "part of a name": ("name", "Ada", None),
    "nothing, though a cell is empty too": ("moodle_id", "", None),
    "a name that two have": ("name", "Li Wei", None),
}


@pytest.mark.parametrize(("column", "value", "student"), FOUND.values(), ids=FOUND)
def test_a_student_is_found_by_what_is_theirs_alone(tmp_path, column, value, student):
    """Nobody is found rather than the likeliest."""
    found = roster.read(
        write(tmp_path, WHOLE + "jose,Jos\u00e9,,,,\nli,Li Wei,,,,\nwei,Li Wei,,,,\n")
    ).by(column, value)

    assert student == (found and found.student)


MISTAKES = {
    "no student": (
        ",Ada\n",
        "row 2: student '' is not a short name of letters, digits and . _ - @",
    ),
    "a path": (
        "../ada,\n",
        "row 2: student '../ada' is not a short name of letters, digits and . _ - @",
    ),
    "an id that is none": (
        "ada,,,12a\n",
        "row 2: canvas_id '12a' is not a number, the column ID of Canvas's gradebook",
    ),
    "no address": ("ada,,ada\n", "row 2: email 'ada' is not an address such as ada@example.org"),
    "a formula": (
        "ada,,=1@b.c\n",
        "row 2: email '=1@b.c' is not an address such as ada@example.org",
    ),
    "hours in words": (
        "ada,,,,,two\n",
        "row 2: extension_hours 'two' is not a number of hours from 0 to 8784",
    ),
    "no hours": (
        "ada,,,,,nan\n",
        "row 2: extension_hours 'nan' is not a number of hours from 0 to 8784",
    ),
    "a leaderboard in other words": (
        "ada,,,,,,never\n",
        "row 2: leaderboard 'never' is not 'no', 'pseudonym' or 'name': how they stand there; empty is a pseudonym",
    ),
    "a group called as a student is": (
        "ada,,,,,,,ben\nben\n",
        "group 'ben' is called as a student is; rename it",
    ),
    "a student twice": ("ada\nADA\n", "row 3: student 'ADA' stands twice; keep one"),
    "an id twice": ("ada,,,7\nben,,,7\n", "row 3: canvas_id '7' stands twice; keep one"),
}


@pytest.mark.parametrize(("rows", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path, rows, message):
    """A roster that is half read would lose a student."""
    file = write(tmp_path, f"{','.join(roster.COLUMNS)}\n{rows}")
    with pytest.raises(UserError) as raised:
        roster.read(file)

    assert f"{file}: {message}" == str(raised.value)


def test_who_shares_a_result_is_asked_by_its_name_or_a_members(tmp_path):
    class_ = roster.read(write(tmp_path, "student,group\nada,blue\nben,blue\ncy,\n"))
    names = {name: [it.student for it in class_.members(name)] for name in ("blue", "ada", "cy")}

    assert {"blue": ["ada", "ben"], "ada": ["ada", "ben"], "cy": ["cy"]} == names
    assert () == class_.members("zoe")
    assert ["blue", "blue", "cy"] == [it.owner for it in class_.students.values()]
