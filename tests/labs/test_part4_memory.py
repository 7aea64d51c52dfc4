"""Part 4 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autograder
from autograder import checks
from autograder.labs.resnet18.part4_memory import COLUMNS, part
from autograder.model import Failed, Observation, Pair, Passed
from autograder.worker.rig import Rig
from tests.worker.harness import observe

ROOT = Path(autograder.__file__).parent.parent
REFERENCE = ROOT / "reference" / "resnet18"
BASELINE = REFERENCE / "baseline" / part.file
SOURCE = (REFERENCE / part.file).read_text(encoding="utf-8")
OUTSIDE = {"keeps_memory_flat", "needs_less_memory"}  # memory of a process of its own

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """What a worker has: `given` to import, no display; and this process keeps its allocator."""
    monkeypatch.syspath_prepend(str(REFERENCE))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(Rig, "return_memory_at_once", lambda rig: None)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("given", part.id)]:
        del sys.modules[name]


@pytest.fixture
def judge(tmp_path):
    """judge(source, seed, only) -> {check: verdict}; a probe runs once, the baseline beside it where it is asked for."""

    def judged(source, seed=1, only=()):
        path = tmp_path / part.file
        path.write_text(source, encoding="utf-8")
        seen = {}
        chosen = [part.checks[name] for name in part.checks if name in (only or set(part.checks) - OUTSIDE)]
        return {check.name: verdict(check, {n: evidence(n, path, seed, seen) for n in check.reads}) for check in chosen}

    return judged


def evidence(name, path, seed, seen):
    if name in part.artefacts:
        file = part.artefacts[name]
        return checks.read((REFERENCE / file).read_bytes(), file)
    if name not in seen:
        seen[name] = Pair(observe(part, name, path, seed), baseline_answer(name, seed))
    return seen[name]


@functools.cache
def baseline_answer(probe, seed=1):
    seen = observe(part, probe, BASELINE, seed, "baseline")
    assert "ok" == seen.ended, seen.error
    return seen


def verdict(check, read):
    for one in read.values():
        if isinstance(one, Pair) and one.student.ended != "ok":
            return Failed(one.student.ended, one.student.error, "")
    return check.judge(**read)


def changed(*pairs):
    """The reference with each (old, new) replaced; old stands in it exactly once."""
    text = SOURCE
    for old, new in pairs:
        assert 1 == text.count(old), old
        text = text.replace(old, new)
    return text


def failing(verdicts):
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed)}


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(SOURCE, seed))
