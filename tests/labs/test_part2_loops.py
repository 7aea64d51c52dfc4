"""Part 2 of foundations: right work passes on any seed, each mistake fails the check that shows it, in the right words."""

from __future__ import annotations

import pytest

from autograder import checks
from autograder.labs.foundations.part2_loops import part
from autograder.model import Failed, Unavailable
from tests.labs.bench import Bench, failing

DISTANCE = "(points[:, None, :] - centers[None, :, :]).square().sum(dim=2).sqrt()"
bench = Bench("foundations", part)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_speed_waits_for_a_clock(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"vectorized_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }


# What is replaced -> {check: words in its measured or why}. Every other one passes or waits for these.
MISTAKES = {
    "one more than there are": ([("torch.arange(1, len(values) + 1", "torch.arange(len(values)")], {"running_mean_is_right": "running sum"}),
    "whole numbers stay whole": (
        [("values.float().clamp(low, high)", "values.clamp(int(low), int(high)).float()")],
        {"running_mean_is_right": "whole numbers are clipped"},
    ),
    "bounds in float32": (
        [("values.clamp(low, high) if", "values.clamp(*torch.tensor([low, high])) if")],
        {"running_mean_is_right": "float64 values keep their digits"},
    ),
    "float64 for everything": ([("return clipped.cumsum(0)", "return clipped.double().cumsum(0)")], {"running_mean_is_right": "float64"}),
    "times the mask": ([("values.masked_fill(~mask, 0)", "(values * mask)")], {"masked_mean_is_right": "0 * NaN is NaN"}),
    "all columns": ([("/ mask.sum(dim=1)\n", "/ mask.shape[1]\n")], {"masked_mean_is_right": "not by the number of columns"}),
    "a row without any": ([("/ mask.sum(dim=1)\n", "/ mask.sum(dim=1).clamp(min=1)\n")], {"masked_mean_is_right": "has no mean"}),
    "in place": ([("values.masked_fill(", "values.masked_fill_(")], {"leaves_inputs_alone": "masked_mean: changed: values"}),
    "no root": ([(".sum(dim=2).sqrt()", ".sum(dim=2)")], {"distances_are_right": "the root of the sum"}),
    "cdist": ([(DISTANCE, "torch.cdist(points * 1.0, centers * 1.0)")], {"distances_keep_digits": "above 25 rows"}),
    "float32 for float64": (
        [(DISTANCE, "(points.float()[:, None] - centers.float()).square().sum(2).sqrt().to((points * 1.0).dtype)")],
        {"distances_keep_digits": "float64: apart by"},
    ),
    "a Python number": ([(").sum()  # a label", ").sum().item()  # a label")], {"hits_are_right": "int ()", "no_host_fetch": "top_k_hits: line"}),
    "k as it is": ([("min(k, logits.shape[1])", "k")], {"hits_are_right": "k is more than there are classes: raised RuntimeError"}),
    "labels wrap around": ([("== labels[:, None]", "== (labels % logits.shape[1])[:, None]")], {"hits_are_right": "a negative label"}),
    "a loop over points": (
        [(DISTANCE, "torch.stack([points.new_zeros(len(centers)), *[(p - centers).square().sum(1).sqrt() for p in points]])[1:]")],
        {"operations_do_not_grow": "pairwise_distances: "},
    ),
    "a loop over centers": (
        [(DISTANCE, "torch.stack([points[:, 0] * 0, *[(points - c).square().sum(1).sqrt() for c in centers]], 1)[:, 1:]")],
        {"operations_do_not_grow": "a Python loop over centers"},
    ),
    "a loop over the best": (
        [("(best == labels[:, None]).sum()", "sum((one == labels).sum() for one in best.unbind(1))")],
        {"operations_do_not_grow": "a Python loop over classes and k"},
    ),
    "raises": (
        [("counts = torch.arange(1, len(values) + 1, device=values.device)", "counts = torch.arange(1, values + 1)")],
        dict.fromkeys(
            ("running_mean_is_right", "leaves_inputs_alone", "operations_do_not_grow", "no_host_fetch"), "exception"
        ),
    ),
    "no warm-up": ([("        function(*arguments)  # the warm-up\n", "")], {"measures_honestly": "warm up before"}),
    "the mean time": ([("statistics.median(times)", "statistics.mean(times)")], {"measures_honestly": "it is the mean"}),
    "no rows": ([("    return rows\n", "    return []\n")], {"measures_honestly": "the rows are none", "csv_says_what_was_measured": "0 returned"}),
    "a negative time": (
        [("slow, fast = milliseconds(loop, arguments)", "slow, fast = -milliseconds(loop, arguments)")],
        {"measures_honestly": "and has to be above 0"},
    ),
    "no device": (
        [("slow / fast, device_name(device))", "slow / fast, ' ')")],
        {"measures_honestly": "the device is not named"},
    ),
    "upside down": (
        [("slow / fast,", "fast / slow,")],
        {"measures_honestly": "but loop_ms / vectorized_ms is"},
    ),
    "rows of an empty file": (
        [("pd.DataFrame(rows, columns=COLUMNS)", "pd.DataFrame([], columns=COLUMNS)")],
        {"csv_says_what_was_measured": "0 rows in the file, 3 returned"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pairs", "fails"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_fails_the_checks_that_show_it(judge, pairs, fails):
    found = failing(judge(bench.changed(*pairs)))
    blocked = {name for name in found if any(need in found for need in part.checks[name].needs)}

    assert set(fails) == set(found) - blocked
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}"
        assert found[name].why
        assert found[name].try_ or "Error" in found[name].why


def test_timed_calls_must_be_right_too(judge):
    """What is right on small inputs and wrong on those that are timed fails."""
    text = bench.changed(
        (
            "    return clipped.cumsum(0) / counts",
            "    return clipped.cumsum(0) / counts if len(values) < 3000 else clipped",
        ),
    )

    assert {"vectorized_is_faster"} == set(failing(judge(text)))


def test_a_file_with_other_functions_fails():
    data = "function,loop_ms,vectorized_ms,speedup,device\nmine,2,1,2,AMD\n"

    found = part.checks["csv_is_consistent"].judge(checks.read(data.encode(), "loop_speedups.csv"))

    assert isinstance(found, Failed)
    assert "the rows are mine; running_clipped_mean" in found.why
