"""Proves a lab whole: the reference scores full, the template its floor, each entry of the corpus what it states."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from autograder.config import LabConfig, read_yaml
from autograder.course import Course, automatic
from autograder.course.beside import undeclared
from autograder.course.build import stale
from autograder.course.pool import Lanes, Open, Task
from autograder.course.reach import Remembered
from autograder.errors import CourseError
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.handed_in import submission
from autograder.lab import Lab, Part, same_part
from autograder.model import Basis, CheckResult, Limits, PartResult, Result, Submission
from autograder.sandbox.stage import temporary

FORGEABLE: Mapping[str, tuple[set[Basis], float]] = {
    "reports": ({"report"}, 0.4),
    "reports and scripted checks": ({"report", "scripted"}, 0.6),
}
"""What stands beside the student's code may decide at most such shares of a part's points."""
Timing = Literal["few", "all", "none"]
"""Which entries the clock runs for; a timed check takes half a minute."""
FOLDER = (
    {"about", "kind", "part", "fails"},
    {"limits", "unearned"},
)  # what expect.yaml needs, and what it may have
KINDS = ("right", "unusual", "wrong", "cheat", "hostile")


@dataclass(frozen=True)
class Case:
    """One submission with a known verdict."""

    id: str
    about: str
    kind: str
    part: str
    fails: Mapping[str, str]
    """Check id -> words in its message; everything else passes, is skipped because of those, or is owed."""
    submission: Submission
    limits: Limits | None = None
    """Shorter limits for an entry that would only sit them out."""
    unearned: tuple[str, ...] = ()
    """Checks that it passes without the work: a known limit of scripts and recorders, and of nothing else."""


@dataclass(frozen=True)
class Finding:
    """One line of the proof."""

    subject: str
    problems: tuple[str, ...]
    seconds: float = 0.0


def prove(
    course: Course,
    lab_name: str,
    open_: Open,
    *,
    seed: int,
    only: str = "",
    timing: Timing = "none",
    lanes: int = 0,
) -> Iterator[Finding]:
    """Yield a finding for each thing that was looked at: some at a time, and then, one by one, what is timed."""
    kit = course.kit(lab_name)
    cases = load_cases(course, kit.lab)
    tasks: dict[str, Task[Finding]] = {}
    if not only:
        yield Finding("template is what the reference builds", tuple(_stale(course, lab_name)))
        yield Finding(
            "points rest on outputs", (*over_their_share(kit.lab, kit.config), *undeclared(kit.lab))
        )
        # The reference first: what an entry leaves as it is has been answered then, for every lane.
        tasks |= _part_by_part("reference", course.reference(lab_name), kit, seed, full)
        tasks |= _part_by_part("template", course.template(lab_name), kit, seed, floor)
    tasks |= {case.id: _task(prove_case, case, kit, seed) for case in cases if only in case.id}
    tasks |= _automatic(course, kit, seed, only)
    with open_() as session:
        tier = session.device.tier
    clocked = to_time(cases, kit, tier) if timing != "none" else set()
    clocked |= {case.id for case in cases} if timing == "all" else set()
    yield from _in_lanes(
        [task for name, task in tasks.items() if name not in clocked], open_, kit.lab, lanes
    )
    with open_() as session:
        remembering = replace(session, run=Remembered(session.run, {kit.lab.name: kit.lab}))
        yield from (task(remembering) for name, task in tasks.items() if name in clocked)
    if not only:
        failed = {(case.part, check) for case in cases for check in case.fails} | automatic.owners(
            kit.lab
        )
        yield Finding(
            "every check is failed by an entry",
            tuple(undecorated(kit.lab, kit.config, failed, tier)),
        )


def _automatic(course: Course, kit: Kit, seed: int, only: str) -> dict[str, Task[Finding]]:
    reference = submission.load(course.reference(kit.lab.name), kit.lab.files)
    every = [it for it in automatic.made(kit, reference) if only in it.name]
    return {it.name: _task(prove_automatic, it, kit, seed) for it in every}


def prove_automatic(session: Session, made: automatic.Made, kit: Kit, seed: int) -> Finding:
    """Grade an entry that was made of the reference: its owner fails it, or there is a hole."""
    result = automatic.run(session, kit, made, seed)
    return Finding(made.name, tuple(automatic.holes(made, result)), result.seconds)


def fair(
    course: Course, lab_name: str, open_: Open, *, seeds: range, only: str = "", lanes: int = 0
) -> Iterator[Finding]:
    """Yield a finding for each right submission and seed: a draw it cannot pass is unfair."""
    kit = course.kit(lab_name)
    right = [case for case in load_cases(course, kit.lab) if not case.fails and only in case.id]
    for seed in seeds:
        tasks = {case.id: _task(prove_case, case, kit, seed) for case in right}
        if only in "reference":
            tasks |= _part_by_part("reference", course.reference(lab_name), kit, seed, full)
        for found in _in_lanes(list(tasks.values()), open_, kit.lab, lanes):
            yield replace(found, subject=f"{found.subject}, seed {seed}")


def _in_lanes(tasks: list[Task[Finding]], open_: Open, lab: Lab, lanes: int) -> Iterator[Finding]:
    with temporary() as shared:
        yield from Lanes[Finding](partial(untimed, open_, lab, shared=shared), lanes)(tasks)


@contextmanager
def untimed(open_: Open, *labs: Lab, shared: Path | None = None) -> Iterator[Session]:
    """Open a session without a clock, in which what is known, in a folder that lanes share too, is not run again."""
    with open_() as session:
        yield replace(
            session,
            run=Remembered(session.run, {lab.name: lab for lab in labs}, shared),
            clock=None,
        )


def _task(do: Callable[..., Finding], *what: Any) -> Task[Finding]:
    return lambda session: do(session, *what)


def to_time(cases: list[Case], kit: Kit, tier: str) -> set[str]:
    """Name those whose verdict the clock decides here: the reference, what fails a timed check, one unusual entry."""
    timed = {
        part.id: {name for name in part.checks if _has_a_bar(part, name, kit.config, tier)}
        for part in kit.lab.parts
    }
    slow = {case.id for case in cases if timed[case.part] & set(case.fails)}
    unusual = {
        case.part: case.id
        for case in reversed(cases)
        if case.kind == "unusual" and timed[case.part]
    }
    return (
        slow
        | set(unusual.values())
        | {f"reference, {part}" for part, checks in timed.items() if checks}
    )


def _has_a_bar(part: Part, check: str, config: LabConfig, tier: str) -> bool:
    return (
        "bar" in part.checks[check].reads
        and config.parts[part.id].checks[check].bar_for(tier) is not None
    )


def prove_case(session: Session, case: Case, kit: Kit, seed: int) -> Finding:
    """Grade one entry and compare."""
    part = kit.config.parts[case.part]
    limited = replace(part, limits=case.limits or part.limits)
    kit = replace(kit, config=replace(kit.config, parts={**kit.config.parts, case.part: limited}))
    result = grade(case.submission, kit, session, seed=seed, parts=[case.part])
    return Finding(
        f"{case.kind}: {case.id}", tuple(differences(case, result.parts[0])), result.seconds
    )


def _part_by_part(
    name: str, folder: Path, kit: Kit, seed: int, judge: Callable[[Result], list[str]]
) -> dict[str, Task[Finding]]:
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
    result = grade(submission.load(folder, kit.lab.files), kit, session, seed=seed, parts=[part])
    return Finding(f"{name}, {part}", tuple(judge(result)), result.seconds)


def full(result: Result) -> list[str]:
    """The reference loses nothing; what this machine cannot show is owed."""
    return [
        f"{part.id}.{check.id}: {check.outcome}: {check.reason or check.cause} {check.measured} {check.why}"
        for part in result.parts
        for check in part.checks
        if check.outcome not in ("passed", "unavailable")
    ]


def floor(result: Result) -> list[str]:
    """The template wins nothing, and says that it is not written yet."""
    won = [
        f"{p.id}.{c.id}: the unwritten template wins {c.points:g}"
        for p in result.parts
        for c in p.checks
        if c.points
    ]
    odd = [
        f"{p.id}.{c.id}: {c.outcome}: {c.reason}"
        for p in result.parts
        for c in p.checks
        if c.outcome in ("error", "inconclusive")
    ]
    unclear = [
        f"{p.id}.{c.id}: says {c.why!r} and not that it is not written yet"
        for p in result.parts
        for c in p.checks
        if c.outcome == "failed" and c.cause == "raised"
    ]
    return won + odd + unclear


def _stale(course: Course, lab: str) -> list[str]:
    return [f"{name} is stale: perflab build" for name in stale(course, lab)]


def differences(case: Case, part: PartResult) -> list[str]:
    """Compare one part with what an entry states: exactly those fail, each with its words."""
    return [problem for check in part.checks if (problem := _difference(check, case))]


def _difference(check: CheckResult, case: Case) -> str:
    said = f"{check.measured} {check.why} {check.try_} {check.reason} {check.cause}".strip()
    if check.id in case.fails:
        words = case.fails[check.id]
        if check.outcome == "unavailable":  # settled where it can be shown
            return ""
        if check.outcome != "failed" and not _short_of_its_bar(check):
            return f"{check.id}: {check.outcome} instead of failed: {said}"
        return (
            ""
            if words.lower() in said.lower()
            else f"{check.id}: says {said!r}, which lacks {words!r}"
        )
    fine = check.outcome in ("passed", "unavailable") or (check.outcome == "skipped" and case.fails)
    return "" if fine else f"{check.id}: {check.outcome}: {said}"


def _short_of_its_bar(check: CheckResult) -> bool:
    """Whether a clock ran and found too little; what is proved of the way is paid to anybody."""
    return check.outcome == "partial" and "bar" in check.evidence


def over_their_share(lab: Lab, config: LabConfig) -> list[str]:
    """Reports may be forged and scripts be read, so they decide a bounded share of each part's points."""
    found = []
    for part in lab.parts:
        points, whole = config.parts[part.id].checks, config.parts[part.id].points
        for words, (bases, share) in FORGEABLE.items():
            carried = sum(
                points[check.name].points for check in part.checks.values() if check.basis in bases
            )
            if carried > share * whole + 1e-9:
                found.append(
                    f"{part.id}: {words} carry {carried:g} of {whole:g} points; at most {100 * share:.0f} %"
                )
    return found


