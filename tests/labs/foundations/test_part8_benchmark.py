"""Part 8 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part8_benchmark import judges, part
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_k_of_an_interval():
    assert [1, 2, 10, 18] == [judges.rank(pairs) for pairs in (6, 10, 30, 50)]


def test_the_case_studies_of_the_notes():
    minutes = {"before": 120, "loader": 86, "precision": 45, "compiled": 37, "layout": 31}
    rows = judges.speedups(minutes)

    assert [1, 1.40, 2.67, 3.24, 3.87] == [round(row["cumulative"], 2) for row in rows]
    assert [1, 1.40, 1.91, 1.22, 1.19] == [round(row["incremental"], 2) for row in rows]
    assert [104.3, 52.2] == [
        round(judges.held(7 * 10**9, recipe, 0, 1, 1, 1)["total_gib"], 1)
        for recipe in ("fp32", "pure_half")
    ]


ROW = {
    "version": "fused",
    "mean_ms": 2.0,
    "p50_ms": 1.0,
    "p95_ms": 3.0,
    "p99_ms": 9.0,
    "per_second": 500.0,
    "ratio": 1.4,
    "low": 1.3,
    "high": 1.5,
    "verdict": "faster",
}
CONTRADICTIONS = {
    "p95_ms": (0.5, "p95_ms and p99_ms fall, and must rise"),
    "per_second": (400.0, "per_second is 400, and 1000 / mean_ms 500"),
    "ratio": (1.6, "outside of its interval"),
    "low": (0.9, "is 'no difference'"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_row_that_contradicts_itself_is_told(name):
    value, words = CONTRADICTIONS[name]

    assert "" == judges.row_problem([ROW])
    assert words in judges.row_problem([{**ROW, name: value}])
