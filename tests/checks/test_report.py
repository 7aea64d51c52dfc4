"""What counts as a result in a report, what is quoted, and what is said of a result that nobody measured."""

from __future__ import annotations

import time

import pytest

from autograder.checks.report import below, commas, gaps, left_over, listed, points, sections, stated, words

RESULTS = {  # sentence -> (value, unit) of each result in it
    "AMP trains 1.82x as fast": [(1.82, "x")],
    "AMP is 2 x as fast": [(2.0, "x")],
    "a speedup of **1.8\u00d7**": [(1.8, "x")],
    "3 times as fast, a 2-fold gain": [(3.0, "x"), (2.0, "x")],
    "three epochs, 3 times": [],
    "1.98 times, by a factor of 2.5": [(1.98, "x"), (2.5, "x")],
    "speedup: 3; a speedup of about 1.5, the speed-up is 2x": [(3.0, "x"), (1.5, "x"), (2.0, "x")],
    "a gain of 1.5 %, a speedup of 1.3 to 1.8x, a factor of 4 workers": [(1.5, "%")],
    "110.5 samples/s and 2,400 images per second": [(110.5, "samples/s"), (2400.0, "samples/s")],
    "99 samples/sec, 3 img/s, 1 sample per sec": [(99.0, "samples/s"), (3.0, "samples/s"), (1.0, "samples/s")],
    "2X, $1.8\\times$ and 30\\%": [(2.0, "x"), (1.8, "x"), (30.0, "%")],
    "__1.8x__ and _30 %_": [(1.8, "x"), (30.0, "%")],
    "1 234.5 MB, 1'234 MB, 1\u202f234 MB": [(1234.5, "MB"), (1234.0, "MB"), (1234.0, "MB")],
    "in 2026 120 samples/s": [(120.0, "samples/s")],
    "a wait of 12 ms, 2.5 seconds in all": [(0.012, "s"), (2.5, "s")],
    "30 % less, 31% of it, 5 percent": [(30.0, "%"), (31.0, "%"), (5.0, "%")],
    "1,234.5 MB, or 1.2 GB": [(1234.5, "MB"), (1200.0, "MB")],
    "from 110 to 180 samples/s": [(110.0, "samples/s"), (180.0, "samples/s")],
    "from 4.1 s to 2.2 s": [(4.1, "s"), (2.2, "s")],
    "from 900 MB to 1.2 GB": [(900.0, "MB"), (1200.0, "MB")],
    "from the baseline's 110 to 180 samples/s": [(110.0, "samples/s"), (180.0, "samples/s")],
    "from about 110 to about 180 samples/s": [(110.0, "samples/s"), (180.0, "samples/s")],
    "110 -> 180 samples/s, 4.1 s → 2.2 s": [(110.0, "samples/s"), (180.0, "samples/s"), (4.1, "s"), (2.2, "s")],
    "110 samples/s vs. 180 samples/s": [(110.0, "samples/s"), (180.0, "samples/s")],
    "120.5 ± 3.2 samples/s, 4 s +/- 1 s": [(120.5, "samples/s"), (4.0, "s")],
    "from the handout, 1.3 to 1.8x": [],
    "10 and 20 s": [(20.0, "s")],
    "1.3 to 1.8x is expected": [],
    "1.3-1.8x is expected": [],
    "between 10 and 20 s": [],
    "torch 2.15, Python 3.11, 21 November 2026": [],
    "batches of 32, images of 224 x 224 pixels, 224x224": [],
    "with 4 workers, seed 7 and lr 0.01": [],
    "we set `timeout=30 s` and ``` 5 s ``` ": [],
    'the handout says "2x, 30 % less"': [],
    "it was “2.6x” there": [],
    "> On their T4 it was 2.6x.": [],
    "see [the page](https://example.org/2x) and https://example.org/30%": [],
    "<!-- 5 s -->": [],
    "v1.5x of the file": [],
    "a 5 second/epoch rule": [],
    "| a | rate (samples/s) | f (x) | n |\n|---|---|---|---|\n| AMP | 120.5 | 2.0 | 4 |": [(120.5, "samples/s"), (2.0, "x")],
    "| a | time |\n|---|---|\n| AMP | 12 s |": [(12.0, "s")],
    "| rate (x) |\n\n| 3 |": [],
    "| | before | after |\n|-|-|-|\n| rate [samples/s] | 110 | **180** |": [(110.0, "samples/s"), (180.0, "samples/s")],
    "4 percentage points": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RESULTS.items(), ids=list(RESULTS))
def test_a_result_is_a_number_with_a_unit(text, expected):
    """Settings, versions, dates, sizes, ranges and quotations are none."""
    assert expected == [(one.value, one.unit) for one in stated(text)]


COMMAS = {
    "it was 252,7 samples/s,\nand 0,94x": ["line 1: 252,7 samples/s", "line 2: 0,94x"],
    "1.122,6 MB, 0,938x and 1266,22 ms": ["line 1: 1.122,6 MB", "line 1: 0,938x", "line 1: 1266,22 ms"],
    "1,140 MB, 1,234.5 MB, 12,345 ms": [],
    "1.8x, 30 %, in 2026, 5 s": [],
    "batches of 16,32 and `0,5 s`": [],
    "| a | rate (x) | n |\n|---|---|---|\n| AMP | 2,05 | 1,2 |\n| B | 1,140 | 3 |": ["line 3: 2,05"],
}


@pytest.mark.parametrize(("text", "expected"), COMMAS.items(), ids=list(COMMAS))
def test_decimals_behind_a_comma_are_named(text, expected):
    """They would be read as another number, or as none; a comma that parts thousands is right."""
    assert expected == commas(text)


AROUND = """# Report
## Loader
The `AMP` run was 3x faster.
Then 4x.

- first 5x
  more, 6x
- second 7x

## More
### *Sizes*
| part | rate (x) |
|---|---|
| A | 8 |
| B | 9x |

| rate (x) | 10 |
"""
WHERE = {
    "3x": ["Report", "Loader", "`AMP`", "Then"],
    "4x": ["Report", "Loader", "`AMP`", "Then"],
    "5x": ["Report", "Loader", "first", "more"],
    "6x": ["Report", "Loader", "first", "more"],
    "7x": ["Report", "Loader", "second"],
    "8 (x)": ["Report", "More", "Sizes", "part", "A |"],
    "9x": ["Report", "More", "Sizes", "part", "B |"],
}
SEEN = {word for words in WHERE.values() for word in words}


def test_around_a_result_is_its_paragraph_point_or_row_below_the_headings():
    """What it compares may be named there, in code as well."""
    found = {one.said: one.around for one in stated(AROUND)}

    assert {said: set(words) for said, words in WHERE.items()} == {
        said: {word for word in SEEN if word in around} for said, around in found.items()
    }


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
    asked = {"Executive Summary": "summary", "Lessons Learned": "lessons$", "Recommendations": "recommend"}

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


def test_words_of_code_and_tables_are_none():
    assert 5 == words("Two workers are 1.8 times faster.\n| a table | no words |\n```\nno words\n```\n")


POINTS = {
    "a list": ("before\n\n1. one\n  more\n2) two\n", [["1. one\n  more", "2) two"]]),
    "a list below each point": ("- one\n  - more\n- two\n\n  of it\n", [["- one\n  - more", "- two\n\n  of it"]]),
    "paragraphs": ("one\n\ntwo\nmore\n \n", [["one", "two\nmore"]]),
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
    stated(text), commas(text), left_over(text), below(text, "summary"), points(text), words(text)
    gaps(text, {"Summary": "summary", "Lessons": "lessons"})

    assert time.process_time() - begun < 10
