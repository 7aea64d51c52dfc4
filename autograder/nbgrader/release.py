"""`perflab release`: a course folder for nbgrader, the plain files as a zip; refuses what gives the solution away."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from autograder import course as finding
from autograder.course import Course, own, read_tree
from autograder.course.build import SHARED, built, stale
from autograder.course.judged import with_table
from autograder.errors import CourseError, UserError
from autograder.handed_in.submission import zipped
from autograder.nbgrader import leaks, source

CONFIG = "nbgrader_config.py"
TEMPLATE = Path(__file__).parent / CONFIG
HANDOUT = "handout"
COURSE = "autograder/_course/"  # in the wheel
BUILD = "pip wheel --no-deps -w dist ."


def release(course: Course, lab: str, to: Path, wheel: Path | None = None) -> list[Path]:
    """Write DIR/course/source/LAB and DIR/students/LAB.zip; nothing is written when something leaks.

    Both hold the handouts, and the *wheel* that students install.
    """
    if behind := stale(course, lab):
        raise CourseError(
            f"student_template/{lab}/{behind[0]} is not current; run perflab build, then release"
        )
    files = built(course, lab)
    handouts = {f"{HANDOUT}/{name}": data for name, data in _handouts(course, lab).items()}
    notebooks = _notebooks(course, lab, files)
    _refuse_leaks(course, lab, files, handouts, notebooks)
    beside_them = {**handouts, **own.released(course.root, lab, files)}
    beside_them |= _wheel(course, lab, files, wheel) if wheel else {}
    home = to / "course" / "source" / lab
    programs = {
        name for part in course.lab(lab).parts for name in part.programs
    }  # no notebook stands for them
    beside = {"pytest.ini", *programs}
    shared = {
        name: data for name, data in files.items() if name.startswith(SHARED) or name in beside
    }
    written = [_write(home / name, data) for name, data in {**shared, **beside_them}.items()]
    written += [
        _write(home / f"{name}.ipynb", _json(notebook)) for name, notebook in notebooks.items()
    ]
    config = to / "course" / CONFIG
    if not config.exists():  # an instructor may have added to it
        written.append(_write(config, settings(course.root).encode()))
    everything = {f"{lab}/{name}": data for name, data in {**files, **beside_them}.items()}
    return [*written, _write(to / "students" / f"{lab}.zip", zipped(everything))]


def _wheel(course: Course, lab: str, files: Mapping[str, bytes], wheel: Path) -> dict[str, bytes]:
    """Read the wheel; one that holds other points or another template would show students something else."""
    if not is_zipfile(wheel):
        raise UserError(f"--wheel {wheel}: this is no wheel; {BUILD} makes one")
    with ZipFile(wheel) as archive:
        inside = {
            name: archive.read(name) for name in archive.namelist() if name.startswith(COURSE)
        }
    if own.is_own(course.root):  # the lab goes beside it
        return {wheel.name: wheel.read_bytes()}
    wanted = {f"student_template/{lab}/{name}": data for name, data in files.items()}
    wanted[finding.CONFIG] = (course.root / finding.CONFIG).read_bytes()
    if other := next(
        (name for name, data in wanted.items() if inside.get(f"{COURSE}{name}") != data), ""
    ):
        raise CourseError(
            f"{wheel}: holds another {other} than this course; build it again: {BUILD}"
        )
    return {wheel.name: wheel.read_bytes()}


def _handouts(course: Course, lab: str) -> dict[str, bytes]:
    """Read the handouts, their tables as this course judges, without the parts that it does without."""
    stems = {name.partition(".")[0] for name in course.left_out(lab)}
    found = read_tree(course.root / "assignments" / lab)
    shown = {
        name: data for name, data in found.items() if Path(name).name.partition(".")[0] not in stems
    }
    for part in course.lab(lab).parts:
        if data := shown.get(f"{part.id}.md"):
            config = course.config.labs[lab].parts[part.id]
            shown[f"{part.id}.md"] = with_table(data.decode(), part, config).encode()
    gone = {f"]({stem}.md)" for stem in stems}
    return {
        name: _without(data, gone) if name.endswith(".md") else data for name, data in shown.items()
    }


def _without(text: bytes, marks: Collection[str]) -> bytes:
    lines = text.decode().splitlines(keepends=True)
    return "".join(line for line in lines if not any(mark in line for mark in marks)).encode()


def settings(root: Path) -> str:
    """Write nbgrader's settings for the course of perflab in *root*."""
    return TEMPLATE.read_text(encoding="utf-8").replace('"{course}"', repr(str(root.resolve())))


def _notebooks(course: Course, lab: str, files: Mapping[str, bytes]) -> dict[str, source.Json]:
    """Every part as a source notebook, by its id."""
    config, ours = (
        course.config.labs[lab],
        {"lab": lab, "version": str(course.config.labs[lab].version)},
    )
    found = {}
    for part in course.lab(lab).parts:
        text = (course.reference(lab) / part.file).read_text(encoding="utf-8")
        texts = {
            name: files[name].decode() for name in part.artefacts.values() if name.endswith(".md")
        }
        found[part.id] = source.notebook(part, config.parts[part.id], text, texts, ours)
    return found


def _refuse_leaks(
    course: Course,
    lab: str,
    files: Mapping[str, bytes],
    handouts: Mapping[str, bytes],
    notebooks: Mapping[str, Any],
) -> None:
    """What handouts, given/ and baseline/ show is shown on purpose; everything else is compared with the reference."""
    shown = {**handouts, **{name: data for name, data in files.items() if name.startswith(SHARED)}}
    sources = [
        data
        for name, data in read_tree(course.reference(lab)).items()
        if name.endswith((".py", ".md"))
    ]
    hidden = leaks.secrets(
        map(bytes.decode, sources), [data.decode(errors="replace") for data in shown.values()]
    )
    found = [
        problem
        for name, data in {**handouts, **files}.items()
        for problem in leaks.in_file(name, data, hidden)
    ]
    for name, notebook in notebooks.items():
        found += leaks.in_notebook(name, source.student_version(notebook, name), hidden)
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise UserError(
            f"release {lab}: students would see a line of the solution in {found[0]}{more}; take it out"
        )


def _json(notebook: source.Json) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
