"""perflab export, gradescope, override, rubric, diff, similar: what is done with grades once they are there."""

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
from autograder.cli.pages import show_again
from autograder.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autograder.model import Result
    from autograder.results.overrides import Override
    from autograder.results.standing import Standing

BY_NUMBER = ("canvas", "moodle")
TABLE = "utf-8-sig"  # by its first bytes a spreadsheet knows that names are in UTF-8


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
    files, notes = _exported(settled(everybody.whole, provisional=provisional), system, assignment)
    absent = ", ".join(one.student for one in everybody.absent)
    for note in [*notes, *([f"without a result: {absent}"] if absent else [])]:
        click.echo(note, err=True)
    _write(files, out, TABLE if system == "csv" else "utf-8")
    return DONE


def _exported(
    found: Sequence[Standing], system: str, assignment: str
) -> tuple[dict[str, str], list[str]]:
    """Name each file with its text; most systems take one."""
    from autograder.export import canvas, csv, gradescope, junit, moodle

    if system == "gradescope":
        return {f"{one.home.resolve().name}.json": gradescope.results(one) for one in found}, []
    if system == "canvas":
        text, notes = canvas.table(found, assignment or found[0].result.lab)
    elif system == "moodle":
        text, notes = moodle.table(found)
    else:
        text, notes = csv.table(found) if system == "csv" else junit.report(found), []
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
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("check")
@click.argument("points")
@click.option("--reason", required=True, help="Why; the student reads it.")
@roster_option
@course_option
def override(
    results: tuple[Path, ...],
    check: str,
    points: str,
    reason: str,
    roster: Path | None,
    root: Path | None,
) -> int:
    """Set the POINTS of a CHECK by hand in RESULTS; 'graded' takes it back. What the grader found is kept.

    RESULTS are folders below --out; results/* are all of them. CHECK may be a pattern: 'part3_amp.*'. Where one of them
    cannot be set, nothing is.

    \b
    Example:  perflab override results/ada amp_is_faster 4 --reason "the timer of that machine was broken"
              perflab override results/* augmentation_is_faster 1 --reason "we have no GPU"
    """
    from autograder.results import overrides, standing
    from autograder.results.agenda import listed

    homes, wanted, who = _homes(results), overrides.wanted(points), _who()
    before = {home: standing.load(home / standing.RESULT) for home in homes}
    made = {
        home: [
            overrides.decide(one, name, wanted, reason, **who)
            for name in overrides.chosen(one, check)
        ]
        for home, one in before.items()
    }
    for home, decisions in made.items():
        overrides.append(home, decisions)
        after = standing.load(home / standing.RESULT)
        names = listed([one.check for one in decisions])
        click.echo(
            f"{after.submission}: {names}: {before[home].score:g} -> {after.score:g} of {after.max_score:g}"
        )
    course = open_course(root)
    for folder in dict.fromkeys(home.resolve().parent for home in homes):
        show_again(folder, course, roster)
    return DONE


def _homes(results: Sequence[Path]) -> list[Path]:
    """Name the folders of results; of several, or of a pattern in quotes, whatever else lies there is passed over."""
    from autograder.results.standing import RESULT

    if len(results) == 1 and "*" not in str(results[0]):
        return [results[0].parent if results[0].name == RESULT else results[0]]
    found = [
        home
        for one in results
        for home in sorted(Path(one.anchor).glob(str(one).removeprefix(one.anchor)))
    ]
    homes = [home for home in found if (home / RESULT).is_file()]
    if not homes:
        raise UserError(
            f"{results[0]}: no {RESULT} in any folder of that name; write it like results/*"
        )
    return homes


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write the sheet here.")
@click.option("--read", "filled", type=click.Path(path_type=Path), help="Read this sheet back.")
@roster_option
@course_option
def rubric(
    folder: Path, out: Path | None, filled: Path | None, roster: Path | None, root: Path | None
) -> int:
    """Write a sheet of what a person reads in FOLDER, beside what students wrote; with points filled in, read it back.

    \b
    Example:  perflab rubric results --out rubric.csv
    """
    from autograder.results import overrides, standing
    from autograder.results import rubric as sheets

    if (out is None) == (filled is None):
        raise UserError("rubric: give --out to write the sheet, or --read to read it back")
    found = standing.read(folder).whole
    if out:
        _write({"rubric": sheets.table(found)}, out, TABLE)
        click.echo(
            f"{out}: fill in 'points' and 'comment', then perflab rubric {folder} --read {out}"
        )
        return DONE
    assert filled is not None
    made: dict[Path, list[Override]] = {}
    for home, one in sheets.read(filled, found, **_who()):
        made.setdefault(home, []).append(one)
    for home, decisions in made.items():
        overrides.append(home, decisions)
    click.echo(f"{sum(map(len, made.values()))} items set for {len(made)} submissions")
    show_again(folder, open_course(root), roster)
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

    before, after = (_by_name(folder) for folder in (old, new))
    found = moved(before, after)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
        return DONE
    for one in scored(found):
        click.echo(str(one))
    click.echo(in_all(found, len(before.keys() | after.keys())))
    return DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@course_option
@json_option
def similar(folder: Path, root: Path | None, as_json: bool) -> int:
    """List submissions in FOLDER that are the same, or share what is rarely shared by chance; no score depends on it.

    \b
    Example:  perflab similar results
    """
    from dataclasses import asdict

    from autograder.course import read_tree
    from autograder.handed_in.similar import find, limit
    from autograder.results import standing

    course = open_course(root)
    results = standing.read(folder).whole
    handed_out: dict[str, bytes] = {}
    for lab in {each.result.lab for each in results}:
        handed_out |= read_tree(course.template(lab))
    found = find({each.result.submission: standing.kept(each.home) for each in results}, handed_out)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
        return DONE
    for one in found:
        click.echo(str(one))
    same = sum(one.same for one in found)
    counted = f"{same} groups of the same work and {len(found) - same} pairs that are alike"
    click.echo(f"{counted} among {len(results)} submissions; a person decides what that means")
    click.echo(
        f"what more than {limit(len(results))} have in common makes no pair: it may be how everybody writes it"
    )
    return DONE


def _by_name(folder: Path) -> dict[str, Result]:
    from autograder.results import standing

    return {one.result.submission: one.result for one in standing.read(folder).whole}


def _who() -> dict[str, str]:
    """Who decides, and when."""
    import getpass
    import os
    from datetime import UTC, datetime

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        name = str(os.getuid())
    return {"by": name, "at": datetime.now(UTC).isoformat(timespec="seconds")}
