"""Judges what was handed in for an exercise by its claims, in this process; nothing is timed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from autograder.claims.exercise import Exercise
from autograder.errors import OwedError
from autograder.model import Bar, Observation, Pair, Timed, Unavailable
from tests.worker.harness import observe

MEMORY = {"needs_less_memory"}  # seen from outside a worker
COMPILED = {
    "is_one_graph",
    "builds_nothing_later",
    "captures_less",
}  # torch.compile is another afterwards


def judged(exercise: Exercise, text: str, slow: str, folder: Path, seed: int = 7, only: str = ""):
    """Return check -> verdict, or the words of what was raised; skipped checks are left out, or all but one."""
    arguments = exercise, text, slow, folder, seed, only
    if COMPILED.isdisjoint(exercise.part.checks):
        return _judged(*arguments)
    file = folder / "verdicts"
    if not (child := os.fork()):
        try:
            file.write_bytes(pickle.dumps(_judged(*arguments)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return pickle.loads(file.read_bytes())


def _judged(exercise: Exercise, text: str, slow: str, folder: Path, seed: int, only: str):
    part = exercise.part
    files = {side: folder / f"{part.id}_{side}.py" for side in ("student", "baseline")}
    for side, written in (("student", text), ("baseline", slow)):
        files[side].write_text(written)
    found: dict[str, object] = {}
    for name, check in part.checks.items():
        if only not in ("", name):
            continue
        if not only and any(type(found.get(need)).__name__ != "Passed" for need in check.needs):
            continue
        evidence = {read: _evidence(part, read, files, seed) for read in check.reads}
        raised = [
            it for it in evidence.values() if isinstance(it, Observation) and it.ended != "ok"
        ]
        raised += [
            it.student
            for it in evidence.values()
            if isinstance(it, Pair) and it.student.ended != "ok"
        ]
        if raised:
            found[name] = raised[0].error
            continue
        try:
            found[name] = check.judge(**evidence)
        except OwedError as owed:
            found[name] = Unavailable(str(owed))
    return found


def _evidence(part, read, files, seed):
    if read == "bar":
        return Bar(3.0, "seed")
    probe = part.probes[read]
    student = observe(part, read, files["student"], seed)
    if not probe.pair:
        return student
    baseline = observe(part, read, files["baseline"], seed, "baseline")
    assert baseline.ended == "ok", baseline.error
    return (
        Timed(student, baseline, unavailable="nothing is timed here")
        if probe.timed
        else Pair(student, baseline)
    )
