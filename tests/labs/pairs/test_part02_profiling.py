"""Part 2 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part02_profiling import judges, part
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_slow_versions_call_each_batch_and_leave_nothing(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"), 1)

    assert {"every_batch_once", "leaves_no_hooks"} == set(verdicts) - set(failing(verdicts))


def test_operators_that_take_nearly_the_same_time_come_in_either_order():
    written = {f"aten::{name}": [1, own] for name, own in (("a", 9.0), ("b", 5.2), ("c", 5.0))}
    calls = {name: [1] for name in written}

    def top(*names):
        rows = [{"operator": it, "calls": 1, "self_us": written[it][1]} for it in names]
        return judges.time_rows_problem(rows, written, calls, 2, timed=True)

    assert () == top("aten::a", "aten::c")
    assert "aten::a is missing, with 9.0 us; the last row has 5.0" == top("aten::b", "aten::c")[0]
    assert judges.RISES == top("aten::c", "aten::a")[1]


def told_of(*rows):
    calls = {"aten::mm": [3], "aten::add": [1]}
    return judges.time_rows_problem(rows, {}, calls, 2, timed=False)


def row(operator, calls):
    return {"operator": operator, "calls": calls, "self_us": 1.0}


def test_more_steps_are_told_only_where_all_operators_have_so_many_times_their_calls():
    assert judges.MANY == told_of(row("aten::mm", 6), row("aten::add", 2))[1]
    assert judges.MORE == told_of(row("aten::mm", 3), row("aten::add", 2))[1]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"calls": 1, "self_us": 1.0}, "row 2 has the keys calls, self_us"),
        (row("aten::add", None), "row 2 holds text or nothing"),
        (row(None, 1), "aten::mm has 1 calls"),
    ],
)
def test_rows_of_any_form_are_judged(second, told):
    assert told_of(row("aten::mm", 1), second)[0].startswith(told)
    assert told_of(row("aten::mm", 3), row(None, 1))[0] == "a row is called None"


def test_times_of_a_file_have_one_form():
    form = part.probes["stepped"].values["properties"]["written"]["additionalProperties"]

    assert 3 == form["minItems"] == form["maxItems"]
