"""What a student runs, from pytest or from `perflab check`: the checks of the lab in one folder."""

from __future__ import annotations

import configparser
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from autograder.course import Course
from autograder.errors import UserError
from autograder.grading.grade import grade
from autograder.grading.kit import Session
from autograder.handed_in import submission
from autograder.model import Result

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
    return grade(handed_in, kit, session, seed=seed, parts=parts)


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
