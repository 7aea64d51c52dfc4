"""Names in downloads: whose submission a file is when names are alike, posed or in the way of each other."""

from __future__ import annotations

import os

import pytest

from autograder.handed_in.downloads import collect, find, recognised
from autograder.handed_in.roster import Roster, Student
from tests.handed_in.downloaded import ADA, ROSTER, due, lay, shown


def test_names_of_another_encoding_can_be_written_down(tmp_path):
    """A download that was unpacked with the wrong one is graded all the same."""
    (tmp_path / os.fsdecode(b"garc\xeda_1001_2_a.zip")).write_text("x")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / os.fsdecode(b"garc\xeda")).mkdir()
    [ada] = find(tmp_path, "resnet18", ROSTER, due).attempts
    [garcia] = find(tmp_path / "plain", "resnet18", None, due).attempts

    assert ("garc?a_1001_2_a.zip", "garc?a") == (ada.handed.source, garcia.name)


def test_two_of_one_name_are_told_apart_by_number(tmp_path):
    """The note says what is missing."""
    lay(tmp_path, "Ben_9_assignsubmission_file_/a.py")
    roster = Roster({name: Student(name, "Ben") for name in ("ben", "other")})

    [note] = find(tmp_path, "resnet18", roster, due).notes
    said = "several in the roster have moodle_id '9' or name 'Ben'; give them their numbers there"

    assert f"Ben_9_assignsubmission_file_: {said}" == note


MOODLES, CANVASES = "Mallory_657999_assignsubmission_file", "mallory_1009_31"
POSED = {  # what Mallory hands in beside Ada's own file -> what is said of it
    "a file named with Ada's number": (
        [
            "Ada Lovelace_657737_assignsubmission_file_a.py",
            f"{MOODLES}_x_657737_assignsubmission_file_a.py",
        ],
        "its name has the numbers 657999 and 657737; find out whose it is, and rename it",
    ),
    "a full name with Ada's number": (
        [
            "Ada Lovelace_657737_assignsubmission_file_a.py",
            f"x_657737_assignsubmission_file_{MOODLES}_a.py",
        ],
        "its name has the numbers 657737 and 657999; find out whose it is, and rename it",
    ),
    "another plugin of Moodle's": (
        [
            "Ada Lovelace_657737_assignsubmission_file_a.py",
            "Mallory_657999_assignsubmission_pdf_x_657737_assignsubmission_file_a.py",
        ],
        "its name has the numbers 657999 and 657737; find out whose it is, and rename it",
    ),
    "a Canvas name with Ada's number": (
        ["lovelaceada_1001_21_a.py", "x_1001_1009_31_a.py"],
        "its name has the numbers of ada and mallory; find out whose it is, and rename it",
    ),
    "a Canvas file that is called as Ada's": (
        ["lovelaceada_1001_21_a.py", f"{CANVASES}_x_1001_21_a.py"],
        "its name has the numbers of ada and mallory; find out whose it is, and rename it",
    ),
    "an anonymous Canvas file": (
        ["lovelaceada_1001_21_a.py", "LATE_anon_Xy1z2_31_x_1001_21_a.py"],
        "no submission of a file, so not looked at",
    ),
    "digits of another script": (
        ["lovelaceada_1001_21_a.py", "mallory_\u0661\u0660\u0660\u0661_31_a.py"],
        "no submission of a file, so not looked at",
    ),
}


@pytest.mark.parametrize(("files", "note"), POSED.values(), ids=POSED)
def test_no_name_files_a_submission_under_another_student(tmp_path, files, note):
    """What a student may choose is their name and their file's; Ada's own stays hers, and a person is told."""
    mallory = Student("mallory", "Mallory", "", "1009", "657999")
    found = find(lay(tmp_path, *files), "resnet18", Roster({"ada": ADA, "mallory": mallory}), due)

    assert [tmp_path / files[0]] == [path for one in found.attempts for _, path in one.files]
    assert ("ada", (f"{files[1]}: {note}",)) == (found.attempts[0].name, found.notes)


