"""What nbgrader_config.py puts into nbgrader.

nbgrader never runs what was handed in, and takes its verdicts from perflab.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor
from traitlets import Bool, Unicode

from autograder.course.build import SHARED
from autograder.course.own_course import RELEASED
from autograder.errors import NotGradedError, SubmissionError, UserError
from autograder.handed_in import notebook
from autograder.handed_in.unpack import CAPS, in_words
from autograder.nbgrader import gradebook, late, leaks
from autograder.nbgrader.release import HANDOUT, STUDENTS
from autograder.nbgrader.results import Source, programs_of, rules, verdict
from autograder.nbgrader.source_notebook import code_cell, of_cells, text_cell
from autograder.nbgrader.verdict_cells import show
from autograder.results import standing

Step = tuple[Any, Any]
"""A notebook and nbgrader's resources."""
RESULTS = "what `perflab grade --out` writes"
FENCE = "the sandbox around submissions: bubblewrap or none"


class GradedNotebook(NotebookExporter):
    """Every step of `nbgrader autograde` goes through here.

    What fails in any of them leaves the student ungraded.
    """

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> Step:
        """Convert one notebook; no exception leaves as one that would stop the batch."""
        try:
            _refuse_unfit(Path(filename))
            step: Step = super().from_filename(filename, resources=resources, **options)
        except Exception as error:
            names = resources["nbgrader"]
            reason = _reason(error, Path(filename).name)
            with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
                gradebook.unsettle(book, names["assignment"], names["student"], reason)
            cause = None if isinstance(error, UserError) else error
            raise NotGradedError(f"{names['student']} stays ungraded: {reason}") from cause
        return step

    def from_file(self, file_stream: Any, resources: Any = None, **options: Any) -> Step:
        """Read what `perflab grade` can read.

        The gradebook says which cell is which, and what a locked one contains.
        """
        written = notebook.parsed(file_stream.buffer.read())
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as book:
            stored = book.find_notebook(names["notebook"], names["assignment"])
            released = gradebook.released_cells(stored)
        cells = _sound_cells(written["cells"], released)
        numbered = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
        sound = of_cells(numbered, {})
        step: Step = self.from_notebook_node(  # type: ignore[no-untyped-call]
            _node(sound), resources=resources, **options
        )
        return step


def _refuse_unfit(path: Path) -> None:
    if not path.is_file():
        raise NotGradedError(f"{path.name} is no file")
    if path.stat().st_size > CAPS.notebook:
        most = in_words(CAPS.notebook)
        raise NotGradedError(f"{path.name} is larger than {most}; clear its outputs")


def _reason(error: Exception, file: str) -> str:
    if isinstance(error, SubmissionError):
        return f"{file}: {error}"
    if isinstance(error, UserError):
        return str(error)
    return f"{type(error).__name__}: {error}"


class Verdicts(NbGraderPreprocessor):
    """Runs instead of the notebook.

    It puts the result of perflab into the gradebook, and into the cells for the feedback.
    """

    course = Unicode("", help="the folder with grading_config.yaml").tag(config=True)
    results = Unicode("results/{assignment}", help=RESULTS).tag(config=True)
    grade_when_absent = Bool(True, help="grade what has no result yet").tag(config=True)
    isolation = Unicode("bubblewrap", help=FENCE).tag(config=True)
    device = Unicode("auto", help="auto, cpu or cuda:N").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Raise before anything is written when there is no verdict."""
        names = resources["nbgrader"]
        lab = names["assignment"]
        student = names["student"]
        handed_in = self._handed_in(student, lab)
        result = verdict(self.source(lab), student, handed_in)
        parts = {path.stem for path in handed_in.glob("*.ipynb")}
        with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
            for line in gradebook.record(book, lab, student, result, parts):
                self.log.warning("%s: %s", student, line)
        part = next(part for part in result.parts if part.id == names["notebook"])
        show(nb.cells, part, result.notes)
        nb.cells = [_node(cell) for cell in nb.cells]
        return nb, resources

    def source(self, lab: str) -> Source:
        """Return where results are, and how a missing one is made."""
        isolation: Any = self.isolation
        return Source(
            course=Path(self.course),
            lab=lab,
            folder=Path(self.results.format(assignment=lab)),
            grade_when_absent=self.grade_when_absent,
            isolation=isolation,
            device=self.device,
        )

    def _handed_in(self, student: str, assignment: str) -> Path:
        # The exporter's converter has it.
        course = self.parent.parent.coursedir
        return Path(course.format_path(course.submitted_directory, student, assignment))


class LatePolicy(AssignLatePenalties):  # type: ignore[misc]
    """Runs after Verdicts: lateness costs what the lab's policy says.

    Where a lab has none, it costs what nbgrader's says.
    """

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Never both: what is written last is all that is taken."""
        names = resources["nbgrader"]
        lab = names["assignment"]
        student = names["student"]
        source = Verdicts(parent=self.parent).source(lab)
        held_to = rules(source)
        if not late.governs(held_to, lab):
            return super().preprocess(nb, resources)  # type: ignore[no-any-return]
        result = standing.load(source.folder / student / standing.RESULT)
        with Gradebook(names["db_url"]) as book, gradebook.one_writer(book):
            taken = late.take(book, lab, student, result, source.folder, held_to)
        if taken:
            self.log.info("perflab: %s, %s: %s", student, lab, taken)
        return nb, resources


