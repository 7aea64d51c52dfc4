"""A claim of several functions of a part as one check, of which each function has its share of the points."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from autograder.claims.exercise import Exercise
from autograder.lab import (
    Check,
    Part,
    Probe,
    Rig,
    Student,
    map_of,
    record,
)
from autograder.model import Failed, Observation, Partial, Passed, Verdict

MEND = "mend the call that its own check names: it has this share of the points"


class Several:
    """Exercises of one part. Claims that look at the student's side alone can be theirs together."""

    def __init__(self, *exercises: Exercise) -> None:
        """Keep them, in the order in which they are judged."""
        self._exercises = exercises

    def claim(self, says: str, declare: Callable[[Exercise], None]) -> None:
        """Claim of all what *declare* claims of each, under one name; of one that raises nothing is known."""
        alone = {exercise.function: _alone(exercise, declare) for exercise in self._exercises}
        first, check = next(iter(alone.values()))

        def run(student: Student, rig: Rig) -> dict[str, Any]:
            answers = rig.answers(student)
            tried = {name: answers.tried(it.run, student, rig) for name, (it, _) in alone.items()}
            returned = {name: it for name, it in tried.items() if not isinstance(it, Exception)}
            return {"of": returned}

        def judge(observation: Observation) -> Verdict:
            returned, measured, failed = observation.values["of"], [], {}
            for name, (probe, check) in alone.items():
                if name in returned:
                    answer = replace(observation, values=returned[name])
                    verdict = check.judge(**{probe.name: answer})
                    if isinstance(verdict, Failed):
                        failed[name] = verdict
                    measured.append(f"{name}: {getattr(verdict, 'measured', '')}")
            if failed:
                name, *others = failed
                too = f"; the same check fails for {', '.join(others)}" if others else ""
                return replace(failed[name], measured=f"{name}: {failed[name].measured}{too}")
            missing = [name for name in alone if name not in returned]
            if not missing:
                return Passed("; ".join(measured))
            unknown = f"nothing is known of {' and '.join(missing)}"
            why = f"{missing[0]} raises an exception: its own check says which"
            return Partial(1 - len(missing) / len(alone), unknown, why, MEND)

        part = self._exercises[0].part
        name = f"{check.name}_of_each"
        form = record(of=map_of(first.values))
        part.probes[name] = Probe(name, run, values=form, takes=frozenset(alone))
        part.add_check(check.name, says, check.basis, judge, [name])


def _alone(exercise: Exercise, declare: Callable[[Exercise], None]) -> tuple[Probe, Check]:
    """Let it be claimed on a part that nobody grades."""
    alone = copy(exercise)
    alone.part = Part(exercise.part.id)
    declare(alone)
    [probe] = alone.part.probes.values()
    [check] = alone.part.checks.values()
    return probe, check
