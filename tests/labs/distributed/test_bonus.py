"""The bonus of distributed: right work passes; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.distributed.bonus import COSTS, cost_problem, part
from autograder.model import Observation, Pair, Passed, Table, Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("distributed", part, without=["kernel_is_faster"])
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.parametrize(
    ("version", "change", "words"),
    [
        pytest.param("eager", {}, "", id="eager"),
        pytest.param(
            "eager", {"launches": 6}, "launches of eager, width 8, is 6; expected 7", id="fused"
        ),
        pytest.param("kernel", {}, "", id="kernel"),
        pytest.param("kernel", {"launches": 2}, "launches of kernel", id="two launches"),
        pytest.param("kernel", {"saved_bytes": 4096 + 256}, "saved_bytes of kernel", id="normed"),
    ],
)
def test_launches_and_bytes_are_those_of_64_rows(version, change, words):
    costs = {
        "eager": {"launches": 7, "bytes": 22_048, "saved_bytes": 4_352},
        "kernel": {"launches": 1, "bytes": 8_480, "saved_bytes": 2_304},
    }
    problem = cost_problem({"version": version, "width": 8, **costs[version], **change})

    assert bool(words) == bool(problem)
    assert words in problem


def test_a_machine_without_triton_owes_the_table():
    row = dict(zip(COSTS.names, ("eager", 8, 7, 22_048, 4_352, 1.0, "a CPU"), strict=True))
    text = {name: str(value) for name, value in row.items()}
    verdict = part.checks["kernel_costs_add_up"].judge(Table(COSTS.file, COSTS.names, (text,)))

    assert isinstance(verdict, Unavailable)


@pytest.mark.parametrize("name", ["matches_pytorch", "any_shape", "gradients_match", "one_launch"])
def test_without_triton_kernels_are_owed(name):
    check = part.checks[name]
    nothing = Observation("tools", "ok", {"tools": []})
    read = {each: bench.evidence(each, bench.solution, 1, {}) for each in check.reads}

    assert isinstance(check.judge(**read), Passed)
    assert isinstance(check.judge(**{**read, "tools": Pair(nothing, nothing)}), Unavailable)