class RefuseLeaks(NbGraderPreprocessor):
    """Runs last of `nbgrader generate_assignment`.

    No line of the solution is in what it writes.
    """

    def preprocess(self, nb: Any, resources: Any) -> Step:
        """Compare with the source notebook."""
        names = resources["nbgrader"]
        lab = names["assignment"]
        course = self.parent.parent.coursedir
        home = Path(course.format_path(course.source_directory, names["student"], lab))
        _refuse_solution(home, f"{names['notebook']}.ipynb", nb)
        programs = programs_of(Verdicts(parent=self.parent).source(lab))
        _refuse_strangers(home, programs)
        return nb, resources


def _refuse_solution(home: Path, file: str, released: Any) -> None:
    source = json.loads((home / file).read_text(encoding="utf-8"))
    public = [
        path.read_text(errors="replace")
        for folder in (*SHARED, HANDOUT)
        for path in (home / folder).rglob("*.[pm][yd]")
    ]
    hidden = leaks.secrets(["".join(cell["source"]) for cell in source["cells"]], public)
    problems = leaks.in_notebook(file, released, hidden)
    if problems:
        raise UserError(f"students would see a line of the solution in {problems[0]}; take it out")


def _refuse_strangers(home: Path, programs: list[str]) -> None:
    """Refuse what nobody means to hand out, such as the results of a reference that was run there.

    nbgrader hands out everything that lies there.
    """
    ours = {*home.glob("*.ipynb"), *home.glob("perflab-*.whl")}
    ours |= {
        home / name for name in (*SHARED, HANDOUT, RELEASED, STUDENTS, "pytest.ini", *programs)
    }
    strangers = sorted(set(home.iterdir()) - ours)
    if strangers:
        raise UserError(f"{strangers[0]} would be handed out; remove it, or move it into given/")


def _sound_cells(written: list[Any], released: dict[str, Any]) -> list[Any]:
    """Make valid cells; of a cell that is there twice the last copy counts, as one of
    nbgrader's.
    """
    left = dict(released)
    # Backwards, so that the last copy is met first.
    cells = [_sound(cell, left) for cell in reversed(written) if isinstance(cell, dict)]
    missing = [
        cell for _, cell in sorted(left.items()) if not cell["metadata"]["nbgrader"]["solution"]
    ]
    return [*reversed(cells), *missing]


def _sound(cell: Any, released: dict[str, Any]) -> Any:
    """Make a valid cell: one of nbgrader's as it was released, once.

    What students wrote is kept where they were to write. Other metadata than its name stay out:
    they may be of any form, or hide a cell.
    """
    # Half characters cannot be written.
    source = notebook.source_of(cell).encode(errors="replace").decode()
    metadata = notebook.record(cell.get("metadata"))
    name = notebook.record(metadata.get("nbgrader")).get("grade_id")
    if isinstance(name, str) and name in released:
        ours = released.pop(name)
        is_locked = ours["metadata"]["nbgrader"]["locked"]
        return ours if is_locked else {**ours, "source": source}
    if cell.get("cell_type") == "code":
        return code_cell("", source)
    sound = text_cell("", source)
    sound["cell_type"] = "raw" if cell.get("cell_type") == "raw" else "markdown"
    attachments = notebook.record(cell.get("attachments")).items()
    attached = {file: data for file, data in attachments if isinstance(data, dict)}
    if attached:
        sound["attachments"] = attached
    return sound


def _node(cell: Any) -> Any:
    from nbformat import from_dict

    return from_dict(cell)  # type: ignore[no-untyped-call]
