"""`perflab release`: a course folder for nbgrader, and the plain files as a zip.

It refuses what gives the solution away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from autograder import course as finding
from autograder.course import Course, own_course, read_tree
from autograder.course.build import SHARED, built, stale
from autograder.course.handout_tables import with_table
from autograder.errors import CourseError, UserError
from autograder.handed_in.submission import zipped
from autograder.nbgrader import leaks, source_notebook

CONFIG = "nbgrader_config.py"
TEMPLATE = Path(__file__).parent / CONFIG
HANDOUT = "handout"
STUDENTS = "students.md"
COURSE = "autograder/_course/"
"""Where the course is in the wheel."""
BUILD = "pip wheel --no-deps -w dist ."


def release(course: Course, lab: str, to: Path, wheel: Path | None = None) -> list[Path]:
    """Write DIR/course/source/LAB and DIR/students/LAB.zip.

    Nothing is written when something leaks.

    Both hold the handouts, and the *wheel* that students install.
    """
    behind = stale(course, lab)
    if behind:
        raise CourseError(
            f"{behind[0]} is not current; run perflab build, then perflab release again"
        )
    files = built(course, lab)
    handouts = {f"{HANDOUT}/{name}": data for name, data in handouts_of(course, lab).items()}
    notebooks = _notebooks(course, lab, files)
    _refuse_leaks(course, lab, files, handouts, notebooks)
    added = {**handouts, **_how_to_begin(), **own_course.released(course.root, lab, files)}
    if wheel:
        added |= _wheel(course, lab, files, wheel)
    source_files = {**_beside_notebooks(course, lab, files), **added}
    for name, notebook in notebooks.items():
        source_files[f"{name}.ipynb"] = _json(notebook)
    home = to / "course" / "source" / lab
    _remove_left_out(home, course.left_out(lab))
    written = [_write(home / name, data) for name, data in source_files.items()]
    config = to / "course" / CONFIG
    if not config.exists():  # an instructor may have added to it
        written.append(_write(config, settings(course.root).encode()))
    everything = {f"{lab}/{name}": data for name, data in {**files, **added}.items()}
    written.append(_write(to / "students" / f"{lab}.zip", zipped(everything)))
    return written


def _how_to_begin() -> dict[str, bytes]:
    """Read the page for students, of the wheel or the checkout."""
    pages = [root / "docs" / STUDENTS for root in (finding.PACKAGED, finding.CHECKOUT)]
    return {STUDENTS: next(page for page in pages if page.is_file()).read_bytes()}


def _remove_left_out(home: Path, left_out: AbstractSet[str]) -> None:
    """Remove what an earlier release wrote of parts that this course does without by now."""
    for file in [it for it in home.rglob("*") if it.is_file()]:
        if {file.stem, file.relative_to(home).as_posix()} & left_out:
            file.unlink()


def _beside_notebooks(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Return the files of a template that no notebook stands for."""
    names = {"pytest.ini"}
    for part in course.lab(lab).parts:
        names |= set(part.programs)
    return {name: data for name, data in files.items() if name.startswith(SHARED) or name in names}


def where_wheels_are(course: Course) -> str:
    """Say where there is a wheel for students; a course of one's own makes none."""
    if own_course.is_own(course.root):
        return (
            "the file from which you installed perflab, or in a checkout of perflab "
            f"what {BUILD} makes"
        )
    return f"what {BUILD} makes"


def _wheel(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
    wheel: Path,
) -> dict[str, bytes]:
    """Read the wheel.

    One that holds other points or another template would show students something else.
    """
    if not is_zipfile(wheel):
        raise UserError(f"--wheel {wheel}: this is no wheel; name {where_wheels_are(course)}")
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(COURSE)]
        inside = {name: archive.read(name) for name in names}
    if not own_course.is_own(course.root):  # else the lab goes beside it
        expected = {f"student_template/{lab}/{name}": data for name, data in files.items()}
        expected[finding.CONFIG] = (course.root / finding.CONFIG).read_bytes()
        for name, data in expected.items():
            if inside.get(f"{COURSE}{name}") != data:
                raise CourseError(
                    f"{wheel}: holds another {name} than this course; build it again: {BUILD}"
                )
    return {wheel.name: wheel.read_bytes()}


def handouts_of(course: Course, lab: str) -> dict[str, bytes]:
    """Read the handouts, with tables as this course judges, and without parts that are off."""
    stems = {_stem(name) for name in course.left_out(lab)}
    handouts = {
        name: data
        for name, data in read_tree(course.root / "assignments" / lab).items()
        if _stem(Path(name).name) not in stems
    }
    for part in course.lab(lab).parts:
        data = handouts.get(f"{part.id}.md")
        if data:
            config = course.config.labs[lab].parts[part.id]
            handouts[f"{part.id}.md"] = with_table(data.decode(), part, config).encode()
    links = {f"]({stem}.md" for stem in stems}
    return {
        name: _without(data, links) if name.endswith(".md") else data
        for name, data in handouts.items()
    }


def _stem(name: str) -> str:
    return name.partition(".")[0]


def _without(text: bytes, marks: Collection[str]) -> bytes:
    lines = text.decode().splitlines(keepends=True)
    kept = [line for line in lines if not any(mark in line for mark in marks)]
    return "".join(kept).encode()


def settings(root: Path) -> str:
    """Write nbgrader's settings for the course of perflab in *root*."""
    template = TEMPLATE.read_text(encoding="utf-8")
    return template.replace('"{course}"', repr(str(root.resolve())))


def _notebooks(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
) -> dict[str, source_notebook.Json]:
    """Make every part a source notebook, by its id."""
    config = course.config.labs[lab]
    ours = {"lab": lab, "version": str(config.version)}
    notebooks = {}
    for part in course.lab(lab).parts:
        text = (course.reference(lab) / part.file).read_text(encoding="utf-8")
        names = [name for name in part.artefacts.values() if name.endswith(".md")]
        texts = {name: files[name].decode() for name in names}
        notebooks[part.id] = source_notebook.notebook(
            part, config.parts[part.id], text, texts, ours
        )
    return notebooks


def _refuse_leaks(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
    handouts: Mapping[str, bytes],
    notebooks: Mapping[str, Any],
) -> None:
    """Compare all files with the reference.

    What handouts, given/ and baseline/ show is shown on purpose.
    """
    hidden = _hidden(course, lab, files, handouts)
    problems = []
    for name, data in {**handouts, **files}.items():
        problems += leaks.in_file(name, data, hidden)
    for name, notebook in notebooks.items():
        problems += leaks.in_notebook(name, source_notebook.student_version(notebook, name), hidden)
    if problems:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise UserError(
            f"release {lab}: students would see a line of the solution in "
            f"{problems[0]}{more}; take it out"
        )


def _hidden(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
    handouts: Mapping[str, bytes],
) -> frozenset[str]:
    public = list(handouts.values())
    public += [data for name, data in files.items() if name.startswith(SHARED)]
    reference = read_tree(course.reference(lab))
    sources = [data for name, data in reference.items() if name.endswith((".py", ".md"))]
    return leaks.secrets(
        [data.decode() for data in sources],
        [data.decode(errors="replace") for data in public],
    )


def _json(notebook: source_notebook.Json) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
