"""Folders as other systems write them: whose each submission is, which attempt counts, and what is left to a person.

The shapes are those of their sources: Canvas's lib/content_zipper.rb, Moodle's mod/assign (Name_number_assignsubmission_file_),
an export of Gradescope (submission_metadata.yml), nbgrader's exchange and submitted/.
"""

from __future__ import annotations

from datetime import timedelta
from zipfile import ZipFile

import pytest

from autograder.errors import UserError
from autograder.handed_in import downloads
from autograder.handed_in.downloads import collect, find, recognised
from autograder.handed_in.roster import Roster, Student
from tests.handed_in.downloaded import DUE, ROSTER, due, lay, shown

METADATA = """submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '100'
    :email: ADA@example.org
  :created_at: 2027-01-20 18:00:00.123456789 Z
  :score: 5.0
submission_12:
  :submitters:
  - :name: Benjamin
    :sid: ben
    :email: other@example.org
  - :name: Stranger
    :sid: '300'
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2027-01-22 18:00:00.000000000 Z
    zone: &1 !ruby/object:ActiveSupport::TimeZone
      name: Asia/Kolkata
    time: 2027-01-22 23:30:00.000000000 Z
submission_13:
  :submitters:
  - :name: Ben Okri
    :email: ben@example.org
"""


def test_canvas_files_are_put_together_by_the_number_of_their_student(tmp_path):
    """Loose files lose Canvas's mark of another try; who is not in the roster is listed."""
    lay(tmp_path, "lovelaceada_1001_21_part3_amp-2.py", "lovelaceada_1001_22_amp_results.csv")
    lay(
        tmp_path,
        "okriben_LATE_1002_23_lab.zip",
        "doe_1003_24_lab.zip",
        "anon_Xy1z2_25_lab.zip",
        "okriben_1002_text.html",
    )
    found = find(tmp_path, "resnet18", ROSTER, due)

    assert ["ada sometime part3_amp.py amp_results.csv", "ben sometime LATE lab.zip"] == shown(
        found
    )
    assert (
        "anon_Xy1z2_25_lab.zip: no submission of a file, so not looked at",
        "okriben_1002_text.html: no submission of a file, so not looked at",
        "doe_1003_24_lab.zip: nobody in the roster has canvas_id '1003'",
    ) == found.notes


def test_two_files_that_would_get_one_name_keep_theirs(tmp_path):
    """No file of a student is lost."""
    lay(tmp_path, "lovelaceada_1001_21_a.csv", "lovelaceada_1001_22_a-1.csv")

    assert ["ada sometime a.csv a-1.csv"] == shown(find(tmp_path, "resnet18", ROSTER, due))


def test_moodle_folders_are_known_by_number_else_by_the_whole_name(tmp_path):
    """The number is one of the assignment, so a roster of last month's has another."""
    lay(tmp_path, "Somebody Else_657737_assignsubmission_file_/part3_amp.py")
    lay(
        tmp_path,
        "Ben Okri_9_assignsubmission_file/lab.zip",
        "Ada_10_assignsubmission_file_/lab.zip",
    )
    found = find(tmp_path, "resnet18", ROSTER, due)

    assert [
        "ada sometime Somebody Else_657737_assignsubmission_file_",
        "ben sometime Ben Okri_9_assignsubmission_file",
    ] == shown(found)
    assert (
        "Ada_10_assignsubmission_file_: nobody in the roster has moodle_id '10' or name 'Ada'",
    ) == found.notes


def test_moodle_files_without_folders_are_put_together(tmp_path):
    """The other way in which Moodle downloads."""
    lay(
        tmp_path,
        "Ben Okri_657768_assignsubmission_file_part3_amp.py",
        "Ben Okri_657768_assignsubmission_file_n-1.csv",
    )

    assert ["ben sometime n-1.csv part3_amp.py"] == shown(find(tmp_path, "resnet18", ROSTER, due))


def test_gradescope_says_who_and_when_and_a_group_is_each_of_its_members(tmp_path):
    """By address, else by the student's number there, if the roster calls them so."""
    lay(tmp_path, "submission_11/a.py", "submission_12/a.py")
    (tmp_path / "submission_metadata.yml").write_text(METADATA)
    found = find(tmp_path, "resnet18", ROSTER, due)

    assert [
        "ada 2027-01-20T18:00:00.123456+00:00 submission_11",
        "ben 2027-01-22T18:00:00+00:00 submission_12",
    ] == shown(found)
    assert (
        "submission_12: nobody in the roster has student '300'",
        "submission_13: listed, and not in the folder",
    ) == found.notes


@pytest.mark.parametrize("text", ["submission_1: [", "- 1", "submission_1: {score: 1}"])
def test_a_list_that_gradescope_did_not_write_is_one_line(tmp_path, text):
    (tmp_path / "submission_metadata.yml").write_text(text)
    with pytest.raises(UserError, match="is not the list that Gradescope exports"):
        find(tmp_path, "resnet18", ROSTER, due)