def test_two_who_say_they_are_one_student_are_left_to_a_person(tmp_path):
    """Of two names with one number somebody is not who they say; neither is put to the other's files."""
    lay(tmp_path, "lovelaceada_1001_21_a.py", "x_1001_2009_31_b.py")
    found = find(tmp_path, "resnet18", ROSTER, due)
    said = "several submissions without their times: lovelaceada_1001_21_a.py, x_1001_2009_31_b.py; keep one"

    assert ((), (f"ada: {said}",)) == (found.attempts, found.notes)


def test_names_with_numbers_in_them_are_no_riddle(tmp_path):
    """An honest file may be called by a year; only the number of somebody in the class makes it two students'."""
    lay(tmp_path, "lovelaceada_1001_21_2024_lab_1_2_final.py")

    assert ["ada sometime 2024_lab_1_2_final.py"] == shown(find(tmp_path, "resnet18", ROSTER, due))


DOUBLED = {
    "one name": (
        ["lovelaceada_1001_21_a.py", "lovelaceada_1001_22_a.py"],
        "'a.py' was handed in twice, as lovelaceada_1001_21_a.py and as lovelaceada_1001_22_a.py; keep one",
    ),
    "an archive that was unpacked beside it": (
        ["lovelaceada_1001_21_lab.zip", "lovelaceada_1001_21_lab/a.py"],
        "lovelaceada_1001_21_lab is a folder, and has files beside it; keep one",
    ),
}


@pytest.mark.parametrize(("files", "note"), DOUBLED.values(), ids=DOUBLED)
def test_of_two_files_that_cannot_both_be_taken_neither_is(tmp_path, files, note):
    """Nobody knows which was meant; the others are graded."""
    found = find(lay(tmp_path, *files, "okriben_1002_23_a.py"), "resnet18", ROSTER, due)

    assert ["ben sometime a.py"] == shown(found)
    assert (note,) == tuple(said.partition(": ")[2] for said in found.notes)


def test_names_that_differ_in_case_or_in_how_an_accent_is_written_are_two_files(tmp_path):
    """Both are kept, so that none is lost; which of them the lab lists is seen later."""
    names = ["r\u00e9sum\u00e9.md", "re\u0301sume\u0301.md", "A.py", "a.py"]
    lay(tmp_path / "in", *(f"lovelaceada_1001_{n}_{name}" for n, name in enumerate(names)))
    [ada] = find(tmp_path / "in", "resnet18", ROSTER, due).attempts

    assert sorted(names) == sorted(path.name for path in collect(ada, tmp_path / "out").iterdir())


def test_a_file_called_as_a_folder_is_a_file(tmp_path):
    """Two dots are no name for a copy."""
    [ada] = find(lay(tmp_path / "in", "lovelaceada_1001_21_.."), "resnet18", ROSTER, due).attempts

    assert ["lovelaceada_1001_21_.."] == [
        path.name for path in collect(ada, tmp_path / "out").iterdir()
    ]


def test_one_file_called_as_if_by_another_system_does_not_make_it_the_download_of_that(tmp_path):
    """Else nobody else of the class would be graded."""
    lay(
        tmp_path / "canvas",
        "lovelaceada_1001_21_a.py",
        "okriben_1002_22_x_9_assignsubmission_file_a.py",
    )
    lay(tmp_path / "ours", "ada/a.py", "ben/a.py", "mallory_9_9_a.zip")

    assert ["ada", "ben"] == [
        one.name for one in find(tmp_path / "canvas", "resnet18", ROSTER, due).attempts
    ]
    assert not recognised(tmp_path / "ours", "resnet18")
    assert ["ada", "ben"] == [
        one.name for one in find(tmp_path / "ours", "resnet18", ROSTER, due).attempts
    ]
