"""What a run leaves behind: one line each, whatever became of the file meanwhile."""

from __future__ import annotations

import json

import pytest

from autograder.clock.rule import practice
from autograder.student.attempts import FILE, MOST, Speed, attempt, keep, read
from tests.samples import PAIRS, a_check, a_part, a_silent_check, every_outcome

AT = "2027-01-13T10:04:00+05:30"
RUN = attempt("resnet18", every_outcome(), AT)


def test_a_run_is_read_back_as_it_was_kept(tmp_path):
    """One line of JSON each, oldest first."""
    runs = [RUN, attempt("resnet18", every_outcome()[:1], "later")]

    assert ["", ""] == [keep(tmp_path, run) for run in runs]
    assert runs == read(tmp_path, "resnet18")
    lines = (tmp_path / FILE).read_text().splitlines()
    assert [AT, "later"] == [json.loads(line)["time"] for line in lines]


def test_a_part_is_kept_with_its_points_and_outcomes():
    """Won, lost and owed add up to what the part is worth."""
    memory = RUN.parts["part4_memory"]

    assert (0, 2, 11, 13) == (memory.won, memory.lost, memory.owed, memory.worth)
    assert "inconclusive" == memory.checks["steady_speed"]
    assert {} == memory.speeds


def test_a_rehearsed_speed_is_kept_with_its_bar():
    """The same figure that the rehearsal says."""
    evidence = {"pairs": PAIRS, "interval": [0.98, 1.04], "bar": 1.5}
    rehearsed = a_check(outcome="inconclusive", evidence=evidence)
    part = attempt("resnet18", [a_part("part3_amp", "AMP", rehearsed)]).parts["part3_amp"]
    speed = part.speeds["amp_is_faster"]

    assert Speed(speed.ratio, 1.5) == speed
    assert f"{speed.ratio:.2f}x (" in practice(PAIRS, 1.5)


def test_a_part_without_a_rehearsal_has_no_speed():
    part = a_part("part3_amp", "AMP", a_silent_check())

    assert {} == attempt("resnet18", [part]).parts["part3_amp"].speeds


WHOLE = json.dumps({"time": AT, "lab": "resnet18", "parts": {}})
DAMAGED = {
    "cut off": WHOLE[:20].encode(),
    "no JSON": b"<<<<<<< HEAD",
    "no text": b"\xff\xfe\x00",
    "another form": b'{"time": 3, "lab": "resnet18", "parts": {}}',
    "a later version's": WHOLE.replace('"parts"', '"more": 1, "parts"').encode(),
    "not a number": b'{"time": "", "lab": "resnet18", "parts": {"p": {"won": NaN}}}',
    "deep": b"[" * 100_000,
    "empty": b"",
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_line_is_skipped(tmp_path, line):
    """Those before and after it are read."""
    keep(tmp_path, RUN)
    with (tmp_path / FILE).open("ab") as file:
        file.write(line)  # without its end: a run that was stopped
    assert "" == keep(tmp_path, RUN)

    assert [RUN, RUN] == read(tmp_path, "resnet18")


def test_runs_of_another_lab_are_not_ours(tmp_path):
    keep(tmp_path, RUN)

    assert [] == read(tmp_path, "foundations")


def test_of_a_long_file_the_last_runs_are_read(tmp_path):
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(f"{WHOLE}\n" * (MOST + 5))

    assert MOST == len(read(tmp_path, "resnet18"))


def a_file_for_the_folder(home):
    (home / FILE.parent).write_text("")


def a_folder_for_the_file(home):
    (home / FILE).mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "problem"),
    [(a_file_for_the_folder, "Not a directory"), (a_folder_for_the_file, "Is a directory")],
)
def test_what_cannot_be_written_is_said_and_stops_nothing(tmp_path, make, problem):
    make(tmp_path)

    assert [] == read(tmp_path, "resnet18")
    assert keep(tmp_path, RUN) in (problem, "File exists")
