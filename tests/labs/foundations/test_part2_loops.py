"""Part 2 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder import checks
from autograder.labs.foundations.part2_loops import part
from autograder.model import Failed, Unavailable
from tests.labs.bench import Bench, failing, says

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


def test_a_call_that_raises_costs_its_share_of_the_other_checks(judge):
    """The grader pays a part of these checks, which no entry of the corpus can state."""
    source = bench.changed(
        ("counts = torch.arange(1, len(values) + 1, device=values.device)", "counts = torch.arange(1, values + 1)"),
    )  # fmt: skip
    calls = [
        "running_mean_is_right",
        "leaves_inputs_alone",
        "operations_do_not_grow",
        "no_host_fetch",
    ]

    words = dict.fromkeys(calls, "exception") | {calls[0]: "raised TypeError"}
    says(failing(judge(source, only=calls)), words)


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
    assert (
        "of row 1 is mine; expected from row 1 on, in that order: running_clipped_mean"
        in found.measured
    )
