"""perflab grade: submissions that are there, or that come one after the other; a class graded once, or for ever."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
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
    roster_option,
    rules_for,
    seed_option,
)
from autograder.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.batch.lanes import Work
    from autograder.cli.waiting import Waiting
    from autograder.grading.kit import Session
    from autograder.handed_in.downloads import Attempt
    from autograder.model import Result
    from autograder.report.html import Pages
    from autograder.results.standing import Rules, Standing

    Place = AbstractContextManager[tuple[Work, Session, int]]
    """Who grades, what the machine is, and how many lanes it has."""

ENDS = {"graded": "graded", "kept": "unchanged", "aside": "set aside"}
UNREAD = "could not be read"
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
    help="Grade only those who lost points at this check in --out, as part3_amp.amp_is_faster; "
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
    from autograder.course import own_course
    from autograder.grading.session import open_session
    from autograder.handed_in.arrivals import Arrivals, forever
    from autograder.handed_in.intake import Intake

    course = open_course(root)
    own_course.refuse_inside(course.root, paths)
    kit = course.kit(lab)
    chosen, rules = kit.lab.chosen(parts, only), rules_for(course, out, roster)
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
        options = {"asked_seed": seed, "twice": twice / 100}
        handed_in = shlex.join(map(str, paths))
        run = Run(work, session, rules, jobs or lanes, options, handed_in, as_json)
        if not watch:
            return run.grade(submissions, resume=resume)
        arrivals = Arrivals(lambda: intake.find(paths), time.monotonic, _not_graded)
        out.mkdir(parents=True, exist_ok=True)
        waiting = Waiting(out, lab, arrivals)
        run = replace(run, waiting=waiting)
        with waiting:
            for some in forever(arrivals, A_LANE * run.lanes, run.wait):
                run.grade(some, resume=True)
    return DONE


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


@dataclass(frozen=True)
class Run:
    """How this command grades, whatever it is that was handed in."""

    work: Work
    session: Session
    rules: Rules
    lanes: int
    options: dict[str, Any]
    handed_in: str
    """Folders and archives, as words of a command."""
    as_json: bool
    waiting: Waiting | None = None
    """Where a folder is watched."""

    def wait(self, seconds: float) -> None:
        """Wait for more to come, and say that nobody is graded."""
        if self.waiting:
            self.waiting.write()
        time.sleep(seconds)

    def grade(self, attempts: Sequence[Attempt], *, resume: bool) -> int:
        """Grade these, and show all that is there."""
        from autograder.report.html import write

        console = make_console()
        before, ends = self._graded(attempts, console, resume=resume)
        pages = write(self.work.out, self.rules, handed_in=self.handed_in)
        after = {each.result.submission: each for each in pages.everyone.whole}
        self._show_moves(before, {name: after[name].result for name in before}, console)
        graded = [after[attempt.name] for attempt in attempts]
        summary = self._summary(pages, graded, console)
        console.print(f"{_counted(graded, ends)}; {summary}", soft_wrap=True, highlight=False)
        return OUR_FAULT if any(map(_has_a_fault, graded)) else DONE

    def _graded(
        self, attempts: Sequence[Attempt], console: Console, *, resume: bool
    ) -> tuple[dict[str, Result], dict[str, str]]:
        """Grade these, and return what stood before, and how each ended.

        What only waited for the clock did not stand yet.
        """
        from autograder.batch.journal import Journal
        from autograder.batch.rounds import Rounds
        from autograder.cli.progress import Progress
        from autograder.handed_in.intake import together
        from autograder.machine.turns import only_one
        from autograder.results import not_graded

        out, lab = self.work.out, self.work.kit.lab.name
        with (
            only_one(out),
            together(attempts, out) as (named, notes),
            Journal(out) as journal,
            Progress(console, as_json=self.as_json) as progress,
        ):
            for note in notes:
                _not_graded(note)
            if notes:
                not_graded.remember(out, [*not_graded.read(out), *notes])
            if self.waiting:
                self.waiting.begins([*named])
            before = _results(out, [*named])
            seed = journal.seed_for(lab, self.options["asked_seed"], resume=resume)
            rounds = Rounds(
                self.work, self.session, journal, seed, self.lanes, before=before, **self.options
            )
            ends: dict[str, str] = {}
            with closing(rounds.run(named)) as events:
                for event in events:
                    progress.show(event)
                    if event.what in ENDS:
                        ends[event.submission] = ENDS[event.what]
                    if self.waiting:
                        self.waiting.show(event)
        if self.waiting:
            self.waiting.ends()
        stood = {name: it for name, it in before.items() if not it.waits_for_the_clock}
        return stood, ends

    def _show_moves(
        self, before: dict[str, Result], after: dict[str, Result], console: Console
    ) -> None:
        """Of those who were graded before: whose points or outcomes are others now, and why."""
        from autograder.results.diff import in_all, moved, scored

        moves = [
            move
            for move in moved(before, after)
            if move.because or any(difference.moves_points for difference in move.why)
        ]
        if self.as_json:
            for move in moves:
                click.echo(json.dumps({"event": "moved", **asdict(move)}))
            return
        for move in scored(moves):
            console.print(
                move.shortly(str(self.work.out)), soft_wrap=True, highlight=False, markup=False
            )
        if before:
            console.print(in_all(moves, len(before)), soft_wrap=True, highlight=False)

    def _summary(self, pages: Pages, graded: Sequence[Standing], console: Console) -> str:
        """Write the grades of the whole folder, and show what is to be done about this work."""
        from autograder.batch.store import write_grades
        from autograder.results.agenda import tasks

        out = self.work.out
        for task in () if self.as_json else tasks(graded, str(out)):
            line = f"of these {len(graded)}: {task}" if self.waiting else str(task)
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        grades = write_grades(pages.everyone.whole, out)
        return f"{grades}, {len(pages.files)} pages; open {out / 'index.html'}"


def _results(out: Path, names: Collection[str]) -> dict[str, Result]:
    """Read the results that are there already of these submissions."""
    from autograder.results.standing import RESULT, read

    if not any(out.glob(f"*/{RESULT}")):
        return {}
    results = [standing.result for standing in read(out).standings]
    return {result.submission: result for result in results if result.submission in names}


def _failing(attempts: Sequence[Attempt], out: Path, check: str) -> Sequence[Attempt]:
    """Choose those whose result is there and lost points at the check, which may be named without its part."""
    from autograder.results.overrides import corrected

    results = _results(out, [attempt.name for attempt in attempts])
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
        and of.outcome in ("failed", "partial")
        and not corrected(of)
    ]
    if not lost:
        raise UserError(f"{out}: nobody there failed {check}; nothing is graded again")
    return lost


def _counted(graded: Sequence[Standing], ends: Mapping[str, str]) -> str:
    """Count how submissions ended; a grade is none where nothing could be read."""
    from autograder.results.agenda import is_judged

    counts = Counter(
        ends.get(each.result.submission, "graded") if is_judged(each.result) else UNREAD
        for each in graded
    )
    words = [word for word in (*ENDS.values(), UNREAD) if counts[word]]
    return ", ".join(f"{counts[word]} {word}" for word in words)


def _has_a_fault(standing: Standing) -> bool:
    return any(check.outcome == "error" for check in standing.result.checks.values())


def _found(
    said: tuple[Sequence[Attempt], Sequence[str]], path: Path, out: Path
) -> Sequence[Attempt]:
    from autograder.results import not_graded

    submissions, notes = said
    for note in notes:
        _not_graded(note)
    if not submissions:
        raise UserError(f"{path}: nothing there can be graded")
    not_graded.remember(out, notes)
    return submissions


def _not_graded(note: str) -> None:
    """Say what nobody's work is, or what is not to be read yet."""
    from autograder.report.outcome_words import clean

    click.echo(f"not graded: {clean(note)}", err=True)
