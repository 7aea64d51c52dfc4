"""Where submissions lie in a folder."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.handed_in import folders
from autograder.handed_in.submission import name_of

FILE = "part1_toy.py"


def hand_in(folder, name, **files):
    (folder / name).mkdir(parents=True)
    (folder / name / FILE).write_text("def work(): ...")
    for file, data in files.items():
        (folder / name / file.replace("__", ".")).write_bytes(data)
    return folder / name


def test_a_folder_of_submissions_is_many_and_a_submission_is_one(tmp_path):
    """Hidden folders, those of programs and other files are passed over."""
    zoe, ada, bob = (hand_in(tmp_path, name) for name in ("_zoe", "ada", "bob"))
    for name in (".cache", "__MACOSX"):
        hand_in(tmp_path, name)
    (tmp_path / "readme.txt").write_text("")

    assert [zoe, ada, bob] == folders.find([tmp_path], [FILE])
    assert [ada] == folders.find([ada], [FILE])


MISTAKES = {
    "no such path": (lambda p: [p / "nowhere"], "nowhere: there is no such file or folder"),
    "nothing inside": (
        lambda p: [p],
        f"holds no submission; expected {FILE}, folders, archives or notebooks",
    ),
}


@pytest.mark.parametrize(("paths", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_be_found_is_said(tmp_path, paths, message):
    """One line, with what was expected."""
    with pytest.raises(UserError, match=message.replace("(", "\\(")):
        folders.find(paths(tmp_path), [FILE])


def test_names_that_differ_after_a_dot_are_two_submissions(tmp_path):
    """A submission is called what its archive is called."""
    names = ["lab.ada.zip", "lab.bob.zip"]
    for name in names:
        (tmp_path / name).write_bytes(b"")

    assert ["lab.ada", "lab.bob"] == [name_of(path) for path in folders.find([tmp_path], [FILE])]
