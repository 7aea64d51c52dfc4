"""reference/ -> student_template/: the same files with every solution cut out, byte for byte the same each time."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.course import Course, read_tree
from autograder.errors import CourseError
from autograder.notebook import STUB

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_TEXT, END_TEXT = "<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"
ANSWER = "*Your answer here.*"
SHARED = ("given", "baseline")  # handed out as they are


def built(course: Course, lab_name: str) -> dict[str, bytes]:
    """Every file of the template, made from the reference."""
    source, lab = course.reference(lab_name), course.lab(lab_name)
    files = {f"{name}/{path}": data for name in SHARED for path, data in read_tree(source / name).items()}
    files = {name: data for name, data in files.items() if Path(name).name not in course.left_out(lab_name)}
    for part in lab.parts:
        files[part.file] = _stripped(source / part.file)
        for name in part.artefacts.values():
            if name.endswith((".md", ".py")):
                files[name] = _stripped(source / name)
    # -rN: each failure is shown once, in its four parts, and not again in a list at the end.
    version = course.config.labs[lab_name].version
    own = f"perflab_lab = {lab_name}\nperflab_version = {version}\n"
    ini = f"[pytest]\nrequired_plugins = perflab\n{own}addopts = -rN\n"
    files["pytest.ini"] = ini.encode()
    return files


def stale(course: Course, lab_name: str) -> list[str]:
    """Names of template files that are missing, different, or not made by us."""
    want, have = built(course, lab_name), read_tree(course.template(lab_name))
    return sorted(name for name in want.keys() | have.keys() if want.get(name) != have.get(name))


def write(course: Course, lab_name: str) -> list[str]:
    """Bring the template up to date; say which files changed."""
    want, changed, folder = built(course, lab_name), stale(course, lab_name), course.template(lab_name)
    for name in changed:
        target = folder / name
        if name in want:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(want[name])
        else:
            target.unlink()
    return changed


def _stripped(path: Path) -> bytes:
    if not path.is_file():
        raise CourseError(f"reference/{path.parent.name}/{path.name}: missing, but the part names it")
    text = path.read_text(encoding="utf-8")
    where = f"reference/{path.parent.name}/{path.name}"
    return (strip_text(text, where) if path.suffix == ".md" else strip_code(text, where)).encode()


def strip_code(text: str, where: str) -> str:
    """Cut each solution region of a Python file down to nbgrader's stub, at the region's own indentation."""
    kept: list[str] = []
    opened, indent = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.strip()
        if mark == BEGIN:
            if opened:
                raise CourseError(
                    f"{where}, line {number}: {BEGIN} inside the region that line {opened} opened; close it first"
                )
            opened, indent = number, line[: len(line) - len(line.lstrip())]
            if not indent:
                raise CourseError(
                    f"{where}, line {number}: {BEGIN} outside a function; a region lies inside a function's body"
                )
            kept += [indent + stub for stub in STUB]
        elif mark == END:
            if not opened:
                raise CourseError(f"{where}, line {number}: {END} without {BEGIN}; remove it or open a region above")
            opened = 0
        elif re.search(r"(BEGIN|END)\s+SOLUTION", line):
            raise CourseError(
                f"{where}, line {number}: {mark!r} is almost a marker; write exactly {BEGIN} or {END} on its own line"
            )
        elif not opened:
            kept.append(line)
    if opened:
        raise CourseError(f"{where}, line {opened}: {BEGIN} is never closed; add {END}")
    return "\n".join(kept)


def strip_text(text: str, where: str) -> str:
    """Cut each model answer of a report down to a place for the student's own."""
    pieces = re.split(f"({re.escape(BEGIN_TEXT)}|{re.escape(END_TEXT)})", text)
    kept: list[str] = []
    opened = 0
    for i, piece in enumerate(pieces):
        line = "".join(pieces[:i]).count("\n") + 1
        if piece == BEGIN_TEXT:
            if opened:
                raise CourseError(
                    f"{where}, line {line}: {BEGIN_TEXT} inside the region that line {opened} opened; close it first"
                )
            opened = line
            kept.append(ANSWER)
        elif piece == END_TEXT:
            if not opened:
                raise CourseError(
                    f"{where}, line {line}: {END_TEXT} without {BEGIN_TEXT}; remove it or open a region above"
                )
            opened = 0
        elif not opened:
            kept.append(piece)
    if opened:
        raise CourseError(f"{where}, line {opened}: {BEGIN_TEXT} is never closed; add {END_TEXT}")
    return "".join(kept)
