"""perflab release, sync: for courses that live in nbgrader."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import (
    DONE,
    USER_ERROR,
    cli,
    course_option,
    open_course,
    roster_option,
    rules_for,
)
from autograder.cli.pages import show_again, who
from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.results.standing import Rules


@cli.command()
@click.argument("lab")
@click.option(
    "--to", required=True, type=click.Path(path_type=Path), help="Folder for course/ and students/."
)
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, exists=True),
    help="perflab-*.whl, which students install.",
)
@course_option
def release(lab: str, to: Path, wheel: Path | None, root: Path | None) -> int:
    """Write what students get: notebooks for nbgrader below course/, the plain files as students/LAB.zip.

    course/ holds the solutions; `nbgrader generate_assignment` makes the students' notebooks from it. Both come with
    the handouts, and with the wheel that --wheel names.

    \b
    Example:  pip wheel --no-deps -w dist . && perflab release resnet18 --to autumn --wheel dist/perflab-*.whl
    """
    from autograder.nbgrader.release import release as write
    from autograder.nbgrader.release import where_wheels_are

    course = open_course(root)
    for path in write(course, lab, to, wheel):
        click.echo(f"wrote  {path}")
    click.echo(
        f"\n{lab} is {course.config.labs[lab].deadline}; due and late in grading_config.yaml say so"
    )
    if wheel is None:
        click.echo(
            "\nStudents install perflab, too: release again with --wheel, or hand the wheel out: "
            f"{where_wheels_are(course)}"
        )
    again = " --force" * (to / "course" / "release" / lab).exists()
    click.echo(f"\nNow give students {to / 'students' / lab}.zip")
    click.echo(f"or, in nbgrader: cd {to / 'course'} && nbgrader generate_assignment {lab}{again}")
    return DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--gradebook",
    "url",
    required=True,
    help="sqlite:////path/gradebook.db, or postgresql+psycopg://...",
)
@click.option("--assignment", default="", help="Its name in the gradebook; else the lab's.")
@click.option("--add-students", is_flag=True, help="Add students whom the gradebook does not know.")
@click.option(
    "--feedback",
    type=click.Path(path_type=Path),
    help="The course's autograded/, for generate_feedback.",
)
@click.option(
    "--back",
    is_flag=True,
    help="Write nothing there: take into FOLDER the scores that a person gave in formgrader.",
)
@roster_option
@course_option
def sync(
    folder: Path,
    url: str,
    assignment: str,
    add_students: bool,
    feedback: Path | None,
    back: bool,
    roster: Path | None,
    root: Path | None,
) -> int:
    """Write the results of `perflab grade --out FOLDER` into an nbgrader gradebook; a person's scores stay.

    What lateness takes goes with them, by the lab's late policy. Says who moved since the last time, and why.

    \b
    Example:  perflab sync results --gradebook sqlite:////srv/course/gradebook.db
              perflab sync results --gradebook sqlite:////srv/course/gradebook.db --back
    """
    needs_nbgrader()
    from autograder.nbgrader.sync import sync as push

    course = open_course(root)
    rules = rules_for(course, folder, roster)
    if back:
        status = _fetched(folder, url, assignment, rules)
        show_again(folder, course, roster)
        return status
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", module="nbgrader"
        )  # it warns its own developers of its database
        written = list(
            push(
                folder,
                url,
                assignment=assignment,
                add_students=add_students,
                feedback=feedback,
                rules=rules,
            )
        )
    for entry in written:
        what, *why = entry.moved or ("written",)
        click.echo(f"{entry.student}: {entry.problem or what}")
        for line in filter(None, (*why, entry.late)):
            click.echo(f"  {line}")
    return USER_ERROR if any(entry.problem for entry in written) else DONE


def _fetched(folder: Path, url: str, assignment: str, rules: Rules) -> int:
    """Take scores of formgrader into a folder of results, and say whose."""
    from autograder.nbgrader.given_by_hand import fetch

    status = DONE
    for each in fetch(folder, url, rules, assignment=assignment, **who()):
        given = [f"{it.check} {it.points:g}" for it in each.made]
        if given or each.problems:
            click.echo(f"{each.submission}: {', '.join([*given, *each.problems])}")
        status = USER_ERROR if each.problems else status
    return status


def needs_nbgrader() -> None:
    """Say how to get nbgrader where it is missing; everything else does without."""
    from importlib.util import find_spec

    if find_spec("nbgrader") is None:
        raise UserError("this needs nbgrader: pip install 'perflab[nbgrader]'")
