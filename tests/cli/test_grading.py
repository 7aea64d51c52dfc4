"""`perflab grade` as a person types it, without workers: artefacts alone are judged, by those who handed them in."""

from __future__ import annotations

import os
import sys
from collections import Counter

import pytest

from autograder import cli, config, result_file
from autograder.batch.journal import Circumstances, Journal
from autograder.cli.grading import _refuse_another_device, _refuse_fewer_parts
from autograder.course import find_root
from autograder.errors import UserError
from autograder.grading import session
from autograder.model import Device
from autograder.results import overrides

TABLE = find_root() / "reference" / "resnet18" / "amp_results.csv"
NBGRADER = "{}+resnet18+2027-02-{} 12:00:00 UTC+r/amp_results.csv"

pytestmark = pytest.mark.slow


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """Count calls of a function by what is said of each, in this process and in its lanes."""
    file = tmp_path / "calls"

    def count(module, name, describe):
        plain = getattr(module, name)

        def call(*arguments, **named):
            with file.open("a") as calls:
                print(os.getpid() == here, name, describe(*arguments), sep="\t", file=calls)
            return plain(*arguments, **named)

        monkeypatch.setattr(module, name, call)

    def calls():
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return Counter(tuple(line.split("\t")[1:]) for line in lines if line.startswith("True"))

    here = os.getpid()
    count(config, "load", lambda *_: "")
    count(session, "open_session", lambda *_: "")
    count(result_file, "read_result", lambda value, where: where)
    return calls


def test_a_command_opens_one_course_and_one_session_and_reads_each_result_once(
    grade, counted, monkeypatch, tmp_path
):
    """A second grading reads what was there before as well, since it says who moved."""
    work, out = tmp_path / "in", tmp_path / "out"
    hand_in(work / "ada", "amp_results.csv")
    hand_in(work / "ben", "amp_results.csv")
    opened = {("load", ""): 1, ("open_session", ""): 1}
    names = [("read_result", f"{name}/result.json") for name in ("ada", "ben")]
    first, _, _ = grade(work)
    once = counted()
    again, said, _ = grade(work)
    twice = counted()
    monkeypatch.setattr(sys, "argv", ["perflab", "report", str(out)])
    with pytest.raises(SystemExit):
        cli.main()
    shown = counted()

    assert (0, 0) == (first, again)
    assert {**opened, **dict.fromkeys(names, 1)} == once
    assert {**opened, **dict.fromkeys(names, 2)} == twice
    assert {("load", ""): 1, **dict.fromkeys(names, 1)} == shown
    assert "2 unchanged; " in said