def undecorated(
    lab: Lab, config: LabConfig, failed: Collection[tuple[str, str]], tier: str
) -> list[str]:
    """A check that no entry fails may be a check that cannot fail; those without a bar here are judged elsewhere."""
    return [
        f"{part.id}.{check.name}: no entry of the corpus fails it"
        for part in lab.parts
        for check in part.checks.values()
        if (part.id, check.name) not in failed
        and ("bar" not in check.reads or _has_a_bar(part, check.name, config, tier))
    ]


def load_cases(course: Course, lab: Lab) -> list[Case]:
    """Read the folders of a lab's corpus, and the lists of mutants beside them."""
    home = course.root / "tests" / "submissions" / lab.name
    reference = submission.load(course.reference(lab.name), lab.files)
    folders = [(path, _yaml(path, *FOLDER)) for path in sorted(home.glob("*/expect.yaml"))]
    lists = [(path, said) for path in sorted(home.glob("*.yaml")) for said in _yaml_list(path)]
    found = [
        _folder_case(path.parent, said, reference, lab)
        for path, said in folders
        if _asked(said, lab)
    ]
    return found + [
        _mutant(said, reference, lab, path.name) for path, said in lists if _asked(said, lab)
    ]


def _asked(said: dict[str, Any], lab: Lab) -> bool:
    """Leave out an entry about what this course does without; of one about more, what is left of it stands."""
    if any(same_part(part, str(said.get("part"))) for part in lab.off):
        return False
    off = frozenset[str]().union(*(part.off for part in lab.parts))
    stated = said.get("fails") or {}
    if left := {check: words for check, words in stated.items() if check not in off}:
        said["fails"] = left
    return bool(left) or not stated


