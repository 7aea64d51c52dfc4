"""perflab grade: submissions that are there, or that come one after the other; a class graded once, or for ever."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from autograder.cli.base import (
    DONE,
    OUR_FAULT,
    cli,
    course_option,
    device_option,
    isolation_option,
    json_option,
    make_console,
    open_course,
    seed_option,
)
from autograder.cli.grades import roster_option, rules_for
from autograder.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.batch.lanes import Work
    from autograder.handed_in.downloads import Attempt
    from autograder.model import Result
    from autograder.results.standing import Rules

    Place = AbstractContextManager[tuple[Work, int]]
    """Who grades, and in how many lanes."""

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
    help="Lanes for what is not timed; else one a core, on a GPU one.",
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
    from autograder.course import find_root, own
    from autograder.grading.session import open_session
    from autograder.handed_in.arrivals import Arrivals, forever
    from autograder.handed_in.intake import Intake

    own.refuse_inside(find_root(root), paths)
    course = open_course(root)
    kit = course.kit(lab)
    chosen, rules = kit.lab.chosen(parts, only), rules_for(out, root, roster)
    intake = Intake(kit.config, kit.files, rules.roster, attempts == "all", out)
    if not paths:
        raise UserError(f"grade {lab}: name what was handed in: folders, archives, downloads")
    found = [] if watch else _found(intake.find(paths), paths[0])
    work = Work(
        kit,
        lambda: open_session(course.config.tier, device, isolation, rehearsal=False),
        out,
        chosen,
        only,
    )
    with (
        _on_nodes(work, site, course.root, device, isolation) if site else _here(work) as (
            work,
            lanes,
        )
    ):
        run = Run(work, rules, jobs or lanes, {"asked_seed": seed, "twice": twice / 100}, as_json)
        if not watch:
            return run.grade(found, resume=resume)
        arrivals = Arrivals(lambda: intake.find(paths), time.monotonic, _not_graded)
        for some in forever(arrivals, A_LANE * run.lanes, time.sleep):
            run.grade(some, resume=True)
    return DONE


def _here(work: Work) -> Place:
    """Grade on this machine: say what is wrong with it before anything is written."""
    from autograder.batch.rounds import lanes_for

    with work.open() as session:
        return nullcontext((work, lanes_for(session.device)))


def _on_nodes(
    work: Work, site: Path, root: Path, device: str, isolation: Literal["bubblewrap", "none"]
) -> Place:
    """Grade as a site file says."""
    from autograder.batch.job import FORMAT, GradeJob
    from autograder.cluster.away import cluster

    click.echo(f"{site}: waiting for the first node; Ctrl-C ends that", err=True)
    course = str(root.resolve())
    like = GradeJob(
        FORMAT, work.kit.lab.name, str(work.out), course=course, device=device, isolation=isolation
    )
    return cluster(site, work, like)


@dataclass(frozen=True)
class Run:
    """How this command grades, whatever it is that was handed in."""

    work: Work
    rules: Rules
    lanes: int
    options: dict[str, Any]
    as_json: bool

    def grade(self, found: Sequence[Attempt], *, resume: bool) -> int:
        """Grade these, and show all that is there."""
        from autograder.batch.journal import Journal
        from autograder.batch.rounds import Rounds
        from autograder.cli.progress import Progress
        from autograder.handed_in.intake import together
        from autograder.machine.turns import only_one

        out, console = self.work.out, make_console()
        before = self._before([one.name for one in found])
        with (
            only_one(out),
            together(found, out) as (named, notes),
            Journal(out) as journal,
            Progress(console, as_json=self.as_json) as progress,
        ):
            for left_out in notes:
                _not_graded(left_out)
            seed = journal.seed_for(
                self.work.kit.lab.name, self.options["asked_seed"], resume=resume
            )
            with closing(
                Rounds(self.work, journal, seed, self.lanes, **self.options).run(named)
            ) as events:
                for event in events:
                    progress.show(event)
        self._say_who_moved(before, console)
        said, faults = self._show([*named], console)
        console.print(f"{len(named)} graded; {said}", soft_wrap=True, highlight=False)
        return OUR_FAULT if faults else DONE

    def _before(self, names: Sequence[str]) -> dict[str, Result]:
        """Read what stood before; what only waits for the clock has not stood yet."""
        from autograder.batch.store import RESULT
        from autograder.results.standing import read

        if not any(self.work.out.glob(f"*/{RESULT}")):
            return {}
        results = [
            one.result for one in read(self.work.out).standings if one.result.submission in names
        ]
        return {result.submission: result for result in results if not result.waits_for_the_clock}

    def _say_who_moved(self, before: dict[str, Result], console: Console) -> None:
        """Of those who were graded before: whose points or outcomes are others now, and why."""
        from autograder.results.diff import in_all, moved, scored
        from autograder.results.standing import RESULT, load

        after = {name: load(self.work.out / name / RESULT) for name in before}
        moves = [
            one
            for one in moved(before, after)
            if one.because or any(why.moves_points for why in one.why)
        ]
        if self.as_json:
            for move in moves:
                click.echo(json.dumps({"event": "moved", **asdict(move)}))
            return
        for move in scored(moves):
            console.print(str(move), soft_wrap=True, highlight=False, markup=False)
        if before:
            console.print(in_all(moves, len(before)), soft_wrap=True, highlight=False)

    def _show(self, names: Sequence[str], console: Console) -> tuple[str, int]:
        """Write pages and grades of the whole folder; say what is to be done about this work, count our faults."""
        from autograder.batch.store import write_grades
        from autograder.report.html import write
        from autograder.results.agenda import tasks
        from autograder.results.standing import read

        out = self.work.out
        pages = write(out, self.rules)
        standings = read(out, self.rules).whole
        now = [one for one in standings if one.result.submission in names]
        for task in () if self.as_json else tasks(now, str(out)):
            console.print(str(task), soft_wrap=True, highlight=False, markup=False)
        faults = sum(
            check.outcome == "error" for one in now for check in one.result.checks.values()
        )
        return (
            f"{write_grades(standings, out)}, {len(pages)} pages; open {out / 'index.html'}",
            faults,
        )


def _found(said: tuple[Sequence[Attempt], Sequence[str]], path: Path) -> Sequence[Attempt]:
    found, notes = said
    for note in notes:
        _not_graded(note)
    if not found:
        raise UserError(f"{path}: no submission there is anybody's")
    return found


def _not_graded(note: str) -> None:
    """Say what nobody's work is, or what is not to be read yet."""
    from autograder.report.words import clean

    click.echo(f"not graded: {clean(note)}", err=True)
