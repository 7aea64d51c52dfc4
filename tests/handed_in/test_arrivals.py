"""Submissions that arrive: none is graded while somebody writes to it, and the last to come goes first."""

from __future__ import annotations

import os

import pytest

from autograder.errors import UserError
from autograder.handed_in.arrivals import POLL_SECONDS, QUIET_SECONDS, Arrivals, forever
from autograder.handed_in.intake import Intake
from autograder.handed_in.roster import Roster, Student
from tests.toy import toy_kit

FILE = "part1_toy.py"
ROSTER = Roster({"ada": Student("ada", canvas_id="1001")})


class Folder:
    """A folder that others write to, under a clock of its own."""

    def __init__(self, path, roster=None):
        self.path, self.time, self.said, self.left = path, 0.0, [], []
        intake = Intake(toy_kit().config, [FILE], roster)
        self.arrivals = Arrivals(
            lambda: intake.find([path]), lambda: self.time, self.said.append, self.left.append
        )

    def write(self, name, text="x", at=0):
        """Write a file; its time is what it came with."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))

    def ready(self, after=0.0, most=9):
        """Look again so many seconds later."""
        self.time += after
        return [one.name for one in self.arrivals.ready(most)]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_what_still_grows_waits(folder):
    """Ten seconds after the last change, by our clock: that of a file is its author's."""
    folder.write("ada.zip", "half", at=9)
    folder.ready()
    folder.write("ada.zip", "all of it", at=9)

    assert ([], [], ["ada"], []) == (
        folder.ready(QUIET_SECONDS),
        folder.ready(QUIET_SECONDS / 2),
        folder.ready(QUIET_SECONDS / 2),
        folder.ready(QUIET_SECONDS),
    )


CHANGES = {
    "another size": ("part1_toy.py", "longer", 1),
    "another time": ("part1_toy.py", "x", 2),
    "another file": ("deep/notes.md", "x", 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_is_graded_again(folder, change):
    """Anywhere in its folder."""
    folder.write("ada/part1_toy.py", "x", at=1)
    folder.write("ben/part1_toy.py", "x", at=1)
    folder.ready()

    assert ["ada", "ben"] == folder.ready(QUIET_SECONDS)
    name, text, at = change
    folder.write(f"ada/{name}", text, at)
    assert ([], ["ada"]) == (folder.ready(), folder.ready(QUIET_SECONDS))


def test_checking_a_folder_changes_no_work(folder):
    """`perflab check` writes below .perflab, which nobody submits."""
    folder.write("ada/part1_toy.py", "x", at=1)
    folder.ready()

    assert ["ada"] == folder.ready(QUIET_SECONDS)
    folder.write("ada/.perflab/attempts.jsonl", "{}", at=2)
    assert ([], []) == (folder.ready(), folder.ready(QUIET_SECONDS))


def test_the_last_to_come_goes_first_and_those_who_wait_are_not_forgotten(folder):
    """A few at a time."""
    for at, name in enumerate(("ada", "ben", "cleo")):
        folder.write(f"{name}.zip", at=at)
    folder.ready()
    first = folder.ready(QUIET_SECONDS, most=2)
    folder.write("dan.zip", at=9)
    folder.ready(most=0)

    assert (["cleo", "ben"], ["dan", "ada"]) == (first, folder.ready(QUIET_SECONDS, most=2))


def test_of_two_attempts_the_later_counts(tmp_path):
    """The earlier is not graded first when both are there."""
    folder = Folder(tmp_path)
    folder.write("ada+toy+2027-01-20 12:00:00 UTC/part1_toy.py")
    folder.ready()
    assert ["ada"] == folder.ready(QUIET_SECONDS)
    folder.write("ada+toy+2027-01-21 12:00:00 UTC/part1_toy.py")
    folder.ready()
    folder.time += QUIET_SECONDS
    [later] = folder.arrivals.ready(9)

    assert ("ada", 21) == (later.name, later.handed.at.day)


def test_what_belongs_to_nobody_is_said_once(tmp_path):
    """And again when it is back."""
    folder = Folder(tmp_path, ROSTER)
    folder.write("doe_9_1_a.zip")
    folder.write("ada_1001_2_a.zip")
    said = "doe_9_1_a.zip: nobody in the roster has canvas_id '9'"
    for _ in range(3):
        folder.ready(QUIET_SECONDS)
    (tmp_path / "doe_9_1_a.zip").unlink()
    folder.ready()
    folder.write("doe_9_1_a.zip")
    folder.ready()

    assert [said, said] == folder.said
    assert [[said], [], [said]] == folder.left


def test_half_of_a_download_stops_nobody(tmp_path):
    """What cannot be read yet is said, and looked at again."""
    folder = Folder(tmp_path, ROSTER)
    folder.write("submission_metadata.yml", "submission_1: [")
    assert ([], True) == (
        folder.ready(),
        "is not the list that Gradescope exports" in folder.said[0],
    )
    folder.write("submission_metadata.yml", "submission_1: {':submitters': [{':sid': ada}]}")
    folder.write("submission_1/part1_toy.py")
    folder.ready()

    assert ["ada"] == folder.ready(QUIET_SECONDS)


def test_what_vanishes_is_nobodys(folder):
    """A link that leads nowhere is a file like others; what is gone between two looks is none."""
    folder.write("ada/part1_toy.py")
    (folder.path / "ada/link").symlink_to("nowhere")
    folder.ready()
    found = folder.arrivals._find()
    folder.arrivals._find = lambda: found
    (folder.path / "ada/link").unlink()
    (folder.path / "ada/part1_toy.py").unlink()
    (folder.path / "ada").rmdir()

    assert [] == folder.ready(QUIET_SECONDS)


def test_a_name_that_no_result_can_have_is_said_once_and_stops_nobody(folder):
    """Nor do two of one name: as long as they lie there, all others are graded."""
    for name in ("x.csv.zip", "ben.zip", "ben/part1_toy.py", "ada.zip"):
        folder.write(name)
    folder.ready()

    assert (["ada"], []) == (folder.ready(QUIET_SECONDS), folder.ready(QUIET_SECONDS))
    assert [True, True] == ["x.csv" in folder.said[0], "'ben'" in folder.said[1]]
    assert 2 == len(folder.said)


def test_it_goes_on_for_ever(folder):
    """It sleeps only when there is nothing to do."""
    folder.write("ada.zip")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        folder.time += QUIET_SECONDS
        if len(slept) == 3:
            raise KeyboardInterrupt

    found = forever(folder.arrivals, 9, sleep)

    assert ["ada"] == [one.name for one in next(found)]
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert [POLL_SECONDS] * 3 == slept


def test_without_a_folder_to_watch_it_says_so(folder):
    with pytest.raises(UserError, match="there is no such file or folder"):
        Intake(toy_kit().config, [FILE]).find([folder.path / "none"])


def test_who_waits_outside_is_known_and_not_taken(folder):
    """The last to come is next; who still writes is apart."""
    folder.write("ada.zip", at=1)
    folder.write("ben.zip", at=2)
    folder.ready()
    folder.time += QUIET_SECONDS
    folder.write("cy.zip", at=3)

    assert (["ben", "ada"], ["cy"]) == folder.arrivals.outside()
    assert ["ben", "ada"] == folder.ready()
    assert ([], ["cy"]) == folder.arrivals.outside()
