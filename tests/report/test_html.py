"""The pages: what they say, that nothing of a student becomes markup, and that a broken result stops no other."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from autograder.config import LabConfig, LatePolicy
from autograder.errors import ReadError, UserError
from autograder.handed_in import times
from autograder.handed_in.roster import Roster, Student
from autograder.handed_in.times import Handed
from autograder.records import to_json
from autograder.report.html import class_page, feedback_page, write
from autograder.report.tally import Row
from autograder.results.drift import Drift
from autograder.results.overrides import BY_HAND
from autograder.results.standing import Rules, rules
from tests.samples import a_check, a_class, a_part, a_result, a_silent_check, rows, with_bonus

LATE_LAB = LabConfig("resnet18", 1, "2027-01-20T23:59+05:30", LatePolicy(0, 0.1, 0.5), {})
VOID = {"meta", "link", "input", "br", "rect", "line"}


class Page(HTMLParser):
    """Reads a page as a browser would: its text, its elements, and whether they nest."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert [] == self.open, "elements left open"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


def put(folder, result, name=None):
    """Write a result.json where a grading would."""
    home = folder / (name or result.submission)
    home.mkdir()
    (home / "result.json").write_text(json.dumps(to_json(result)), encoding="utf-8")


def test_the_feedback_page_says_all_that_the_result_says():
    """Score, lost and owed; the four parts of each check; who settles; where and how it was graded."""
    result = a_result()
    said = Page(feedback_page(result)).text

    expected = [
        "7.5 of 30 points",
        "7.5 scored",
        "9.5 lost",
        "13 owed",
        "left out: scratch.py is no file of this lab",
    ]
    expected += [
        "NVIDIA H100 80GB HBM3",
        "bubblewrap",
        "2027-01-13 10:04:00+05:30",
        "20270113",
        result.submission_sha256,
    ]
    expected += [
        "settled by a run on a GPU",
        "settled by another grading run",
        "settled by a person",
    ]
    expected += ["our fault, not yours: KeyError", "a program that changes the recorder could pass"]
    expected += [
        "scripted a check marked so rests on a script that runs beside the code and knows the answers"
    ]
    for check in (check for part in result.parts for check in part.checks):
        expected += [check.title, check.measured, check.why, check.try_, check.reason]
    assert [] == [text for text in expected if text not in said]


def test_the_class_page_marks_what_stands_beside_the_code_and_says_what_that_means():
    """A scripted check and a report each; outputs and artefacts need no word."""
    page = class_page(rows(a_class(3)), "resnet18")

    assert ["scripted", "report"] == sorted(
        re.findall(r'<a class="mark" href="#basis">(\w+)</a>', page), reverse=True
    )
    assert "rests on a script that runs beside the code and knows the answers" in Page(page).text


def test_a_bonus_is_said_with_what_it_counts():
    page = feedback_page(with_bonus())

    assert "Bonus: 2 of 9 points, 2 of them in the score, where other parts lost points" in page
    assert "Bonus:" not in feedback_page(a_result())


def test_each_outcome_is_a_word_beside_its_points():
    words = re.findall(
        r'<div class="verdict"><span class="badge (\w+)">([\w ]+)</span>', feedback_page(a_result())
    )

    expected = [
        ("failed", "failed"),
        ("partial", "partly"),
        ("unavailable", "owed"),
        ("passed", "passed"),
        ("skipped", "skipped"),
        ("unavailable", "owed"),
        ("inconclusive", "owed"),
        ("error", "our fault"),
        ("unread", "owed"),
    ]
    assert expected == words


def test_a_check_that_passed_quietly_has_no_empty_lines():
    part = a_part(
        "part3_amp", "Mixed precision", a_silent_check(outcome="passed", points=6, measured="1.62x")
    )
    page = feedback_page(a_result(part, notes=()))

    assert ["Measured"] == re.findall(r"<dt>(Measured|Why|Try|Reason)</dt>", page)
    assert "Owed: neither" not in page
    assert "Notes" not in page


