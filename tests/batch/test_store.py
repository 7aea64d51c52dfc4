"""The files of many submissions: found, read whatever they are, and results on disk."""

from __future__ import annotations

import json
import os

from autograder.batch import store
from autograder.result_file import read_result
from autograder.results import overrides, standing
from tests.toy import CSV, FakeWorkers, toy_kit, toy_session

FILE = "part1_toy.py"


def hand_in(folder, name, **files):
    (folder / name).mkdir(parents=True)
    (folder / name / FILE).write_text("def work(): ...")
    for file, data in files.items():
        (folder / name / file.replace("__", ".")).write_bytes(data)
    return folder / name


def graded(paths, out):
    kit = toy_kit()
    loaded = [store.load_or_say(path, kit.lab.files) for path in paths]
    return [store.grade_one(one, kit, toy_session(FakeWorkers()), out, seed=1) for one in loaded]


def test_what_was_kept_reads_back_as_what_was_handed_in(tmp_path):
    """The timed round and `perflab replay` work with it."""
    handed_in = store.load_or_say(hand_in(tmp_path, "ada", notes__txt=b"not listed"), [FILE])
    store.keep(handed_in, tmp_path / "out")

    assert handed_in == store.kept("ada", tmp_path / "out", [FILE])


def test_a_result_reads_back_as_what_was_written(tmp_path):
    """The file on disk is the record."""
    [result] = graded([hand_in(tmp_path, "ada", table__csv=CSV)], tmp_path / "out")
    path = tmp_path / "out" / "ada" / "result.json"

    assert result == read_result(json.loads(path.read_text()), "result.json")


def test_a_submission_that_cannot_be_read_is_graded_with_the_reason(tmp_path):
    """Bad input loses nothing: the student sees why, and the next one is graded."""
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 not really")
    broken, ada = graded([tmp_path / "broken.zip", hand_in(tmp_path, "ada")], tmp_path / "out")

    assert {"unread"} == {c.outcome for c in broken.parts[0].checks}
    assert "broken.zip" in broken.parts[0].checks[0].reason
    assert broken.score == broken.lost == 0 < ada.score


def test_grades_have_what_a_person_set_by_hand(tmp_path):
    """Also after the submission was graded again."""
    [ada] = graded([hand_in(tmp_path, "ada")], tmp_path / "out")
    owed = ada.owed[0]
    made = overrides.decide(ada, owed.check, owed.points, "seen on a GPU", by="meera", at="now")
    overrides.append(tmp_path / "out/ada", [made])
    lines = (
        store.write_grades(standing.read(tmp_path / "out").whole, tmp_path / "out")
        .read_text()
        .splitlines()
    )

    score = ada.score + owed.points
    assert (
        f"ada,{score:g},{score:g},,{ada.points_owed - owed.points:g},4,14,1,none,{owed.check}"
        == lines[1]
    )


def test_grades_are_numbers_and_never_formulas(tmp_path):
    """A spreadsheet must not run a student's name."""
    graded([hand_in(tmp_path, "=cmd")], tmp_path / "out")
    lines = (
        store.write_grades(standing.read(tmp_path / "out").whole, tmp_path).read_text().splitlines()
    )

    assert (
        "submission,final,score,late,owed,lost,max_score,attempt,isolation,set_by_hand" == lines[0]
    )
    assert "'=cmd,4,4,,6,4,14,1,none," == lines[1]


def test_what_is_too_large_is_read_no_further_than_that(tmp_path):
    """A terabyte without a byte in it costs a second, and stops nobody."""
    (tmp_path / "large.zip").write_bytes(b"PK\3\4")
    os.truncate(tmp_path / "large.zip", 1 << 40)
    [large] = graded([tmp_path / "large.zip"], tmp_path / "out")

    assert "holds more than 64 MiB" in large.parts[0].checks[0].reason
