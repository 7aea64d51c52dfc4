"""`perflab sync`: results straight into a gradebook, without nbgrader's own run.

Safe to do again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.batch.store import HANDED_IN, RESULT
from autograder.errors import NotGradedError, ReadError, SubmissionError, UserError
from autograder.handed_in import submission
from autograder.handed_in.notebook import OURS
from autograder.handed_in.roster import Roster
from autograder.model import PartResult, Result, Submission
from autograder.nbgrader import gradebook, late
from autograder.nbgrader.results import read_by_a_machine
from autograder.nbgrader.source_notebook import PYTHON, code_cell, of_cells, text_cell
from autograder.nbgrader.verdict_cells import show
from autograder.results import rubric, standing
from autograder.results.standing import Rules

MADE = {"made": "of files"}
OF_THE_EXCHANGE = ("timestamp.txt", "submission_secret.txt")
"""What `nbgrader release_feedback` needs of a submission."""


@dataclass(frozen=True)
class Synced:
    """What became of one result."""

    student: str
    problem: str = ""
    moved: tuple[str, ...] = ()
    """What moved in the gradebook and why, in lines."""
    late: str = ""
    """What lateness takes, or why that is not known."""


def sync(
    folder: Path,
    url: str,
    *,
    assignment: str = "",
    add_students: bool,
    feedback: Path | None,
    rules: Rules | None = None,
) -> Iterator[Synced]:
    """Write every result below *folder*.

    One that cannot be written is named, the others go on.
    """
    files = sorted(folder.glob(f"*/{RESULT}"))
    if not files:
        raise UserError(
            f"{folder}: no */{RESULT} here; give the folder that `perflab grade --out` wrote"
        )
    rules = rules or Rules()
    with opened(url) as book, gradebook.one_writer(book):
        for file in files:
            try:
                result = read_by_a_machine(standing.load(file))
                name = assignment or result.lab
                for student in students_of(result, rules):
                    own = replace(result, submission=student)
                    moved = _sync_one(book, name, own, rules.roster, add_students=add_students)
                    taken = late.take(book, name, student, result, folder, rules)
                    if feedback:
                        _write_notebooks(book, name, own, file.parent, feedback)
                    yield Synced(student, moved=tuple(moved), late=taken)
            except (NotGradedError, ReadError) as problem:
                book.db.rollback()
                yield Synced(file.parent.name, str(problem))


def students_of(result: Result, rules: Rules) -> list[str]:
    """Name whose result it is: each member's of a group."""
    members = rules.roster.members(result.submission) if rules.roster else ()
    return [member.student for member in members] or [result.submission]


def opened(url: str) -> Any:
    """Open a gradebook, or say in one line why not."""
    from nbgrader.api import Gradebook
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        parsed = make_url(url)
        if parsed.drivername == "sqlite":
            if not Path(parsed.database or "").is_file():
                raise UserError(
                    f"--gradebook {url}: there is no such file; "
                    "run nbgrader generate_assignment first"
                )
            # Seconds to wait while another process writes.
            parsed = parsed.update_query_dict({"timeout": "60"})
        return Gradebook(parsed.render_as_string(hide_password=False), "perflab")
    except SQLAlchemyError as error:
        words = str(error).partition("\n")[0]
        raise UserError(
            f"--gradebook: {words}; write sqlite:////path/gradebook.db or postgresql://..."
        ) from None


def _sync_one(
    book: Any,
    assignment: str,
    result: Result,
    roster: Roster | None,
    *,
    add_students: bool,
) -> list[str]:
    from nbgrader.api import MissingEntry

    try:
        book.find_assignment(assignment)
    except MissingEntry:
        raise UserError(
            f"the gradebook has no assignment '{assignment}': nbgrader generate_assignment first"
        ) from None
    try:
        book.find_student(result.submission)
    except MissingEntry:
        if not add_students:
            raise NotGradedError(
                f"no student {result.submission} in the gradebook; --add-students adds them"
            ) from None
        book.add_student(result.submission, **_details(roster, result.submission))
    return gradebook.record(book, assignment, result.submission, result)


def _details(roster: Roster | None, name: str) -> dict[str, str]:
    """Say of a student what the gradebook has a column for."""
    student = roster.by("student", name) if roster else None
    if student is None:
        return {}
    first, _, last = student.name.rpartition(" ")
    return {"first_name": first, "last_name": last, "email": student.email}


def _write_notebooks(
    book: Any,
    assignment: str,
    result: Result,
    home: Path,
    to: Path,
) -> None:
    """Write what `nbgrader generate_feedback` starts from.

    In what `nbgrader autograde` wrote, only the verdicts are new.
    """
    handed_in = _kept(home, result)
    for part in result.parts:
        target = to / result.submission / assignment / f"{part.id}.ipynb"
        notebook = _autograded(target)
        if notebook is None:
            released = gradebook.released_cells(book.find_notebook(part.id, assignment))
            cells = [_code_cell(handed_in, part, released), *_text_cells(home, result, part)]
            cells += [released[name] for name in _order(released, part)]
            metadata = {"kernelspec": PYTHON, OURS: MADE}
            notebook = of_cells(cells, metadata)
        show(notebook["cells"], part, result.notes)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # nbgrader leaves it read-only
        target.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    submitted = to.parent / "submitted" / result.submission / assignment
    for file in map(submitted.joinpath, OF_THE_EXCHANGE):
        if file.is_file() and not file.is_symlink():
            copy = to / result.submission / assignment / file.name
            copy.unlink(missing_ok=True)  # as the notebooks
            shutil.copyfile(file, copy)


def _autograded(file: Path) -> Any:
    """Read a notebook that nbgrader wrote, with the student's own cells, if there is one."""
    if not file.is_file():
        return None
    notebook = json.loads(file.read_text(encoding="utf-8"))
    is_ours = notebook["metadata"].get(OURS) == MADE
    return None if is_ours else notebook


def _kept(home: Path, result: Result) -> Submission:
    kept = home / HANDED_IN
    if not kept.is_file():
        return Submission(result.submission, result.submission_sha256, {})
    files = [f"{part.id}.py" for part in result.parts]
    try:
        return submission.unpacked(kept, result.submission, files)
    except SubmissionError as problem:
        raise NotGradedError(f"{kept}: cannot be read: {problem}; grade it again") from None


def _code_cell(handed_in: Submission, part: PartResult, released: Any) -> Any:
    """Put all code of a part into one cell: that of its first function, under which comments stand."""
    file = f"{part.id}.py"
    source = handed_in.files.get(file, f"# {file} was not handed in".encode())
    solutions = [it for it in released if released[it]["metadata"]["nbgrader"]["solution"]]
    role = released[min(solutions)] if solutions else code_cell("handed-in", "")
    return {**role, "source": source.decode(errors="replace")}


def _text_cells(home: Path, result: Result, part: PartResult) -> Sequence[Any]:
    """Return what the student wrote for a person, who gives points for it below; nothing of it is markup there."""
    text = rubric.written(standing.kept(home), part.id, [it.id for it in result.parts])
    shown = "  \n".join(map(gradebook.plain, text.splitlines()))
    return [text_cell("handed-in-text", shown)] if text else []


def _order(released: Any, part: PartResult) -> Sequence[str]:
    """Leave out other cells for solutions: they hold the template, and not what was handed in."""
    ours = ["practice"] if "practice" in released else []
    return [*ours, *(check.id for check in part.checks)]