def collected(tmp_path):
    """Three attempts of ada's, who may be two days late, one of ben's."""
    for at in ("2027-01-20 18:00:00 UTC", "2027-01-22 18:28:00 UTC", "2027-01-22 18:30:00 UTC"):
        lay(tmp_path, f"ada+resnet18+{at}+r4nd0m/part3_amp.py")
    return lay(
        tmp_path,
        "ben+resnet18+2027-01-21 00:00:00 +0000/a.py",
        "ben+foundations+2027-01-19 00:00:00 UTC/a.py",
    )


def test_the_last_attempt_in_time_counts_and_else_the_last(tmp_path):
    """The extension is the student's own."""
    found = find(collected(tmp_path), "resnet18", ROSTER, due)

    assert ["2027-01-22T18:28:00+00:00", "2027-01-21T00:00:00+00:00"] == [
        a.handed.at.isoformat() for a in found.attempts
    ]


def test_what_came_after_the_one_that_counts_is_known_and_a_request_alone_is_no_attempt(tmp_path):
    """Without a deadline the last counts, so nothing came after it."""
    lay(collected(tmp_path), "ben+resnet18+2027-01-21 01:00:00 +0000/request.md")
    ada, ben = find(tmp_path, "resnet18", ROSTER, due).attempts
    last, asking = find(tmp_path, "resnet18", ROSTER, lambda student: None).attempts

    assert (1, 1) == (len(ada.later), len(ben.later))
    assert "00:00:00" in asking.files[0][1].name
    assert () == last.later


def test_every_attempt_can_be_graded(tmp_path):
    """Then they are numbered as they came; a lab without a deadline takes the last."""
    found = find(collected(tmp_path), "resnet18", None, due, every=True)
    last = find(tmp_path, "resnet18", None, lambda student: None)

    assert ["ada-1", "ada-2", "ada-3", "ben"] == [one.name for one in found.attempts]
    assert ["22T18:30", "21T00:00"] == [one.handed.at.isoformat()[8:16] for one in last.attempts]


def test_what_nbgrader_collected_has_its_time_in_a_file(tmp_path):
    """A student could have written it: a wrong one is said, and the work is graded."""
    lay(tmp_path, "ada/resnet18/part3_amp.ipynb", "ben/resnet18/part3_amp.ipynb", "notes.txt")
    (tmp_path / "ada/resnet18/timestamp.txt").write_text(
        "2027-01-20 23:59:00.000000 Asia/Kolkata\n"
    )
    (tmp_path / "ben/resnet18/timestamp.txt").write_text("=never" * 1000)
    found = find(tmp_path, "resnet18", ROSTER, due)

    assert ["ada 2027-01-20T23:59:00+05:30 resnet18", "ben sometime resnet18"] == shown(found)
    assert [
        f"ben: timestamp.txt says {('=never' * 17)[:100]!r}, which is no time",
        "notes.txt: no folder, archive or notebook with a submission, so not looked at",
    ] == list(found.notes)


def test_a_folder_of_folders_is_called_as_its_students(tmp_path):
    """Without a roster everybody is a student."""
    lay(tmp_path, "ada/part3_amp.py", "zoe.zip", "zoe/a.py")

    assert ["ada sometime ada"] == shown(find(tmp_path, "resnet18", ROSTER, due))
    assert ("zoe: several submissions without their times: zoe, zoe.zip; keep one",) == find(
        tmp_path, "resnet18", None, due
    ).notes


def test_a_folder_with_an_underscore_is_not_passed_over_in_silence(tmp_path):
    """Only what is hidden, or a program's, is nobody's work."""
    lay(tmp_path, "_eve/part3_amp.py", "__MACOSX/x", ".git/x")

    assert ("_eve: nobody in the roster has student '_eve'",) == find(
        tmp_path, "resnet18", ROSTER, due
    ).notes


def test_without_a_roster_a_number_is_nobody(tmp_path):
    """It says what is needed."""
    found = find(lay(tmp_path, "lovelaceada_1001_21_lab.zip"), "resnet18", None, due)

    assert (
        "lovelaceada_1001_21_lab.zip: whose it is takes a roster with canvas_id '1001'",
    ) == found.notes


def test_downloads_are_told_from_folders_of_ours(tmp_path):
    """A folder of folders says nothing that its names do not say."""
    assert not recognised(
        lay(tmp_path / "ours", "ada/part3_amp.py", "ben/part3_amp.py"), "resnet18"
    )
    assert not recognised(tmp_path / "ours/ada/part3_amp.py", "resnet18")
    assert recognised(collected(tmp_path / "exchange"), "resnet18")
    assert recognised(lay(tmp_path / "submitted", "ada/resnet18/timestamp.txt"), "resnet18")


