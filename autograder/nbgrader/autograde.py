"""What nbgrader_config.py puts into nbgrader: it never runs what was handed in, and takes its verdicts from perflab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor
from traitlets import Bool, Unicode

from autograder.course.build import SHARED
from autograder.course.own import RELEASED
from autograder.errors import NotGradedError, SubmissionError, UserError
from autograder.handed_in import notebook
from autograder.handed_in.unpack import CAPS, in_words
from autograder.nbgrader import gradebook, late, leaks
from autograder.nbgrader.cells import show
from autograder.nbgrader.release import HANDOUT
from autograder.nbgrader.results import Source, programs_of, rules, verdict
from autograder.nbgrader.source import code_cell, text_cell
from autograder.results import standing

Step = tuple[Any, Any]  # a notebook and nbgrader's resources


class GradedNotebook(NotebookExporter):
    """Every step of `nbgrader autograde` goes through here: what fails in any of them leaves the student ungraded."""

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> Step:
        """Convert one notebook; no exception leaves as one that would stop the batch."""
        try:
            if not Path(filename).is_file():
                raise NotGradedError(f"{Path(filename).name} is no file")
            if Path(filename).stat().st_size > CAPS.notebook:
                raise NotGradedError(
                    f"{Path(filename).name} is larger than {in_words(CAPS.notebook)}; clear its outputs"
                )
            return super().from_filename(filename, resources=resources, **options)  # type: ignore[no-any-return]
        except Exception as error:
            where = f"{Path(filename).name}: " if isinstance(error, SubmissionError) else ""
            reason = (
                f"{where}{error}"
                if isinstance(error, UserError)
                else f"{type(error).__name__}: {error}"
            )
            names = resources["nbgrader"]
            with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
                gradebook.unsettle(book, names["assignment"], names["student"], reason)
            raise NotGradedError(f"{names['student']} stays ungraded: {reason}") from (
                None if isinstance(error, UserError) else error
            )

    def from_file(self, file_stream: Any, resources: Any = None, **options: Any) -> Step:
        """Read what `perflab grade` can read; which cell is what, and what a locked one says, the gradebook says."""
        found, names = notebook.parsed(file_stream.buffer.read()), resources["nbgrader"]
        with Gradebook(names["db_url"]) as book:
            known = gradebook.known_cells(
                book.find_notebook(names["notebook"], names["assignment"])
            )
        cells = [
            _sound(cell, known) for cell in reversed(found["cells"]) if isinstance(cell, dict)
        ]  # the last copy counts
        missing = [
            cell
            for _, cell in sorted(known.items())
            if not cell["metadata"]["nbgrader"]["solution"]
        ]
        cells = [
            {**cell, "id": f"cell-{number}"}
            for number, cell in enumerate([*reversed(cells), *missing])
        ]
        sound = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        return self.from_notebook_node(_node(sound), resources=resources, **options)  # type: ignore[no-any-return, no-untyped-call]


class Verdicts(NbGraderPreprocessor):
    """Runs instead of the notebook: the result of perflab into the gradebook, and into the cells for the feedback."""

    course = Unicode("", help="the folder with grading_config.yaml").tag(config=True)
    results = Unicode("results/{assignment}", help="what `perflab grade --out` writes").tag(
        config=True
    )
    grade_when_absent = Bool(True, help="grade what has no result yet").tag(config=True)
    isolation = Unicode("bubblewrap", help="the fence around submissions: bubblewrap or none").tag(
        config=True
    )
    device = Unicode("auto", help="auto, cpu or cuda:N").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Raise before anything is written when there is no verdict."""
        names = resources["nbgrader"]
        lab, student = names["assignment"], names["student"]
        handed_in = self._handed_in(student, lab)
        result = verdict(self.source(lab), student, handed_in)
        with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
            there = {path.stem for path in handed_in.glob("*.ipynb")}
            for line in gradebook.record(book, lab, student, result, there):
                self.log.warning("%s: %s", student, line)
        part = next(part for part in result.parts if part.id == names["notebook"])
        show(nb.cells, part, result.notes)
        nb.cells = [_node(cell) for cell in nb.cells]
        return nb, resources

    def source(self, lab: str) -> Source:
        """Say where results are, and how one is made."""
        folder = Path(self.results.format(assignment=lab))
        isolation: Any = self.isolation  # one of three words: traitlets sees to it
        return Source(
            Path(self.course), lab, folder, self.grade_when_absent, isolation, self.device
        )

    def _handed_in(self, student: str, assignment: str) -> Path:
        course = self.parent.parent.coursedir  # of the exporter's converter
        return Path(course.format_path(course.submitted_directory, student, assignment))


