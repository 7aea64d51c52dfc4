"""Runs parts of foundations in this process: what the tests of its parts share."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np

import autograder
from autograder import checks
from autograder.lab import load_lab
from autograder.model import Bar, Device, Failed, Observation, Pair, Passed, Timed, Unavailable
from tests.worker.harness import observe

REFERENCE = Path(autograder.__file__).parent.parent / "reference" / "foundations"
FIXED = {"bar": Bar(1.5, "seed"), "device": Device("a CPU", "cpu", "cpu")}


def source(part):
    """The reference's file."""
    return (REFERENCE / part.file).read_text(encoding="utf-8")


def changed(part, *pairs):
    """The reference with each (old, new) replaced; old stands in it exactly once."""
    text = source(part)
    for old, new in pairs:
        assert 1 == text.count(old), old
        text = text.replace(old, new)
    return text


def judged(part, path, seed=1, only=()):
    """{check: verdict} of the file at *path*; a probe runs once, the baseline beside it where it is asked for."""
    seen = {}
    chosen = [check for check in part.checks.values() if check.name in (only or part.checks)]
    return {
        check.name: verdict(check, {n: evidence(part, n, path, seed, seen) for n in check.reads}) for check in chosen
    }


def evidence(part, name, path, seed, seen):
    if name in part.artefacts:
        file = part.artefacts[name]
        return checks.read((REFERENCE / file).read_bytes(), file)
    if name not in FIXED and name not in seen:
        student = observe(part, name, path, seed)
        seen[name] = paired(part, name, student, seed) if part.probes[name].pair else student
    return FIXED.get(name) or seen[name]


def paired(part, probe, student, seed=1):
    kind = Timed if part.probes[probe].timed else Pair
    return kind(student, baseline_answer(part.id, probe, seed))


@functools.cache
def baseline_answer(part_id, probe, seed=1):
    part = load_lab("foundations").part(part_id)
    seen = observe(part, probe, REFERENCE / "baseline" / part.file, seed, "baseline")
    assert "ok" == seen.ended, seen.error
    return seen


def verdict(check, read):
    for one in read.values():
        student = getattr(one, "student", one)
        if isinstance(student, Observation) and student.ended != "ok":
            return Failed(student.ended, student.error, "")
    return check.judge(**read)


def failing(verdicts):
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed | Unavailable)}


def hostile(seen, number):
    """The same answer with every number replaced."""

    def everywhere(value):
        if isinstance(value, dict):
            return {key: everywhere(item) for key, item in value.items()}
        if isinstance(value, list):
            return [everywhere(item) for item in value]
        return number if isinstance(value, float) else value

    arrays = {name: np.full_like(array, number) for name, array in seen.arrays.items()}
    return replace(seen, values=everywhere(dict(seen.values)), arrays=arrays)


def emptied(seen):
    """The same answer with nothing in any list or array."""
    arrays = {name: array[:0] for name, array in seen.arrays.items()}
    return replace(seen, values={k: [] if isinstance(v, list) else v for k, v in seen.values.items()}, arrays=arrays)
