"""The feedback page: what it says, and that nothing of a student becomes markup there or on the class page."""

from __future__ import annotations

import re

import pytest

from autograder.report.html import class_page, feedback_page
from autograder.results.overrides import BY_HAND
from tests.report.parsed_page import Page
from tests.samples import a_check, a_class, a_part, a_result, a_silent_check, rows, with_bonus


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
        "settled by another device",
        "settled by the grading machine",
        "settled by a person",
    ]
    expected += ["our fault, not yours: KeyError", "a program that changes the recorder could pass"]
    expected += [
        "scripted a check marked so rests on a script that runs beside the code and knows the answers"
    ]
    for check in (check for part in result.parts for check in part.checks):
        expected += [check.title, check.measured, check.why, check.try_, check.reason]
    assert [] == [text for text in expected if text not in said]


def test_a_page_is_headed_by_the_name_of_the_roster_and_what_the_submission_is_called():
    """A login alone is no greeting; without a roster it is all there is."""
    assert "Asha Rao asha" in Page(feedback_page(a_result(), person="Asha Rao")).text
    assert "<h1>asha</h1>" in feedback_page(a_result())


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


def test_points_that_a_person_did_not_give_are_lost_for_the_persons_reason():
    noted = {"reason": "question 3 is left out", "by": "meera", "at": "now", "graded": ""}
    read = a_silent_check(
        basis="person", outcome="partial", points=1, max_points=2, evidence={BY_HAND: noted}
    )
    text = Page(feedback_page(a_result(a_part("p", "P", read)))).text

    assert f"Lost: 1 point p.{read.id} 1 point question 3 is left out" in text


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


TRACE = {"breakdown": {"gpu0": [["kernels", 3_000_000], ["launching", 1_000_000]]}}
PEAKS = {"student_peak_bytes": 500_000_000, "baseline_peak_bytes": 1_000_000_000}
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
        PEAKS,
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
    "no memory at all": (
        a_silent_check(measured="0 MB", evidence={**PEAKS, "student_peak_bytes": 0}),
        "amp_is_faster 0 MB",
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


def test_a_students_own_figures_stand_beside_nothing_where_nothing_was_measured():
    """Half of a comparison looks broken."""
    files = {"amp_results.csv": b"precision,speedup\nAMP,1.9345\n"}
    part = a_part("part3_amp", "Mixed precision", a_silent_check())

    assert "Your own figures" not in feedback_page(a_result(part), files=files)