@pytest.mark.parametrize(
    "page",
    [feedback_page(a_result()), class_page(rows(a_class(3)), "resnet18")],
    ids=["feedback", "class"],
)
def test_every_link_inside_a_page_has_its_target(page):
    elements = Page(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    named = [a["href"][1:] for tag, a in elements if tag == "a" and a["href"].startswith("#")]
    labels = [a[key] for _, a in elements for key in ("aria-labelledby", "for") if key in a]

    assert len(set(ids)) == len(ids)
    assert named
    assert set(named + labels) <= set(ids)


@pytest.mark.parametrize(
    "page",
    [feedback_page(a_result()), class_page(rows(a_class(3)), "resnet18")],
    ids=["feedback", "class"],
)
def test_a_page_needs_nothing_from_elsewhere(page):
    """No address of another place, no file beside it but the feedback pages, and a policy that says so."""
    parsed = Page(page)
    sources = [
        a[key] for _, a in parsed.elements for key in ("src", "href", "action", "data") if key in a
    ]
    policy = next(
        a["content"] for a in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )

    assert [] == [s for s in sources if not re.match(r"#|\./[^/]+/feedback\.html|data:,$", s)]
    assert "://" not in page
    assert policy.startswith("default-src 'none';")


HOSTILE = "<script>alert(1)</script>"


def test_nothing_that_a_student_wrote_becomes_markup():
    """Tags, quotes and addresses of scripts stay text, in every field of a result, on both pages."""
    bad = f"{HOSTILE}\"'javascript:alert(1)</style>"
    check = a_check(title=bad, measured=bad, why=bad, try_=bad, reason=bad)
    owed = a_silent_check(id="owed", outcome="error", reason=bad, title=bad)
    result = a_result(
        a_part("part3_amp", bad, check, owed),
        submission=bad,
        notes=(bad,),
        isolation=bad,
        lab=bad,
        started=bad,
    )

    feedback, overview = feedback_page(result), class_page(rows([result]), bad, broken=[bad])

    for page in map(Page, (feedback, overview)):
        assert bad in page.text
        assert [] == [a["href"] for a in page.all("a") if not a["href"].startswith(("#", "./"))]
    assert 0 == feedback.count("<script")
    assert 1 == overview.count("<script")


def test_control_characters_and_half_characters_do_not_reach_a_page():
    page = feedback_page(a_result(submission="a\x1b\ud800\u202eb"))

    assert "<h1>a\ufffd\ufffd\ufffdb</h1>" in page
    page.encode("utf-8")


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
        "Could not be read: 1 cut nothing was taken: cut.zip: is a damaged zip ask for another file",
        "Late, and nobody knows when it came: 1 kim marked as late, and when it was handed in is not known fill in",
        "Set aside: 1 eve its grader died each time",
        "Without a result: 1 who zoe Zoe Absent",
        "cut Ada Cut",
        "late, by an unknown time",
    ):
        assert said in text
    assert "Points that" not in text
    assert 1 == text.count("damaged zip")


def test_what_could_not_be_read_is_said_once_to_its_author(tmp_path):
    """On top, and not again under each check and in the notes."""
    why = "nothing was taken: cut.zip: is a damaged zip"
    checks = [a_silent_check(id=f"c{n}", outcome="unread", reason=why) for n in range(9)]
    text = Page(
        feedback_page(a_result(a_part("p", "P", *checks), notes=(why, "another note")))
    ).text

    assert f"Not graded yet: what you handed in could not be read {why} No points are lost" in text
    assert 1 == text.count(why)
    assert "Notes another note" in text


def test_one_mistake_that_fails_many_checks_is_told_once():
    """What was lost is a box on top, by its reason; a single point is one point."""
    broken = {
        "outcome": "failed",
        "measured": "no Python",
        "why": "SyntaxError: '(' was never closed",
    }
    checks = [a_silent_check(id=f"c{n}", max_points=2, try_="open it", **broken) for n in range(9)]
    alone = a_silent_check(
        id="alone", outcome="failed", max_points=1, measured="1 s", why="too slow"
    )
    text = Page(
        feedback_page(
            a_result(a_part("p", "P", a_silent_check(outcome="passed", points=6), *checks, alone))
        )
    ).text

    assert (
        "Lost: 19 points p.c0 , p.c1 , p.c2 , p.c3 and 5 more 18 points no Python: SyntaxError"
        in text
    )
    assert "p.alone 1 point 1 s: too slow" in text
    assert 2 == text.count("SyntaxError")
    assert 8 == text.count("Why the same as for c0")