def hand_in(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(TABLE.read_bytes())
    return folder


def test_a_download_is_graded_by_its_roster_and_held_to_its_deadline(grade, tmp_path):
    """Pages and grades show lateness at once; who is unknown is listed, and gets no folder."""
    late = hand_in(
        tmp_path / "in",
        *(NBGRADER.format(*one) for one in [("ada", "01"), ("ada", "02"), ("eve", "01")]),
    )
    status, output, errors = grade(late, "--roster", tmp_path / "roster.csv")
    out = tmp_path / "out"

    assert (0, True) == (status, "1 graded; " in output)
    assert (
        "not graded: eve+resnet18+2027-02-01 12:00:00 UTC+r: nobody in the roster has student 'eve'\n"
        == errors
    )
    assert ["ada"] == [path.name for path in out.iterdir() if path.is_dir()]
    assert "days 17 h 31 min late" in (out / "ada/feedback.html").read_text()
    assert "2027-02-02T12:00:00+00:00" in (out / "handed_in.csv").read_text()


def test_the_same_files_again_are_not_late_and_other_files_are(grade, tmp_path):
    """A system may hand on the last upload alone."""
    first = hand_in(tmp_path / "a", NBGRADER.format("ada", "01"))
    again = hand_in(tmp_path / "b", NBGRADER.format("ada", "03"))
    (again / "ada+resnet18+2027-02-03 12:00:00 UTC+r/request.md").write_text("Look again.")
    other = hand_in(tmp_path / "c", NBGRADER.format("ada", "04"))
    (other / "ada+resnet18+2027-02-04 12:00:00 UTC+r/amp_results.csv").write_text("other")
    came = []
    for folder in (first, again, other):
        grade(folder, "--roster", tmp_path / "roster.csv")
        came.append((tmp_path / "out/handed_in.csv").read_text().partition("2027-02-")[2][:2])

    assert ["01", "01", "04"] == came
    assert "Look again." in (tmp_path / "out/ada/feedback.html").read_text()


def test_a_device_that_came_or_went_grades_nothing_anew_unless_that_is_said(tmp_path):
    (tmp_path / "out").mkdir()
    with Journal(tmp_path / "out") as journal:
        under = Circumstances("toy", "1", "code", "0.1.0", '{"kind": "cuda"}', "none", "", "{}")
        journal.begin(under, 7, 3, {})

    with pytest.raises(UserError, match="were made on a GPU, and this run would take a CPU, "):
        _refuse_another_device(tmp_path / "out", Device("a CPU", "cpu", "cpu"))
    _refuse_another_device(tmp_path / "out", Device("A100", "cuda", "ampere"))
    _refuse_another_device(tmp_path / "new", Device("a CPU", "cpu", "cpu"))


def test_one_part_does_not_take_the_place_of_a_whole_lab(tmp_path):
    (tmp_path / "out").mkdir()
    with Journal(tmp_path / "out") as journal:
        parts = '{"part1_a": {}, "part2_b": {}}'
        under = Circumstances("toy", "1", "code", "0.1.0", '{"kind": "cpu"}', "none", "", parts)
        journal.begin(under, 7, 3, {})

    with pytest.raises(UserError, match="its results have part2_b, too"):
        _refuse_fewer_parts(tmp_path / "out", ["part1_a"])
    _refuse_fewer_parts(tmp_path / "out", ["part1_a", "part2_b", "part3_c"])
    _refuse_fewer_parts(tmp_path / "new", ["part1_a"])


def test_canvas_files_become_one_submission(grade, tmp_path):
    """Known by number; the roster may lie among the results."""
    (tmp_path / "out").mkdir()
    (tmp_path / "roster.csv").rename(tmp_path / "out/roster.csv")
    hand_in(
        tmp_path / "in",
        "lovelaceada_1001_21_amp_results.csv",
        "lovelaceada_1001_22_amp_comparison.png",
    )
    status, _, errors = grade(tmp_path / "in")

    assert (0, "") == (status, errors)
    assert ["ada"] == [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()]


def test_a_run_ends_with_what_a_person_has_to_do(grade, tmp_path):
    """A mark of lateness without its time, and work that could not be read, are no grades."""
    (tmp_path / "out").mkdir()
    (tmp_path / "roster.csv").rename(tmp_path / "out/roster.csv")
    hand_in(
        tmp_path / "in", "lovelaceada_LATE_1001_21_amp_results.csv", "okriben_1002_22_part3.zip"
    )
    status, output, _ = grade(tmp_path / "in")
    out = tmp_path / "out"

    assert 0 == status
    assert "Could not be read: ben (nothing was taken: okriben_1002_22_part3.zip: " in output
    assert (
        f"Late, and nobody knows when it came: ada (marked as late, and when it was handed in is not known); fill in the time in {out}/handed_in.csv"
        in output
    )
    assert "ben,0,0,," in (out / "grades.csv").read_text()
    assert "marked as late" in (out / "grades.csv").read_text()


def test_a_replay_of_what_cannot_be_read_says_that_nothing_was_run(
    grade, capsys, monkeypatch, tmp_path
):
    """No difference would sound like a grade that was confirmed."""
    hand_in(tmp_path / "in", "ben.zip")
    grade(tmp_path / "in")
    words = ["replay", tmp_path / "out/ben", "--device", "cpu", "--isolation", "none"]
    monkeypatch.setattr(sys, "argv", ["perflab", *map(str, words)])
    with pytest.raises(SystemExit):
        cli.main()

    assert "0 differences; nothing was run: the upload cannot be read" in capsys.readouterr().out


def test_only_those_who_failed_a_check_are_graded_again(grade, tmp_path):
    work, check = tmp_path / "in", "part3_amp.csv_is_consistent"
    hand_in(work / "ada", "amp_results.csv")
    hand_in(work / "ben", "amp_results.csv")
    (work / "ben/amp_results.csv").write_text("precision,speedup\nAMP,fast\n")
    grade(work)

    code, said, _ = grade(work, "--failing", check)
    short, again, _ = grade(work, "--failing", "csv_is_consistent")
    wrong, _, why = grade(work, "--failing", "part3_amp.is_nice")
    watching, _, refused = grade(work, "--watch", "--failing", check)
    ben = tmp_path / "out/ben"
    result = result_file.load_result(ben / "result.json")
    text = (ben / "result.json").read_text()
    faulty = text.replace('"outcome": "failed"', '"outcome": "error"')
    (ben / "result.json").write_text(faulty)
    fault, _, _ = grade(work, "--failing", check)
    (ben / "result.json").write_text(text)
    overrides.append(ben, [overrides.decide(result, check, 0, "zero", by="meera", at="now")])
    corrected, _, nobody = grade(work, "--failing", check)

    assert 2 != fault
    assert text != faulty
    assert (2, True) == (corrected, "nobody there failed" in nobody)
    assert (0, True) == (code, "1 unchanged; " in said)
    assert (0, True) == (short, "1 unchanged; " in again)
    assert 2 == wrong
    assert "no result there has a check 'part3_amp.is_nice'; its page names all checks" in why
    assert (2, True) == (watching, "leave out --watch" in refused)


def test_who_is_not_graded_is_on_the_class_page_until_that_is_put_right(grade, tmp_path):
    names = [NBGRADER.format(*one) for one in [("ada", "01"), ("eve", "01")]]
    roster, page = tmp_path / "roster.csv", tmp_path / "out/index.html"
    grade(hand_in(tmp_path / "in", *names), "--roster", roster)
    before = page.read_text()
    grade(hand_in(tmp_path / "later", names[0]), "--roster", roster)

    assert "Uploads that were not graded: 1" in before
    assert "nobody in the roster has student" in before
    assert "Uploads that were not graded" not in page.read_text()


def test_a_request_is_kept_where_nothing_is_graded_again(grade, tmp_path):
    hand_in(tmp_path / "in/ada", "amp_results.csv")
    grade(tmp_path / "in")
    (tmp_path / "in/ada/request.md").write_text("csv_is_consistent\nI doubt it.")
    code, _, _ = grade(tmp_path / "in")

    assert 0 == code
    assert "I doubt it." in (tmp_path / "out/ada/request.md").read_text()
    assert "You asked for a second look" in (tmp_path / "out/ada/feedback.html").read_text()
    assert "Second looks asked for" in (tmp_path / "out/index.html").read_text()


def test_nobodys_work_is_no_class(grade, tmp_path):
    """One line, and what it takes."""
    status, _, errors = grade(hand_in(tmp_path / "in", "lovelaceada_1001_21_amp_results.csv"))

    assert (2, False) == (status, (tmp_path / "out").exists())
    assert "whose it is takes a roster with canvas_id '1001'" in errors
    assert "nothing there can be graded" in errors


def test_others_in_the_folder_keep_their_line(grade, tmp_path):
    """Who is graded alone does not push the class out of grades.csv."""
    hand_in(tmp_path / "in", "ada/amp_results.csv", "ben/amp_results.csv")
    grade(tmp_path / "in")
    grade(tmp_path / "in/ada")

    assert ["ada", "ben"] == [
        line.split(",")[0] for line in (tmp_path / "out/grades.csv").read_text().splitlines()[1:]
    ]


def test_who_moved_since_the_last_time_is_told_with_the_reason(grade, tmp_path):
    """Here ben handed in another table; who is graded for the first time has not moved."""
    hand_in(tmp_path / "in", "ada/amp_results.csv", "ben/amp_results.csv")
    _, once, _ = grade(tmp_path / "in")
    (tmp_path / "in/ben/amp_results.csv").write_text("nothing\n")
    _, again, _ = grade(tmp_path / "in")

    assert "another score" not in once
    assert "1 of the 2 that were graded before has another score, -" in again
    assert "ada: " not in again
    assert "part3_amp.csv_is_consistent: passed" in again


def test_the_class_page_names_what_was_handed_in(grade, tmp_path):
    """In the command that grades again who made one mistake."""
    hand_in(tmp_path / "in", "ada/amp_results.csv", "ben/amp_results.csv")
    for name in ("ada", "ben"):
        (tmp_path / "in" / name / "amp_results.csv").write_text("nothing\n")
    grade(tmp_path / "in")
    page = (tmp_path / "out/index.html").read_text()

    assert f"perflab grade resnet18 {tmp_path}/in --failing part3_amp." in page


def test_who_is_unchanged_or_could_not_be_read_is_not_counted_as_graded(grade, tmp_path):
    hand_in(tmp_path / "in", "ada/amp_results.csv")
    (tmp_path / "in/ben.zip").write_bytes(b"PK")
    _, once, _ = grade(tmp_path / "in")
    _, again, _ = grade(tmp_path / "in")

    assert "\n1 graded, 1 could not be read; " in once
    assert "\n1 unchanged, 1 could not be read; " in again
    assert "none of the 2 that were graded before has another score\n" in again


def test_names_that_cannot_be_results_hide_nobodys_grade(grade, tmp_path):
    """Each is one line; what lies in the way of no file of ours is graded."""
    hand_in(
        tmp_path / "in",
        *(f"{name}/amp_results.csv" for name in ("ada", "grades.csv.part", "x.csv", "ben")),
    )
    (tmp_path / "in/ben.zip").write_bytes(b"")
    status, output, errors = grade(tmp_path / "in")
    grades = (tmp_path / "out/grades.csv").read_text().splitlines()

    assert (0, True) == (status, "2 graded; " in output)
    assert ["not graded", "not graded"] == [line.partition(":")[0] for line in errors.splitlines()]
    assert ["ada", "grades.csv.part"] == [line.partition(",")[0] for line in grades[1:]]
