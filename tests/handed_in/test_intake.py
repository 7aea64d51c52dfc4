"""What is to be graded: every shape of a download by the names of its students, and what is written of when it came."""

from __future__ import annotations

import os
from dataclasses import replace
from zipfile import ZipFile

import pytest

from autograder import sheet
from autograder.handed_in import times
from autograder.handed_in.downloads import Attempt
from autograder.handed_in.intake import TOGETHER, Intake, asked_later, note, rename, together
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.times import Handed, moment
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
        [
            "Ada Lovelace_5_assignsubmission_file_/part1_toy.py",
            "Zoe_9_assignsubmission_file_/part1_toy.py",
        ],
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
        [
            "ada: timestamp.txt says 'x', which is no time",
            "zoe: nobody in the roster has student 'zoe'",
        ],
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
    with together(found, tmp_path) as (named, _):
        assert {FILE} <= {p.name for p in named["ada"].rglob("*.py")} or named[
            "ada"
        ].suffix == ".zip"

    written = {
        name: one.at.isoformat() if one.at else "" for name, one in times.read(tmp_path).items()
    }
    assert (came, notes) == (written, said)


def test_a_single_submission_of_nobody_is_not_graded(tmp_path):
    """A class zip that nobody unpacked may be called anything; who is known goes by the name of the roster."""
    lay(tmp_path, "Ada/part1_toy.py", "submissions/part1_toy.py")
    found, said = intake(roster=ROSTER).find([tmp_path / "Ada", tmp_path / "submissions"])

    assert (["ada"], ["submissions: nobody in the roster has student 'submissions'"]) == (
        [one.name for one in found],
        said,
    )


def test_a_file_of_canvas_among_folders_is_nobodys_until_it_lies_apart(tmp_path):
    """Its number is not looked at there: a student could have named a folder so."""
    lay(tmp_path, "ada/part1_toy.py", "zoe/part1_toy.py", "okri_1002_2_a.zip")
    found, notes = intake(roster=ROSTER).find([tmp_path])
    said = "it is called as Canvas calls files, and lies among folders that are not; "

    assert ["ada"] == [one.name for one in found]
    assert [
        f"okri_1002_2_a.zip: {said}put it into a folder of its own, and name that folder, too",
        "zoe: nobody in the roster has student 'zoe'",
    ] == sorted(notes)


def test_without_a_roster_folders_are_what_they_are_called(tmp_path):
    """Nothing is known of when they came, and nothing is written of it."""
    lay(tmp_path / "in", "ada/part1_toy.py", "zoe.zip", "ben+toy+1/part1_toy.py")
    found, said = intake().find([tmp_path / "in"])
    with together(found, tmp_path) as (named, _):
        assert ["ada", "ben+toy+1", "zoe"] == sorted(named)

    assert ([], False) == (said, (tmp_path / times.FILE).exists())


def test_every_attempt_is_graded_when_asked(tmp_path):
    """They are numbered as they came."""
    lay(tmp_path, "ada+toy+2027-01-20 12:00:00 UTC/a.py", "ada+toy+2027-01-21 12:00:00 UTC/a.py")

    assert ["ada-1", "ada-2"] == [one.name for one in intake(every=True).find([tmp_path])[0]]


def test_of_one_name_from_two_places_neither_is_graded(tmp_path):
    """No result is overwritten, and nobody else waits for it."""
    lay(tmp_path, "one/ada/part1_toy.py", "two/ada/part1_toy.py", "two/ben/part1_toy.py")
    found, notes = intake(roster=ROSTER).find([tmp_path / "one", tmp_path / "two"])
    both = f"{tmp_path}/one/ada and {tmp_path}/two/ada"

    assert ["ben"] == [one.name for one in found]
    assert [
        f"{both}: results of all would be called 'ada'; rename them, or keep one of a group"
    ] == notes


TWINS = {
    "a folder and its archive": ["ada/part1_toy.py", "ada.zip"],
    "two kinds of archive": ["ada.tar.gz", "ada.zip"],
    "beyond a hundred characters": [f"{'a' * 100}1.zip", f"{'a' * 100}2.zip"],
    "what cannot be shown": ["a\x01.zip", "a\x02.zip"],
    "nothing but dots": ["submission.zip", "submission.tar"],
}


@pytest.mark.parametrize("files", TWINS.values(), ids=TWINS)
def test_names_that_become_one_are_left_out(tmp_path, files):
    """What is called alike when it is shown would have one folder."""
    found, notes = intake().find([lay(tmp_path, *files, "ben/part1_toy.py")])

    assert (["ben"], 1) == ([one.name for one in found], len(notes))
    assert all(name.partition("/")[0] in notes[0] for name in files)


def test_names_that_differ_in_case_or_in_how_an_accent_is_written_are_two(tmp_path):
    """Each has a folder of its own."""
    names = ["Jos\u00e9", "Jose\u0301", "jos\u00e9"]
    found, notes = intake().find([lay(tmp_path, *(f"{name}/part1_toy.py" for name in names))])

    assert (sorted(names), []) == (sorted(one.name for one in found), notes)


