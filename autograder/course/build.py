"""reference/ -> student_template/: the same files with every solution cut out.

The result is byte for byte the same each time. In assignments/ it writes the tables of each handout
(judged.py) and the schemas of results. What fills figures into a report has one source,
checks/rendered.py, and so has what counts launches, worker/rigs/would_launch.py; each lab whose given/
has a file of that name gets a copy.
"""

from __future__ import annotations

import json
from pathlib import Path

import autograder
from autograder.course import Course, read_tree
from autograder.course.cut_solutions import MARKERS, strip_code, strip_text
from autograder.course.handout_tables import with_table
from autograder.errors import CourseError

SHARED = ("given", "baseline")
"""Folders that are handed out as they are."""
HOME = Path(autograder.__file__).parent
COPIES = {
    path.name: path
    for path in (HOME / "checks" / "rendered.py", HOME / "worker" / "rigs" / "would_launch.py")
}
"""Students render a report, and count launches, with what the grader does it with."""


def built(course: Course, lab_name: str) -> dict[str, bytes]:
    """Make every file of the template from the reference."""
    source = course.reference(lab_name)
    files = _handed_out(course, lab_name)
    for part in course.lab(lab_name).parts:
        files[part.file] = _stripped(source / part.file)
        if part.is_compared and f"baseline/{part.file}" not in files:
            raise CourseError(
                f"reference/{lab_name}/baseline/{part.file}: missing, but {part.id} compares with "
                "it; write the slow version there"
            )
        for name in part.artefacts.values():
            if name.endswith((".md", ".py")):
                files[name] = _stripped(source / name)
    version = course.config.labs[lab_name].version
    own = f"perflab_lab = {lab_name}\nperflab_version = {version}\n"
    # -v: a check has its name before it is judged, which may take a minute.
    # -rN: each failure is shown once, in its four parts, and not again in a list at the end.
    ini = f"[pytest]\nrequired_plugins = perflab\n{own}addopts = -v -rN\n"
    files["pytest.ini"] = ini.encode()
    return files


def _handed_out(course: Course, lab_name: str) -> dict[str, bytes]:
    files = {}
    for folder in SHARED:
        tree = read_tree(course.reference(lab_name) / folder)
        for path, data in tree.items():
            if Path(path).name not in course.left_out(lab_name):
                files[f"{folder}/{path}"] = data
    copies = {f"given/{name}": source.read_bytes() for name, source in COPIES.items()}
    return files | {name: data for name, data in copies.items() if name in files}


def stale(course: Course, lab_name: str) -> list[str]:
    """Return the files that are missing, different, or not made by us.

    Their names are relative to the course's folder.
    """
    expected = _expected(course, lab_name)
    folder = course.template(lab_name)
    files = {folder / name: data for name, data in read_tree(folder).items()}
    for path in expected:
        if path.is_file():
            files[path] = path.read_bytes()
    return sorted(
        str(path.relative_to(course.root))
        for path in expected | files
        if expected.get(path) != files.get(path)
    )


def write(course: Course, lab_name: str) -> list[str]:
    """Bring template and handouts up to date; return which files changed."""
    expected = _expected(course, lab_name)
    changed = stale(course, lab_name)
    for target in (course.root / name for name in changed):
        if target in expected:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(expected[target])
        else:
            target.unlink()
    return changed


def _expected(course: Course, lab_name: str) -> dict[Path, bytes]:
    folder = course.template(lab_name)
    expected = {folder / name: data for name, data in built(course, lab_name).items()}
    for name in COPIES:
        copy = folder / "given" / name
        if copy in expected:
            expected[course.reference(lab_name) / "given" / name] = expected[copy]
    texts = _assignments(course, lab_name)
    return expected | {path: text.encode() for path, text in texts.items()}


def _assignments(course: Course, lab_name: str) -> dict[Path, str]:
    """Write the tables of each handout, and the schema of each table of results."""
    home = course.root / "assignments" / lab_name
    config = course.config.labs[lab_name].parts
    texts = {}
    for part in course.lab(lab_name).parts:
        handout = home / f"{part.id}.md"
        if not handout.is_file():
            raise CourseError(
                f"assignments/{lab_name}/{handout.name}: missing; it is the handout of {part.id}, "
                "and tells students what to write"
            )
        text = handout.read_text(encoding="utf-8")
        texts[handout] = with_table(text, part, config[part.id])
        for form in part.tables:
            schema = home / "schemas" / f"{Path(form.file).stem}.schema.json"
            texts[schema] = json.dumps(form.schema(), indent=2) + "\n"
    return texts


def _stripped(path: Path) -> bytes:
    where = f"reference/{path.parent.name}/{path.name}"
    if not path.is_file():
        raise CourseError(f"{where}: missing, but the part names it")
    text = path.read_text(encoding="utf-8")
    strip = strip_text if path.suffix == ".md" else strip_code
    stripped = strip(text, where)
    if stripped == text:
        begin, end = MARKERS[path.suffix]
        raise CourseError(
            f"{where}: has no {begin}, so students would get all of it; "
            f"write {begin} above each solution, and {end} below it"
        )
    return stripped.encode()
