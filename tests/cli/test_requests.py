"""perflab requests: who asks for a second look, with what was measured, what a replay says, and the answer."""

from __future__ import annotations

import json

import pytest

from autograder.cli import requests as command
from autograder.model import CheckResult
from autograder.results import overrides, requests
from autograder.results.overrides import decide
from autograder.results.requests import Request
from tests.cli.test_grades import put, run
from tests.samples import a_check, a_part, a_result

CHECK = "part3_amp.amp_is_faster"
FAILED = a_check(
    outcome="failed", points=0, max_points=6, measured="1.01x; the bar is 1.50x", why="float32"
)


@pytest.fixture
def asked(tmp_path):
    """One request about a check, one about none."""
    for name, text in (("ada", f"{CHECK}\nMy GPU was\nbusy."), ("ben", "part3_amp.amp_is_fast")):
        put(tmp_path, name, a_part("part3_amp", "AMP", FAILED))
        requests.keep(tmp_path / name, text)
    return tmp_path


def test_each_is_shown_with_what_was_measured_and_how_to_answer(monkeypatch, capsys, asked):
    status, said, _ = run(monkeypatch, capsys, "requests", asked)

    assert 0 == status
    assert said == (
        "ada  part3_amp.amp_is_faster\n"
        "  graded    failed, 0 of 6\n"
        "  measured  1.01x; the bar is 1.50x\n"
        "  why       float32\n"
        "  asks      My GPU was busy.\n"
        f"  answer    perflab override {asked}/ada {CHECK} POINTS --reason WHY\n"
        "ben  part3_amp.amp_is_fast\n"
        f"  no check  this names no check of the result (did you mean '{CHECK}'?)\n"
        "  asks      nothing more\n"
        f"  answer    perflab override {asked}/ben CHECK POINTS --reason WHY\n"
        "2 requests open\n"
    )


def test_an_answered_one_is_shown_only_when_asked_for(monkeypatch, capsys, asked):
    result = a_result(a_part("part3_amp", "AMP", FAILED), submission="ada")
    decision = decide(result, CHECK, 0.0, "we looked again", by="meera", at="now")
    overrides.append(asked / "ada", requests.answered(asked / "ada", [decision]))
    open_ = json.loads(run(monkeypatch, capsys, "requests", asked, "--json")[1])
    every = json.loads(run(monkeypatch, capsys, "requests", asked, "--json", "--all")[1])

    assert ["ben"] == [it["submission"] for it in open_]
    assert ["ada", "ben"] == [it["submission"] for it in every]
    assert "we looked again" in every[0]["answer"]


def test_a_replay_says_what_the_check_comes_to_now(monkeypatch, tmp_path):
    """A result that cannot be replayed says why."""
    again = a_result(a_part("part3_amp", "AMP", a_check(outcome="passed", points=6, max_points=6)))
    request = Request("ada", tmp_path, CHECK, "", CHECK, CheckResult(**vars(FAILED)))
    monkeypatch.setattr("autograder.result_file.load_result", lambda _: again)
    monkeypatch.setattr("autograder.batch.replay.replay", lambda *_: again)

    said = command._replayed(request, None, None)

    assert said.startswith("passed, 6 of 6: 1.01x (0.98 to 1.04")
