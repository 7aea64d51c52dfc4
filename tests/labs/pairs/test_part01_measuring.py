"""Part 1 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part01_measuring import judges, part
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


def test_the_naive_tool_earns_nothing(judge):
    verdicts = judge(bench.baseline.read_text(encoding="utf-8"))

    assert set(part.checks) == set(failing(verdicts))


@pytest.mark.parametrize(
    ("second", "verdict"), [(0.8, "faster"), (1.2, "slower"), (1.01, "cannot tell")]
)
def test_a_verdict_needs_more_than_the_noise(second, verdict):
    first = (1.0, 0.3, 200)

    assert verdict == judges.compared(first, (second, 0.3, 200))[3]
