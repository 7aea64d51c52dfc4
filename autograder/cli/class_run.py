"""One run of perflab grade: who is graded, what came out, who moved, and what a person has to do."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli.base import DONE, OUR_FAULT, make_console

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.batch.class_events import Event
    from autograder.batch.lanes import Work
    from autograder.cli.waiting import Waiting
    from autograder.grading.kit import Session
    from autograder.handed_in.downloads import Attempt
    from autograder.model import Result
    from autograder.report.html import Pages
    from autograder.results.standing import Rules, Standing

ENDS = {"graded": "graded", "kept": "unchanged", "aside": "set aside"}
UNREAD = "could not be read"


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
        """Wait for more to come, and say that nobody is graded, and whose uploads are not."""
        from autograder.results import not_graded

        if self.waiting:
            self.waiting.write()
            if self.waiting.is_news(not_graded.read(self.work.out)):
                self._show_left_out()
        time.sleep(seconds)

    def _show_left_out(self) -> None:
        from autograder.report.html import write
        from autograder.results.standing import RESULT

        if any(self.work.out.glob(f"*/{RESULT}")):
            write(self.work.out, self.rules, handed_in=self.handed_in)

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
        from autograder.handed_in.intake import asked_later, note, rename, together
        from autograder.machine.turns import only_one
        from autograder.results import not_graded, requests

        out, lab = self.work.out, self.work.kit.lab.name
        with (
            only_one(out),
            together(attempts, out) as (named, notes),
            Journal(out) as journal,
            Progress(console, as_json=self.as_json) as progress,
        ):
            for problem in notes:
                say_not_graded(problem)
            if notes:
                not_graded.remember(out, [*not_graded.read(out), *notes])
            for attempt in attempts:
                if asked := asked_later(attempt):
                    requests.keep(out / attempt.name, asked, requests.LATER)
            if self.waiting:
                self.waiting.begins([*named])
            before = results_of(out, [*named])
            seed = journal.seed_for(lab, self.options["asked_seed"], resume=resume)
            rounds = Rounds(
                self.work, self.session, journal, seed, self.lanes, before=before, **self.options
            )
            ends: dict[str, str] = {}
            said: list[str] = []
            with closing(rounds.run(named)) as events:
                for event in events:
                    progress.show(event)
                    if _came_anew(event, before):
                        came = [it for it in attempts if it.name == event.submission]
                        said += note(came, out)
                    if event.what in ENDS:
                        ends[event.submission] = ENDS[event.what]
                    if self.waiting:
                        self.waiting.show(event)
            rename([it for it in attempts if it.name in named], out)
        for line in said:
            click.echo(line, err=True)
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
        from autograder.results import not_graded, requests
        from autograder.results.agenda import asked, tasks
        from autograder.traces.words import many

        out = self.work.out
        looks = asked(requests.read(out, graded), str(out))
        for task in () if self.as_json else [*tasks(graded, str(out)), *looks]:
            line = f"of these {len(graded)}: {task}" if self.waiting else str(task)
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        if left := not_graded.read(out):
            line = (
                f"not graded: {many(len(left), 'upload')}; {out / 'index.html'} says which, and why"
            )
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        grades = write_grades(pages.everyone.whole, out)
        return f"{grades}, {len(pages.files)} pages; open {out / 'index.html'}"


def results_of(out: Path, names: Collection[str]) -> dict[str, Result]:
    """Read the results that are there already of these submissions."""
    from autograder.results.standing import RESULT, read

    if not any(out.glob(f"*/{RESULT}")):
        return {}
    results = [standing.result for standing in read(out).standings]
    return {result.submission: result for result in results if result.submission in names}


def _came_anew(event: Event, before: Mapping[str, Result]) -> bool:
    """Whether files are graded that are not those of the result: they came when they came now."""
    if event.what != "starts":
        return False
    result = before.get(event.submission)
    return result is None or result.submission_sha256 != event.facts["sha256"]


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


def say_not_graded(note: str) -> None:
    """Say what nobody's work is, or what is not to be read yet."""
    from autograder.report.outcome_words import clean

    click.echo(f"not graded: {clean(note)}", err=True)
