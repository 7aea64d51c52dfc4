"""The corpus of a lab: submissions with a known verdict, as folders and as lists of mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from autograder.course import Course
from autograder.errors import CourseError, nearest
from autograder.handed_in import submission
from autograder.lab import Lab, Part
from autograder.model import Limits, Submission
from autograder.part_name import same_part
from autograder.yaml_file import read_yaml

NEEDED = {"about", "kind", "part", "fails"}
"""What expect.yaml has to have."""
OPTIONAL = {"limits", "unearned"}
MUTANT = {"id", "about", "part", "replace", "fails"}
"""What a mutant has to have."""
EXAMPLE = "about: what is unusual; kind: unusual; part: part1_first; fails: {}"
KINDS = ("right", "unusual", "wrong", "cheat", "hostile")

CHANGES = "a list of replacements, [{old: '...', new: '...'}]"
FORMS: Mapping[str, tuple[type, str]] = {
    "id": (str, "a name, with a letter in it"),
    "part": (str, "the part's id, such as part1_first"),
    "replace": (list, CHANGES),
    "fails": (
        dict,
        (
            "a line CHECK: 'words of its message' below it for each check that has to fail, "
            "or fails: {} if the entry has to pass"
        ),
    ),
    "limits": (dict, "limits by name, {seconds: 5}"),
    "unearned": (list, "a list of checks, [measures_honestly]"),
}
"""What a line of an entry holds, and what to write if it does not."""
LIMITS = tuple(limit.name for limit in fields(Limits))

Stated = dict[str, Any]
"""What the YAML of an entry says."""


@dataclass(frozen=True)
class Case:
    """One submission with a known verdict."""

    id: str
    about: str
    kind: str
    part: str
    fails: Mapping[str, str]
    """Check id -> words in its message; every other check passes, is skipped, or is owed."""
    submission: Submission
    limits: Limits | None = None
    """Shorter limits for an entry that would only sit them out."""
    unearned: tuple[str, ...] = ()
    """Checks that it passes without the work: a limit of scripts and recorders only."""


def load_cases(course: Course, lab: Lab) -> list[Case]:
    """Read the folders of a lab's corpus, and the lists of mutants beside them."""
    home = course.root / "tests" / "submissions" / lab.name
    reference = submission.load(course.reference(lab.name), lab.files)
    cases = []
    for path in sorted(home.glob("*/expect.yaml")):
        stated = _stated(path)
        if _concerns(stated, lab):
            cases.append(_folder_case(path.parent, stated, reference, lab))
    for path in sorted(home.glob("*.yaml")):
        concerned = [stated for stated in _stated_list(path) if _concerns(stated, lab)]
        cases += [_mutant(stated, reference, lab, path.name) for stated in concerned]
    return cases


def _stated(path: Path) -> Stated:
    stated = read_yaml(path)
    is_whole = isinstance(stated, dict) and NEEDED <= set(stated) <= NEEDED | OPTIONAL
    if not is_whole:
        raise CourseError(f"{path.parent.name}/{path.name}: {_lines_problem(stated)}")
    _require_forms(f"{path.parent.name}/{path.name}", stated)
    return dict(stated)


def _lines_problem(stated: Any) -> str:
    """Name the lines that an entry lacks, and those that it cannot have."""
    names = set(stated) if isinstance(stated, dict) else set()
    missing = sorted(NEEDED - names)
    unknown = sorted(names - NEEDED - OPTIONAL)
    problems = []
    if missing:
        problems.append(f"{', '.join(missing)}: missing")
    if unknown:
        problems.append(f"{', '.join(unknown)}: not known here")
    return f"{'; '.join(problems)}; write a line for each, as {EXAMPLE}"


def _stated_list(path: Path) -> list[Stated]:
    stated = read_yaml(path)
    if not isinstance(stated, list):
        raise CourseError(f"{path.name}: not a list of mutants")
    for entry in stated:
        if not isinstance(entry, dict):
            raise CourseError(
                f"{path.name}: {entry!r} is no entry; write its lines below - id: NAME"
            )
        _require_forms(f"{path.name}: {entry.get('id')}", entry)
    return stated


