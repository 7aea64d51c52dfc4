"""`perflab check` as a student meets it, with a result instead of a run."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext

import pytest

from autograder import cli
from autograder.cli import student
from autograder.grading import session
from autograder.student import attempts, practice
from tests.samples import a_part, a_result, a_silent_check, every_outcome
from tests.toy import FakeWorkers, toy_session

EVERYTHING = every_outcome()
PASSED = a_part("part1_baseline", "The baseline", a_silent_check(outcome="passed", points=6))


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run the command in a folder; its checks come to these parts."""
    monkeypatch.chdir(tmp_path)
    opened = nullcontext(toy_session(FakeWorkers()))
    monkeypatch.setattr(session, "open_session", lambda *_: opened)

    def run(*options, parts=EVERYTHING):
        monkeypatch.setattr(practice, "check_folder", lambda *_: a_result(*parts))
        monkeypatch.setattr("sys.argv", ["perflab", "check", *options])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, capsys.readouterr().out

    return run


def test_a_check_ends_with_what_is_done_and_what_changed(check, tmp_path):
    """The second run knows of the first, whatever part it was."""
    check()
    _, said = check(parts=[PASSED])

    assert 2 == len(attempts.read(tmp_path, "resnet18"))
    assert "done      1 of 7 parts: part1_baseline" in said
    assert "next      part3_amp (7.5 points lost), part4_memory (2 points lost)" in said


def test_a_file_that_cannot_be_written_changes_no_verdict(check, tmp_path):
    (tmp_path / attempts.FILE.parent).write_text("in the way")
    status, said = check(parts=[PASSED])

    assert 0 == status
    assert "done      1 of 7 parts: part1_baseline" in said
    assert "note      this run is not kept in .perflab/attempts.jsonl: File exists" in said


def test_a_damaged_file_changes_no_verdict(check, tmp_path):
    (tmp_path / attempts.FILE.parent).mkdir()
    (tmp_path / attempts.FILE).write_bytes(b"\xff{[")

    assert 0 == check(parts=[PASSED])[0]
    assert 1 == len(attempts.read(tmp_path, "resnet18"))


def test_a_program_reads_json_alone_and_the_run_is_kept(check, tmp_path):
    _, said = check("--json")

    assert "resnet18" == json.loads(said)["lab"]
    assert 1 == len(attempts.read(tmp_path, "resnet18"))


def test_the_check_that_is_judged_is_named(capsys):
    """Nobody has to wonder whether a run still goes on."""
    seen = []

    class Shown:
        update = staticmethod(seen.append)

    log = logging.getLogger("autograder.grading.part")
    with student.names_checks(Shown):
        log.debug("%s.%s", "part6_final", "does_the_same_work")
    log.debug("%s.%s", "part6_final", "accumulates")

    assert ["checking part6_final.does_the_same_work ..."] == seen
