"""perflab requests: which students ask for a second look, and what is known of it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from autograder.cli.base import (
    DONE,
    cli,
    course_option,
    device_option,
    isolation_option,
    json_option,
    open_course,
    roster_option,
    rules_for,
)

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.grading.kit import Session
    from autograder.results.requests import Request

INDENT = " " * 12


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--all", "every", is_flag=True, help="Those that were answered, too.")
@click.option(
    "--replay",
    is_flag=True,
    help="Grade each again first, with its seed, and say what came out then.",
)
@isolation_option
@roster_option
@course_option
@device_option
@json_option
def requests(
    folder: Path,
    every: bool,
    replay: bool,
    isolation: Literal["bubblewrap", "none"],
    roster: Path | None,
    root: Path | None,
    device: str,
    as_json: bool,
) -> int:
    """List who asks for a second look at a check in FOLDER, with what was measured; --replay grades it again.

    A student hands in request.md, of which a line names a check, also after the deadline; or write a row of
    FOLDER/requests.csv.
    The answer is an override with its reason, also where the points stay what they are.

    \b
    Example:  perflab requests results --replay
    """
    from autograder.grading.session import open_session
    from autograder.results import standing
    from autograder.results.requests import read

    course = open_course(root)
    class_ = standing.read(folder, rules_for(course, folder, roster))
    asked = [it for it in read(folder, class_.standings) if every or not it.answer]
    again: list[str] = [""] * len(asked)
    if replay and asked:
        with open_session(course.config.tier, device, isolation, rehearsal=False) as session:
            again = [_replayed(request, course, session) for request in asked]
    if as_json:
        click.echo(json.dumps([*map(_plain, asked, again)], indent=1))
        return DONE
    for request, outcome in zip(asked, again, strict=True):
        for line in _lines(request, outcome):
            click.echo(line)
    click.echo(f"{len(asked)} request{'' if len(asked) == 1 else 's'}{'' if every else ' open'}")
    return DONE


def _replayed(request: Request, course: Course, session: Session) -> str:
    """Say what the check comes to when all of it is graded again."""
    from autograder.batch.replay import replay
    from autograder.batch.store import RESULT
    from autograder.errors import UserError
    from autograder.result_file import load_result

    if not request.check:
        return ""
    try:
        result = replay(request.home, load_result(request.home / RESULT), course, session)
    except UserError as problem:
        return str(problem)
    check = result.checks[request.check]
    return f"{check.outcome}, {check.points:g} of {check.max_points:g}: {check.measured}"


def _lines(request: Request, again: str) -> Iterator[str]:
    from autograder.report.outcome_words import clean

    check = request.result
    yield f"{request.submission}  {request.check or clean(request.asked)}"
    if check is None:
        yield _line("no check", f"this names no check of the result{request.near}")
    else:
        points = f"{check.points:g} of {check.max_points:g}"
        yield _line("graded", f"{check.outcome}, {points}")
        yield from (_line(*said) for said in _said(check) if said[1])
    if again:
        yield _line("again", again)
    yield _line("asks", clean(request.text) or "nothing more")
    if request.answer:
        yield _line("answered", request.answer)
    else:
        name = request.check or "CHECK"
        yield f"  {'answer':<10}perflab override {request.home} {name} POINTS --reason WHY"


def _said(check: object) -> Sequence[tuple[str, str]]:
    return [(name, getattr(check, name)) for name in ("measured", "why")]


def _line(label: str, text: str) -> str:
    wrapped = textwrap.fill(text, 110, initial_indent=INDENT, subsequent_indent=INDENT)
    return f"  {label:<10}{wrapped.removeprefix(INDENT)}"


def _plain(request: Request, again: str) -> dict[str, object]:
    check = request.result
    return {
        "submission": request.submission,
        "check": request.check,
        "asked": request.asked,
        "text": request.text,
        "outcome": check.outcome if check else "",
        "points": check.points if check else 0,
        "measured": check.measured if check else "",
        "again": again,
        "answer": request.answer,
    }
