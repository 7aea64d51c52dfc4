"""Proves a lab whole.

The reference scores full, the template its floor, each entry of the corpus what it states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from autograder.course import Course, try_mutants
from autograder.course.beside import undeclared
from autograder.course.build import stale
from autograder.course.cases import Case, load_cases
from autograder.course.expectations import (
    differences,
    floor,
    full,
    has_a_bar,
    over_their_share,
    undecorated,
)
from autograder.course.proof_lanes import Lanes, Open, Task
from autograder.course.reach import Remembered
from autograder.course.try_mutants import AutomaticEntry
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.handed_in import submission
from autograder.lab import Lab
from autograder.model import Result
from autograder.sandbox.stage import temporary

Timing = Literal["few", "all", "none"]
"""Which entries the clock runs for; a timed check takes half a minute."""


@dataclass(frozen=True)
class Finding:
    """One line of the proof."""

    subject: str
    problems: tuple[str, ...]
    seconds: float = 0.0


Tasks = dict[str, Task[Finding]]


def prove(
    course: Course,
    lab_name: str,
    open_: Open,
    *,
    seed: int,
    part: str = "",
    only: str = "",
    timing: Timing = "none",
    lanes: int = 0,
) -> Iterator[Finding]:
    """Yield a finding for each thing that was looked at, of one part or of all.

    Some are looked at side by side, and then, one by one, what is timed.
    """
    kit = _kit(course, lab_name, part)
    cases = load_cases(course, kit.lab)
    if not only:
        yield from _before(course, kit)
    tasks = _tasks(course, kit, cases, seed, only)
    with open_() as session:
        tier = session.device.tier
    timed = _timed(cases, kit, tier, timing)
    side_by_side = [task for name, task in tasks.items() if name not in timed]
    yield from _in_lanes(side_by_side, open_, kit.lab, lanes)
    with open_() as session:
        remembering = replace(session, run=Remembered(session.run, {kit.lab.name: kit.lab}))
        yield from (task(remembering) for name, task in tasks.items() if name in timed)
    if not only:
        yield _every_check_fails(kit, cases, tier)


def _kit(course: Course, lab_name: str, part: str) -> Kit:
    """Gather what a lab is graded with, as if it had the one part alone."""
    kit = course.kit(lab_name)
    chosen = [kit.lab.part(part)] if part else kit.lab.parts
    others = {other.id for other in kit.lab.parts if other not in chosen}
    return replace(kit, lab=replace(kit.lab, parts=tuple(chosen), off=kit.lab.off | others))


def _before(course: Course, kit: Kit) -> Iterator[Finding]:
    """Look at what needs no run."""
    name = kit.lab.name
    old = tuple(f"{file} is stale: perflab build" for file in stale(course, name))
    yield Finding("template is what the reference builds", old)
    shares = over_their_share(kit.lab, kit.config)
    yield Finding("points rest on outputs", (*shares, *undeclared(kit.lab)))


def _every_check_fails(kit: Kit, cases: list[Case], tier: str) -> Finding:
    failed = {(case.part, check) for case in cases for check in case.fails}
    failed |= try_mutants.owners(kit.lab)
    problems = undecorated(kit.lab, kit.config, failed, tier)
    return Finding("every check is failed by an entry", tuple(problems))


def _tasks(course: Course, kit: Kit, cases: list[Case], seed: int, only: str) -> Tasks:
    name = kit.lab.name
    tasks: Tasks = {}
    if not only:
        # The reference first: what an entry leaves as it is has been answered then, for every lane.
        tasks |= _part_by_part("reference", course.reference(name), kit, seed, full)
        tasks |= _part_by_part("template", course.template(name), kit, seed, floor)
    for case in cases:
        if only in case.id:
            tasks[case.id] = _task(prove_case, case, kit, seed)
    reference = submission.load(course.reference(name), kit.lab.files)
    for entry in try_mutants.entries_of(kit, reference):
        if only in entry.name:
            tasks[entry.name] = _task(prove_automatic, entry, kit, seed)
    return tasks


def _timed(cases: list[Case], kit: Kit, tier: str, timing: Timing) -> set[str]:
    if timing == "none":
        return set()
    timed = to_time(cases, kit, tier)
    if timing == "all":
        timed |= {case.id for case in cases}
    return timed


def prove_automatic(
    session: Session,
    entry: AutomaticEntry,
    kit: Kit,
    seed: int,
) -> Finding:
    """Grade an entry that was made of the reference.

    Its owner fails it, or there is a hole.
    """
    result = try_mutants.run(session, kit, entry, seed)
    holes = try_mutants.holes(entry, result)
    return Finding(entry.name, tuple(holes), result.seconds)


def prove_case(session: Session, case: Case, kit: Kit, seed: int) -> Finding:
    """Grade one entry and compare."""
    part = kit.config.parts[case.part]
    limited = replace(part, limits=case.limits or part.limits)
    parts = {**kit.config.parts, case.part: limited}
    kit = replace(kit, config=replace(kit.config, parts=parts))
    result = grade(case.submission, kit, session, seed=seed, parts=[case.part])
    problems = differences(case, result.parts[0])
    return Finding(f"{case.kind}: {case.id}", tuple(problems), result.seconds)


def fair(
    course: Course,
    lab_name: str,
    open_: Open,
    *,
    seeds: range,
    part: str = "",
    only: str = "",
    lanes: int = 0,
) -> Iterator[Finding]:
    """Yield a finding for each right submission and seed: a draw it cannot pass is unfair."""
    kit = _kit(course, lab_name, part)
    cases = load_cases(course, kit.lab)
    right = [case for case in cases if not case.fails and only in case.id]
    for seed in seeds:
        tasks = {case.id: _task(prove_case, case, kit, seed) for case in right}
        if only in "reference":
            tasks |= _part_by_part("reference", course.reference(lab_name), kit, seed, full)
        for finding in _in_lanes(list(tasks.values()), open_, kit.lab, lanes):
            yield replace(finding, subject=f"{finding.subject}, seed {seed}")


def _in_lanes(
    tasks: list[Task[Finding]],
    open_: Open,
    lab: Lab,
    lanes: int,
) -> Iterator[Finding]:
    with temporary() as shared:
        open_untimed = partial(untimed, open_, lab, shared=shared)
        yield from Lanes[Finding](open_untimed, lanes)(tasks)


@contextmanager
def untimed(open_: Open, *labs: Lab, shared: Path | None = None) -> Iterator[Session]:
    """Open a session without a clock, in which no answer that is there is computed again.

    Lanes share a folder of answers.
    """
    with open_() as session:
        run = Remembered(session.run, {lab.name: lab for lab in labs}, shared)
        yield replace(session, run=run, clock=None)


def _task(do: Callable[..., Finding], *what: Any) -> Task[Finding]:
    return lambda session: do(session, *what)


def to_time(cases: list[Case], kit: Kit, tier: str) -> set[str]:
    """Return what the clock decides here.

    The reference, what fails a timed check, an unusual entry.
    """
    timed = {
        part.id: {name for name in part.checks if has_a_bar(part, name, kit.config, tier)}
        for part in kit.lab.parts
    }
    references = {f"reference, {part}" for part, checks in timed.items() if checks}
    slow = {case.id for case in cases if timed[case.part] & set(case.fails)}
    unusual = {
        case.part: case.id
        for case in reversed(cases)
        if case.kind == "unusual" and timed[case.part]
    }
    return references | slow | set(unusual.values())


def _part_by_part(
    name: str,
    folder: Path,
    kit: Kit,
    seed: int,
    judge: Callable[[Result], list[str]],
) -> Tasks:
    """Grade a folder's parts one by one, so that no lane has all of them to do."""
    return {
        f"{name}, {part.id}": _task(_graded, name, folder, kit, seed, part.id, judge)
        for part in kit.lab.parts
    }


def _graded(
    session: Session,
    name: str,
    folder: Path,
    kit: Kit,
    seed: int,
    part: str,
    judge: Callable[[Result], list[str]],
) -> Finding:
    handed_in = submission.load(folder, kit.lab.files)
    result = grade(handed_in, kit, session, seed=seed, parts=[part])
    return Finding(f"{name}, {part}", tuple(judge(result)), result.seconds)
