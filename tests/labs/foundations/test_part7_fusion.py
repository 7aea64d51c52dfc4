"""Part 7 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part7_fusion import judges, part
from tests.labs.bench import Bench, failing

pytestmark = pytest.mark.fresh

bench = Bench("foundations", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


USUAL = {"backend": "inductor", "mode": "None", "dynamic": "None", "fullgraph": "False"}
GRAPHS, SEARCH = {"triton.cudagraphs": "True"}, {"max_autotune": "True"}
RIGHT = [
    ("is it captured", {"backend": "aot_eager", "fullgraph": "True", "dynamic": "False"}, {}),
    ("many batch sizes", {"dynamic": "True", "mode": "default", "fullgraph": "True"}, {}),
    ("few launches", {"fullgraph": "True", "dynamic": "False"}, GRAPHS),
    ("slow build, fast run", {}, {**GRAPHS, **SEARCH}),
    ("slow build, fast run", {}, {**GRAPHS, **SEARCH, "coordinate_descent_tuning": "True"}),
    ("search, but shapes change", {"dynamic": "True"}, SEARCH),
]
WRONG = [
    ("is it captured", {"fullgraph": "True"}, {}),
    ("many batch sizes", {}, {}),
    ("few launches", {"dynamic": "True"}, GRAPHS),
    ("few launches", {}, {"triton.cudagraphs": "False"}),
    ("search, but shapes change", {"dynamic": "False"}, SEARCH),
]


def asked(options, switches):
    return {**USUAL, **options, "options": switches}


@pytest.mark.parametrize(("purpose", "options", "switches"), RIGHT)
def test_what_fits_a_purpose_may_be_said_in_other_ways(purpose, options, switches):
    seen = {"calls": [asked(options, switches)], "is_made": True, "raised": ""}

    assert judges.purpose_problem(purpose, seen) is None


@pytest.mark.parametrize(("purpose", "options", "switches"), WRONG)
def test_what_does_not_fit_is_told_as_it_was_written(purpose, options, switches):
    seen = {"calls": [asked(options, switches)], "is_made": True, "raised": ""}
    measured, why, try_ = judges.purpose_problem(purpose, seen)

    assert all(f"{name}={value}" in measured for name, value in options.items())
    assert judges.PURPOSES[purpose].try_ == try_
    assert why == (judges.FIXED if options == {"dynamic": "True"} else judges.PURPOSES[purpose].why)


def test_a_row_that_contradicts_itself_is_told():
    row = {"version": "block", "operators": 3, "launches": 2, "extern": 1, "fused": 1}

    assert "" == judges.row_problem([row])
    assert "extern + fused is 3" in judges.row_problem([row | {"fused": 2}])
    assert "more launches (2) than operators (1)" in judges.row_problem([row | {"operators": 1}])
