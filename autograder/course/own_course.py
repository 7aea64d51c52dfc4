"""A course of one's own: a folder with labs of its own beside those that come with perflab.

    .perflab-course  grading_config.yaml  labs/  reference/  assignments/  student_template/
    tests/submissions/

Code of labs is loaded from there and run outside of any fence. So the mark and all of labs/ have to
belong to whoever runs perflab, or to root, and nobody else may write there; and no course inside
what is graded is used.
"""

from __future__ import annotations

import grp
import os
import pkgutil
import pwd
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from autograder import labs
from autograder.errors import CourseError, UserError
from autograder.model import OWN_LABS

CONFIG = "grading_config.yaml"
MARK = ".perflab-course"
RELEASED = ".perflab"
"""The folder that students get of a course with labs of its own."""
LABS = "labs"
EMPTY = """# Points, bars and limits of the labs of this course.
format: 1

tiers:                       # regex on the device's name; a GPU that matches none is "gpu", no GPU is "cpu"
  t4: '\\bT4\\b'
  ampere: "A100|A10|RTX 30"
  hopper: "H100|H200"

labs: {}
"""
FOLDERS = (LABS, "reference", "assignments", "student_template", "tests/submissions")


def make(folder: Path) -> None:
    """Write an empty course; a folder with something in it is refused."""
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: is not empty; name a new folder for the course")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(EMPTY, encoding="utf-8")
    (folder / MARK).write_text(
        "Made by perflab new-course: labs/ beside this file is code that perflab runs.\n"
    )
    (folder / MARK).chmod(0o644)


def is_own(root: Path) -> bool:
    """Whether a course has labs of its own."""
    return (root / MARK).is_file()


def open_labs(root: Path) -> None:
    """Let the labs of a course be found, here and in workers, if its code may be trusted."""
    home = (root / LABS).resolve()
    if str(home) in labs.__path__:
        return
    for path in (root / MARK, home, *home.rglob("*")):
        if problem := _open_to_others(path):
            raise CourseError(
                f"{path}: {problem}, so its code is not run; chown it to you, and chmod go-w"
            )
    ours = shipped()
    for module in pkgutil.iter_modules([str(home)]):
        if module.name in ours:
            raise CourseError(
                f"{home / module.name}: perflab has a lab of this name; choose another"
            )
    labs.__path__.append(str(home))
    # Workers find them by it.
    os.environ[OWN_LABS] = str(home)


def shipped() -> set[str]:
    """Name the labs that come with perflab: a course has others."""
    return {module.name for module in pkgutil.iter_modules(labs.__path__[:1])}


def _open_to_others(path: Path) -> str:
    """Return why somebody else might have written a file of the course."""
    status = path.lstat()
    if status.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    others = 0o002 if _is_private(status.st_gid) else 0o022
    if status.st_mode & others and not path.is_symlink():
        return "others may write to it"
    return ""


def _is_private(group: int) -> bool:
    """Whether a group is that of one user alone, as most systems give everybody one."""
    me = pwd.getpwuid(os.geteuid())
    with suppress(KeyError):
        return group == me.pw_gid and set(grp.getgrgid(group).gr_mem) <= {me.pw_name}
    return False


def released(root: Path, lab: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what students need of a course with labs of its own, beside a lab's template."""
    if not is_own(root):
        return {}
    home = root / LABS
    content = {}
    for path in sorted((home / lab).rglob("*.py")):
        content[f"{LABS}/{path.relative_to(home).as_posix()}"] = path.read_bytes()
    for name, data in files.items():
        content[f"student_template/{lab}/{name}"] = data
    for name in (MARK, CONFIG):
        content[name] = (root / name).read_bytes()
    return {f"{RELEASED}/{name}": data for name, data in content.items()}


def refuse_inside(root: Path, graded: Iterable[Path]) -> None:
    """Refuse a course of its own inside what is graded: it would judge itself."""
    if not is_own(root):
        return
    home = root.resolve()
    for path in graded:
        if home.is_relative_to(path.resolve()):
            raise UserError(
                f"{home}: this course lies inside of what is graded; name yours with --course"
            )
