"""What is kept of a student is removed, down to the bytes of the journal; others keep theirs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pytest

from autograder import cli
from autograder.batch.forget import forget, older_than, submissions_of
from autograder.batch.journal import Circumstances, Journal
from autograder.errors import UserError
from autograder.handed_in import times
from autograder.handed_in.folders import JOURNAL
from autograder.handed_in.times import Handed
from autograder.records import to_json
from autograder.results import drift, not_graded
from tests.samples import a_result

UNDER = Circumstances("resnet18", "1", "code", "0.1.0", "cpu", "none", "", "{}")


@pytest.fixture
def out(tmp_path):
    """Ada handed in twice, and both attempts were graded; ben once."""
    with Journal(tmp_path) as journal:
        journal.begin(
            UNDER,
            7,
            3,
            {"command": ["grade", "resnet18", "in/zuleika-1.zip", "in/"], "host": "here"},
        )
        for name in ("zuleika-1", "zuleika-2", "ben"):
            (tmp_path / name).mkdir()
            result = to_json(a_result(submission=name, started="2026-01-01T00:00:00+00:00"))
            (tmp_path / name / "result.json").write_text(json.dumps(result))
            journal.end(journal.start(name, "f" * 64), "graded", "r")
        journal.choose(1.0)
        journal.end(journal.start("zuleika-1", "f" * 64, twice=True), "twice", note="[]")
        drift.write(tmp_path, journal.drift())
    times.write(
        tmp_path, {f"zuleika-{n}": Handed("zuleika", None, source=f"{n}.zip") for n in (1, 2)}
    )
    return tmp_path


def test_nothing_of_a_student_is_left(out):
    """Not in any file, free pages of the journal included."""
    names = submissions_of(out, ["zuleika"])
    attempts = forget(out, names)

    assert (["zuleika-1", "zuleika-2"], 3) == (names, attempts)
    assert ["ben"] == [path.name for path in out.iterdir() if path.is_dir()]
    assert not any(b"zuleika" in file.read_bytes() for file in out.rglob("*") if file.is_file())


def test_others_keep_what_is_theirs(out):
    """And the journal is guarded as before; it says that somebody was removed."""
    forget(out, ["zuleika-1", "zuleika-2"])
    with Journal(out) as journal:
        journal.begin(UNDER, 7, 1, {})
        ask = journal._rows.execute

        assert "settled" == journal.history("ben", "f" * 64).standing
        assert [(2,), (1,)] == ask("SELECT attempts FROM forgotten").fetchall()
        assert {
            "command": ["grade", "resnet18", "in/(forgotten).zip", "in/"],
            "host": "here",
        } == json.loads(ask("SELECT facts FROM sessions").fetchone()[0])
        for table in ("attempts", "ends", "sessions"):
            with pytest.raises(Exception, match="rows are only added"):
                ask(f"DELETE FROM {table}")


def test_a_line_about_an_upload_that_was_not_graded_is_removed_with_its_student(out):
    """Also of one who has no result; the lines of others stay."""
    others = "zoe-2.zip: nobody in the roster has student 'zoe-2'"
    lines = ["in/ben and in/ben.zip: results of both would be called 'ben'", others]
    not_graded.remember(out, [*lines, "zed: nobody in the roster has student 'zed'"])
    forget(out, submissions_of(out, ["ben", "zed"]))

    assert [others] == not_graded.read(out)


def test_a_name_that_is_not_there_is_said(out):
    with pytest.raises(UserError, match=r"nothing is kept of 'bem' \(did you mean 'ben'\?\)"):
        submissions_of(out, ["zuleika", "bem"])


def test_what_was_graded_long_ago_can_be_named_by_its_age(out):
    """By days since it was graded."""
    now = datetime(2026, 1, 31, tzinfo=UTC)

    assert (["ben", "zuleika-1", "zuleika-2"], []) == (
        older_than(out, 29, now),
        older_than(out, 30, now),
    )


COMMANDS = {
    "one": (
        ["ben"],
        "1 submission(s) and 1 attempt(s) removed: ben\n",
        ["grades.csv", "index.html"],
    ),
    "all": (
        ["ben", "zuleika"],
        "3 submission(s) and 4 attempt(s) removed: ben, zuleika-1, zuleika-2\n",
        [],
    ),
    "by age": (["--older-than", "1"], "3 submission(s) and 4 attempt(s)", []),
    "nobody is as old": (
        ["--older-than", "99999"],
        "0 submission(s) and 0 attempt(s) removed: nothing to do\n",
        [],
    ),
}


@pytest.mark.parametrize(("words", "said", "left"), COMMANDS.values(), ids=COMMANDS)
def test_the_command_writes_the_pages_of_those_who_stay(
    out, monkeypatch, capsys, words, said, left
):
    """Of nobody there are no pages."""
    monkeypatch.setattr(sys, "argv", ["perflab", "forget", str(out), *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert (0, True) == (ended.value.code, said in capsys.readouterr().out)
    assert left == [name for name in ("grades.csv", "index.html") if (out / name).exists()]


def test_whom_is_to_be_said(monkeypatch, capsys, out):
    monkeypatch.setattr(sys, "argv", ["perflab", "forget", str(out)])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert (True, (out / JOURNAL).exists()) == (
        "name students, or say --older-than" in capsys.readouterr().err,
        True,
    )
