"""perflab grade-one: what a job of a cluster runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import DONE, cli
from autograder.errors import PerflabError, UserError

if TYPE_CHECKING:
    from autograder.batch.job import Grader

ANSWERS = "-"


@cli.command("grade-one")
@click.argument("files", metavar="JOB...", nargs=-1, required=True, type=click.Path(path_type=Path))
def grade_one(files: tuple[Path, ...]) -> int:
    """Grade what each JOB, a job.json, names, and write its result.json; print where that is.

    With - instead, names of jobs are read from standard input, one a line, and each is answered by a line of JSON.

    \b
    Example:  perflab grade-one jobs/17.json
    """
    from autograder.batch.job import Grader, read

    with Grader() as grader:
        if files == (Path(ANSWERS),):
            _answer(grader)
            return DONE
        for file in files:
            if not read(file).submission:
                raise UserError(f"{file}: names no submission")
            click.echo(grader(file)["result"])
    return DONE


def _answer(grader: Grader) -> None:
    """Serve whoever started this, and end with it; what is wrong with the course or the machine stops a class."""
    from autograder.errors import NOWHERE_TO_WRITE, nowhere
    from autograder.machine.device import node
    from autograder.machine.processes import die_with

    die_with(os.getppid())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is no answer
    for line in sys.stdin:
        try:
            answer = grader(Path(line.rstrip("\n")))
        except PerflabError as problem:
            answer = {"stop": f"node {node()}: {problem}"}
        except OSError as problem:
            if problem.errno not in NOWHERE_TO_WRITE:
                raise
            answer = {"stop": f"node {node()}: {nowhere(problem)}"}
        print(json.dumps(answer), file=answers)
