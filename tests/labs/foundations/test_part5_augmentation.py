"""Part 5 of foundations: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part5_augmentation import part
from autograder.model import Unavailable
from tests.labs.bench import Bench, failing

bench = Bench("foundations", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes_and_speed_waits_for_a_clock(judge, seed):
    verdicts = judge(bench.source, seed)

    assert {} == failing(verdicts)
    assert {"augmentation_is_faster"} == {
        name for name, it in verdicts.items() if isinstance(it, Unavailable)
    }