def test_what_failed_comes_first_and_what_passed_is_folded():
    """The fold says how many checks it holds; a check that a person passed is not in it."""
    passed = {"outcome": "passed", "points": 3, "max_points": 3}
    by_hand = {"reason": "the second plot is right", "graded": "failed, 0 points"}
    checks = [
        a_silent_check(id="first", **passed),
        a_silent_check(id="owed", outcome="unavailable"),
        a_silent_check(id="read", evidence={BY_HAND: by_hand}, **passed),
        a_silent_check(id="lost", outcome="failed"),
        a_silent_check(id="last", **passed),
    ]
    page = feedback_page(a_result(a_part("p", "P", *checks)))
    before, folded = page.split("<details", 1)

    assert ["lost", "owed", "read"] == re.findall(r'id="p\.(\w+)"', before)
    assert ["first", "last"] == re.findall(r'id="p\.(\w+)"', folded)
    assert "passed 2 checks 6/6" in Page(page).text


def test_a_part_without_a_passed_check_has_no_fold():
    assert "<details" not in feedback_page(a_result(a_part("p", "P", a_check())))


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 submissions There are no results yet."), (1, "1 submission "), (2, "2 submissions ")],
)
def test_a_class_of_any_size_has_a_page(size, said):
    assert said in Page(class_page(rows(a_class(size)), "resnet18")).text + " "


def test_one_fault_is_counted_in_the_singular():
    assert "1 fault of ours" in Page(class_page(rows(a_class(1)), "resnet18")).text
    assert "2 faults of ours" in Page(class_page(rows(a_class(2)), "resnet18")).text


def test_pages_are_written_beside_the_results(tmp_path):
    for result in a_class(2):
        put(tmp_path, result)

    expected = [
        tmp_path / "student00/feedback.html",
        tmp_path / "student01/feedback.html",
        tmp_path / "index.html",
    ]
    assert expected == write(tmp_path).files
    assert ["<h1>student00</h1>"] == re.findall(
        r"<h1>.*</h1>", expected[0].read_text(encoding="utf-8")
    )
    assert "<title>resnet18: the class</title>" in expected[-1].read_text(encoding="utf-8")


def test_the_class_page_links_to_the_folder_whatever_the_submission_is_called(tmp_path):
    """A submission may not choose where its page is written or what the link runs."""
    put(tmp_path, a_result(submission="../../javascript:alert(1)"), name="ünï & co #1")

    assert [tmp_path / "ünï & co #1/feedback.html", tmp_path / "index.html"] == write(
        tmp_path
    ).files
    assert (
        '<th scope="row"><a href="./%C3%BCn%C3%AF%20%26%20co%20%231/feedback.html">../../javascript'
        in (tmp_path / "index.html").read_text(encoding="utf-8")
    )


