"""A student's request for a second look names a check, and a person's decision about it is the answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from autograder.records import to_json
from autograder.results import agenda, overrides, requests, standing
from autograder.results.overrides import decide
from tests.samples import a_result

CHECK = "part3_amp.follows_fp32"


def class_of(folder, **texts):
    """Write a result for each student, with what each asks."""
    for name, text in texts.items():
        home = folder / name
        home.mkdir(parents=True)
        result = json.dumps(to_json(a_result(submission=name)))
        (home / "result.json").write_text(result, encoding="utf-8")
        if text:
            requests.keep(home, text)
    return standing.read(folder).standings


ASKED = {
    "with its part": (f"{CHECK}\nThe tolerance", (CHECK, "The tolerance")),
    "without its part": ("follows_fp32\r\n\r\nWhy?\n", (CHECK, "Why?")),
    "as a heading": (f"# `{CHECK}`\n", (CHECK, "")),
    "behind an empty line": (f"\n\n{CHECK}", (CHECK, "")),
    "below a title": (f"# Request\n\n{CHECK}\nWhy?", (CHECK, "# Request\n\nWhy?")),
    "of no check": ("my grade\nis low", ("", "is low")),
}


@pytest.mark.parametrize(("text", "expected"), ASKED.values(), ids=ASKED)
def test_the_first_line_that_names_a_check_says_which_is_meant(tmp_path, text, expected):
    [request] = requests.read(tmp_path, class_of(tmp_path, ada=text, ben=""))

    assert ("ada", *expected) == (request.submission, request.check, request.text)


def test_a_name_that_is_nearly_right_is_said(tmp_path):
    [request] = requests.read(tmp_path, class_of(tmp_path, ada="part3_amp.follow_fp32"))

    assert "" == request.check
    assert CHECK in request.near


def test_a_decision_about_the_check_is_the_answer(tmp_path):
    """Also where the points stay what they are."""
    (ada,) = class_of(tmp_path, ada=CHECK)
    open_ = requests.read(tmp_path, [ada])
    points = ada.result.checks[CHECK].points
    decision = decide(ada.result, CHECK, points, "it is right", by="meera", at="now")
    overrides.append(ada.home, requests.answered(ada.home, [decision]))
    answered = requests.read(tmp_path, standing.read(tmp_path).standings)

    assert [True, True] == ["" == open_[0].answer, "it is right" in answered[0].answer]
    assert [1, 0] == [len(agenda.asked(some, "results")) for some in (open_, answered)]


def test_a_decision_from_before_a_request_is_no_answer_to_it(tmp_path):
    """Nor is it one to what the student asks next, in a hand-in or by mail. Old decisions, which say nothing of it, are."""
    (ada,) = class_of(tmp_path, ada="")
    decision = decide(ada.result, CHECK, 1, "the check was wrong", by="meera", at="now")
    seen = []
    for asks in (CHECK, f"{CHECK}\nStill?"):
        overrides.append(ada.home, requests.answered(ada.home, [decision]))
        requests.keep(ada.home, asks)
        (tmp_path / "requests.csv").write_text(
            f"submission,check,text\nada,{asks.replace(chr(10), ',')}\n"
        )
        seen += [it.answer for it in requests.read(tmp_path, standing.read(tmp_path).standings)]
    overrides.append(ada.home, [replace(decision, requests=None)])
    old = requests.read(tmp_path, standing.read(tmp_path).standings)

    assert seen == [""] * 4
    assert all("the check was wrong" in it.answer for it in old)


def test_a_request_that_names_no_check_is_answered_by_any_decision_after_it(tmp_path):
    (ada,) = class_of(tmp_path, ada="my grade is low")
    decision = decide(ada.result, CHECK, 1, "a look at all of it", by="meera", at="now")
    answers = []
    for made in ([decision], requests.answered(ada.home, [decision])):
        overrides.append(ada.home, made)
        answers += [it.answer for it in requests.read(tmp_path, standing.read(tmp_path).standings)]

    assert [bool(it) for it in answers] == [False, True]


def test_what_was_asked_in_a_later_upload_is_a_request_of_its_own(tmp_path):
    (ada,) = class_of(tmp_path, ada=CHECK)
    requests.keep(ada.home, "part3_amp.other\nWhy?", requests.LATER)

    assert [CHECK, "part3_amp.other"] == [it.asked for it in requests.of(ada)]


def test_a_table_of_requests_counts_as_well_and_forgets(tmp_path):
    """Of somebody without a result nothing can be said."""
    class_ = class_of(tmp_path, ada="", ben="")
    (tmp_path / "requests.csv").write_text(
        f'submission,check,text\nada,{CHECK},"too strict"\nzoe,{CHECK},\nben,other,\n'
    )
    asked = requests.read(tmp_path, class_)
    requests.forget(tmp_path, ["ada"])
    left = requests.read(tmp_path, class_)

    assert [("ada", CHECK, "too strict"), ("ben", "", "")] == [
        (it.submission, it.check, it.text) for it in asked
    ]
    assert ["ben"] == [it.submission for it in left]
