"""Why pytest found no check to judge: it only counts what it deselects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import SubmissionError, nearest
from autograder.grading import unread
from autograder.handed_in import submission
from autograder.part_name import same_part

if TYPE_CHECKING:
    from autograder.grading.kit import Kit
    from autograder.lab import Part

OPERATORS = ("and", "or", "not")


def missing(keywords: str, kit: Kit, folder: Path) -> Iterator[str]:
    """Say which parts that were asked for are not in the folder or not in the lab."""
    for part in kit.lab.parts:
        if part.id in keywords and not _has(folder, part, kit):
            yield _no_file(folder, part, kit)
    for number in re.findall(r"\bpart\d+\b", keywords):
        if not any(same_part(part.id, number) for part in kit.lab.parts):
            yield f"there is no {number}; the parts are {_parts(kit)}"


def deselected(keywords: str, kit: Kit, folder: Path) -> Iterator[str]:
    """Say why no check fits what was asked for."""
    words = [word for word in re.findall(r"\w+", keywords) if word not in OPERATORS]
    asked = [part for part in kit.lab.parts if part.id in words]
    among = asked or kit.lab.parts
    absent = [part for part in among if {*part.checks} & {*words} and not _has(folder, part, kit)]
    if absent:
        yield from (_no_file(folder, part, kit) for part in absent)
        return
    rubric = {part.id: kit.config.parts[part.id].rubric for part in among}
    read = [(part, it) for part in among for it in rubric[part.id] if it in words]
    for part, item in read:
        pages = ", ".join(file for file in part.artefacts.values() if file.endswith(".md"))
        said = f"{part.id}.{item} is no test: a person reads {pages or 'it'}"
        yield f"{said}; pytest -k {part.id} shows it"
    if read:
        return
    names = [name for part in kit.lab.parts for name in (part.id, *part.checks)]
    unknown = [word for word in words if not any(word.lower() in it.lower() for it in names)]
    no_check = "no check fits all of that"
    if unknown:
        no_check = (
            f"no part and no check has '{unknown[0]}' in its name{nearest(unknown[0], names)}"
        )
    example = f"{among[0].id}.{next(iter(among[0].checks))}"
    yield f"{no_check}; the parts are {_parts(kit)}; one check alone: pytest -k {example}"


def elsewhere(here: Path, kit: Kit, folder: Path) -> Iterator[str]:
    """Say where the lab's files are, or that there is none."""
    if here != folder:
        yield f"this is not the lab's folder; go to it: cd {os.path.relpath(folder, here)}"
    elif not any(_has(folder, part, kit) for part in kit.lab.parts):
        yield "no part's file is in this folder; copy them from the lab as you got it"


def below(here: Path) -> Iterator[str]:
    """Name the labs one folder below."""
    for ini in sorted(here.glob("*/pytest.ini")):
        with suppress(OSError):
            if "perflab_lab" in ini.read_text(encoding="utf-8", errors="replace"):
                yield f"{ini.parent.name} is a lab's folder; go to it: cd {ini.parent.name}"


def _has(folder: Path, part: Part, kit: Kit) -> bool:
    notebooks = [name for name, file in kit.released.notebooks.items() if file == part.file]
    return any((folder / name).exists() for name in (part.file, *notebooks))


def _no_file(folder: Path, part: Part, kit: Kit) -> str:
    """Name what may be the part's file: a template beside it would be checked in its place."""
    others = []
    with suppress(SubmissionError):
        handed_in = submission.load(folder, kit.lab.files, released=kit.released)
        others = unread.other_names(handed_in, part.file)
    copy = "copy it from the lab as you got it"
    if others:
        wanted = unread.wanted_name(part.file, others)
        copy = f"if {' or '.join(others)} is your file, call it {wanted}; else {copy}"
    return f"{part.file} is not in this folder; {copy}"


def _parts(kit: Kit) -> str:
    return ", ".join(part.id for part in kit.lab.parts)