def test_loose_files_are_put_together_only_for_as_long_as_a_run_lasts(tmp_path):
    """What a grader that was killed left there is no part of anybody's submission."""
    lay(tmp_path / "in", "lovelaceada_1001_21_part1_toy.py")
    lay(tmp_path / TOGETHER, "ada/table.csv")
    found, _ = intake(roster=ROSTER).find([tmp_path / "in"])
    with together(found, tmp_path) as (named, _):
        assert [FILE] == [path.name for path in named["ada"].iterdir()]

    assert not (tmp_path / TOGETHER).exists()


def test_a_request_in_an_upload_that_is_too_late_is_read(tmp_path):
    """An upload that cannot be read asks nothing."""
    for day, text in (("19", ""), ("25", "part1_toy.fits\n"), ("26", "")):
        folder = lay(tmp_path / f"in/ada+toy+2027-01-{day} 12:00:00 UTC+r", FILE)
        if text:
            (folder / "request.md").write_text(text)
    lay(tmp_path / "in", "ada+toy+2027-01-27 12:00:00 UTC+r/a.zip")
    [ada], _ = intake(roster=ROSTER).find([tmp_path / "in"])

    assert "2027-01-19" == ada.handed.at.date().isoformat()
    assert "part1_toy.fits\n" == asked_later(ada)
    assert "" == asked_later(replace(ada, later=()))


def test_who_is_known_keeps_the_time_until_the_files_were_read(tmp_path):
    times.write(tmp_path, {"ada": Handed("ada", MENDED, source="a.zip")})
    lay(tmp_path / "in", "ada+toy+2027-01-25 12:00:00 UTC+r/part1_toy.py")
    found, _ = intake(roster=ROSTER).find([tmp_path / "in"])
    with together(found, tmp_path):
        assert {"ada": MENDED} == {name: one.at for name, one in times.read(tmp_path).items()}


MENDED, SAID = moment("2027-01-19 12:00 UTC"), moment("2027-01-21 12:00 UTC")
LINES = {
    "the system says no time": (Handed("ada", None, source="a.zip"), MENDED),
    "another attempt": (Handed("ada", None, source="b.zip"), None),
    "the system says when": (Handed("ada", SAID, source="a.zip"), SAID),
}


@pytest.mark.parametrize(("handed", "at"), LINES.values(), ids=LINES)
def test_a_time_that_somebody_mended_stays_until_the_system_says_one(tmp_path, handed, at):
    """Lines of others are not touched."""
    times.write(
        tmp_path, {"ada": Handed("ada", MENDED, source="a.zip"), "ben": Handed("ben", MENDED)}
    )
    [ada] = intake(roster=ROSTER).find([lay(tmp_path / "in", "lovelaceada_1001_21_part1_toy.py")])[
        0
    ]
    said = [*note([replace(ada, handed=handed)], tmp_path)]

    assert {"ada": at, "ben": MENDED} == {
        name: one.at for name, one in times.read(tmp_path).items()
    }
    lost = (
        "ada: nobody knows when these files came; 2027-01-19T12:00:00+00:00 was for earlier ones."
    )
    assert [lost] * (at is None) == [line.partition(" Write")[0] for line in said]


def test_the_same_files_under_another_name_keep_their_time_and_take_the_name(tmp_path):
    """Canvas sends a page back by the name of the newest upload, which may only bring a request."""
    ada, ben = Handed("ada", MENDED, source="a.zip"), Handed("ben", MENDED, source="b.zip")
    times.write(tmp_path, {"ada": ada, "ben": ben})
    rename([Attempt("ada", Handed("ada", SAID, source="a-1.zip"), ())], tmp_path)

    assert times.read(tmp_path) == {"ada": replace(ada, source="a-1.zip"), "ben": ben}


def test_nobodys_work_is_passed_over_in_silence(tmp_path):
    """What stands beside submissions is listed; results that lie there are no submission."""
    lay(tmp_path, "ada/part1_toy.py", "ben.py", "results/journal.sqlite", ".hidden", "cy.rar")
    found, notes = intake().find([tmp_path])

    assert ["ada", "cy"] == [one.name for one in found]
    assert [
        f"{name}: no folder, archive or notebook with a submission, so not looked at"
        for name in ("ben.py", "results")
    ] == notes


def test_a_download_has_to_be_unpacked(tmp_path):
    """As one submission it would be nobody's."""
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a_1_2_a.zip", "")
        archive.writestr("b_3_4_a.zip", "")
    lay(tmp_path, "in/ben/part1_toy.py")
    found, [note] = intake().find([tmp_path / "a.zip", tmp_path / "in"])

    assert ["ben"] == [one.name for one in found]
    assert (
        f"{tmp_path}/a.zip: this looks like the download of a class; unpack it into a folder, and name that"
        == note
    )


