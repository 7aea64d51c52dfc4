"""Part 4 of gpu_profiling judged whole: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.labs.gpu_profiling.part4_memory import part
from autograder.model import Failed, Observation, Pair, Passed
from tests.labs.bench import Bench, failing

bench = Bench("gpu_profiling", part, without={"needs_less_memory"})
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


def test_the_reference_passes(judge):
    assert {} == failing(judge(bench.source))


@pytest.mark.parametrize(
    ("student", "kind", "measured"),
    [
        pytest.param(80, Passed, "60 MB where the baseline takes 100 MB", id="a lot less"),
        pytest.param(119, Failed, "99 MB where the baseline takes 100 MB", id="nearly all"),
    ],
)
def test_memory_is_what_was_seen_beyond_an_idle_worker(student, kind, measured):
    answer = bench.baseline_answer("large_step")
    still = Observation("idle", "ok", peak_bytes=20 * 10**6)
    run = Pair(replace(answer, peak_bytes=student * 10**6), replace(answer, peak_bytes=120 * 10**6))

    found = part.checks["needs_less_memory"].judge(run, Pair(still, still))

    assert isinstance(found, kind)
    assert found.measured.startswith(measured)
