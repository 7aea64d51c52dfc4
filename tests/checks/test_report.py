"""A report's headings, what is left to fill in, its points and its words."""

from __future__ import annotations

import time

import pytest

from autograder.checks.report import below, gaps, left_over, listed, names, points, sections, words


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param(["a"] * 12, "; ".join("a" * 12), id="a few"),
        pytest.param(["a"] * 13, "; ".join("a" * 12) + "; and 1 more", id="one is cut off"),
    ],
)
def test_what_is_cut_off_is_counted(wrong, expected):
    """Nobody mends the first few and believes that to be all."""
    assert expected == listed(wrong)


REPORT = """# 1. A report
text of its own
## 2) **Executive Summary** ##
It is *fast*.
```
# no heading
```
### Lessons, all of them
learned too
## Executive Summary
And more of it.
"""


def test_a_section_is_all_below_its_heading_that_is_not_deeper():
    found = {it.name: REPORT[it.start : it.end].split() for it in sections(REPORT)}

    assert ["A report", "Executive Summary", "Lessons, all of them", "Executive Summary"] == [
        it.name for it in sections(REPORT)
    ]
    assert "more" in found["A report"]
    assert ["learned", "too"] == found["Lessons, all of them"]


def test_headings_may_be_underlined():
    text = "Summary\n=======\nwhole\n\nMore\n----\npart\n\n| a |\n---\n- item\n---\n"

    assert ["Summary", "More"] == [it.name for it in sections(text)]
    assert "part" in below(text, "summary")
    assert "whole" not in below(text, "more")


def test_below_finds_headings_by_their_pattern():
    assert "# no heading" in below(REPORT, "summary")
    assert "And more of it." in below(REPORT, "summary")
    assert "" == below(REPORT, "nothing")


def test_deeper_headings_are_told_once():
    assert 1 == below("# A report\n## Lessons\n### Lesson 1\nonce\n", "lesson").count("once")


def test_the_title_is_a_heading_only_if_no_other_is():
    assert "\nb\n" == below("# AMP and more\na\n## AMP\nb\n", "amp")
    assert "\na\n## More\n" == below("# AMP\na\n## More\n", "amp")


def test_gaps_are_headings_that_are_missing_or_empty():
    asked = {
        "Executive Summary": "summary",
        "Lessons Learned": "lessons$",
        "Recommendations": "recommend",
    }

    assert ["no heading 'Recommendations'", "nothing below 'Lessons Learned'"] == gaps(
        REPORT + "# Lessons\n## !\n", asked
    )


LEFT = {
    "*Your answer here.*": ["line 1: '*Your answer here.*'"],
    "Impact: [High/Medium/Low]": ["line 1: '[High/Medium/Low]'"],
    "1. [Recommendation 1]": ["line 1: '[Recommendation 1]'"],
    "\n- Baseline: X samples/sec": ["line 2: 'X samples'"],
    "**Final speedup: Zx**": ["line 1: 'Zx'"],
    "num_workers=X": ["line 1: '=X'"],
    "TODO: say why": ["line 1: 'TODO'"],
    "[High time](https://example.org)": [],
    "`Zx` and [1] and [x] and 2x": [],
    "axes x, y and z; MAX samples, N samples": [],
    "in N hours": ["line 1: 'N hours'"],
    "[your own notes][1]": [],
}


@pytest.mark.parametrize(("text", "expected"), LEFT.items(), ids=list(LEFT))
def test_what_is_left_to_fill_in_is_named_with_its_line(text, expected):
    assert expected == left_over(text)


def test_words_of_code_tables_and_names_of_figures_are_none():
    assert 5 == words(
        "Two workers are {AMP.speedup} times faster.\n| a table | no words |\n```\nno words\n```\n"
    )


def test_figures_are_counted_by_their_names():
    """Be there such ones or not; code, quotations and formulas name none."""
    assert 2 == names(
        '{AMP.speedup} {No row.at_all:.2f} `{AMP.gain}` "{AMP.loss}" $\\frac{a}{b}$ 1.8x'
    )


POINTS = {
    "a list": ("before\n\n1. one\n  more\n2) two\n", [["1. one\n  more", "2) two"]]),
    "a list below each point": (
        "- one\n  - more\n- two\n\n  of it\n",
        [["- one\n  - more", "- two\n\n  of it"]],
    ),
    "paragraphs": ("one\n\ntwo\nmore\n \n", [["one", "two\nmore"]]),
    "paragraphs right below a heading": ("\none\n\ntwo\n\nthree\n", [["one", "two", "three"]]),
    "paragraphs with lists": (
        "one:\n\n- a\n\ntwo:\n- b\n\nthree\n",
        [["- a\n\ntwo:", "- b\n\nthree"], ["one:\n\n- a", "two:\n- b", "three"]],
    ),
    "headings": ("### one\n\na\n### two\nb\n", [["a", "b"], ["### one\n\na", "### two\nb"]]),
    "nothing": (" \n", []),
}


@pytest.mark.parametrize(("text", "cuts"), POINTS.values(), ids=list(POINTS))
def test_points_are_cut_at_lists_at_paragraphs_and_at_headings(text, cuts):
    assert cuts == points(text)


HOSTILE = {
    "digits": "1" * 400_000,
    "thousands": "1,111" * 80_000,
    "brackets": "](" * 200_000,
    "headings": "# " * 200_000,
    "quotes": '"' * 400_001,
    "spaces": "1 " + " " * 400_000,
    "opened": "```<!--`" * 50_000,
    "numbers": "1 x 2 to 3 and " * 25_000,
    "lists": "- \n" * 130_000,
    "places": "[High " * 60_000,
    "left over": "TODO " * 80_000,
    "named alike": "# Summary\n" * 10_000,
    "deeper and deeper": "# a\n## summary\n### b\n" * 5_000,
    "underlined": "a\n--\n" * 15_000,
    "apart": "\n \n" * 40_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_report_takes_no_longer_than_its_length(text):
    """Ten times the CPU of an honest one of this length, on a machine that is busy."""
    begun = time.process_time()
    names(text), left_over(text), below(text, "summary"), points(text), words(text)
    gaps(text, {"Summary": "summary", "Lessons": "lessons"})

    assert time.process_time() - begun < 10
