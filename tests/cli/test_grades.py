"""The commands for grades that are there: what they write, what they refuse, and that all of them show the same."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from autograder import cli
from autograder.batch.journal import Circumstances, Journal
from autograder.course import find_root
from autograder.handed_in import times
from autograder.handed_in.times import Handed, moment
from autograder.records import to_json
from tests.samples import a_check, a_part, a_result, every_outcome

ROSTER = "student,name,canvas_id,moodle_id,extension_hours\nada,Ada Lovelace,1001,5,24\nben,Ben Okri,1002,6,\nzoe,Zoe,1003,7,\n"
AMP = a_part(
    "part3_amp", "AMP", a_check(), a_check(id="other", outcome="passed", points=4, max_points=4)
)
LATE = moment("2027-01-22T10:00+05:30")  # a day and a half


def run(monkeypatch, capsys, *arguments):
    """Run the command in this process; return its exit status, output and errors."""
    monkeypatch.setattr(sys, "argv", ["perflab", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


def put(folder, name, *parts):
    home = folder / name
    home.mkdir(parents=True)
    (home / "result.json").write_text(json.dumps(to_json(a_result(*parts, submission=name))))


@pytest.fixture
def results(tmp_path):
    """Two students, both of them late, one with an extension."""
    put(tmp_path / "results", "ada", AMP)
    put(tmp_path / "results", "ben", AMP)
    (tmp_path / "results/roster.csv").write_text(ROSTER)
    times.write(tmp_path / "results", {name: Handed(name, LATE) for name in ("ada", "ben")})
    return tmp_path / "results"


def test_an_export_is_after_lateness_and_names_who_handed_nothing_in(monkeypatch, capsys, results):
    """The policy is that of grading_config.yaml; the extension is ada's."""
    status, output, errors = run(
        monkeypatch, capsys, "export", results, "--to", "canvas", "--assignment", "Lab (7)"
    )

    assert (0, "without a result: zoe\n") == (status, errors)
    assert (
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab (7)\n"
        "    Points Possible,,,,,10\n"
        "Ada Lovelace,1001,,,,3.6\n"
        "Ben Okri,1002,,,,3.2\n"
    ) == output


@pytest.mark.parametrize("system", ["csv", "moodle", "junit"])
def test_an_export_goes_to_a_file(monkeypatch, capsys, results, tmp_path, system):
    status, output, _ = run(
        monkeypatch, capsys, "export", results, "--to", system, "--out", tmp_path / "new/file"
    )

    assert (0, "") == (status, output)
    assert "ada" in (tmp_path / "new/file").read_text(encoding="utf-8-sig").lower()


def test_gradescope_gets_a_file_for_each(monkeypatch, capsys, results, tmp_path):
    """One result goes to the file that is named."""
    run(monkeypatch, capsys, "export", results, "--to", "gradescope", "--out", tmp_path / "many")
    run(
        monkeypatch,
        capsys,
        "export",
        results / "ada",
        "--to",
        "gradescope",
        "--out",
        tmp_path / "one.json",
    )

    assert ["ada.json", "ben.json"] == sorted(path.name for path in (tmp_path / "many").iterdir())
    assert 3.2 == json.loads((tmp_path / "one.json").read_text())["score"]


