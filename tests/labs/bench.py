"""One part of a lab in this process, without a fence: what the tests of the parts share (and conftest.py's fixtures)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import autograder
from autograder import checks
from autograder.course import Course
from autograder.course.cases import load_cases
from autograder.course.labs import load_lab
from autograder.lab import Part, conform
from autograder.model import Bar, Device, Failed, Job, Observation, Pair, Passed, Timed, Unavailable
from tests.worker.harness import observe

ROOT = Path(autograder.__file__).parent.parent
BAR = Bar(1.5, "seed")
CPU = Device("a CPU", "cpu", "cpu")
ANSWERS: dict[tuple[Path, str, int], Observation] = {}
"""What the references and the baselines answered: (file, probe, seed) -> observation, for all tests of a process."""


@dataclass
class Bench:
    """A part, its reference and its baseline."""

    lab: str
    part: Part
    without: Collection[str] = ()
    """Checks that a process of its own is needed for."""
    device: Device = CPU
    """What the machine is called."""

    @property
    def reference(self) -> Path:
        """The folder."""
        return ROOT / "reference" / self.lab

    @property
    def solution(self) -> Path:
        """The reference's file."""
        return self.reference / self.part.file

    @property
    def baseline(self) -> Path:
        """The baseline's file."""
        return self.reference / "baseline" / self.part.file

    @property
    def source(self) -> str:
        """The text of the reference's file."""
        return self.solution.read_text(encoding="utf-8")

    def changed(self, *pairs):
        """The reference with each (old, new) replaced; old stands in it exactly once."""
        text = self.source
        for old, new in pairs:
            assert 1 == text.count(old), old
            text = text.replace(old, new)
        return text

    def entry(self, id_):
        """The text of an entry of the corpus."""
        (case,) = [case for case in corpus(self.lab) if case.id == id_]
        return case.submission.files[self.part.file].decode()

    def judged(self, path, seed=1, only=()):
        """{check: verdict} of the file at *path*; a probe runs once, the baseline beside it where it is asked for."""
        seen = {}
        chosen = only or set(self.part.checks) - set(self.without)
        return {
            name: verdict(check, {n: self.evidence(n, path, seed, seen) for n in check.reads})
            for name, check in self.part.checks.items()
            if name in chosen
        }

    def evidence(self, name, path, seed, seen):
        if name in self.part.artefacts:
            return self.handed_in(self.part.artefacts[name])
        if name in ("bar", "device"):
            return BAR if name == "bar" else self.device
        if name == "parts":
            return tuple(part.id for part in load_lab(self.lab).parts)
        if name not in seen:
            own = path == self.solution
            student = self.answer(name, seed) if own else observe(self.part, name, path, seed)
            seen[name] = self.paired(name, student, seed)
        return seen[name]

    def handed_in(self, file):
        """What the reference hands in, as a check reads it."""
        return checks.read((self.reference / file).read_bytes(), file)

    def paired(self, probe, student, seed=1):
        """What a check gets when the student's worker answered so."""
        if not self.part.probes[probe].pair:
            return student
        kind = Timed if self.part.probes[probe].timed else Pair
        return kind(student, self.baseline_answer(probe, seed))

    def baseline_answer(self, probe, seed=1):
        return self.answer(probe, seed, "baseline")

    def answer(self, probe, seed, side="student"):
        """The baseline's answer, or the reference's; each is asked once."""
        path = self.baseline if side == "baseline" else self.solution
        if (path, probe, seed) not in ANSWERS:
            with warnings.catch_warnings(action="ignore"):
                answer = observe(self.part, probe, path, seed, side)
            assert "ok" == answer.ended, answer.error
            ANSWERS[path, probe, seed] = answer
        return ANSWERS[path, probe, seed]

    def in_workers(self, workers, probe, limits, seed=7):
        """Both sides' answers of real workers, for a probe that forks."""

        def answer(side):
            path = self.solution if side == "student" else self.baseline
            given = (self.reference / "given").glob("*.py")
            files = {f"given/{one.name}": one.read_bytes() for one in given}
            files[self.part.file] = path.read_bytes()
            return workers(Job(self.lab, self.part.id, probe, side, seed, limits, files, "cpu"))

        seen = Pair(answer("student"), answer("baseline"))
        assert ("ok", "ok") == (seen.student.ended, seen.baseline.ended), seen.student.error
        return seen

    def spoilt(self, name, number):
        """Verdicts of a check on answers full of a number, and on empty ones."""
        check = self.part.checks[name]
        own = {
            n: self.own_answer(n) if n in self.part.probes else self.evidence(n, None, 1, {})
            for n in check.reads
        }
        for spoil in (lambda seen: hostile(seen, number), emptied):
            read = {
                n: self.answered(n, spoil(it)) if n in self.part.probes else it
                for n, it in own.items()
            }
            yield verdict(check, read)

    def answered(self, probe, seen):
        """What a check gets of an answer, which is refused when it has another form."""
        return self.paired(probe, conform(self.part.probes[probe], seen))

    def own_answer(self, probe):
        """The baseline's, or the reference's where no baseline is asked."""
        return self.answer(probe, 1, "baseline" if self.part.probes[probe].pair else "student")


@cache
def corpus(lab):
    course = Course(ROOT)
    return load_cases(course, course.kit(lab).lab)


def verdict(check, read):
    for one in read.values():
        student = getattr(one, "student", one)
        if isinstance(student, Observation) and student.ended != "ok":
            return Failed(student.ended, student.error, "")
    return check.judge(**read)


def failing(verdicts):
    return {name: it for name, it in verdicts.items() if not isinstance(it, Passed | Unavailable)}


def says(found, fails):
    """Exactly these checks fail, with these words."""
    assert set(fails) == set(found), found
    for name, words in fails.items():
        assert words in f"{found[name].measured} {found[name].why}", name


def everywhere(value, change: Callable):
    if isinstance(value, dict):
        return {key: everywhere(item, change) for key, item in value.items()}
    return change(value)


def hostile(seen, number):
    """The same answer with every number replaced."""

    def change(value):
        if isinstance(value, list):
            return [everywhere(item, change) for item in value]
        return number if isinstance(value, float) else value

    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # what becomes of 1e308 in float32 or of NaN in whole numbers
        arrays = {name: np.full_like(array, number) for name, array in seen.arrays.items()}
    return replace(seen, values=everywhere(dict(seen.values), change), arrays=arrays)


def emptied(seen):
    """The same answer with nothing in any list or array."""
    arrays = {name: array[:0] for name, array in seen.arrays.items()}
    values = everywhere(dict(seen.values), lambda value: [] if isinstance(value, list) else value)
    return replace(seen, values=values, arrays=arrays)
