"""Part 8 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part08_kv_cache import part
from tests.labs.bench import Bench, failing

MEMORY = ("generate_keeps_no_graph",)  # seen from outside a worker
bench = Bench("pairs", part, without=MEMORY)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.parametrize("number", [float("nan"), 0.0, 1e308])
@pytest.mark.parametrize("check", ["follows_the_script", "generates_alike"])
def test_answers_of_any_numbers_are_judged(check, number):
    for found in bench.spoilt(check, number):
        assert "Failed" == type(found).__name__
