"""perflab grade: submissions that are there, or that come one after the other; a class graded once, or for ever."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
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
    seed_option,
)
from autograder.cli.class_run import Run, results_of, say_not_graded
from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.batch.lanes import Work
    from autograder.grading.kit import Session
    from autograder.handed_in.downloads import Attempt
    from autograder.model import Device

    Place = AbstractContextManager[tuple[Work, Session, int]]
    """Who grades, what the machine is, and how many lanes it has."""

WITH = {"cpu": "a CPU", "cuda": "a GPU"}
A_LANE = 4  # submissions in one go, while watching: who comes meanwhile goes first


@cli.command()
@click.argument("lab")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder for results and pages."
)
@isolation_option
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="Grade this part, as part3; may be repeated.",
)
@click.option("--only", default="", metavar="CHECK", help="Judge one check, and those it needs.")
@click.option(
    "--failing",
    default="",
    metavar="CHECK",
    help="Grade only those who lost points at this check in --out, or had a fault of perflab there, "
    "as part3_amp.amp_is_faster; "
    "the part may be left out where no other one has such a check.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with a grading that was stopped or killed; what is done stays.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Grade what comes into PATHS, once nobody writes to it; Ctrl-C ends it.",
)
@click.option(
    "--site",
    type=click.Path(path_type=Path),
    help="Grade on a cluster, as this file says: docs/cluster.md.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Submissions graded at a time, while nothing is timed; else one a core, on a GPU one.",
)
@click.option(
    "--twice",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    metavar="PERCENT",
    help="Grade this share of the class a second time, and say what differs.",
)
@roster_option
@click.option(
    "--attempts",
    type=click.Choice(["last", "all"]),
    default="last",
    help="Of a student: the last in time.",
)
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
    failing: str,
    resume: bool,
    watch: bool,
    site: Path | None,
    jobs: int | None,
    twice: int,
    roster: Path | None,
    attempts: str,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Grade submissions and write results and pages to --out.

    What is not timed runs in several lanes; then what is timed, one after the other, with nothing beside it. Done again
    into the same folder, only what rests on a change is graded: files, bars, limits, the lab, the device, the grader.
    Folders are read as Canvas, Moodle, Gradescope and nbgrader write them; who is not in the roster is listed.

    \b
    Example:  perflab grade resnet18 handed_in/ --roster roster.csv --out results
              perflab grade resnet18 incoming/ --watch --out results
    """
    from autograder.batch.lanes import Work
    from autograder.cli.waiting import Waiting
    from autograder.course import CONFIG, PACKAGED, own_course
    from autograder.grading.session import open_session
    from autograder.handed_in.arrivals import Arrivals, forever
    from autograder.handed_in.intake import Intake
    from autograder.report.queue import FILE as QUEUE
    from autograder.results import not_graded

    course = open_course(root)
    own_course.refuse_inside(course.root, paths)
    if course.root == PACKAGED:
        click.echo(
            f"points and bars: {CONFIG} inside of the wheel, since none is here or above", err=True
        )
    kit = course.kit(lab)
    chosen, rules = kit.lab.chosen(parts, only), rules_for(course, out, roster)
    if parts or only:
        _refuse_fewer_parts(out, chosen)
    intake = Intake(kit.config, kit.files, rules.roster, attempts == "all", out)
    if not paths:
        raise UserError(f"grade {lab}: name what was handed in: folders, archives, downloads")
    if failing and watch:
        raise UserError("--failing chooses from results that are there; leave out --watch")
    submissions = [] if watch else _found(intake.find(paths), paths[0], out)
    if failing:
        submissions = _failing(submissions, out, failing)
    work = Work(
        kit,
        lambda: open_session(course.config.tier, device, isolation, rehearsal=False),
        out,
        chosen,
        only,
    )
    place = _on_nodes(work, site, course.root, device, isolation) if site else _here(work)
    with place as (work, session, lanes):
        if device == "auto":
            _refuse_another_device(out, session.device)
        options = {"asked_seed": seed, "twice": twice / 100}
        handed_in = shlex.join(map(str, paths))
        run = Run(work, session, rules, jobs or lanes, options, handed_in, as_json)
        if not watch:
            return run.grade(submissions, resume=resume)
        out.mkdir(parents=True, exist_ok=True)
        left = partial(not_graded.remember, out)
        arrivals = Arrivals(lambda: intake.find(paths), time.monotonic, say_not_graded, left)
        waiting = Waiting(out, lab, arrivals)
        run = replace(run, waiting=waiting)
        with waiting:
            click.echo(
                f"perflab watches {handed_in}; {out / QUEUE} says who waits; Ctrl-C ends it",
                err=True,
            )
            for some in forever(arrivals, A_LANE * run.lanes, run.wait):
                run.grade(some, resume=True)
    return DONE


