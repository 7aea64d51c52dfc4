"""Made profiles are what they say of themselves, by the reader that students are handed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import autograder
from autograder.labs.gpu_profiling.bonus.rig.nightly import RecordedStep, pair

GIVEN = Path(autograder.__file__).parent.parent / "reference" / "gpu_profiling"


@pytest.fixture
def given(monkeypatch):
    """What students read a trace with."""
    monkeypatch.syspath_prepend(str(GIVEN))
    import given

    yield given
    for name in [name for name in sys.modules if name.split(".")[0] == "given"]:
        del sys.modules[name]


def test_a_range_lasts_as_long_as_it_says(given, tmp_path):
    made, _ = pair(np.random.default_rng(1), 1.5)
    file = tmp_path / "made.json.gz"
    file.write_bytes(made.data())
    events = [it for it in given.load_events(file) if it.category == "user_annotation"]
    steps = [it for it in events if it.name.startswith("ProfilerStep")]

    for name, ms in made.ms.items():
        seen = given.covered(it for it in events if it.name == name) / 1000 / len(steps)
        assert seen == pytest.approx(ms, rel=1e-3)
    assert made.step_ms == pytest.approx(sum(it.end - it.start for it in steps) / 1000 / len(steps))


@pytest.mark.parametrize("seed", range(20))
def test_the_later_profile_is_so_much_slower_on_any_seed(seed):
    """What is called slower or not is far from what is allowed, whatever the new range adds."""
    for factor, allowed, slower in ((1.5, 0.05, True), (1.08, 0.2, False), (0.6, 0.05, False)):
        before, after = pair(np.random.default_rng(seed), factor)
        told = before.beside(after, allowed)

        assert told["slower"] is slower
        assert abs(told["after_ms"] / told["before_ms"] - 1 - allowed) > 0.005


def test_a_step_says_when_there_is_no_trace(tmp_path):
    step = RecordedStep(["forward"])
    step()

    assert step.became(tmp_path / "nothing.json") == {
        "file": False,
        "calls": 1,
        "early": 0,
        "ranges": {},
    }
