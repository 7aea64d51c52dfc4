"""Part 10 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest
import torch

from autograder.labs.pairs.part10_compile import part
from tests.labs.bench import Bench, failing

pytestmark = pytest.mark.fresh

CLOCK = ("regions_are_faster", "backward_is_faster")
bench = Bench("pairs", part, without=CLOCK)


@pytest.fixture(autouse=True, scope="module")
def trained_before():
    """Where the first backward pass is a traced one, autograd starts threads, and later tests could not fork."""
    torch.ones(1, requires_grad=True).sum().backward()


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_baseline_answers_alike_and_no_more(judge):
    failed = failing(judge(bench.baseline.read_text(encoding="utf-8")))

    assert {
        "regions_keep_names",
        "captures_little",
        "builds_few",
        "backward_is_captured",
    } == set(failed)
