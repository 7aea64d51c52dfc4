"""Part 2 judged whole: right work passes on any seed, each mistake fails the checks that show it, in the right words."""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import autograder
from autograder import checks
from autograder.labs.resnet18.part2_dataloader import part
from autograder.model import Bar, Failed, Observation, Pair, Passed, Timed, Unavailable
from tests.worker.harness import observe

ROOT = Path(autograder.__file__).parent.parent
REFERENCE = ROOT / "reference" / "resnet18"
BASELINE = REFERENCE / "baseline" / part.file
SCHEMAS = ROOT / "assignments" / "resnet18" / "schemas"
SOURCE = (REFERENCE / part.file).read_text(encoding="utf-8")
BAR = Bar(1.3, "seed")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """What a worker has: `given` to import, and no display."""
    monkeypatch.syspath_prepend(str(REFERENCE))
    monkeypatch.setenv("MPLBACKEND", "Agg")
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
        chosen = [part.checks[name] for name in part.checks if name in (only or part.checks)]
        return {check.name: verdict(check, {n: evidence(n, path, seed, seen) for n in check.reads}) for check in chosen}

    return judged


def evidence(name, path, seed, seen):
    if name == "bar":
        return BAR
    if name in part.artefacts:
        file = part.artefacts[name]
        return checks.read((REFERENCE / file).read_bytes(), file)
    if name not in seen:
        student, probe = observe(part, name, path, seed), part.probes[name]
        kind = Timed if probe.timed else Pair
        seen[name] = kind(student, baseline_answer(name, seed)) if probe.pair else student
    return seen[name]


@functools.cache
def baseline_answer(probe, seed=1):
    seen = observe(part, probe, BASELINE, seed, "baseline")
    assert "ok" == seen.ended, seen.error
    return seen


def verdict(check, read):
    for one in read.values():
        student = getattr(one, "student", one)
        if isinstance(student, Observation) and student.ended != "ok":
            return Failed(student.ended, student.error, "")
    return check.judge(**read)


def changed(*pairs):
    """The reference with each (old, new) replaced; old stands in it exactly once."""
    text = SOURCE
    for old, new in pairs:
        assert 1 == text.count(old), old
        text = text.replace(old, new)
    return text


def failing(verdicts):
    """What is not passed; without a clock nothing is said about speed."""
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed | Unavailable)}


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(SOURCE, seed))
