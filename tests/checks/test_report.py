"""What counts as a result in a report, what is quoted, and what is said of a result that nobody measured."""

from __future__ import annotations

import time

import pytest

from autograder.checks.report import Fact, below, gaps, items, left_over, sections, stated, unfounded, words

RESULTS = {  # sentence -> (value, unit) of each result in it
    "AMP trains 1.82x as fast": [(1.82, "x")],
    "AMP is 2 x as fast": [(2.0, "x")],
    "a speedup of **1.8\u00d7**": [(1.8, "x")],
    "3 times as fast, a 2-fold gain": [(3.0, "x"), (2.0, "x")],
    "three epochs, 3 times": [],
    "110.5 samples/s and 2,400 images per second": [(110.5, "samples/s"), (2400.0, "samples/s")],
    "99 samples/sec": [(99.0, "samples/s")],
    "a wait of 12 ms, 2.5 seconds in all": [(0.012, "s"), (2.5, "s")],
    "30 % less, 31% of it, 5 percent": [(30.0, "%"), (31.0, "%"), (5.0, "%")],
    "1,234.5 MB, or 1.2 GB": [(1234.5, "MB"), (1200.0, "MB")],
    "from 110 to 180 samples/s": [(110.0, "samples/s"), (180.0, "samples/s")],
    "from 4.1 s to 2.2 s": [(4.1, "s"), (2.2, "s")],
    "from 900 MB to 1.2 GB": [(900.0, "MB"), (1200.0, "MB")],
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
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RESULTS.items(), ids=list(RESULTS))
def test_a_result_is_a_number_with_a_unit(text, expected):
    """Settings, versions, dates, sizes, ranges and quotations are none."""
    assert expected == [(one.value, one.unit) for one in stated(text)]


FACTS = [
    Fact(1.8234, "x", "AMP"),
    Fact(29.6, "%", "memory"),
    Fact(0.0123, "s", "wait"),
    Fact(120.46, "samples/s", "it"),
]
ROUNDED = {  # sentence -> whether it is one of the facts
    "1.82x": True,
    "1.8x": True,
    "2x": True,
    "1.83x": True,
    "1.9x": False,
    "18.2x": False,
    "30 %": True,
    "31 %": False,
    "about 31 %": True,
    "roughly 33 %": False,
    "12.3 ms": True,
    "12 s": False,
    "120.5 samples/s": True,
    "121 samples/s": True,
    "125 samples/s": False,
    "-30 %": True,
    "30 MB": False,
}


@pytest.mark.parametrize(("text", "holds"), ROUNDED.items(), ids=list(ROUNDED))
def test_a_result_is_a_fact_within_its_own_rounding(text, holds):
    """What was worked out from rounded figures may be off by half a percent, and "about" by five."""
    assert holds == (not unfounded(stated(text), FACTS))


def test_a_result_that_is_none_is_named_with_its_line_and_the_nearest_fact():
    said = stated("# A\n\nIt is 2.41x as fast.\nIt takes 3 GB.")

    assert ["line 3: 2.41x (nearest: 1.823 x, AMP)", "line 4: 3 GB"] == unfounded(said, FACTS)


REPORT = """# 1. A report
text of its own
## 2) **Executive Summary** ##
It is *fast*.
```
# no heading
```
### Lessons
## Executive Summary
And more of it.
"""


def test_sections_are_what_stands_below_each_heading():
    found = sections(REPORT)

    assert ["A report", "Executive Summary", "Lessons"] == list(found)
    assert "no heading" in found["Executive Summary"]
    assert "And more of it." in found["Executive Summary"]


def test_below_finds_a_heading_by_its_pattern():
    assert "fast" in below(REPORT, "summary")
    assert "" == below(REPORT, "nothing")


def test_gaps_are_headings_that_are_missing_or_empty():
    asked = {"Executive Summary": "summary", "Lessons Learned": "lessons", "Recommendations": "recommend"}

    assert ["no heading 'Recommendations'", "nothing below 'Lessons Learned'"] == gaps(REPORT, asked)


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
    "axes x, y and z; MAX samples": [],
}


@pytest.mark.parametrize(("text", "expected"), LEFT.items(), ids=list(LEFT))
def test_what_is_left_to_fill_in_is_named_with_its_line(text, expected):
    assert expected == left_over(text)


def test_words_of_code_and_tables_are_none():
    assert 5 == words("Two workers are 1.8 times faster.\n| a table | no words |\n```\nno words\n```\n")


def test_items_are_points_of_a_list_or_paragraphs():
    assert ["one\n  more", "two"] == items("before\n\n1. one\n  more\n2) two\n")
    assert ["one", "two\nmore"] == items("one\n\ntwo\nmore\n \n")


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
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_report_takes_no_longer_than_its_length(text):
    """Ten times the CPU of an honest one of this length, on a machine that is busy."""
    begun = time.process_time()
    stated(text), left_over(text), sections(text), items(text), words(text)

    assert time.process_time() - begun < 10
