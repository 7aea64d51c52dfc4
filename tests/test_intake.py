"""What is to be graded: every shape of a download by the names of its students, and what is written of when it came."""

from __future__ import annotations

from dataclasses import replace
from zipfile import ZipFile

import pytest

from autograder import times
from autograder.errors import UserError
from autograder.intake import TOGETHER, Intake, note, together
from autograder.roster import Roster, Student
from autograder.times import Handed, moment
from tests.toy import toy_kit

FILE = "part1_toy.py"
ROSTER = Roster(
    {
        "ada": Student("ada", "Ada Lovelace", "ada@example.org", "1001", "5", extension_hours=24),
        "ben": Student("ben", "Ben Okri", "ben@example.org", "1002", "6"),
    }
)
LAB = replace(toy_kit().config, due="2027-01-20T23:59+05:30")
GRADESCOPE = """submission_11:
  :submitters: [{":name": Ada, ":email": ada@example.org}]
  :created_at: 2027-01-20 18:00:00 Z
submission_12:
  :submitters: [{":name": Zoe, ":email": zoe@example.org}]
"""


def intake(**options):
    return Intake(LAB, [FILE, "table.csv"], **options)


def lay(folder, *files):
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


SHAPES = {
    "Canvas": (
        [
            "lovelaceada_1001_21_part1_toy.py",
            "lovelaceada_1001_22_table-1.csv",
            "okri_LATE_1002_2_a.zip",
            "d_9_3_a.zip",
        ],
        {"ada": "", "ben": ""},
        ["d_9_3_a.zip: nobody in the roster has canvas_id '9'"],
    ),
    "Moodle": (
        ["Ada Lovelace_5_assignsubmission_file_/part1_toy.py", "Zoe_9_assignsubmission_file_/part1_toy.py"],
        {"ada": ""},
        ["Zoe_9_assignsubmission_file_: nobody in the roster has moodle_id '9' or name 'Zoe'"],
    ),
    "Gradescope": (
        ["submission_metadata.yml", "submission_11/part1_toy.py", "submission_12/part1_toy.py"],
        {"ada": "2027-01-20T18:00:00+00:00"},
        ["submission_12: nobody in the roster has email 'zoe@example.org'"],
    ),
    "nbgrader's exchange": (
        [f"ada+toy+2027-01-{day} 12:00:00 UTC+r/part1_toy.py" for day in (20, 21, 22)],
        {"ada": "2027-01-21T12:00:00+00:00"},
        [],
    ),
    "nbgrader's submitted/": (
        ["ada/toy/part1_toy.py", "ada/toy/timestamp.txt", "zoe/toy/part1_toy.py"],
        {"ada": ""},
        ["ada: timestamp.txt says 'x', which is no time", "zoe: nobody in the roster has student 'zoe'"],
    ),
    "folders, by a roster": (["ben/part1_toy.py", "ada.zip"], {"ada": "", "ben": ""}, []),
}


@pytest.mark.parametrize(("files", "came", "notes"), SHAPES.values(), ids=SHAPES)
def test_a_download_is_named_by_its_students(tmp_path, files, came, notes):
    """The last attempt in time, with the extension of the roster; whoever is unknown is listed."""
    lay(tmp_path / "in", *files)
    if "submission_metadata.yml" in files:
        (tmp_path / "in/submission_metadata.yml").write_text(GRADESCOPE)
    found, said = intake(roster=ROSTER).find([tmp_path / "in"])
    with together(found, tmp_path) as named:
        assert {FILE} <= {p.name for p in named["ada"].rglob("*.py")} or named["ada"].suffix == ".zip"

    written = {name: one.at.isoformat() if one.at else "" for name, one in times.read(tmp_path).items()}
    assert (came, notes) == (written, said)


def test_a_single_submission_of_nobody_is_not_graded(tmp_path):
    """A class zip that nobody unpacked may be called anything; who is known goes by the name of the roster."""
    lay(tmp_path, "Ada/part1_toy.py", "submissions/part1_toy.py")
    found, said = intake(roster=ROSTER).find([tmp_path / "Ada", tmp_path / "submissions"])

    assert (["ada"], ["submissions: nobody in the roster has student 'submissions'"]) == (
        [one.name for one in found],
        said,
    )


