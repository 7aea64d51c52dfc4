"""A part as nbgrader's source notebook.

It has the reference's cells, and one cell for each thing that earns points.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from autograder.config import PartConfig
from autograder.course.cut_solutions import BEGIN, strip_code
from autograder.errors import CourseError
from autograder.grading.scoring import worth
from autograder.handed_in.notebook import OURS
from autograder.handed_in.percent_cells import Cell, cells_of
from autograder.lab import Check, Part

Json = dict[str, Any]
SOLUTION = {"solution": True}
GIVEN = {"locked": True}
CHECK = {"grade": True, "locked": True}
RUBRIC = {"task": True, "locked": True}
PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}
HANDOUT = """The handout of this part is [handout/{part}.md](handout/{part}.md): the rules, \
what usually goes wrong,
what to expect. The checks come with perflab: `pip install perflab-*.whl`, \
the file that your course hands out."""
PRACTICE = """## Check your work

Save the notebook, then run the next cell: it runs the checks that grade you, \
on the file as it was saved. The cells
below it show one check each."""
JUDGED = """## How it is graded

One cell for each check. Its output counts for nothing: for the grade, \
perflab runs what you wrote above again, in a
process of its own, and judges it from outside."""


def notebook(
    part: Part,
    config: PartConfig,
    source: str,
    texts: Mapping[str, str],
    ours: Json,
) -> Json:
    """Make the source notebook of a part; *texts* are its reports as students get them."""
    most = {name: check.points for name, check in config.checks.items()}
    most |= config.rubric
    if config.bonus:  # nbgrader calls it extra credit
        most = dict.fromkeys(most, 0.0)
    practice = f"%load_ext autograder.nbgrader.magic\n%perflab {part.id}"
    cells = [
        text_cell("handout-text", HANDOUT.format(part=part.id)),
        *map(_from_source, cells_of(source, part.file)),
        text_cell("practice-text", PRACTICE),
        code_cell("practice", practice, GIVEN),
        text_cell("judged-text", JUDGED),
    ]
    checks = part.checks.values()
    cells += [_check_cell(part, check, most[check.name]) for check in checks]
    for name, text in texts.items():
        cells += _report_cells(name, text)
    criteria = config.says.items()
    cells += [_rubric_cell(name, criterion, most[name]) for name, criterion in criteria]
    _refuse_twins([cell["id"] for cell in cells], part)
    metadata = {
        "kernelspec": PYTHON,
        "language_info": {"name": "python"},
        OURS: {**ours, "part": part.id},
    }
    return of_cells(cells, metadata)


def of_cells(cells: list[Json], metadata: Json) -> Json:
    """Make a notebook of cells."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": metadata,
        "cells": cells,
    }


def _refuse_twins(names: list[str], part: Part) -> None:
    twins = [name for name in names if names.count(name) > 1]
    if twins:
        raise CourseError(
            f"{part.file}: two cells of its notebook would be called {twins[0]}; "
            "rename the function"
        )


def student_version(notebook: Json, where: str) -> Json:
    """Cut the solutions out, as `nbgrader generate_assignment` does."""
    cells = []
    for cell in notebook["cells"]:
        source = strip_code(cell["source"], where)
        cells.append({**cell, "source": source})
    return {**notebook, "cells": cells}


def code_cell(
    name: str,
    source: str,
    role: Json | None = None,
    most: float | None = None,
) -> Json:
    """Make a code cell; a role makes it nbgrader's."""
    cell = _cell(name, "code", source, role, most)
    return {**cell, "execution_count": None, "outputs": []}


def text_cell(
    name: str,
    source: str,
    role: Json | None = None,
    most: float | None = None,
) -> Json:
    """Make a text cell."""
    return _cell(name, "markdown", source, role, most)


def nbgrader_metadata(
    name: str,
    cell_type: str,
    role: Json,
    most: float | None = None,
) -> Json:
    """Write what nbgrader keeps of a cell, in its format 3."""
    flags = {"grade": False, "solution": False, "locked": False, "task": False, **role}
    points = {} if most is None else {"points": most}
    return {
        "schema_version": 3,
        "grade_id": name,
        "cell_type": cell_type,
        **flags,
        **points,
    }


def _cell(
    name: str,
    kind: str,
    source: str,
    role: Json | None,
    most: float | None,
) -> Json:
    metadata = {"nbgrader": nbgrader_metadata(name, kind, role, most)} if role else {}
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": source}


def _from_source(cell: Cell) -> Json:
    if not cell.code:
        return text_cell(f"text-{cell.number}", cell.source)
    if BEGIN in cell.source:
        before = cell.source[: cell.source.index(BEGIN)]
        names = re.findall(r"^(?:async )?(?:def|class) (\w+)", before, re.MULTILINE)
        return code_cell(names[-1], cell.source, SOLUTION)
    experiment = cell.source.startswith("if __name__")  # for students to change
    return code_cell(f"given-{cell.number}", cell.source, None if experiment else GIVEN)


def _check_cell(part: Part, check: Check, most: float) -> Json:
    title = check.title.replace("{bar}", "the bar of the device")
    source = f"# {check.name}, {worth(most)}: {title}\n%perflab {part.id}.{check.name}"
    return code_cell(check.name, source, CHECK, most)


def _rubric_cell(name: str, criterion: str, most: float) -> Json:
    text = f"**{criterion}** ({worth(most)}): a person reads your answers above."
    return text_cell(name, text, RUBRIC, most)


def _report_cells(file: str, text: str) -> Iterator[Json]:
    """Make one cell for each question: its headings begin them."""
    stem = file.partition(".")[0]
    for number, piece in enumerate(re.split(r"\n(?=## )", text), 1):
        cell = text_cell(f"{stem}-{number}", piece.strip("\n"))
        yield {**cell, "metadata": {OURS: {"file": file}}}
