"""The class page: its table, what a person has to do next, leaderboards, and the page without names."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograder.config import LabConfig, LatePolicy
from autograder.errors import ReadError
from autograder.grading.evidence import NOT_RUN
from autograder.handed_in import times
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.times import Handed
from autograder.model import Owed
from autograder.report.html import class_page, write
from autograder.report.tally import Row
from autograder.results.drift import Drift
from autograder.results.overrides import BY_HAND
from autograder.results.standing import Rules, rules
from tests.report.parsed_page import Page, put
from tests.samples import a_check, a_class, a_part, a_result, a_silent_check, rows

LATE_LAB = LabConfig("resnet18", 1, "2027-01-20T23:59+05:30", LatePolicy(0, 0.1, 0.5), {})


def test_the_class_page_marks_what_stands_beside_the_code_and_says_what_that_means():
    """A scripted check and a report each; outputs and artefacts need no word."""
    page = class_page(rows(a_class(3)), "resnet18")

    assert ["scripted", "report"] == sorted(
        re.findall(r'<a class="mark" href="#basis">(\w+)</a>', page), reverse=True
    )
    assert "rests on a script that runs beside the code and knows the answers" in Page(page).text


def test_the_class_table_can_be_sorted_and_read_aloud():
    """Sorting is by a button in a header of a column; the initial order is announced; each row has a header."""
    page = class_page(rows(a_class(3)), "resnet18")
    parsed = Page(page)
    scopes = [a.get("scope") for a in parsed.all("th")]

    assert ["ascending"] == [a["aria-sort"] for a in parsed.all("th") if "aria-sort" in a]
    assert ["Submission", "Score", "Owed", "Failed", "part3", "part4"] == re.findall(
        r'<button type="button">(\w+)<', page
    )
    assert None not in scopes
    assert [f"./student{n:02}/feedback.html" for n in range(3)] == re.findall(
        r'<th scope="row"><a href="([^"]+)"', page
    )


def test_a_part_that_a_submission_lacks_is_no_zero():
    one = a_result(a_part("part3_amp", "Mixed precision", a_check()), submission="one")
    two = a_result(a_part("part4_memory", "Memory", a_check()), submission="two")

    assert 2 == class_page(rows([one, two]), "resnet18").count(
        'data-value="-1"><span class="quiet">none</span>'
    )


def test_an_upload_that_cannot_be_read_is_no_zero_in_the_scores():
    """Alone, it has no median either."""
    unread = a_silent_check(outcome="unread", points=0, max_points=6)
    damaged = a_result(a_part("p", "P", unread), submission="cy", score=0.0)
    good = a_result(a_part("p", "P", a_check()), submission="ada", score=5.0)
    both, alone = (class_page(rows(it), "resnet18") for it in ([good, damaged], [damaged]))

    assert "<strong>5</strong> median score" in both
    assert "median score" not in alone


def test_points_set_by_hand_show_in_the_row():
    """What a person decided is told from what was measured."""
    noted = {"reason": "timer", "by": "meera", "at": "now", "graded": "failed, 0 of 6"}
    set_ = a_result(a_part("p", "P", a_check(evidence={BY_HAND: noted})), submission="ada")
    plain = a_result(a_part("p", "P", a_check()), submission="ben")
    page = class_page(rows([set_, plain]), "resnet18")

    assert 1 == page.count("points set by hand</span>")


def test_parts_that_nobody_handed_in_are_folded(tmp_path):
    """Their checks would be the hardest of all."""
    missing = a_silent_check(outcome="failed", cause="missing", why="it was not submitted")
    other = replace(missing, id="plot", basis="artefact", outcome="skipped")
    result = a_result(
        a_part("part3_amp", "Mixed precision", a_check()),
        a_part("part4_memory", "Memory", missing, other),
    )
    page = class_page(rows([result]), "resnet18")

    assert "Nobody handed in part4_memory: their checks are left out here." in Page(page).text
    assert "part4_memory.amp_is_faster" not in page
    assert "part3_amp.amp_is_faster" in page


def put_class(folder):
    """One that could not be read, one who is late by nobody knows how much, one who is set aside, and one absent."""
    unread = a_silent_check(outcome="unread", reason="nothing was taken: cut.zip: is a damaged zip")
    gone = [
        a_silent_check(
            id=f"c{n}", outcome="error", cause="aside", reason="set aside: its grader died"
        )
        for n in range(3)
    ]
    folder.mkdir()
    for name, *checks in [("cut", unread), ("eve", *gone), ("kim", a_check())]:
        put(folder, a_result(a_part("part3_amp", "P", *checks), submission=name))
    times.write(folder, {"kim": Handed(marked_late=True)})
    (folder / "roster.csv").write_text("student,name\ncut,Ada Cut\neve,\nkim,\nzoe,Zoe Absent\n")
    write(folder, rules({"resnet18": LATE_LAB}, folder))
    return Page((folder / "index.html").read_text())


def test_what_a_person_has_to_do_next_is_one_box(tmp_path):
    """With whose it is and what to do; who handed nothing in is named, too, as in the roster."""
    text = put_class(tmp_path / "results").text

    for said in (
        "Could not be read: 1 submission cut nothing was taken: cut.zip: is a damaged zip ask for a file in place of this one",
        "Late, and nobody knows when it came: 1 submission kim marked as late, and when it was handed in is not known fill",
        "Set aside: 1 submission eve its grader died each time",
        "Without a result: 1 who zoe Zoe Absent",
        "cut Ada Cut",
        "late, by an unknown time",
    ):
        assert said in text
    assert "Points that" not in text
    assert 1 == text.count("damaged zip")


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 submissions There are no results yet."), (1, "1 submission "), (2, "2 submissions ")],
)
def test_a_class_of_any_size_has_a_page(size, said):
    assert said in Page(class_page(rows(a_class(size)), "resnet18")).text + " "


def test_one_fault_is_counted_in_the_singular():
    assert "1 fault of ours" in Page(class_page(rows(a_class(1)), "resnet18")).text
    assert "2 faults of ours" in Page(class_page(rows(a_class(2)), "resnet18")).text


def test_who_is_known_by_another_name_is_told(tmp_path):
    """Only once there is a page without names."""
    put(tmp_path, a_result())
    write(tmp_path)
    before = (tmp_path / "asha/feedback.html").read_text(encoding="utf-8")
    write(tmp_path, anonymous=True)
    (name,) = re.findall(
        r"you are called <strong>([\w-]+)</strong>", (tmp_path / "asha/feedback.html").read_text()
    )

    assert "you are" not in before
    assert name in Page((tmp_path / "anonymous.html").read_text(encoding="utf-8")).text


def test_the_page_without_names_is_kept_up_to_date(tmp_path):
    put(tmp_path, a_result())
    write(tmp_path, anonymous=True)
    put(tmp_path, a_result(submission="bo"))

    assert tmp_path / "anonymous.html" == write(tmp_path).files[-1]
    assert "2 submissions" in Page((tmp_path / "anonymous.html").read_text(encoding="utf-8")).text


def test_nothing_on_the_page_without_names_is_about_one_of_them(tmp_path):
    """No names, no way to a page, no list of who is owed what, and not what could not be read."""
    for result in a_class(2):
        put(tmp_path, result)
    (tmp_path / "bo").mkdir()
    (tmp_path / "bo/result.json").write_text("{", encoding="utf-8")

    with pytest.raises(ReadError):
        write(tmp_path, anonymous=True)

    page = Page((tmp_path / "anonymous.html").read_text(encoding="utf-8"))
    assert [] == [a["href"] for a in page.all("a") if not a["href"].startswith("#")]
    assert [] == re.findall(r"student\d|Settled by|The run|\bbo\b", page.text)


def timed(submission, interval=(1.6, 1.7)):
    evidence = {"pairs": [0.5] * 9, "interval": [*interval], "bar": 1.5}
    return a_result(
        a_part("p", "P", a_check(outcome="passed", points=6, evidence=evidence)),
        submission=submission,
    )


def test_who_opted_out_is_on_no_leaderboard(tmp_path):
    """Their speedup still counts in the distribution."""
    for name in ("ada", "bo"):
        put(tmp_path, timed(name))
    roster = Roster({"ada": Student("ada", leaderboard="no"), "bo": Student("bo")})

    write(tmp_path, Rules(roster=roster), anonymous=True)

    for page in ("index.html", "anonymous.html"):
        text = Page((tmp_path / page).read_text(encoding="utf-8")).text
        assert 1 == text.count("1.65x 1.60 to 1.70")
        assert "on NVIDIA H100 80GB HBM3: 2 speedups" in text


def test_each_reads_their_own_place_once_there_are_pseudonyms(tmp_path):
    """Who wants to stands there by name; others read it, and the page of the class still has a pseudonym."""
    for name in ("ada", "bo"):
        put(tmp_path, timed(name))
    put(tmp_path, timed("cy", interval=[2.6, 2.7]))
    students = {"ada": Student("ada"), "cy": Student("cy", "Cy Young", leaderboard="name")}
    rules = Rules(roster=Roster({**students, "bo": Student("bo", leaderboard="no")}))

    write(tmp_path, rules)
    before = (tmp_path / "ada/feedback.html").read_text(encoding="utf-8")
    write(tmp_path, rules, anonymous=True)
    pages = {name: (tmp_path / name / "feedback.html").read_text() for name in ("ada", "bo", "cy")}
    board = Page((tmp_path / "anonymous.html").read_text(encoding="utf-8")).text

    assert "leaderboard" not in before + pages["bo"]
    assert "Place 2 of 2 on the leaderboard; just ahead: Cy Young 2.65x." in pages["ada"]
    assert "Place 1 of 2 on the leaderboard: nobody is measurably faster." in pages["cy"]
    assert 1 == board.count("Cy Young")


def test_students_with_one_mistake_are_one_line_and_can_be_graded_again():
    wrong = a_check(outcome="failed", points=0, why="no GradScaler")
    other = a_check(outcome="failed", points=0, why="no autocast")
    class_ = [a_result(a_part("part3_amp", "P", wrong), submission=name) for name in ("ada", "bo")]
    class_.append(a_result(a_part("part3_amp", "P", other), submission="cy"))

    page = Page(class_page(rows(class_), "resnet18", out="'lab 3'"))

    assert "part3_amp.amp_is_faster no GradScaler 2 ada , bo" in page.text
    assert "no autocast" not in page.text
    assert "FOLDER --failing part3_amp.amp_is_faster --out 'lab 3'" in page.text


def test_what_was_not_run_is_no_mistake_of_its_own():
    """Ten checks of one endless file would fill the table; the runs that ended late stand there."""
    not_run = a_silent_check(outcome="failed", cause="timeout", why=NOT_RUN)
    class_ = [a_result(a_part("p", "P", not_run), submission=name) for name in ("ada", "ben")]

    assert "What went wrong" not in class_page(rows(class_), "resnet18")


def test_points_that_a_person_gives_are_nobodys_mistake():
    read = a_check(basis="person", outcome="partial", points=1, why="")
    class_ = [a_result(a_part("part3_amp", "P", read), submission=name) for name in ("ada", "bo")]

    assert "What went wrong" not in class_page(rows(class_), "resnet18")


def test_a_class_that_nobody_leads_has_no_leaderboard():
    page = class_page([Row(timed("ada"), "ada", ranked=False)], "resnet18")

    assert "1 speedup;" in page
    assert "Leaderboard" not in page


def test_what_is_set_aside_is_said_once(tmp_path):
    gone = [
        a_silent_check(
            id=f"c{n}", outcome="error", cause="aside", reason="set aside: its grader died"
        )
        for n in range(3)
    ]
    owed = tuple(Owed(f"p.c{n}", 6, "person") for n in range(3))
    eve = a_result(a_part("p", "P", *gone), submission="eve", owed=owed)
    page = class_page(rows([eve]), "resnet18")

    assert "Settled by" not in page
    said = "18 points owed, 18 of them for uploads that could not be read or were set aside"
    assert said in Page(page).text


def test_a_check_that_may_be_wrong_is_marked():
    """Here who passes it does worse at the rest."""

    def one(n):
        odd = a_silent_check(
            id="odd", outcome="passed" if n < 10 else "failed", points=6 if n < 10 else 0
        )
        rest = a_silent_check(id="rest", outcome="partial", points=n / 4)
        return a_result(a_part("p", "P", odd, rest), submission=f"s{n}")

    text = Page(class_page(rows([one(n) for n in range(20)]), "resnet18")).text

    assert "p.odd who passes it does worse elsewhere" in text
    assert "50 % \u22120.87" in text


TIMES = {
    "seconds": (8.24, "8.2 s"),
    "minutes": (252.0, "4 min 12 s"),
    "hours": (10_000.0, "2 h 46 min"),
}


@pytest.mark.parametrize(("seconds", "said"), TIMES.values(), ids=TIMES)
def test_how_long_it_took_is_said_in_a_unit_that_fits(seconds, said):
    assert (
        f"Half took less than {said}"
        in Page(class_page(rows([a_result(seconds=seconds)]), "resnet18")).text
    )


def test_who_was_graded_twice_is_told_with_what_differs():
    """Nothing of it where nobody was."""
    twice = [
        Drift("ada"),
        Drift("ben", "part3_amp.same", "passed 2/2", "failed 0/2"),
        Drift("ben", "b", "c", "d"),
    ]
    page = class_page(rows([a_result()]), "resnet18", twice=twice)

    assert (
        "2 drawn by lot, on other inputs; 1 came out differently. The first grade stands." in page
    )
    assert "<li>ben: part3_amp.same: passed 2/2 -&gt; failed 0/2</li>" in page
    assert "none came out differently" in class_page(
        rows([a_result()]), "resnet18", twice=twice[:1]
    )
    assert "Graded twice" not in class_page(rows([a_result()]), "resnet18")