REFUSED = {
    "owed points": (
        ["export", "results", "--to", "csv"],
        "points are still owed: kim 13; settle them, or export with --provisional",
    ),
    "numbers without a roster": (
        ["export", "results", "--to", "moodle"],
        "--to moodle takes --roster: it says which student is whom there",
    ),
    "many files without a folder": (
        ["export", "results", "--to", "gradescope", "--provisional"],
        "2 files: name a folder for them with --out",
    ),
    "an override without a number": (
        ["override", "results/kim", "follows_fp32", "all", "--reason", "r"],
        "all: give points as a number, or 'graded' to take back what was set",
    ),
    "an override of nothing": (
        ["override", "res/*", "a", "1", "--reason", "r"],
        "res/*: no result.json in any folder",
    ),
    "an override of no check": (
        ["override", "results/kim", "x.*", "1", "--reason", "r"],
        "x.*: no check of kim is called so",
    ),
    "an override without a reason": (
        ["override", "results/kim", "follows_fp32", "1"],
        "Missing option '--reason'",
    ),
    "a sheet neither written nor read": (
        ["rubric", "results"],
        "rubric: give --out to write the sheet, or --read to read it back",
    ),
    "a lab that is not there": (
        ["gradescope", "resnet81", "--wheel", "results/kim/result.json", "--out", "x.zip"],
        "there is no lab 'resnet81' (did you mean 'resnet18'?)",
    ),
    "results to settle by that are not there": (
        ["settle", "results", "result.gpu"],
        "result.gpu: no */result.json here",
    ),
    "a folder without results": (["diff", "results", "."], ".: no */result.json here"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_one_clear_line(monkeypatch, capsys, tmp_path, arguments, message):
    """Exit status 2, and nothing is written."""
    put(tmp_path / "results", "kim", *every_outcome())
    put(tmp_path / "results", "lee", AMP)
    course = [] if arguments[0] == "diff" else ["--course", find_root()]
    monkeypatch.chdir(tmp_path)
    status, _, errors = run(monkeypatch, capsys, *arguments, *course)

    assert status == 2
    assert message in errors
    assert "Traceback" not in errors
    assert {"kim", "lee"} == {path.name for path in Path("results").iterdir()}


def test_what_is_set_by_hand_is_in_pages_grades_and_exports(monkeypatch, capsys, results):
    """And the grader's own result stays as it was; what is taken back is gone from all."""
    before = (results / "ada/result.json").read_bytes()
    set_ = ["override", results / "ada", "amp_is_faster", 6, "--reason", "the timer was broken"]
    status, output, _ = run(monkeypatch, capsys, *set_)

    assert (0, "ada: 4 -> 10 of 10 (part3_amp.amp_is_faster)") == (status, output.splitlines()[0])
    assert (
        "the timer was broken (the grader: failed, 0 of 6)"
        in (results / "ada/feedback.html").read_text()
    )
    assert "10 h 1 min late, -10 %" in (results / "ada/feedback.html").read_text()
    assert (
        'ada,9,10,"10 h 1 min late, -10 %",0,0,10,1,bubblewrap,part3_amp.amp_is_faster'
        in (results / "grades.csv").read_text()
    )
    assert ",9\n" in run(monkeypatch, capsys, "export", results, "--to", "canvas")[1]
    assert before == (results / "ada/result.json").read_bytes()

    run(
        monkeypatch,
        capsys,
        "override",
        results / "ada/result.json",
        "amp_is_faster",
        "graded",
        "--reason",
        "mistaken",
    )
    assert (
        'ada,3.6,4,"10 h 1 min late, -10 %",0,6,10,1,bubblewrap,\n'
        in (results / "grades.csv").read_text()
    )


@pytest.mark.parametrize(
    "named", [["*"], ["ada", "ben", "grades.csv"]], ids=["in quotes", "as a shell does it"]
)
def test_one_decision_goes_for_a_class(monkeypatch, capsys, results, named):
    """What lies beside the results is passed over."""
    (results / "grades.csv").write_text("")
    several = [results / name for name in named]
    status, output, _ = run(
        monkeypatch, capsys, "override", *several, "amp_is_faster", 6, "--reason", "no GPU here"
    )

    said = "{0}: 4 -> 10 of 10 (part3_amp.amp_is_faster)"
    assert (0, [said.format("ada"), said.format("ben")]) == (status, output.splitlines()[:2])
    assert output.count("pages") == 1


def test_one_decision_goes_for_several_checks(monkeypatch, capsys, results):
    """Of what nobody could read, all may be nothing."""
    status, output, _ = run(
        monkeypatch,
        capsys,
        "override",
        results / "ada",
        "part3_amp.*",
        0,
        "--reason",
        "asked twice",
    )

    said = "ada: 4 -> 0 of 10 (part3_amp.amp_is_faster, part3_amp.other)"
    assert (0, said) == (status, output.splitlines()[0])


def test_where_one_cannot_be_set_none_is(monkeypatch, capsys, results):
    """Nobody would know who has it."""
    put(results, "cem", a_part("part3_amp", "AMP", a_check(id="other")))
    status, _, errors = run(
        monkeypatch, capsys, "override", results / "*", "amp_is_faster", 6, "--reason", "no GPU"
    )

    assert (2, True) == (status, "cem has no such check" in errors)
    assert [] == list(results.glob("*/overrides.jsonl"))


def test_a_sheet_goes_out_and_comes_back(monkeypatch, capsys, tmp_path):
    """The points that a person gave are no longer owed."""
    put(tmp_path / "results", "kim", *every_outcome())
    sheet = tmp_path / "sheets" / "rubric.csv"
    status, output, _ = run(monkeypatch, capsys, "rubric", tmp_path / "results", "--out", sheet)
    assert (0, True) == (status, "fill in 'points' and 'comment'" in output)

    assert "The forward pass and the loss. Autocast chooses" in sheet.read_text()
    text = sheet.read_text(encoding="utf-8-sig").replace(
        "autocast_goes,,2,,", "autocast_goes,1.5,2,half,", 1
    )
    sheet.write_text(text)
    status, output, _ = run(monkeypatch, capsys, "rubric", tmp_path / "results", "--read", sheet)

    assert (0, "1 item set for 1 submission") == (status, output.splitlines()[0])
    assert "kim,9,9,,11,10," in (tmp_path / "results/grades.csv").read_text()


def test_diff_says_who_moved_and_why(monkeypatch, capsys, tmp_path, results):
    """As lines for people, as JSON for programs."""
    put(tmp_path / "new", "ada", AMP)
    put(
        tmp_path / "new",
        "ben",
        a_part("part3_amp", "AMP", a_check(outcome="passed", points=6), AMP.checks[1]),
    )
    status, output, _ = run(monkeypatch, capsys, "diff", results, tmp_path / "new")
    as_json = json.loads(run(monkeypatch, capsys, "diff", results, tmp_path / "new", "--json")[1])

    assert 0 == status
    assert (
        "ben: 4 -> 10\n  part3_amp.amp_is_faster: failed 0/6 -> passed 6/6\n"
        "1 of the 2 that were graded before has another score, +6 points in all\n"
    ) == output
    assert [("ben", 4, 10, True)] == [
        (m["submission"], m["old"], m["new"], m["why"][0]["moves_points"]) for m in as_json
    ]


def test_report_shows_lateness(monkeypatch, capsys, results):
    """On the page of the student, on that of the class, and in grades.csv."""
    status, said, _ = run(monkeypatch, capsys, "report", results)
    pages = [(results / name).read_text() for name in ("ben/feedback.html", "index.html")]

    assert 0 == status
    assert "1 day 10 h 1 min late, -20 %: 0.8 points; <strong>3.2</strong> remain" in pages[0]
    assert "grades.csv, " in said
    assert "\nben,3.2,4," in (results / "grades.csv").read_text()
    assert "After lateness" in pages[1]
    assert "1 day 10 h 1 min late, -20 %" in pages[1]


def test_report_says_that_a_run_was_killed(monkeypatch, capsys, results):
    """Two results look like a class of two."""
    with Journal(results) as journal:
        journal.begin(Circumstances("resnet18", *("",) * 7), 7, 19, {})
    _, said, _ = run(monkeypatch, capsys, "report", results)

    for text in (said, (results / "index.html").read_text()):
        assert "The last grading is not finished: 0 of 19 submissions have a result." in text


def test_a_roster_that_was_named_once_is_kept(monkeypatch, capsys, tmp_path, results):
    """Else whoever sets points loses the extensions and names of the run before; one that is gone is missed."""
    (results / "roster.csv").unlink()
    roster = tmp_path / "elsewhere.csv"
    roster.write_text("student,name,extension_hours\nada,Ada Lovelace,48\ncem,Cem Can,\n")
    run(monkeypatch, capsys, "report", results, "--roster", roster)
    run(monkeypatch, capsys, "override", results / "ada", "amp_is_faster", 6, "--reason", "ours")

    assert "\nada,10,10,,0,0,10," in (results / "grades.csv").read_text()
    page = (results / "index.html").read_text()
    assert ("Ada Lovelace" in page, "Cem Can" in page) == (True, True)
    roster.unlink()
    status, _, errors = run(monkeypatch, capsys, "report", results)
    assert (2, True) == (status, "is gone: name it with --roster" in errors)


def test_report_writes_a_page_without_names_when_told_to(monkeypatch, capsys, results):
    status, output, _ = run(monkeypatch, capsys, "report", results, "--anonymous")

    assert (0, True) == (status, "grades.csv, 4 pages; open " in output)
    assert "ben" not in (results / "anonymous.html").read_text()


def test_the_zip_for_gradescope_is_of_a_lab_that_is_there(monkeypatch, capsys, tmp_path):
    (tmp_path / "perflab-0-py3-none-any.whl").write_bytes(b"PK")
    wheel = tmp_path / "perflab-0-py3-none-any.whl"
    status, _, _ = run(
        monkeypatch, capsys, "gradescope", "resnet18", "--wheel", wheel, "--out", tmp_path / "a.zip"
    )

    assert 0 == status
    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == [
        "run_autograder",
        "setup.sh",
        "lab.txt",
        wheel.name,
    ]


def test_similar_lists_pairs_and_scores_nothing(monkeypatch, capsys, results):
    """What was handed out is the template of the course."""
    numbers = "\n".join(f"fp32,{0.7341217 + n / 7:.7f}" for n in range(6))
    template = (find_root() / "student_template/resnet18/part3_amp.py").read_text()
    for name in ("ada", "ben"):
        with zipfile.ZipFile(results / name / "handed_in.zip", "w") as kept:
            kept.writestr("amp_results.csv", numbers)
            kept.writestr("part3_amp.py", template)
    status, output, _ = run(monkeypatch, capsys, "similar", results)
    [found] = json.loads(run(monkeypatch, capsys, "similar", results, "--json")[1])

    assert 0 == status
    assert output.startswith(
        "ada and ben: amp_results.csv: 6 marks, the same in both: 0.7341217 (line 1, line 1)"
    )
    assert (
        "1 group of the same work and 0 pairs of similar work among 2 submissions; a person decides"
        in output
    )
    assert output.endswith(
        "what more than 2 have in common makes no pair: it may be how everybody writes it\n"
    )
    assert ("amp_results.csv", 6) == (found["file"], found["shared"])
    (results / "roster.csv").write_text("student,group\nada,blue\nben,blue\n")
    assert "0 groups of the same work" in run(monkeypatch, capsys, "similar", results)[1]
