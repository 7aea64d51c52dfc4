"""Part 3 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part3_profilers import judges, made, part
from autograder.model import Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)
pytestmark = pytest.mark.filterwarnings("ignore")
REPORT = (bench.reference / "calls_top20.txt").read_text(encoding="utf-8")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_speed_waits_for_a_clock(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"preprocess_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }


def test_the_memory_of_each_line_is_what_was_measured():
    """Of torch 2.15: a loop's line, a helper's and that of backward."""
    sizes = {"kept": 1000, "large": 2000, "helper": 8000, "rounds": 3, "above": 0}
    added = made.memory(**sizes, figure="added_bytes")["rows"]
    peaks = made.memory(**sizes, figure="peak_bytes")["rows"]

    assert [4000, 0, 0, 7992, 4, -7992, 4000, 4004, 0, 0] == [it["added_bytes"] for it in added]
    assert [19996, 43996, 16012] == [peaks[at]["peak_bytes"] for at in (3, 4, 8)]


SPOILT = {
    'no line "Ordered by': ("Ordered by: cumulative time", "Ordered by: internal time"),
    "at least 10 rows": ("\n        ", "\n  -     "),
    "no row is about train_epoch": ("(train_epoch)", "(train)"),
    "is not tottime / ncalls": ("\n      198  ", "\n       98  "),
}


def test_the_reference_report_is_one():
    assert "" == judges.report_problem(REPORT, judges.report_rows(REPORT))


def test_rows_that_rise_are_told():
    rows = judges.report_rows(REPORT)

    assert "cumtime rises" in judges.report_problem(REPORT, rows[::-1])


@pytest.mark.parametrize("words", SPOILT)
def test_a_report_of_something_else_is_told(words):
    text = REPORT.replace(*SPOILT[words])

    assert words in judges.report_problem(text, judges.report_rows(text))