def _refuse_another_device(out: Path, found: Device) -> None:
    """Refuse to grade all anew on a GPU that has come, or without one that has gone, unless that was said."""
    from autograder.batch.journal import conditions

    before = conditions(out).device_kind
    if before not in ("", found.kind):
        raise UserError(
            f"{out}: its results were made on {WITH[before]}, and this run would take {found.name}, which grades all "
            f"of it anew; say which with --device cpu or --device cuda:0, or choose another --out"
        )


def _refuse_fewer_parts(out: Path, chosen: Collection[str]) -> None:
    """Refuse to put results of some parts in the place of results that have more."""
    from autograder.batch.journal import conditions

    if lost := [part for part in conditions(out).parts if part not in chosen]:
        raise UserError(
            f"{out}: its results have {', '.join(lost)}, too, and a result holds only what was asked for; "
            "leave out --part and --only, or choose another --out"
        )


@contextmanager
def _here(work: Work) -> Iterator[tuple[Work, Session, int]]:
    """Grade on this machine: say what is wrong with it before anything is written."""
    from autograder.batch.lanes import lanes_for

    with work.open() as session:
        yield work, session, lanes_for(session.device)


@contextmanager
def _on_nodes(
    work: Work, site: Path, root: Path, device: str, isolation: Literal["bubblewrap", "none"]
) -> Iterator[tuple[Work, Session, int]]:
    """Grade as a site file says."""
    from autograder.batch.job import FORMAT, GradeJob
    from autograder.cluster.away import cluster

    lab, out, course = work.kit.lab.name, str(work.out), str(root.resolve())
    like = GradeJob(FORMAT, lab, out, course=course, device=device, isolation=isolation)
    say = partial(click.echo, err=True)
    with cluster(site, work, like, say) as (away, lanes), away.open() as session:
        yield away, session, lanes


def _failing(attempts: Sequence[Attempt], out: Path, check: str) -> Sequence[Attempt]:
    """Choose those whose result is there and lost points at the check, which may be named without its part."""
    from autograder.results.overrides import corrected

    results = results_of(out, [attempt.name for attempt in attempts])
    named = {it for result in results.values() for it in result.checks}
    called = sorted(it for it in named if check in (it, it.partition(".")[2]))
    if not called:
        raise UserError(f"{out}: no result there has a check {check!r}; its page names all checks")
    if len(called) > 1:
        raise UserError(f"{check}: name its part: {' or '.join(called)}")
    checks = {name: result.checks.get(called[0]) for name, result in results.items()}
    lost = [
        attempt
        for attempt in attempts
        if (of := checks.get(attempt.name))
        and of.outcome in ("failed", "partial", "error")
        and not corrected(of)
    ]
    if not lost:
        raise UserError(f"{out}: nobody there failed {check}; nothing is graded again")
    return lost


def _found(
    said: tuple[Sequence[Attempt], Sequence[str]], path: Path, out: Path
) -> Sequence[Attempt]:
    from autograder.results import not_graded

    submissions, notes = said
    for note in notes:
        say_not_graded(note)
    if not submissions:
        raise UserError(f"{path}: nothing there can be graded")
    not_graded.remember(out, notes)
    return submissions
