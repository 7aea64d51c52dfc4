"""Part 6 of gpu_profiling judged whole: right work passes on any seed, each mistake fails the checks that show it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from autograder.labs.gpu_profiling.part6_final import PROGRAM, part
from autograder.model import Failed, Passed
from tests.labs.bench import Bench, failing, says

bench = Bench("gpu_profiling", part, without={"loading_is_faster"})
pytestmark = pytest.mark.filterwarnings("ignore")
OURS = bench.reference / PROGRAM
CODE = [name for name, check in part.checks.items() if set(check.reads) <= set(part.probes)]


@pytest.fixture
def judged(tmp_path):
    """judged(only, pairs, file, seed) -> {check: verdict} of the reference, with (old, new) replaced in one file."""

    def judge(only, pairs=(), file=PROGRAM, seed=1):
        for name in (part.file, PROGRAM):
            shutil.copy(bench.reference / name, tmp_path / name)
        text = (tmp_path / file).read_text(encoding="utf-8")
        for old, new in pairs:
            assert 1 == text.count(old), old
            text = text.replace(old, new)
        (tmp_path / file).write_text(text, encoding="utf-8")
        return bench.judged(tmp_path / part.file, seed, only)

    return judge


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judged, seed):
    assert {} == failing(judged(CODE, seed=seed))