def test_what_belongs_to_no_exchange_and_links_are_listed(tmp_path):
    """Nothing is passed over in silence."""
    lay(collected(tmp_path / "exchange"), "strange.zip")
    lay(tmp_path / "canvas", "lovelaceada_1001_21_lab.zip")
    (tmp_path / "canvas/okriben_1002_22_lab.zip").symlink_to("/etc/passwd")

    assert ("strange.zip: not called as nbgrader's exchange does, so not looked at",) == find(
        tmp_path / "exchange", "resnet18", ROSTER, due
    ).notes
    assert ("okriben_1002_22_lab.zip: no submission of a file, so not looked at",) == find(
        tmp_path / "canvas", "resnet18", ROSTER, due
    ).notes


def test_loose_files_are_put_together_and_an_archive_is_taken_as_it_is(tmp_path):
    """Graded is what the student would have handed in as a folder."""
    lay(
        tmp_path / "in",
        "lovelaceada_1001_21_a.py",
        "lovelaceada_1001_22_b.csv",
        "okriben_1002_23_lab.zip",
    )
    ada, ben = find(tmp_path / "in", "resnet18", ROSTER, due).attempts

    assert tmp_path / "in/okriben_1002_23_lab.zip" == collect(ben, tmp_path / "out")
    assert tmp_path / "out/ada" == collect(ada, tmp_path / "out")
    assert ["a.py", "b.csv"] == sorted(path.name for path in (tmp_path / "out/ada").iterdir())


def test_one_loose_file_is_a_folder_of_one(tmp_path):
    """A part file alone is no archive."""
    [ada] = find(lay(tmp_path / "in", "lovelaceada_1001_21_a.py"), "resnet18", ROSTER, due).attempts

    assert (tmp_path / "out/ada/a.py").parent == collect(ada, tmp_path / "out")


def test_stamps_that_are_links_are_not_followed(tmp_path):
    """Nothing of the machine is read for a student."""
    (tmp_path / "secret").write_text("2020-01-01 00:00:00 UTC")
    lay(tmp_path / "in", "ada/resnet18/a.py", "ben/resnet18/timestamp.txt")
    (tmp_path / "in/ada/resnet18/timestamp.txt").symlink_to(tmp_path / "secret")

    assert None is find(tmp_path / "in", "resnet18", ROSTER, due).attempts[0].handed.at


def test_latest_of_nothing_in_time_is_the_last(tmp_path):
    """Who is late is so by what was handed in last."""
    attempts = find(collected(tmp_path), "resnet18", None, due, every=True).attempts[:3]

    assert "ada-3" == downloads.latest(attempts, DUE - timedelta(days=9)).name


def test_an_archive_is_named_whatever_its_letters_and_dots(tmp_path):
    """A name may have dots; what is no archive is listed."""
    names = ("ada.l.zip", "ada@x.org.tar.gz", "ben.ZIP", "gil.7z", "hal.tar.bz2")
    lay(tmp_path, *names, "jo.py")
    roster = Roster({name: Student(name) for name in ("ada.l", "ada@x.org", "ben", "gil", "hal")})
    found = find(tmp_path, "resnet18", roster, due)

    assert (list(roster.students), list(names)) == (
        [one.name for one in found.attempts],
        [collect(one, tmp_path / "out").name for one in found.attempts],
    )
    assert (
        "jo.py: no folder, archive or notebook with a submission, so not looked at",
    ) == found.notes


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (["lovelaceada_1001_21_a.zip", "okriben_1002_22_a.py"], True),
        (["Ada_5_assignsubmission_file_/a.py", "Ben_6_assignsubmission_file_/a.py"], True),
        (["export/submission_metadata.yml", "export/submission_1/a.py"], True),
        (["part3_amp.py", "resnet_18_2_results.csv"], False),
        (["resnet_18_2_results.csv"], False),
        (["ada_1001_21_a.py", "okri_LATE_1002_2_a.zip", "absenttwo_99002_text.html"], True),
        (
            [
                "Ada_5_assignsubmission_file_/a.py",
                "Ben_6_assignsubmission_onlinetext/onlinetext.html",
            ],
            True,
        ),
        (["ada_1001_21_a.py", "ben_1002_2_a.zip", "index.html"], True),
        (["part3_amp.py", "resnet_18_2_results.csv", "notes.md"], False),
        (["ada/part1_toy.py", "ben/part1_toy.py"], True),
        (["class/ada/part1_toy.py", "class/ben/part1_toy.py", "class/readme.md"], True),
        (["lab/part1_toy.py", "__MACOSX/lab/part1_toy.py"], False),
        (["part1_toy.py", "lab/part1_toy.py", "lab/more/part1_toy.py"], False),
        (["lab/part1_toy.py", "__pycache__/part1_toy.py"], False),
    ],
)
def test_a_download_that_nobody_unpacked_is_known(tmp_path, names, whole):
    """It is nobody's submission, and a student's archive is none of them."""
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "x")

    known = downloads.packed(tmp_path / "a.zip", ["part1_toy.py"])
    assert (whole, False) == (known, downloads.packed(tmp_path, ["part1_toy.py"]))
