"""A recorded result is graded again from what was kept beside it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.batch import store
from autograder.batch.replay import replay
from autograder.errors import UserError
from autograder.result_file import load_result
from autograder.results import diff
from tests.toy import FakeWorkers, good, toy_kit, toy_session

FILE = "part1_toy.py"
COURSE = SimpleNamespace(kit=lambda lab: toy_kit())


def grade(path, out):
    """Grade one submission into a folder of results."""
    kit = toy_kit()
    return store.grade_one(
        store.load_or_say(path, kit.lab.files), kit, toy_session(FakeWorkers()), out, seed=5
    )


def graded(tmp_path, name="ada"):
    """Grade one submission; returns the folder of its result."""
    home = tmp_path / "in" / name
    home.mkdir(parents=True)
    (home / FILE).write_text("def work(): ...")
    (home / "extra.txt").write_text("not listed")
    return tmp_path / "out" / grade(home, tmp_path / "out").submission


def again(folder, run=None):
    """Replay it with workers that answer as before, or as *run* does."""
    old = load_result(folder / store.RESULT)
    return old, replay(folder, old, COURSE, toy_session(run or FakeWorkers()))


def test_a_replay_under_the_same_circumstances_differs_in_nothing(tmp_path):
    """The same seed, files, refusals and notes."""
    run = FakeWorkers()
    old, new = again(graded(tmp_path), run)

    assert [] == [*diff.circumstances(old, new), *diff.outcomes(old, new)]
    assert (old.notes, old.seed) == (new.notes, new.seed)
    assert b"def work(): ..." == run.asked[0].files[FILE]


def test_a_replay_says_what_came_out_differently(tmp_path):
    """Here the worker answers otherwise than it did."""
    old, new = again(graded(tmp_path), FakeWorkers({("single", "student"): good("single", -1)}))

    assert "part1_toy.positive: passed 2/2 -> failed 0/2" in map(str, diff.outcomes(old, new))


def test_a_submission_that_could_not_be_read_is_replayed_too(tmp_path):
    """Its checks fail with the same reason."""
    broken = tmp_path / "eve.zip"
    broken.write_bytes(b"PK\3\4 no archive")
    grade(broken, tmp_path / "out")
    old, new = again(tmp_path / "out" / "eve")

    assert [] == [*diff.circumstances(old, new), *diff.outcomes(old, new)]


def test_files_that_changed_since_are_refused(tmp_path):
    """A replay of other work would say nothing about the result."""
    mine, other = graded(tmp_path, "ada"), graded(tmp_path, "bob")
    (tmp_path / "in" / "bob" / FILE).write_text("def work(): return 1")
    grade(tmp_path / "in" / "bob", tmp_path / "out")
    (mine / store.HANDED_IN).write_bytes((other / store.HANDED_IN).read_bytes())

    with pytest.raises(
        UserError, match=r"handed_in\.zip: its files hash to [0-9a-f]{12}, the result was of"
    ):
        again(mine)


def test_a_result_without_its_files_cannot_be_replayed(tmp_path):
    """And it says what would be needed."""
    folder = graded(tmp_path)
    (folder / store.HANDED_IN).unlink()

    with pytest.raises(UserError, match="not there; only submissions graded with --out are kept"):
        again(folder)
