"""Part 14 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part14_comparison import judges, part
from autograder.model import Failed, Passed, Table
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)
MEASURES = ("compares_both", "csv_says_what_was_measured", "finds_regressions")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_slow_version_writes_what_it_returns_and_no_more(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"), only=MEASURES)

    assert {"compares_both", "finds_regressions"} == set(failing(verdicts))


@pytest.mark.parametrize(("lacking", "kind"), [(2, Passed), (3, Failed)])
def test_two_pairs_may_be_missing(lacking, kind):
    rows = tuple({"pair": name} for name in judges.NAMES[lacking:])
    verdict = part.checks["covers_the_pairs"].judge(pairs=Table("pairs.csv", ("pair",), rows))

    assert isinstance(verdict, kind)


ROW = {"pair": "head", "goal": "memory", "speedup": 0.8, "memory_ratio": 9.0, "verdict": "better"}
CONTRADICTIONS = {
    "verdict": ("worse", "it has 9x: that is not 'worse'"),
    "goal": ("time", "it has 0.8x: that is not 'better'"),
    "memory_ratio": (1.04, "it has 1.04x: that is not 'better'"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_verdict_that_contradicts_its_row_is_told(name):
    value, words = CONTRADICTIONS[name]

    assert "" == judges.verdict_problem([ROW])
    assert words in judges.verdict_problem([{**ROW, name: value}])
