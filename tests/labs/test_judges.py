"""Judges of every part: whatever a worker sends becomes a verdict, never an exception."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.course import Course, find_root
from autograder.model import Failed, Partial, Passed, Unavailable
from tests.labs.bench import Bench

COURSE = Course(find_root())
BENCHES = {
    f"{lab}-{part.id}": Bench(lab, part)
    for lab in COURSE.labs
    for part in COURSE.kit(lab).lab.parts
}
JUDGES = [
    (where, name)
    for where, at in BENCHES.items()
    for name, it in at.part.checks.items()
    if it.basis != "artefact"
]
OWED = {"bar", "tools"}
"""What says that there is no clock or no tool: only a check that reads it may be owed."""
SHARED = {"operations_do_not_grow"}
"""Checks that pay for some of several functions."""


@pytest.fixture
def bench(request):
    return BENCHES[request.param]


@pytest.mark.parametrize(
    ("bench", "name"), JUDGES, indirect=["bench"], ids=[f"{w}-{n}" for w, n in JUDGES]
)
@pytest.mark.filterwarnings("error")
def test_a_judge_never_stumbles_over_numbers(bench, name):
    """Every number replaced by one that only a hostile worker sends, and then nothing in any list or array."""
    expected = [Passed, Failed]
    if OWED & set(bench.part.checks[name].reads):
        expected.append(Unavailable)
    if name in SHARED:
        expected.append(Partial)

    for number in (0.0, -1.0, np.nan, 1e308, 5e-324):
        for found in bench.spoilt(name, number):
            assert isinstance(found, tuple(expected))
