"""The journal: written before an attempt starts, never changed, and clear about whatever is wrong with its file."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.batch import journal_file
from autograder.batch.history import History
from autograder.batch.journal import (
    Before,
    Circumstances,
    Ground,
    Journal,
    Last,
    conditions,
    unfinished,
)
from autograder.errors import UserError
from autograder.results.drift import Drift

UNDER = Circumstances("toy", "1", "code", "0.1.0", "cpu", "none", "", "parts")
FIELDS = list(UNDER.__dataclass_fields__)


def opened(folder, under=UNDER, seed=7):
    """A journal in which a session of three submissions has begun."""
    journal = Journal(folder, lambda: datetime(2027, 1, 1, tzinfo=UTC))
    journal.begin(under, seed, 3, {"host": "here"})
    return journal


def test_an_attempt_is_on_disk_before_it_starts(tmp_path):
    """Whoever is killed then leaves an attempt without an end."""
    with opened(tmp_path) as journal:
        journal.start("ada", "ff")
        with sqlite3.connect(tmp_path / journal_file.JOURNAL) as other:
            assert [("ada", "ff")] == other.execute(
                "SELECT submission, sha256 FROM attempts"
            ).fetchall()

        assert History(("cut off",)) == journal.history("ada", "ff")
        assert {"ada": 1} == journal.cut_off()
        other.close()


def test_who_was_judged_since_is_not_suspected(tmp_path):
    """Counted are the times that a grader was gone since the latest result, whatever files it was of."""
    with opened(tmp_path) as journal:
        for name, digest in [
            ("ada", "ff"),
            ("ada", "00"),
            ("bob", "ff"),
            ("cleo", "ff"),
            ("cleo", "ff"),
        ]:
            journal.start(name, digest)
        journal.end(journal.start("bob", "00"), "graded", "r1")
        journal.end(journal.start("cleo", "ff"), "timing", "r2")
        journal.start("cleo", "ff")

        assert {"ada": 2, "cleo": 1} == journal.cut_off()


def test_the_history_of_a_submission_is_its_own(tmp_path):
    """Of these very files, in their order, with the hash of the latest result."""
    with opened(tmp_path) as journal:
        for outcome, result in [("timing", "r1"), ("again", "r2"), ("stopped", "")]:
            journal.end(journal.start("ada", "ff"), outcome, result)
        journal.end(journal.start("ada", "00"), "graded", "r3")
        journal.end(journal.start("bob", "ff"), "graded", "r4")

        assert History(("timing", "again", "stopped"), "r2") == journal.history("ada", "ff")


@pytest.mark.parametrize("field", FIELDS)
def test_what_was_graded_under_other_circumstances_does_not_count(tmp_path, field):
    """Any of them."""
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
    with opened(tmp_path, replace(UNDER, **{field: "other"})) as journal:
        assert History() == journal.history("ada", "ff")


@pytest.mark.parametrize(
    ("field", "found"),
    [(field, Before("r", "parts") if field == "parts" else Before()) for field in FIELDS],
    ids=FIELDS,
)
def test_on_the_same_ground_the_latest_result_may_count_in_part(tmp_path, field, found):
    """What the parts depended on then is told with it; under anything else it is nothing."""
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
        journal.end(journal.start("ada", "ff"), "lost")
    with opened(tmp_path, replace(UNDER, **{field: "other"})) as journal:
        assert found == journal.before("ada", "ff")
        assert Before() == journal.before("ada", "00")


def test_another_seed_counts_unless_one_is_asked_for(tmp_path):
    """Who names a seed wants results with that one."""
    with opened(tmp_path, seed=7) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
    with opened(tmp_path, seed=8) as journal:
        assert History(("graded",), "r") == journal.history("ada", "ff")
        assert History() == journal.history("ada", "ff", seed=8)


def test_who_stops_a_session_ends_its_attempts(tmp_path):
    """Those under way, and of this session only."""
    with opened(tmp_path) as journal:
        journal.start("ada", "ff")
    with opened(tmp_path) as journal:
        journal.start("bob", "ff")
        journal.end(journal.start("cleo", "ff"), "graded", "r")
        journal.stop()

        assert [("cut off",), ("stopped",), ("graded",)] == [
            journal.history(name, "ff").outcomes for name in ("ada", "bob", "cleo")
        ]


def settle(journal, *names):
    for name in names:
        journal.end(journal.start(name, "ff"), "graded", "r")


def test_a_share_of_the_class_is_drawn_by_the_seed_and_written_down(tmp_path):
    """Who was drawn before a grader was killed stays drawn, and is due until the second grade is there."""
    with opened(tmp_path) as journal:
        settle(journal, *"abcdefghij")
        first = journal.choose(0.2)
    with opened(tmp_path) as journal:
        again = journal.choose(0.2)
        journal.end(
            journal.start(first[0], "ff", twice=True),
            "twice",
            note='[["p.c", "passed 1/1", "failed 0/1"]]',
        )
        journal.start(first[1], "ff", twice=True)

        assert (2, first, first[1:]) == (len(first), again, journal.choose(0.2))
        assert [Drift(first[0], "p.c", "passed 1/1", "failed 0/1")] == journal.drift()
        assert History(("graded",), "r") == journal.history(first[0], "ff")
        journal.end(journal.start(first[1], "ff", twice=True), "lost", note="killed")
        assert ([], "killed") == (journal.choose(0.2), journal.drift()[1].second)


def test_who_may_not_be_drawn_leaves_the_place_to_another(tmp_path):
    with opened(tmp_path) as journal:
        settle(journal, *"abcd")

        assert ["b", "d"] == journal.choose(0.5, lambda name: name in "bd")


SHARES = {
    "one in twenty": ([20], [1]),
    "of few nobody": ([9], [0]),
    "of few each time, one at last": ([4, 4, 4], [0, 0, 1]),
    "nobody new": ([20, 0], [1, 0]),
    "only of those that are new": ([20, 1, 19], [1, 0, 1]),
}


@pytest.mark.parametrize(("sizes", "drawn"), SHARES.values(), ids=SHARES)
def test_over_many_runs_the_share_is_kept(tmp_path, sizes, drawn):
    """Of a run that finished nobody is drawn later."""
    found = []
    for number, size in enumerate(sizes):
        with opened(tmp_path) as journal:
            settle(journal, *(f"{number}-{one}" for one in range(size)))
            found.append(journal.choose(0.05))
            for name in found[-1]:
                journal.end(journal.start(name, "ff", twice=True), "twice", note="[]")
            journal.finish()

    assert drawn == [len(names) for names in found]
    assert all(
        name.startswith(f"{number}-") for number, names in enumerate(found) for name in names
    )


def test_rows_are_only_added(tmp_path):
    """Not even our own code changes or removes one."""
    with opened(tmp_path) as journal:
        for table in journal_file.TABLES:
            journal._rows.execute(f"INSERT INTO {table} DEFAULT VALUES")
            for change in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = 99"):
                with pytest.raises(sqlite3.IntegrityError, match="rows are only added"):
                    journal._rows.execute(change)


def test_a_session_goes_on_with_the_seed_it_began_with(tmp_path):
    """A resumed run judges like the undisturbed one."""
    with opened(tmp_path, seed=7) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")

        assert Last("toy", 7, 3, 1, finished=False) == journal.last()
        assert 7 == journal.seed_for("toy", None, resume=True)
        assert 7 == journal.seed_for("toy", 7, resume=True)
        journal.finish()
        assert 9 == journal.seed_for("toy", 9, resume=True)
        assert 7 != journal.seed_for("toy", None, resume=False)


def test_who_comes_after_a_killed_run_is_told_how_far_it_came(tmp_path):
    """Nothing is said where there is no journal, where it is damaged, or where the run got through."""
    silent = [unfinished(tmp_path)]
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
        said = unfinished(tmp_path)
        journal.finish()
    silent.append(unfinished(tmp_path))
    (tmp_path / journal_file.JOURNAL).write_bytes(b"no journal" * 100)

    assert ["", "", ""] == [*silent, unfinished(tmp_path)]
    assert (
        "The last grading is not finished: 1 of 3 submissions have a result. "
        "Go on with perflab grade and --resume."
    ) == said


REFUSED = {
    "unfinished work is not begun anew": (
        ("toy", None, False),
        "a grading here was not finished (1 of 3 submissions have a result); go on with --resume, or choose another --out",
    ),
    "nor with another seed": (
        ("toy", 8, True),
        "--seed 8: the grading in {} has seed 7; leave --seed out",
    ),
    "nor another lab": (
        ("resnet18", None, True),
        "holds results of lab 'toy'; choose another --out",
    ),
}


@pytest.mark.parametrize(("asked", "message"), REFUSED.values(), ids=REFUSED)
def test_work_that_is_not_finished_is_not_begun_anew(tmp_path, asked, message):
    """One line, with how to go on."""
    with opened(tmp_path, seed=7) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
        lab, seed, resume = asked
        with pytest.raises(UserError) as caught:
            journal.seed_for(lab, seed, resume=resume)

    assert message.format(tmp_path) in str(caught.value)


def test_an_empty_folder_begins_with_any_seed(tmp_path):
    """--resume is no mistake there."""
    with Journal(tmp_path / "new") as journal:
        assert None is journal.last()
        assert 5 == journal.seed_for("toy", 5, resume=True)


def another_format(file):
    with Journal(file.parent) as journal:
        journal._rows.executescript("DROP TRIGGER about_UPDATE; UPDATE about SET format = 2")


def another_program(file):
    rows = sqlite3.connect(file)
    rows.execute("CREATE TABLE notes (text)")
    rows.close()


def damaged(file):
    file.write_bytes(b"this is no database, however long one looks at it" * 100)


def no_file(file):
    file.mkdir()


PROBLEMS = {
    "a journal of another format": (
        another_format,
        "format 2; this perflab reads format 1; choose another --out",
    ),
    "a database of another program": (
        another_program,
        "format of another program; this perflab reads format 1",
    ),
    "no database": (
        damaged,
        "file is not a database; it is no journal, or a damaged one; move it away",
    ),
    "a folder of that name": (
        no_file,
        "unable to open database file; it may not be written; mend the permissions",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_journal_that_cannot_be_read_is_said_in_one_line(tmp_path, spoil, message):
    """With the file, which is closed again, and what to do."""
    file = tmp_path / journal_file.JOURNAL
    spoil(file)
    with pytest.raises(UserError) as caught:
        Journal(tmp_path)

    assert file not in [
        link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()
    ]
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_locked_journal_loses_nothing(tmp_path, monkeypatch):
    """Another program holds it for longer than anyone waits; afterwards all that was written is there."""
    monkeypatch.setattr(journal_file, "PATIENCE_SECONDS", 0.01)
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
        holder = sqlite3.connect(tmp_path / journal_file.JOURNAL, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            UserError, match="database is locked; another program holds it; close that, then go on"
        ):
            journal.start("bob", "ff")
        holder.close()

        assert History(("graded",), "r") == journal.history("ada", "ff")
        assert 2 == journal.start("bob", "ff")


def test_a_full_disk_loses_nothing(tmp_path):
    """SQLite's own limit on pages stands for the disk."""
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r")
        pages = journal._rows.execute("PRAGMA page_count").fetchone()[0]
        journal._rows.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(
            UserError, match="database or disk is full; free some space, then go on with --resume"
        ):
            journal.start("bob" * 10_000, "ff")
    with opened(tmp_path) as journal:
        assert History(("graded",), "r") == journal.history("ada", "ff")


def test_what_a_very_result_rested_on_is_known(tmp_path):
    """The latest with that hash; a result with another is not one of ours; of somebody else nothing is known."""
    with opened(tmp_path) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r1")
        journal.end(journal.start("ada", "ff", twice=True), "twice", "r9")
    with opened(tmp_path, replace(UNDER, parts="other")) as journal:
        journal.end(journal.start("ada", "ff"), "graded", "r2")
        found = [
            journal.made_under(*who)
            for who in [("ada", "r1"), ("ada", "r2"), ("ada", "r9"), ("bob", "r1")]
        ]

    assert [Ground("code", "parts"), Ground("code", "other"), Ground(), None] == found


def test_what_is_not_to_change_unsaid_is_that_of_the_latest_session(tmp_path):
    """Where nothing was graded there is none."""
    none = conditions(tmp_path)
    for kind, parts in (("cpu", '{"part1": {}, "part2": {}}'), ("cuda", '{"part1": {}}')):
        with opened(tmp_path, replace(UNDER, device=f'{{"kind": "{kind}"}}', parts=parts)):
            pass

    assert (("", ()), ("cuda", ("part1",))) == (none, conditions(tmp_path))
