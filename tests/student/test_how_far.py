"""How far a student has come, as a table of runs and the exact lines that follow them."""

from __future__ import annotations

import doctest

import pytest

from autograder.course import find_root
from autograder.student import attempts, how_far
from autograder.student.attempts import Attempt, Speed, Tried

PARTS = ["part1_base", "part2_data", "part3_amp"]


def tried(won, lost=0.0, owed=0.0, speeds=None, **checks):
    return Tried(won, lost, owed, checks, speeds or {})


def runs(*parts):
    return [Attempt("", "resnet18", each) for each in parts]


def fast(ratio):
    return {
        "part3_amp": tried(4, owed=6, speeds={"faster": Speed(ratio, 1.5)}, faster="unavailable")
    }


FIRST = {"part1_base": tried(5, a="passed", b="passed"), "part3_amp": tried(0, 10, a="failed")}
MANY = [f"part{n}_of_many" for n in range(9)]
CASES = {
    "a first run says what is done and what is next": (
        PARTS,
        runs(FIRST),
        [
            ("done", "1 of 3 parts: part1_base"),
            ("next", "part3_amp (10 points lost); not checked yet: part2_data"),
        ],
    ),
    "a later run says what changed, and draws it": (
        PARTS,
        runs(FIRST, {"part3_amp": tried(4, 6, a="passed", b="failed")}),
        [
            ("done", "1 of 3 parts: part1_base"),
            ("next", "part3_amp (6 points lost); not checked yet: part2_data"),
            ("changed", "part3_amp: 0 to 4 points; passes now: a"),
            ("points", "part3_amp  ▁▄  from 0 to 4 of 10 in 2 attempts"),
        ],
    ),
    "what passed before and fails now is named": (
        ["part1_base"],
        runs(FIRST, {"part1_base": tried(3, 2, a="passed", b="skipped")}),
        [
            ("done", "0 of 1 parts"),
            ("next", "part1_base (2 points lost)"),
            ("changed", "part1_base: 5 to 3 points; no longer passes: b"),
            ("points", "part1_base  █▅  from 5 to 3 of 5 in 2 attempts"),
        ],
    ),
    "a rehearsed speed is drawn under its bar, and owed points are named": (
        ["part3_amp"],
        runs(fast(1.0), {}, fast(1.2), fast(1.5)),
        [
            ("done", "1 of 1 parts: part3_amp (6 owed)"),
            (
                "speed",
                "part3_amp.faster  ▆▇█  from 1.00x to 1.50x in 3 attempts; the bar is 1.50x",
            ),
        ],
    ),
    "nothing changed": (
        PARTS[:1],
        runs({"part1_base": FIRST["part1_base"]}, {"part1_base": FIRST["part1_base"]}),
        [
            ("done", "1 of 1 parts: part1_base"),
            ("points", "part1_base  ██  5 of 5 in 2 attempts"),
        ],
    ),
    "of many parts a few are named": (
        ["part0_of_many", *(f"a{n}" for n in range(1, 9))],
        runs({"part0_of_many": tried(0, 1)}),
        [
            ("done", "0 of 9 parts"),
            (
                "next",
                "part0_of_many (1 point lost); not checked yet: a1, a2, a3, a4 and 4 more",
            ),
        ],
    ),
}


@pytest.mark.parametrize(("parts", "taken", "said"), CASES.values(), ids=CASES)
def test_the_lines_after_a_run(parts, taken, said):
    assert said == how_far.lines(parts, taken)


def test_the_docs_show_what_is_said():
    """Three runs of the lab that the page is about."""
    later = ["part4_memory", "part5_compile", "part6_comparison", "bonus"]
    parts = ["part1_baseline", "part2_dataloader", "part3_amp", *later]
    names = ["follows_fp32", "no_wait_per_step"]
    failed, passed = (dict.fromkeys(names, outcome) for outcome in ("failed", "passed"))
    taken = runs(
        {"part1_baseline": tried(34, 0, 2), "part3_amp": tried(0, 23, 7, **failed)},
        {"part3_amp": tried(12, 11, 7, **failed)},
        {"part3_amp": tried(17, 6, 7, **passed)},
    )
    page = (find_root() / "docs" / "students.md").read_text(encoding="utf-8")

    for label, text in how_far.lines(parts, taken):
        assert f"    {label:<10}{text}\n" in page


def test_of_many_changes_a_few_are_told():
    taken = runs({part: tried(0, 1) for part in MANY}, {part: tried(1) for part in MANY})
    labels = [label for label, _ in how_far.lines(MANY, taken)]

    assert ["done", *["changed"] * 5, *["points"] * 4] == labels
    assert ("changed", "and 5 more parts") in how_far.lines(MANY, taken)


def test_a_run_is_kept_before_the_next_is_compared_with_it(tmp_path):
    """A terminal without Unicode gets a drawing of its own."""
    for run in runs(FIRST, {"part3_amp": tried(10)}):
        said = how_far.keep_and_tell(tmp_path, run, PARTS, "ascii")

    assert ("points", "part3_amp  _@  from 0 to 10 of 10 in 2 attempts") in said
    assert all(text.isascii() for _, text in said)


def test_a_run_that_cannot_be_kept_is_told_all_the_same(tmp_path):
    (tmp_path / attempts.FILE.parent).write_text("")
    said = how_far.keep_and_tell(tmp_path, runs(FIRST)[0], PARTS)

    assert ("done", "1 of 3 parts: part1_base") in said
    assert ("note", "this run is not kept in .perflab/attempts.jsonl: File exists") in said


def test_whatever_the_file_says_is_drawn():
    """Somebody may have edited it."""
    assert "▁█▁" == how_far.draw([-3, 1e308, 0], 1)
    assert "▁" == how_far.draw([1], 0)


def test_the_examples_hold():
    assert 0 == doctest.testmod(how_far).failed
