"""perflab grade, report, replay: what whoever runs the grading machine uses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
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
    from autograder.lanes import Work
    from autograder.standing import Rules

    Place = AbstractContextManager[tuple[Work, int]]
    """Who grades, and in how many lanes."""


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
@click.option("--resume", is_flag=True, help="Go on with a grading that was stopped or killed; what is done stays.")
@click.option("--site", type=click.Path(path_type=Path), help="Grade on a cluster, as this file says: docs/cluster.md.")
@click.option("--jobs", type=click.IntRange(1), help="Lanes for what is not timed; else one a core, on a GPU one.")
@roster_option
@click.option("--attempts", type=click.Choice(["last", "all"]), default="last", help="Of a student: the last in time.")
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
    resume: bool,
    site: Path | None,
    jobs: int | None,
    roster: Path | None,
    attempts: str,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Grade submissions and write results and pages to --out.

    What is not timed runs in several lanes; then what is timed, one after the other, with nothing beside it. Done again
    into the same folder, only what changed is graded: files, points, bars, limits, the lab, the device, the grader.
    Folders are read as Canvas, Moodle, Gradescope and nbgrader write them; who is not in the roster is listed.

    \b
    Example:  perflab grade resnet18 handed_in/ --roster roster.csv --out results
    """
    from autograder.batch import RESULT, write_grades
    from autograder.cli.progress import Progress
    from autograder.gradebook import Journal
    from autograder.intake import Intake, together
    from autograder.lanes import Work
    from autograder.model import load_result
    from autograder.practice import open_session
    from autograder.report.words import clean
    from autograder.rounds import Rounds
    from autograder.turns import only_one

    course, console = open_course(root), make_console()
    kit = course.kit(lab)
    chosen = kit.lab.chosen(parts, only)
    rules = rules_for(out, root, roster)
    found, notes = Intake(kit.config, kit.files, rules.roster, attempts == "all").find(paths)
    for line in notes:
        click.echo(f"not graded: {clean(line)}", err=True)
    if not found:
        raise UserError(f"{paths[0]}: no submission there is anybody's")
    work = Work(kit, lambda: open_session(course, device, isolation, rehearsal=False), out, chosen, only)
    place = _on_nodes(work, site, course.root, device, isolation) if site else _here(work)
    with only_one(out), together(found, out) as named, Journal(out) as journal:
        run_seed = journal.seed_for(kit.lab.name, seed, resume=resume)
        with (
            place as (work, lanes),
            Progress(console, as_json=as_json) as progress,
            closing(Rounds(work, journal, run_seed, jobs or lanes, asked_seed=seed).run(named)) as events,
        ):
            for event in events:
                progress.show(event)
    pages = _write_pages(out, rules)
    results = {page.parent.name: load_result(page.with_name(RESULT)) for page in pages if page.parent != out}
    grades = write_grades(list(results.values()), out)
    console.print(f"{len(found)} graded; {grades}, {_open(out, pages)}", soft_wrap=True, highlight=False)
    ours = (c for one in found for p in results[one.name].parts for c in p.checks if c.outcome == "error")
    return OUR_FAULT if any(ours) else DONE


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@roster_option
@course_option
def report(folder: Path, roster: Path | None, root: Path | None) -> int:
    """Write the feedback pages and the class page of a folder of results again, with lateness and what was set by hand.

    \b
    Example:  perflab report results
    """
    pages = _write_pages(folder, rules_for(folder, root, roster))
    make_console().print(_open(folder, pages), soft_wrap=True, highlight=False)
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


def _here(work: Work) -> Place:
    """Grade on this machine: say what is wrong with it before anything is written."""
    from autograder.rounds import lanes_for

    with work.open() as session:
        return nullcontext((work, lanes_for(session.device)))


def _on_nodes(work: Work, site: Path, root: Path, device: str, isolation: Literal["bubblewrap", "none"]) -> Place:
    """Grade as a site file says."""
    from autograder.cluster.away import cluster
    from autograder.job import FORMAT, GradeJob

    click.echo(f"{site}: waiting for the first node; Ctrl-C ends that", err=True)
    course = str(root.resolve())
    like = GradeJob(FORMAT, work.kit.lab.name, str(work.out), course=course, device=device, isolation=isolation)
    return cluster(site, work, like)


def _write_pages(folder: Path, rules: Rules) -> list[Path]:
    from autograder.report.html import write

    return write(folder, rules)


def _open(folder: Path, pages: Sequence[Path]) -> str:
    return f"{len(pages)} pages; open {folder / 'index.html'}"