def _folder_case(folder: Path, said: Mapping[str, Any], reference: Submission, lab: Lab) -> Case:
    """Read a folder; files that it does not have, such as evidence, are the reference's; one refused is not there."""
    if said["kind"] not in KINDS:
        raise CourseError(
            f"{folder.name}/expect.yaml: kind {said['kind']!r}; use one of {', '.join(KINDS)}"
        )
    own = submission.load(folder, lab.files)
    others = {name: data for name, data in reference.files.items() if name not in own.refused}
    return _case(folder.name, said, replace(own, files={**others, **own.files}), lab)


def _case(id_: str, said: Mapping[str, Any], handed_in: Submission, lab: Lab) -> Case:
    part, fails, unearned = (
        lab.part(said["part"]),
        dict(said["fails"] or {}),
        tuple(said.get("unearned") or ()),
    )
    named = [*(("fails", name) for name in fails), *(("unearned", name) for name in unearned)]
    for key, name in named:
        if name not in part.checks:
            raise CourseError(f"{id_}: {key} names {name!r}, which is no check of {part.id}")
        if key == "unearned" and (basis := part.checks[name].basis) not in ("scripted", "report"):
            raise CourseError(
                f"{id_}: unearned names {name}, whose basis is {basis}; mend the check"
            )
    limits = Limits(**said["limits"]) if said.get("limits") else None
    return Case(id_, said["about"], said["kind"], part.id, fails, handed_in, limits, unearned)


