"""How often the host waits for the device."""

from __future__ import annotations

import pytest

from autograder.checks import host_waits
from autograder.model import Failed, Passed


@pytest.mark.parametrize(
    ("batches", "passes"),
    [
        pytest.param([], True, id="never"),
        pytest.param([0, 10, 20], True, id="every tenth"),
        pytest.param([0, 6, 12, 18], False, id="every sixth"),
        pytest.param(range(24), False, id="always"),
    ],
)
def test_a_wait_now_and_then_is_fine_and_one_per_step_is_not(batches, passes):
    waits = [{"line": 7, "call": ".item()", "batches": list(batches)}]

    verdict = host_waits.no_wait_per_step(waits, 24, host_waits.GRAPHS, try_="try")

    assert passes == isinstance(verdict, Passed)


def test_two_lines_that_wait_in_turn_are_both_named():
    waits = [
        {"line": 7, "call": ".item()", "batches": [0, 2, 4]},
        {"line": 9, "call": "print()", "batches": [1, 3]},
    ]

    assert (
        "the host waited in 5 of 6 batches, by .item() (line 7), print() (line 9); at most 1 are allowed"
        == (host_waits.no_wait_per_step(waits, 6, 0, try_="try").measured)
    )


def test_graphs_that_pile_up_fail_before_anything_else():
    verdict = host_waits.no_wait_per_step([], 24, host_waits.GRAPHS + 1, try_="try")

    assert isinstance(verdict, Failed)
    assert (
        "the graphs of 5 earlier steps were in memory at once",
        "append loss.detach(), not loss",
    ) == (
        verdict.measured,
        verdict.try_,
    )
