"""reference/ -> student_template/: the same files with every solution cut out, byte for byte the same each time.

And in assignments/ the tables of each handout (judged.py) and the schemas of results. What fills figures into a report
has one source, checks/rendered.py; each lab whose given/ has it gets a copy.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from autograder.checks import rendered
from autograder.course import Course, read_tree
from autograder.course.judged import with_table
from autograder.errors import CourseError
from autograder.handed_in.notebook import STUB

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_TEXT, END_TEXT = "<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"
ANSWER = "*Your answer here.*"
SHARED = ("given", "baseline")  # handed out as they are
RENDERED = Path(rendered.__file__)  # students render a report with what the grader reads it with


def built(course: Course, lab_name: str) -> dict[str, bytes]:
    """Every file of the template, made from the reference."""
    source, lab = course.reference(lab_name), course.lab(lab_name)
    files = {
        f"{name}/{path}": data for name in SHARED for path, data in read_tree(source / name).items()
    }
    files = {
        name: data
        for name, data in files.items()
        if Path(name).name not in course.left_out(lab_name)
    }
    files |= {name: RENDERED.read_bytes() for name in files if name == f"given/{RENDERED.name}"}
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
    """Names of files that are missing, different, or not made by us, as seen from the course's folder."""
    want, folder = _wanted(course, lab_name), course.template(lab_name)
    have = {folder / name: data for name, data in read_tree(folder).items()}
    have |= {path: path.read_bytes() for path in want if path not in have and path.is_file()}
    return sorted(
        str(path.relative_to(course.root))
        for path in want | have
        if want.get(path) != have.get(path)
    )


def write(course: Course, lab_name: str) -> list[str]:
    """Bring template and handouts up to date; say which files changed."""
    want, changed = _wanted(course, lab_name), stale(course, lab_name)
    for target in (course.root / name for name in changed):
        if target in want:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(want[target])
        else:
            target.unlink()
    return changed


def _wanted(course: Course, lab_name: str) -> dict[Path, bytes]:
    folder, home = course.template(lab_name), course.root / "assignments" / lab_name
    want = {folder / name: data for name, data in built(course, lab_name).items()}
    if (copy := folder / "given" / RENDERED.name) in want:
        want[course.reference(lab_name) / "given" / RENDERED.name] = want[copy]
    handouts = {home / f"{part.id}.md": part for part in course.lab(lab_name).parts}
    config = course.config.labs[lab_name].parts
    told = {
        path: with_table(path.read_text(encoding="utf-8"), part, config[part.id])
        for path, part in handouts.items()
        if path.is_file()
    }
    schemas = {
        home / "schemas" / f"{Path(form.file).stem}.schema.json": json.dumps(
            form.schema(), indent=2
        )
        + "\n"
        for part in handouts.values()
        for form in part.tables
    }
    return want | {path: text.encode() for path, text in {**told, **schemas}.items()}


def _stripped(path: Path) -> bytes:
    if not path.is_file():
        raise CourseError(
            f"reference/{path.parent.name}/{path.name}: missing, but the part names it"
        )
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
                raise CourseError(
                    f"{where}, line {number}: {END} without {BEGIN}; remove it or open a region above"
                )
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