def _require_forms(where: str, stated: Stated) -> None:
    """Refuse a line of another form than is read, before anything runs."""
    for name, (form, right) in FORMS.items():
        value = stated.get(name)
        if value is not None and not isinstance(value, form):
            raise CourseError(f"{where}: {name} is {value!r}; write {right}")
    for check, words in (stated.get("fails") or {}).items():
        if not isinstance(words, str):
            raise CourseError(
                f"{where}: fails: {check} is {words!r}; write words of its message, "
                "in quotes: '' if any will do"
            )
    for name in stated.get("limits") or {}:
        if name not in LIMITS:
            raise CourseError(
                f"{where}: limits: there is no {name!r}{nearest(str(name), LIMITS)}; "
                f"limits: {', '.join(LIMITS)}"
            )


def _concerns(stated: Stated, lab: Lab) -> bool:
    """Leave out an entry about what this course does without.

    Of an entry about more than that, the rest stands.
    """
    if any(same_part(part, str(stated.get("part"))) for part in lab.off):
        return False
    off = {check for part in lab.parts for check in part.off}
    fails = stated.get("fails") or {}
    left = {check: words for check, words in fails.items() if check not in off}
    if left:
        stated["fails"] = left
    return bool(left) or not fails


def _folder_case(folder: Path, stated: Stated, reference: Submission, lab: Lab) -> Case:
    """Read a folder. A file that it lacks, such as evidence, is the reference's.

    A file that was refused is missing.
    """
    if stated["kind"] not in KINDS:
        raise CourseError(
            f"{folder.name}/expect.yaml: kind {stated['kind']!r}; use one of {', '.join(KINDS)}"
        )
    own = submission.load(folder, lab.files)
    others = {name: data for name, data in reference.files.items() if name not in own.refused}
    whole = replace(own, files={**others, **own.files})
    return _case(folder.name, stated, whole, lab)


def _mutant(stated: Stated, reference: Submission, lab: Lab, where: str) -> Case:
    missing = MUTANT - set(stated)
    if missing:
        name = stated.get("id", stated)
        raise CourseError(f"{where}: {name!r} lacks {', '.join(sorted(missing))}")
    file = stated.get("file", lab.part(stated["part"]).file)
    if file not in reference.files:
        raise CourseError(
            f"{where}: {stated['id']}: the reference has no {file}: run its part there, or mend the name"
        )
    text = reference.files[file].decode()
    for change in stated["replace"]:
        text = _changed(text, change, file, f"{where}: {stated['id']}")
    data = text.encode()
    mutant = replace(
        reference,
        name=stated["id"],
        sha256=sha256(data).hexdigest(),
        files={**reference.files, file: data},
    )
    return _case(stated["id"], {"kind": "wrong", **stated}, mutant, lab)


def _changed(text: str, change: Mapping[str, str], file: str, where: str) -> str:
    if not isinstance(change, dict):
        raise CourseError(f"{where}: {change!r} is no replacement; write {CHANGES}")
    if set(change) != {"old", "new"}:
        raise CourseError(f"{where}: a replacement has old and new, and here {', '.join(change)}")
    old = change["old"]
    count = text.count(old)
    if count != 1:
        raise CourseError(f"{where}: {old!r} occurs {count} times in {file}, not once")
    return text.replace(old, change["new"])


def _case(name: str, stated: Stated, handed_in: Submission, lab: Lab) -> Case:
    part = lab.part(stated["part"])
    fails = dict(stated["fails"] or {})
    unearned = tuple(stated.get("unearned") or ())
    for check in fails:
        _require_check(name, "fails", check, part)
    for check in unearned:
        _require_check(name, "unearned", check, part)
        basis = part.checks[check].basis
        if basis not in ("scripted", "report"):
            raise CourseError(
                f"{name}: unearned names {check}, whose basis is {basis}; mend the check"
            )
    limits = Limits(**stated["limits"]) if stated.get("limits") else None
    return Case(
        name,
        stated["about"],
        stated["kind"],
        part.id,
        fails,
        handed_in,
        limits,
        unearned,
    )


def _require_check(case: str, key: str, check: str, part: Part) -> None:
    if check not in part.checks:
        raise CourseError(f"{case}: {key} names {check!r}, which is no check of {part.id}")