def test_without_a_roster_folders_are_what_they_are_called(tmp_path):
    """Nothing is known of when they came, and nothing is written of it."""
    lay(tmp_path / "in", "ada/part1_toy.py", "zoe.zip", "ben+toy+1/part1_toy.py")
    found, said = intake().find([tmp_path / "in"])
    with together(found, tmp_path) as named:
        assert ["ada", "ben+toy+1", "zoe"] == sorted(named)

    assert ([], False) == (said, (tmp_path / times.FILE).exists())


def test_every_attempt_is_graded_when_asked(tmp_path):
    """They are numbered as they came."""
    lay(tmp_path, "ada+toy+2027-01-20 12:00:00 UTC/a.py", "ada+toy+2027-01-21 12:00:00 UTC/a.py")

    assert ["ada-1", "ada-2"] == [one.name for one in intake(every=True).find([tmp_path])[0]]


def test_one_name_from_two_places_is_refused(tmp_path):
    """No result is overwritten."""
    lay(tmp_path, "one/ada/part1_toy.py", "two/ada/part1_toy.py")
    with pytest.raises(UserError, match="two submissions are called 'ada'; rename one"):
        intake(roster=ROSTER).find([tmp_path / "one", tmp_path / "two"])


def test_loose_files_are_put_together_only_for_as_long_as_a_run_lasts(tmp_path):
    """What a grader that was killed left there is no part of anybody's submission."""
    lay(tmp_path / "in", "lovelaceada_1001_21_part1_toy.py")
    lay(tmp_path / TOGETHER, "ada/table.csv")
    found, _ = intake(roster=ROSTER).find([tmp_path / "in"])
    with together(found, tmp_path) as named:
        assert [FILE] == [path.name for path in named["ada"].iterdir()]

    assert not (tmp_path / TOGETHER).exists()


MENDED, SAID = moment("2027-01-19 12:00 UTC"), moment("2027-01-21 12:00 UTC")
LINES = {
    "the system says no time": (Handed("ada", None, source="a.zip"), MENDED),
    "another attempt": (Handed("ada", None, source="b.zip"), None),
    "the system says when": (Handed("ada", SAID, source="a.zip"), SAID),
}


@pytest.mark.parametrize(("handed", "at"), LINES.values(), ids=LINES)
def test_a_time_that_somebody_mended_stays_until_the_system_says_one(tmp_path, handed, at):
    """Lines of others are not touched."""
    times.write(tmp_path, {"ada": Handed("ada", MENDED, source="a.zip"), "ben": Handed("ben", MENDED)})
    [ada] = intake(roster=ROSTER).find([lay(tmp_path / "in", "lovelaceada_1001_21_part1_toy.py")])[0]
    note([replace(ada, handed=handed)], tmp_path)

    assert {"ada": at, "ben": MENDED} == {name: one.at for name, one in times.read(tmp_path).items()}


def test_nobodys_work_is_passed_over_in_silence(tmp_path):
    """What stands beside submissions is listed; results that lie there are no submission."""
    lay(tmp_path, "ada/part1_toy.py", "ben.py", "results/journal.sqlite", ".hidden", "cy.rar")
    found, notes = intake().find([tmp_path])

    assert ["ada", "cy"] == [one.name for one in found]
    assert [
        f"{name}: no folder, archive or notebook with a submission, so not looked at" for name in ("ben.py", "results")
    ] == notes


def test_a_download_has_to_be_unpacked(tmp_path):
    """As one submission it would be nobody's."""
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a_1_2_a.zip", "")
        archive.writestr("b_3_4_a.zip", "")
    with pytest.raises(UserError, match=r"a\.zip: this is the download of a class; unpack it"):
        intake().find([tmp_path / "a.zip"])


def test_no_result_is_called_as_a_table_or_page(tmp_path):
    """Else there would be a folder where grades.csv goes."""
    with pytest.raises(UserError, match=r"results cannot be called 'grades\.csv', as tables and pages are; rename it"):
        intake().find([lay(tmp_path / "in", "grades.csv.zip")])