BROKEN = {
    "no JSON": ("{", "bo/result.json: cannot be read: Expecting property name"),
    "another format": (
        '{"format": 3}',
        "bo/result.json: format 3; this perflab reads formats 1 to 2",
    ),
    "a name is missing": ('{"format": 1}', "bo/result.json: 'lab' is missing"),
    "nested without end": (
        "[" * 100_000,
        "bo/result.json: cannot be read: maximum recursion depth",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_result_is_named_and_stops_no_other(tmp_path, text, message):
    """The other pages are written first, and the class page names it too."""
    put(tmp_path, a_result())
    (tmp_path / "bo").mkdir()
    (tmp_path / "bo/result.json").write_text(text, encoding="utf-8")

    with pytest.raises(ReadError) as raised:
        write(tmp_path)

    assert str(raised.value).startswith(f"{tmp_path}: 1 of 2 results could not be read: {message}")
    assert message in Page((tmp_path / "index.html").read_text(encoding="utf-8")).text
    assert (tmp_path / "asha/feedback.html").exists()


def test_only_broken_results_still_have_a_class_page(tmp_path):
    (tmp_path / "bo").mkdir()
    (tmp_path / "bo/result.json").write_text("{", encoding="utf-8")

    with pytest.raises(ReadError, match="1 of 1"):
        write(tmp_path)

    assert f"<title>{tmp_path.name}: the class</title>" in (tmp_path / "index.html").read_text(
        encoding="utf-8"
    )


def test_a_folder_without_results_says_which_folder_is_meant(tmp_path):
    with pytest.raises(UserError) as raised:
        write(tmp_path)

    assert (
        f"{tmp_path}: no */result.json here; give the folder that `perflab grade --out` wrote"
        == str(raised.value)
    )
    assert [] == list(tmp_path.iterdir())


TRACE = {"breakdown": {"gpu0": [["kernels", 3_000_000], ["launching", 1_000_000]]}}
DRAWN = {
    "memory with a bar": (
        {
            "student_peak_bytes": 500_000_000,
            "baseline_peak_bytes": 1_000_000_000,
            "memory_bar": 1.25,
        },
        "yours 500 MB baseline 1 GB allowed 800 MB The most memory that each process held.",
    ),
    "memory beside a time": (
        {"student_peak_bytes": 500_000_000, "baseline_peak_bytes": 1_000_000_000},
        "yours 500 MB baseline 1 GB The most memory that each process held.",
    ),
    "a wrong corner": (
        {
            "error_map": {
                "case": "odd sizes",
                "shape": [2, 3],
                "levels": ["000", "003"],
                "wrong": 1,
                "rows": [1, 1],
                "columns": [2, 2],
            }
        },
        "odd sizes: 1 of 6 numbers are wrong: in row 1 of 0 to 1, in column 2 of 0 to 2.",
    ),
    "a trace": (
        TRACE,
        "GPU 0: what the time of the trace handed in consists of kernels 75.0 % 3 ms launching 25.0 % 1 ms",
    ),
}


@pytest.mark.parametrize(("evidence", "said"), DRAWN.values(), ids=DRAWN)
def test_what_a_feedback_page_draws_it_says_in_words_too(evidence, said):
    part = a_part("part3_amp", "Mixed precision", a_silent_check(evidence=evidence))

    assert said in Page(feedback_page(a_result(part))).text


OWN = {
    "measured here": (a_check(), "amp_is_faster 1.01x (0.98 to 1.04, 9 pairs"),
    "nothing measured here": (
        a_silent_check(),
        "nothing no check of this part measured a speed or memory here",
    ),
}


@pytest.mark.parametrize(("check", "said"), OWN.values(), ids=OWN)
def test_a_students_own_figures_stand_beside_those_measured(check, said):
    """What is in them is text, whatever it looks like."""
    files = {"amp_results.csv": f"precision,speedup\nAMP,1.9345\n{HOSTILE},1\n".encode()}
    page = feedback_page(a_result(a_part("part3_amp", "Mixed precision", check)), files=files)
    text = Page(page).text

    assert (
        f"amp_results.csv , as you handed it in precision speedup AMP 1.935 {HOSTILE} 1 Measured on NVIDIA H100 80GB HBM3 {said}"
        in text
    )
    assert 0 == page.count("<script")


def test_who_is_known_by_another_name_is_told(tmp_path):
    """Only once there is a page without names."""
    put(tmp_path, a_result())
    write(tmp_path)
    before = (tmp_path / "asha/feedback.html").read_text(encoding="utf-8")
    write(tmp_path, anonymous=True)
    (name,) = re.findall(
        r"you are <strong>([\w-]+)</strong>", (tmp_path / "asha/feedback.html").read_text()
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

    page = Page(class_page(rows(class_), "resnet18"))

    assert "part3_amp.amp_is_faster no GradScaler 2 ada , bo" in page.text
    assert "no autocast" not in page.text
    assert "handed_in/ --failing part3_amp.amp_is_faster --out" in page.text


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
    page = class_page(rows([a_result(a_part("p", "P", *gone), submission="eve")]), "resnet18")

    assert "Settled by" not in page


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