@pytest.mark.parametrize(
    "name",
    [
        "grades.csv",
        "GRADES.CSV",
        "x.csv",
        "index.html",
        "pseudonyms.key",
        "journal.sqlite",
        "journal.sqlite-wal",
        "notes",
    ],
)
def test_no_result_is_called_as_a_table_or_page(tmp_path, name):
    """Else there would be a folder where a file goes; that one is left out, and the others are graded."""
    lay(tmp_path / "out", "notes")
    found, [note] = intake(out=tmp_path / "out").find(
        [lay(tmp_path / "in", f"{name}.zip", "ada/part1_toy.py")]
    )
    said = f"results cannot be called '{name}', as tables and pages are; rename it"

    assert (["ada"], f"{tmp_path}/in/{name}.zip: {said}") == ([one.name for one in found], note)


def test_no_submission_has_the_name_of_a_file_that_is_being_written(tmp_path):
    """Temporary names are hidden, and a submission's never is."""
    lay(tmp_path, "grades.csv.part/part1_toy.py", ".grades.csv.part/part1_toy.py", "x.zip")
    found, _ = intake().find([tmp_path])
    for one in found:
        (tmp_path / "out" / one.name).mkdir(parents=True)
    sheet.write(tmp_path / "out/grades.csv", ["student"], [["ada"]])

    assert ["grades.csv.part", "x"] == sorted(one.name for one in found)
    assert "student\nada\n" == (tmp_path / "out/grades.csv").read_text()


def test_what_cannot_be_copied_is_left_out_and_said(tmp_path):
    """Somebody took it away in between; the others are graded, and nothing is written of when it came."""
    files = [f"{name}_part1_toy.py" for name in ("lovelaceada_1001_21", "okriben_1002_22")]
    found, _ = intake(roster=ROSTER).find([lay(tmp_path / "in", *files)])
    (tmp_path / "in" / files[0]).unlink()
    with together(found, tmp_path) as (named, notes):
        assert ["ben"] == [*named]

    assert [f"{tmp_path}/in/{files[0]}: it cannot be copied: No such file or directory"] == notes
    assert ["ben"] == [*times.read(tmp_path)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_may_not_be_entered_stops_nobody(tmp_path):
    """It is one submission, of which nothing can be read."""
    lay(tmp_path, "ada/part1_toy.py", "ben/toy/timestamp.txt").joinpath("ben").chmod(0)
    try:
        found, _ = intake(roster=ROSTER).find([tmp_path])
    finally:
        (tmp_path / "ben").chmod(0o700)

    assert ["ada", "ben"] == [one.name for one in found]


PAIR = Roster(
    {
        "ada": Student("ada", "Ada", "ada@example.org", "1001", extension_hours=48, group="blue"),
        "ben": Student("ben", "Ben", "ben@example.org", "1002", group="blue"),
        "cy": Student("cy", "Cy", "cy@example.org", "1003"),
    }
)


def gradescope(folder, *submissions):
    """Write a download; each submission is its addresses and its time."""
    text = ""
    for number, (addresses, at) in enumerate(submissions, 1):
        named = ", ".join(f'{{":email": {address}@example.org}}' for address in addresses)
        text += f"submission_{number}:\n  :submitters: [{named}]\n  :created_at: {at} Z\n"
        lay(folder, f"submission_{number}/{FILE}")
    (folder / "submission_metadata.yml").write_text(text)
    return folder


def test_of_a_group_the_last_upload_counts_whoever_made_it(tmp_path):
    """It is in time by the longest extension of a member."""
    folder = gradescope(
        tmp_path / "export",
        (["ada"], "2027-01-20 10:00:00"),
        (["ben"], "2027-01-22 10:00:00"),
        (["cy"], "2027-01-20 11:00:00"),
    )
    attempts, notes = intake(roster=PAIR).find([folder])

    assert [("blue", "ben"), ("cy", "cy")] == [(it.name, it.handed.student) for it in attempts]
    assert [] == notes


def test_one_upload_by_all_of_a_group_is_one_attempt(tmp_path):
    folder = gradescope(tmp_path / "export", (["ada", "ben"], "2027-01-20 10:00:00"))
    attempts, notes = intake(roster=PAIR, every=True).find([folder])

    assert ["blue"] == [it.name for it in attempts]
    assert [] == notes


FOLDERS = {
    "named after the group": (["blue"], ["blue"], []),
    "named after a member": (["ben"], ["blue"], []),
    "of two members, without their times": (
        ["ada", "ben"],
        [],
        ["blue: several submissions without their times: ada, ben; keep one"],
    ),
}


@pytest.mark.parametrize(("folders", "names", "notes"), FOLDERS.values(), ids=FOLDERS)
def test_a_plain_folder_is_the_groups(tmp_path, folders, names, notes):
    lay(tmp_path / "in", *(f"{name}/{FILE}" for name in folders))
    attempts, said = intake(roster=PAIR).find([tmp_path / "in"])

    assert names == [it.name for it in attempts]
    assert notes == said
