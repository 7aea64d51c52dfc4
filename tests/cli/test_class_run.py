"""One run after the other: what was settled elsewhere stays, and a folder that is watched shows who is not graded."""

from __future__ import annotations

import os
import sys

import pytest

from autograder import cli
from autograder.batch import lanes
from tests.cli.test_grading import hand_in

pytestmark = pytest.mark.slow


def test_who_was_set_aside_is_graded_alone_and_settled_and_a_later_run_keeps_that(
    grade, tmp_path, monkeypatch
):
    hand_in(tmp_path / "in", "ada/amp_results.csv", "cy/amp_results.csv")
    judge = lanes.grade

    def deadly(handed_in, *arguments, **named):
        if handed_in.name == "cy":
            os._exit(3)
        return judge(handed_in, *arguments, **named)

    monkeypatch.setattr(lanes, "grade", deadly)
    _, first, _ = grade(tmp_path / "in")
    monkeypatch.setattr(lanes, "grade", judge)
    _, alone, _ = grade(tmp_path / "in/cy", out="alone")
    words = ["perflab", "settle", str(tmp_path / "out"), str(tmp_path / "alone")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        cli.main()
    _, again, _ = grade(tmp_path / "in")

    ada, cy = ("".join(lines(tmp_path, "out", name)).split(",")[2:] for name in ("ada", "cy"))
    assert f"perflab settle {tmp_path}/out OTHER" in first
    assert "Set aside: cy (its grader died each time)" in first
    assert "Set aside" not in alone + again
    assert "none of the 2 that were graded before has another score" in again
    assert ada[:3] == cy[:3]
    assert lines(tmp_path, "alone", "cy")[0].split(",")[2:5] == cy[:3]


def lines(root, folder, name):
    """Return the line of a submission in grades.csv."""
    every = (root / folder / "grades.csv").read_text().splitlines()
    return [line for line in every if line.startswith(f"{name},")]


def test_what_arrives_is_graded_until_somebody_stops_it(grade, tmp_path, monkeypatch):
    """A second submission comes while it waits; the pages have both, and what is to be done is of these alone."""
    hand_in(tmp_path / "in", "ada/amp_results.csv")
    polls = []

    def sleep(_):
        polls.append(1)
        if len(polls) == 1:
            hand_in(tmp_path / "in", "ben/amp_results.csv", "ben/part3_notes.md")
        if len(polls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("autograder.handed_in.arrivals.QUIET_SECONDS", 0)
    monkeypatch.setattr("autograder.cli.class_run.time.sleep", sleep)
    status, output, errors = grade(tmp_path / "in", "--watch")

    begun = (
        f"perflab watches {tmp_path}/in; {tmp_path}/out/queue.html says who waits; Ctrl-C ends it"
    )
    assert (130, 2) == (status, output.count("1 graded; "))
    assert [begun, "perflab: stopped"] == list(filter(None, errors.splitlines()))
    assert "\nof these 1: Points that a person gives: 1 submission; " in output
    assert "ben" in (tmp_path / "out/index.html").read_text()
    assert "Grading has stopped." in (tmp_path / "out/queue.html").read_text()


def test_while_a_folder_is_watched_who_is_not_graded_is_on_the_class_page(
    grade, tmp_path, monkeypatch
):
    """As soon as nothing is graded; the line goes when that is put right."""
    hand_in(tmp_path / "in", "ada/amp_results.csv")
    page, seen = tmp_path / "out/index.html", []

    def sleep(_):
        seen.append("Uploads that were not graded: 1" in page.read_text())
        if len(seen) == 1:
            hand_in(tmp_path / "in", "x.csv/amp_results.csv")
        if len(seen) == 3:
            (tmp_path / "in/x.csv/amp_results.csv").unlink()
            (tmp_path / "in/x.csv").rmdir()
        if len(seen) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("autograder.handed_in.arrivals.QUIET_SECONDS", 0)
    monkeypatch.setattr("autograder.cli.class_run.time.sleep", sleep)
    grade(tmp_path / "in", "--watch")

    assert [False, True, True, False, False] == seen
