"""perflab grade, report, replay: what whoever runs the grading machine uses."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from autograder.cli.base import (
    CHECK_FAILED,
    DONE,
    OUR_FAULT,
    cli,
    course_option,
    device_option,
    json_option,
    make_console,
    open_course,
    seed_option,
)
from autograder.cli.grades import roster_option, rules_for
from autograder.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.lab import Lab
    from autograder.model import Result
    from autograder.standing import Rules


isolation_option = click.option(
    "--isolation",
    type=click.Choice(["bubblewrap", "none"]),
    default="bubblewrap",
    show_default=True,
    help="The fence around submissions; 'none' runs them as you, so only work that you trust.",
)


@cli.command()
@click.argument("lab")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for results and pages.")
@isolation_option
@click.option("--part", "parts", multiple=True, metavar="PART", help="Grade this part, as part3; may be repeated.")
@click.option("--only", default="", metavar="CHECK", help="Judge one check, and those it needs.")
@course_option
@device_option
@seed_option
@json_option
def grade(
    lab: str,
    paths: tuple[Path, ...],
    out: Path,
    isolation: Literal["bubblewrap", "none"],
    parts: tuple[str, ...],
    only: str,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Grade submissions, one after the other, and write results and pages to --out.

    \b
    Example:  perflab grade resnet18 handed_in/ --out results
    """
    from autograder import batch
    from autograder.practice import open_session

    course, console = open_course(root), make_console()
    kit = course.kit(lab)
    chosen = _chosen(kit.lab, parts, only)
    found = batch.find(paths, [*kit.lab.files, *kit.released.notebooks])
    results = []
    with open_session(course, device, isolation, rehearsal=False) as session:
        run_seed = seed if seed is not None else secrets.randbits(48)
        for result in batch.grade_all(found, kit, session, out, seed=run_seed, parts=chosen, only=only):
            results.append(result)
            _progress(result, len(results), len(found), console, as_json=as_json)
    grades = batch.write_grades(results, out)
    pages = _write_pages(out)
    console.print(f"{len(results)} graded; {grades}, {pages}", soft_wrap=True, highlight=False)
    return OUR_FAULT if any(c.outcome == "error" for r in results for p in r.parts for c in p.checks) else DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@roster_option
@click.option("--anonymous", is_flag=True, help="Also anonymous.html: the class page under pseudonyms, to show to it.")
@course_option
def report(folder: Path, roster: Path | None, anonymous: bool, root: Path | None) -> int:
    """Write the feedback pages and the class page of a folder of results again, with lateness and what was set by hand.

    \b
    Example:  perflab report results
    """
    said = _write_pages(folder, rules_for(folder, root, roster), anonymous=anonymous)
    make_console().print(said, soft_wrap=True, highlight=False)
    return DONE


@cli.command()
@click.argument("folder", metavar="RESULT", type=click.Path(path_type=Path))
@isolation_option
@course_option
@device_option
@json_option
def replay(
    folder: Path, isolation: Literal["bubblewrap", "none"], root: Path | None, device: str, as_json: bool
) -> int:
    """Grade one result again, with its seed and the files that were kept, and say what differs.

    RESULT is a folder below --out, or its result.json. Exit status 1 when points moved.

    \b
    Example:  perflab replay results/ada
    """
    from dataclasses import asdict

    from autograder import diff
    from autograder.batch import RESULT
    from autograder.model import load_result
    from autograder.practice import open_session
    from autograder.replay import replay as again

    folder = folder.parent if folder.name == RESULT else folder
    old = load_result(folder / RESULT)
    with open_session(open_course(root), device, isolation, rehearsal=False) as session:
        new = again(folder, old, open_course(root), session)
    found = [*diff.circumstances(old, new), *diff.outcomes(old, new)]
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
    for one in () if as_json else found:
        click.echo(one)
    if not as_json:
        click.echo(f"{new.submission}: {old.score:g} -> {new.score:g} of {new.max_score:g}; {len(found)} differences")
    return CHECK_FAILED if any(one.moves_points for one in found) else DONE


def _chosen(lab: Lab, parts: Sequence[str], only: str) -> list[str]:
    """Return the ids of the parts to grade: the named ones, and of these the one that holds the check."""
    from autograder.errors import nearest

    named = [lab.part(part) for part in parts] or list(lab.parts)
    known = [check for part in named for check in part.checks]
    if only and only not in known:
        raise UserError(f"--only {only}: lab {lab.name} has no such check{nearest(only, known)}")
    return [part.id for part in named if not only or only in part.checks]


def _progress(result: Result, done: int, total: int, console: Console, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"submission": result.submission, "score": result.score, "done": done, "of": total}))
        return
    from rich.text import Text

    from autograder.report.words import clean

    points = f"{result.score:g} of {result.max_score:g}, {result.points_owed:g} owed"
    console.print(
        Text(f"{done:>3}/{total}  {clean(result.submission):<28} {points}  ({result.seconds:.1f} s)"), soft_wrap=True
    )


def _write_pages(folder: Path, rules: Rules | None = None, *, anonymous: bool = False) -> str:
    from autograder.report.html import write

    written = write(folder, rules, anonymous=anonymous)
    return f"{len(written)} pages; open {folder / 'index.html'}"
