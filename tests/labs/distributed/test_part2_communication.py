"""Part 2 of distributed: right work passes in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from autograder.labs.distributed.part2_communication import judges, part, stories
from autograder.model import Limits
from tests.labs.bench import Bench, failing

# Its processes are forked from one that has not trained yet.
bench = Bench("distributed", part, without=part.checks)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.slow
def test_the_reference_passes_in_two_processes(workers):
    seen = {name: bench.in_workers(workers, name, Limits(40)) for name in part.probes}
    verdicts = {
        name: check.judge(**{each: seen[each] for each in check.reads})
        for name, check in part.checks.items()
        if set(check.reads) <= set(seen)
    }

    assert {} == failing(verdicts)
