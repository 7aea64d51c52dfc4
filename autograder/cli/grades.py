"""perflab export, gradescope, diff, similar: what is done with grades once they are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import (
    DONE,
    cli,
    course_option,
    json_option,
    open_course,
    roster_option,
    rules_for,
)
from autograder.cli.pages import TABLE
from autograder.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autograder.model import Result
    from autograder.results.standing import Standing

BY_NUMBER = ("canvas", "moodle")
BY_STUDENT = (*BY_NUMBER, "csv")


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "system",
    required=True,
    type=click.Choice(["csv", "canvas", "moodle", "gradescope", "junit"]),
)
@roster_option
@click.option(
    "--provisional",
    is_flag=True,
    help="Also where points are still owed; they count as not scored.",
)
@click.option(
    "--assignment", default="", help="Canvas's column, like 'Lab 3 (4410)'; else the lab's name."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file to write; a folder for many to Gradescope.",
)
@course_option
def export(
    folder: Path,
    system: str,
    roster: Path | None,
    provisional: bool,
    assignment: str,
    out: Path | None,
    root: Path | None,
) -> int:
    """Write the results in FOLDER as another system reads them, after lateness; ambiguous students are listed.

    \b
    Example:  perflab export results --to canvas --roster roster.csv --out canvas.csv
    """
    from autograder.export import settled
    from autograder.results import standing

    rules = rules_for(open_course(root), folder, roster)
    if system in BY_NUMBER and rules.roster is None:
        raise UserError(f"--to {system} takes --roster: it says which student is whom there")
    everybody = standing.read(folder, rules)
    standings = settled(everybody.whole, provisional=provisional)
    if system in BY_STUDENT:
        standings = everybody.by_student
    files, notes = _exported(standings, system, assignment)
    if everybody.absent:
        notes.append(f"without a result: {', '.join(each.student for each in everybody.absent)}")
    if system == "canvas" and not assignment:
        notes.append(
            f"the column is called {standings[0].result.lab}; --assignment names it as Canvas does, "
            "such as 'Lab 3 (4410)'"
        )
    for note in notes:
        click.echo(note, err=True)
    _write(files, out, TABLE if system == "csv" else "utf-8")
    return DONE


def _exported(
    standings: Sequence[Standing], system: str, assignment: str
) -> tuple[dict[str, str], list[str]]:
    """Return each file with its text, and notes; most systems take one file."""
    from autograder.export import canvas, csv, gradescope, junit, moodle

    notes: list[str] = []
    match system:
        case "gradescope":
            names = [f"{each.home.resolve().name}.json" for each in standings]
            texts = map(gradescope.results, standings)
            return dict(zip(names, texts, strict=True)), notes
        case "canvas":
            text, notes = canvas.table(standings, assignment or standings[0].result.lab)
        case "moodle":
            text, notes = moodle.table(standings)
        case "csv":
            text = csv.table(standings)
        case _:
            text = junit.report(standings)
    return {system: text}, notes


def _write(files: dict[str, str], out: Path | None, encoding: str) -> None:
    if len(files) == 1 and out is None:
        click.echo(next(iter(files.values())), nl=False)
        return
    if out is None:
        raise UserError(f"{len(files)} files: name a folder for them with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    if len(files) > 1:
        out.mkdir(exist_ok=True)
    for name, text in files.items():
        (out / name if len(files) > 1 else out).write_text(text, encoding=encoding)


@cli.command()
@click.argument("lab")
@click.option(
    "--wheel",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="perflab-*.whl of the course.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The zip to write.")
@course_option
def gradescope(lab: str, wheel: Path, out: Path, root: Path | None) -> int:
    """Write the zip that Gradescope takes as an autograder, to grade LAB as it is handed in there.

    \b
    Example:  perflab gradescope resnet18 --wheel dist/perflab-0.1.0-py3-none-any.whl --out autograder.zip
    """
    from autograder.export.gradescope import zipped

    open_course(root).config.lab(lab)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(zipped(lab, wheel))
    return DONE


@cli.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
def diff(old: Path, new: Path, as_json: bool) -> int:
    """Say who moved between two gradings, and why: results in OLD and NEW are compared by their submissions' names.

    \b
    Example:  perflab diff results.before results
    """
    from dataclasses import asdict

    from autograder.results.diff import in_all, moved, scored

    before = _by_name(old)
    after = _by_name(new)
    moves = moved(before, after)
    if as_json:
        click.echo(json.dumps([asdict(move) for move in moves], indent=1))
        return DONE
    for move in scored(moves):
        click.echo(str(move))
    click.echo(in_all(moves, len(before)))
    return DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@roster_option
@course_option
@json_option
def similar(folder: Path, roster: Path | None, root: Path | None, as_json: bool) -> int:
    """List submissions in FOLDER that are the same, or share what is rarely shared by chance; no score depends on it.

    Nothing is said of submissions of one group of the roster.

    \b
    Example:  perflab similar results
    """
    from dataclasses import asdict

    from autograder.course import read_tree
    from autograder.handed_in.similar import find, limit
    from autograder.results import standing
    from autograder.traces.words import many

    course = open_course(root)
    results = standing.read(folder, rules_for(course, folder, roster)).whole
    handed_out: dict[str, bytes] = {}
    for lab in {each.result.lab for each in results}:
        handed_out |= read_tree(course.handed_out(lab))
    files = {each.result.submission: standing.kept(each.home) for each in results}
    owners = {each.result.submission: each.student.owner for each in results}
    groups = [it for it in find(files, handed_out) if len({owners[name] for name in it.who}) > 1]
    if as_json:
        click.echo(json.dumps([asdict(group) for group in groups], indent=1))
        return DONE
    for group in groups:
        click.echo(str(group))
    same = sum(group.same for group in groups)
    pairs, all_of_them = many(len(groups) - same, "pair"), many(len(results), "submission")
    counted = f"{many(same, 'group')} of the same work and {pairs} of similar work"
    click.echo(f"{counted} among {all_of_them}; a person decides what that means")
    click.echo(
        f"what more than {limit(len(results))} have in common makes no pair: it may be how everybody writes it"
    )
    return DONE


def _by_name(folder: Path) -> dict[str, Result]:
    from autograder.results import standing

    return {each.result.submission: each.result for each in standing.read(folder).whole}
