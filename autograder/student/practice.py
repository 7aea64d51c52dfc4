"""What a student runs, from pytest or from `perflab check`: the checks of the lab in one folder."""

from __future__ import annotations

import configparser
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from autograder.course import Course
from autograder.errors import UserError, nearest
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session
from autograder.handed_in import submission
from autograder.model import Result
from autograder.results import requests

POLL_SECONDS = 0.5
Isolation = Literal["bubblewrap", "none", "best"]


def lab_of(folder: Path, course: Course) -> str:
    """Read which lab a folder holds: its pytest.ini says so, else its name."""
    ini = configparser.ConfigParser()
    try:
        ini.read(folder / "pytest.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        problem = str(error).splitlines()[0]
        raise UserError(f"pytest.ini: {problem}; take the one of the released folder") from None
    lab = ini.get("pytest", "perflab_lab", fallback=folder.name)
    if lab not in course.labs:
        example = f"student_template/{course.labs[0]}"
        advice = f"go to the folder that you unzipped (in a checkout: {example})"
        raise UserError(f"{folder.name}: not a lab's folder; {advice}")
    return lab


def check_folder(
    folder: Path, course: Course, session: Session, part: str | None, seed: int
) -> Result:
    """Grade the folder as it is now, all parts or one."""
    kit = course.kit(lab_of(folder, course))
    parts = [kit.lab.part(part).id] if part else []
    handed_in = submission.load(folder, kit.lab.files, released=kit.released)
    result = grade(handed_in, kit, session, seed=seed, parts=parts)
    return replace(result, notes=(*result.notes, *about_request(handed_in.request, kit)))


def about_request(text: str, kit: Kit) -> Iterator[str]:
    """Say which check a request is about, as it will be read where it is graded."""
    parts = kit.config.parts
    checks = [f"{part}.{it}" for part in parts for it in (*parts[part].checks, *parts[part].rubric)]
    asked, _ = requests.asked_in(text, checks)
    if name := requests.named(asked, checks):
        yield f"{requests.FILE} asks a person about {name}"
    elif text.startswith(f"\n{requests.FILE}"):
        yield asked
    elif text.strip():
        near = nearest(asked, checks) or f", such as {checks[0]}"
        yield f"{requests.FILE} has no line that is the name of a check of this lab{near}"


def watched(folder: Path) -> Iterator[None]:
    """Yield at once, and then after every save; Ctrl-C ends it."""
    shown: dict[Path, int] = {}
    while True:
        files = [path for path in folder.glob("*") if path.is_file()]
        saved = {path: path.stat().st_mtime_ns for path in files}
        if saved != shown:
            shown = saved
            yield None
        time.sleep(POLL_SECONDS)