class LatePolicy(AssignLatePenalties):  # type: ignore[misc]
    """Runs after Verdicts: lateness costs what the lab's policy says; where a lab has none, what nbgrader's says."""

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Never both: what is written last is all that is taken."""
        names = resources["nbgrader"]
        lab, student = names["assignment"], names["student"]
        source = Verdicts(parent=self.parent).source(lab)
        held_to = rules(source)
        if not late.governs(held_to, lab):
            return super().preprocess(nb, resources)  # type: ignore[no-any-return]
        result = standing.load(source.folder / student / standing.RESULT)
        with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
            said = late.take(book, lab, student, result, source.folder, held_to)
        if said:
            self.log.info("perflab: %s, %s: %s", student, lab, said)
        return nb, resources


class RefuseLeaks(NbGraderPreprocessor):
    """Runs last of `nbgrader generate_assignment`: no line of the solution is in what it writes."""

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Compare with the source notebook."""
        names = resources["nbgrader"]
        course = self.parent.parent.coursedir
        home = Path(
            course.format_path(course.source_directory, names["student"], names["assignment"])
        )
        source = json.loads((home / f"{names['notebook']}.ipynb").read_text(encoding="utf-8"))
        shown = [path for name in (*SHARED, HANDOUT) for path in (home / name).rglob("*.[pm][yd]")]
        shared = [path.read_text(errors="replace") for path in shown]
        hidden = leaks.secrets(["".join(cell["source"]) for cell in source["cells"]], shared)
        if found := leaks.in_notebook(f"{names['notebook']}.ipynb", nb, hidden):
            raise UserError(f"students would see a line of the solution in {found[0]}; take it out")
        # nbgrader hands out everything that lies there, such as the results of a reference that was run there.
        programs = programs_of(Verdicts(parent=self.parent).source(names["assignment"]))
        folders = (*SHARED, HANDOUT, RELEASED, "pytest.ini", *programs)
        ours = [
            *home.glob("*.ipynb"),
            *home.glob("perflab-*.whl"),
            *(home / name for name in folders),
        ]
        if strangers := sorted(set(home.iterdir()) - set(ours)):
            raise UserError(
                f"{strangers[0]} would be handed out; remove it, or move it into given/"
            )
        return nb, resources


def _sound(cell: Any, known: dict[str, Any]) -> Any:
    """Make a valid cell: one of nbgrader's as it was released, once, with what was written where that was asked for.

    Other metadata than its name stay out: they may be of any form, or hide a cell.
    """
    source = (
        notebook.source_of(cell).encode(errors="replace").decode()
    )  # half characters cannot be written
    name = notebook.record(notebook.record(cell.get("metadata")).get("nbgrader")).get("grade_id")
    if isinstance(name, str) and name in known:
        ours = known.pop(name)
        return ours if ours["metadata"]["nbgrader"]["locked"] else {**ours, "source": source}
    if cell.get("cell_type") == "code":
        return code_cell("", source)
    attached = {
        k: v for k, v in notebook.record(cell.get("attachments")).items() if isinstance(v, dict)
    }
    return {
        **text_cell("", source),
        **({"attachments": attached} if attached else {}),
        "cell_type": "raw" if cell.get("cell_type") == "raw" else "markdown",
    }


def _node(cell: Any) -> Any:
    from nbformat import from_dict

    return from_dict(cell)  # type: ignore[no-untyped-call]
