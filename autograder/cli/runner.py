"""perflab report, replay, forget: results shown again, graded again, removed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import click

from autograder.cli.base import (
    CHECK_FAILED,
    DONE,
    cli,
    course_option,
    device_option,
    isolation_option,
    json_option,
    open_course,
    roster_option,
)
from autograder.cli.pages import show_again
from autograder.errors import UserError


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@roster_option
@click.option(
    "--anonymous",
    is_flag=True,
    help="Also anonymous.html: the class page under pseudonyms, to show to it.",
)
@course_option
def report(folder: Path, roster: Path | None, anonymous: bool, root: Path | None) -> int:
    """Write the pages and grades.csv of a folder of results again, with lateness and what was set by hand.

    \b
    Example:  perflab report results
    """
    show_again(folder, open_course(root), roster, anonymous=anonymous)
    return DONE


@cli.command()
@click.argument("folder", metavar="RESULT", type=click.Path(path_type=Path))
@isolation_option
@course_option
@device_option
@json_option
def replay(
    folder: Path,
    isolation: Literal["bubblewrap", "none"],
    root: Path | None,
    device: str,
    as_json: bool,
) -> int:
    """Grade one result again, with its seed and the files that were kept, and say what differs.

    RESULT is a folder below --out, or its result.json. Exit status 1 when points moved.

    \b
    Example:  perflab replay results/ada
    """
    from dataclasses import asdict

    from autograder.batch.replay import replay as again
    from autograder.batch.store import RESULT
    from autograder.grading.session import open_session
    from autograder.result_file import load_result
    from autograder.results import diff
    from autograder.results.agenda import is_judged
    from autograder.traces.words import many

    folder = folder.parent if folder.name == RESULT else folder
    old = load_result(folder / RESULT)
    course = open_course(root)
    with open_session(course.config.tier, device, isolation, rehearsal=False) as session:
        new = again(folder, old, course, session)
    differences = [*diff.circumstances(old, new), *diff.outcomes(old, new)]
    if as_json:
        click.echo(json.dumps([asdict(difference) for difference in differences], indent=1))
    else:
        for difference in differences:
            click.echo(difference)
        scores = f"{old.score:g} -> {new.score:g} of {new.max_score:g}"
        none_ran = "" if is_judged(new) else "; nothing was run: the upload cannot be read"
        click.echo(f"{new.submission}: {scores}; {many(len(differences), 'difference')}{none_ran}")
    moved = any(difference.moves_points for difference in differences)
    return CHECK_FAILED if moved else DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("students", nargs=-1)
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Whoever was graded longer ago than that.",
)
@roster_option
@course_option
def forget(
    folder: Path,
    students: tuple[str, ...],
    older_than: float | None,
    roster: Path | None,
    root: Path | None,
) -> int:
    """Remove what is kept of STUDENTS in FOLDER: files, results, pages, overrides, rows of the journal and of tables.

    What they handed in lies elsewhere, and so does what was exported; a roster is yours to edit.

    \b
    Example:  perflab forget results ada
    """
    from datetime import UTC, datetime

    from autograder.batch import forget as memory
    from autograder.machine.turns import only_one

    if bool(students) == (older_than is not None):
        raise UserError("forget: name students, or say --older-than DAYS, and not both")
    with only_one(folder):
        if students:
            names = memory.submissions_of(folder, students)
        else:
            names = memory.older_than(folder, older_than or 0, datetime.now(UTC))
            if names and sys.stdin.isatty():  # a crontab is asked nothing
                click.confirm(f"remove all that is kept of {', '.join(names)}?", abort=True)
        attempts = memory.forget(folder, names) if names else 0
    click.echo(
        f"{len(names)} submission(s) and {attempts} attempt(s) removed: {', '.join(names) or 'nothing to do'}"
    )
    if names and any(folder.glob("*/result.json")):
        show_again(folder, open_course(root), roster)
    return DONE