def _mutant(said: Mapping[str, Any], whole: Submission, lab: Lab, where: str) -> Case:
    missing = {"id", "about", "part", "replace", "fails"} - set(said)
    if missing:
        raise CourseError(f"{where}: {said.get('id', said)!r} lacks {', '.join(sorted(missing))}")
    file = said.get("file", lab.part(said["part"]).file)
    text = whole.files.get(file, b"").decode()
    for change in said["replace"]:
        if set(change) != {"old", "new"}:
            raise CourseError(
                f"{where}: {said['id']}: a replacement has old and new, and here {', '.join(change)}"
            )
        if text.count(change["old"]) != 1:
            raise CourseError(
                f"{where}: {said['id']}: {change['old']!r} occurs {text.count(change['old'])} times in {file}, not once"
            )
        text = text.replace(change["old"], change["new"])
    files = {**whole.files, file: text.encode()}
    mutant = replace(whole, name=said["id"], sha256=sha256(text.encode()).hexdigest(), files=files)
    return _case(said["id"], {"kind": "wrong", **said}, mutant, lab)


def _yaml(path: Path, needed: set[str], allowed: set[str]) -> dict[str, Any]:
    said = read_yaml(path)
    if not isinstance(said, dict) or not needed <= set(said) <= needed | allowed:
        raise CourseError(_lines_problem(path, said, needed, allowed))
    return said


def _lines_problem(path: Path, said: Any, needed: set[str], allowed: set[str]) -> str:
    """Say which lines a file lacks, and which it cannot have."""
    names = set(said) if isinstance(said, dict) else set[str]()
    missing, unknown = sorted(needed - names), sorted(names - needed - allowed)
    told = [f"{', '.join(missing)}: missing"] * bool(missing)
    told += [f"{', '.join(unknown)}: not known here"] * bool(unknown)
    example = "about: what is unusual; kind: unusual; part: part1_first; fails: {}"
    return f"{path.parent.name}/{path.name}: {'; '.join(told)}; write a line for each, as {example}"


def _yaml_list(path: Path) -> list[dict[str, Any]]:
    said = read_yaml(path)
    if not isinstance(said, list):
        raise CourseError(f"{path.name}: not a list of mutants")
    return said
