"""Part 2 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part02_profiling import judges, part
from autograder.model import Device, Observation, Pair
from autograder.probe import conform
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


def test_a_hint_about_rows_is_not_given_for_calls():
    rows = [{"operator": "aten::add", "calls": 5, "self_us": 1.0}]
    own = Observation("stepped", "ok", {"rows": rows, "written": {}})
    right = Observation("stepped", "ok", {"calls": {"aten::add": [10]}})
    pair = Pair(own, right)
    names = part.checks["names_the_top_operators"].judge

    few = names(stepped=pair, modelled=pair, device=Device("", "cuda", ""))
    none = Pair(Observation("stepped", "ok", {"rows": [], "written": {}}), right)
    right.values["calls"].update({f"aten::{it}": [1] for it in range(9)})

    assert "aten::add has 5 calls; 10 are right" in few.measured
    assert "first 10 rows" not in few.try_
    cut = Pair(Observation("stepped", "ok", {"rows": rows, "written": {}}), right)
    assert "first 10 rows" in names(stepped=cut, modelled=none, device=Device("", "cuda", "")).try_


def test_what_is_left_behind_is_judged_without_a_case():
    left = Observation("left_behind", "ok", {"models": [{"hooks": "blocks.1"}] * 3})

    assert "hooks stay on blocks.1" == part.checks["leaves_no_hooks"].judge(left).measured


@pytest.mark.parametrize("probe", ["left_behind", "remembered"])
def test_all_models_have_to_be_answered_for(probe):
    assert "refused" == conform(part.probes[probe], Observation(probe, "ok", {"models": []})).ended


@pytest.mark.parametrize(
    ("extra", "told"), [([], "no submodule has a range"), (["Linear"], "0 ranges 'lm'")]
)
def test_ranges_of_other_names_are_not_said_to_be_none(extra, told):
    names = ["forward", "backward", *extra]
    ranges = [{"name": it, "inside": [], "computes": True} for it in names]
    expected = {"modules": {"lm": 1}, "computing": []}

    assert judges.ranges_problem({"ranges": ranges}, expected)[0].startswith(told)
