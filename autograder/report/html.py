"""Results as static pages: one of feedback for each submission, and one of the class.

Each page is a single file without any request to elsewhere; what students wrote is escaped and cleaned.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from autograder.errors import ReadError
from autograder.grading.scoring import OUTCOMES, worth
from autograder.handed_in.late import Late
from autograder.model import CheckResult, Result
from autograder.report import (
    drawn,
    handed_in_figures,
    plots,
    profile,
    pseudonym_key,
    speeds,
    stats,
    tally,
)
from autograder.report.error_picture import wrong
from autograder.report.outcome_words import (
    BASES,
    MARKED,
    SETTLED_BY,
    bonus,
    clean,
    explained,
    points,
    repeated,
    time,
)
from autograder.report.pairs_strip import strip
from autograder.results import agenda, drift, not_graded, requests, standing
from autograder.results.agenda import Task
from autograder.results.drift import Drift
from autograder.results.overrides import by_hand
from autograder.results.requests import Request
from autograder.results.standing import Class, Rules, Standing
from autograder.traces.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from autograder.handed_in.roster import Student

TEMPLATES = Path(__file__).parent / "templates"
CLASS, ANONYMOUS, FEEDBACK = "index.html", "anonymous.html", "feedback.html"
FOLDER = "FOLDER"  # of what was handed in, where nobody knows which


def feedback_page(
    result: Result,
    late: Late | None = None,
    *,
    person: str = "",
    files: Mapping[str, bytes] | None = None,
    pseudonym: str = "",
    places: Mapping[str, speeds.Place] | None = None,
    asked: Sequence[Request] = (),
) -> str:
    """Show one student what holds, what does not, why, and what to try; lateness has a line of its own.

    *person* is whose it is by the roster. *files* are those handed in, whose tables stand beside what was measured
    here; *places* are theirs, by check, and *asked* what they want looked at again.
    """
    return render(
        "feedback.html.j2",
        result=result,
        late=late,
        person=person,
        waiting=[item for item in tally.waiting([tally.Row(result, ".")]) if not item.said_once],
        lost=tally.lost(result),
        order=_order,
        bases={check.basis for part in result.parts for check in part.checks},
        repeated=repeated,
        own=defaultdict(list, handed_in_figures.tables(result.lab, files or {})),
        measured=handed_in_figures.measured,
        pseudonym=pseudonym,
        places=places or {},
        asked=asked,
    )


def class_page(
    rows: Sequence[tally.Row],
    title: str,
    *,
    broken: Sequence[str] = (),
    twice: Sequence[Drift] = (),
    anonymous: bool = False,
    tasks: Sequence[Task] = (),
    absent: Sequence[Student] = (),
    ungraded: Sequence[str] = (),
    handed_in: str = FOLDER,
    out: str = "results",
    unfinished: str = "",
) -> str:
    """Show an instructor the class; *broken* says which results could not be read, *tasks* what is to be done.

    *ungraded* has a line for each upload that was graded for nobody. What was *handed_in* and where results go, *out*,
    are words of a command. *unfinished* says that not all were graded yet.

    An *anonymous* page leaves out what is about one submission and not about the class.
    """
    results = [row.result for row in rows]
    read = [row for row in rows if agenda.is_judged(row.result)]
    measured, missing = speeds.speeds(rows), tally.missing(rows)
    waiting = tally.waiting(rows)
    most = {result.max_score for result in results}
    return render(
        "class.html.j2",
        title=title,
        anonymous=anonymous,
        rows=sorted(rows, key=lambda row: row.name),
        parts={part.id: part.title for result in results for part in result.parts},
        rates=[rate for rate in tally.rates(rows) if rate.check.partition(".")[0] not in missing],
        missing=missing,
        tasks=tasks,
        absent=absent,
        ungraded=ungraded,
        handed_in=handed_in,
        out=out,
        unfinished=unfinished,
        waiting=[] if anonymous else [item for item in waiting if not item.said_once],
        of_ungraded=sum(item.points for item in waiting if item.said_once),
        mistakes=[] if anonymous else tally.mistakes(rows),
        lab=results[0].lab if results else "",
        scores=_scores(read) if read else "",
        speeds=[(item, _speedups(item)) for item in measured],
        spent=None if anonymous or not rows else tally.spent(rows),
        median=statistics.median(row.result.score for row in read) if read else None,
        most=most.pop() if len(most) == 1 else None,
        broken=broken,
        late=any(row.late or row.unclear for row in rows),
        twice=twice,
    )


def checks_table(checks: Sequence[CheckResult], notes: Sequence[str] = ()) -> str:
    """Show checks as a table for the output of a notebook's cell."""
    return render("cell.html.j2", checks=checks, notes=notes)


class Pages(NamedTuple):
    """What was written, and the results that were read for it: nobody needs to read them again."""

    files: list[Path]
    everyone: Class


def write(
    folder: Path,
    rules: Rules | None = None,
    *,
    anonymous: bool = False,
    handed_in: str = FOLDER,
    unfinished: str = "",
) -> Pages:
    """Write the pages of every `<folder>/*/result.json`; what could not be read is raised once the rest is written.

    An *anonymous* page of the class, once there, is kept up to date.
    """
    everyone = standing.read(folder, rules)
    key = pseudonym_key.key(folder, make=anonymous)
    rows = [_row(each, key) for each in everyone.standings]
    boards = speeds.speeds(rows) if key else []
    asked = requests.read(folder, everyone.standings)
    files = [
        _put(each.home / FEEDBACK, _feedback(each, key, boards, asked))
        for each in everyone.standings
    ]
    tasks = [
        *agenda.tasks(everyone.standings, quote(str(folder))),
        *agenda.asked(asked, quote(str(folder))),
    ]
    page = _class_page(folder, everyone, tasks, handed_in, unfinished)
    files.append(_put(folder / CLASS, page))
    if key and (anonymous or (folder / ANONYMOUS).exists()):
        page = class_page(rows, _title(folder, everyone), anonymous=True)
        files.append(_put(folder / ANONYMOUS, page))
    standing.remember(folder, rules)
    if everyone.broken:
        raise ReadError(_broken(folder, everyone))
    return Pages(files, everyone)


def _class_page(
    folder: Path, everyone: Class, tasks: Sequence[Task], handed_in: str, unfinished: str
) -> str:
    return class_page(
        [_row(each) for each in everyone.standings],
        _title(folder, everyone),
        broken=everyone.broken,
        twice=drift.read(folder),
        tasks=tasks,
        absent=everyone.absent,
        ungraded=not_graded.read(folder),
        handed_in=handed_in,
        out=quote(str(folder)),
        unfinished=unfinished,
    )


def _title(folder: Path, everyone: Class) -> str:
    labs = {each.result.lab for each in everyone.standings}
    return ", ".join(sorted(labs)) or folder.name


def _broken(folder: Path, everyone: Class) -> str:
    broken = len(everyone.broken)
    total = broken + len(everyone.standings)
    problems = "; ".join(everyone.broken)
    return f"{folder}: {broken} of {total} results could not be read: {problems}"


def _feedback(
    graded: Standing,
    key: bytes | None,
    boards: Sequence[speeds.Speeds],
    asked: Sequence[Request],
) -> str:
    student = graded.student.owner
    pseudonym = stats.pseudonym(key, student) if key else ""
    return feedback_page(
        graded.result,
        graded.late,
        person=graded.persons,
        files=standing.kept(graded.home, ".csv"),
        pseudonym=pseudonym,
        places=speeds.places(boards, student, graded.result.device.name),
        asked=[request for request in asked if request.home == graded.home],
    )


def _row(graded: Standing, key: bytes | None = None) -> tally.Row:
    student = graded.student.owner
    ranked = graded.leaderboard != "no"
    if key is None:
        return tally.Row(
            graded.result,
            graded.home.name,
            graded.late,
            ranked=ranked,
            person=graded.persons,
            student=student,
            unclear=bool(graded.unclear),
        )
    return tally.Row(
        graded.result,
        "",
        pseudonym=stats.pseudonym(key, student),
        ranked=ranked,
        student=student,
        public=(graded.persons or student) if graded.leaderboard == "name" else "",
    )


def _order(checks: Sequence[CheckResult]) -> tuple[list[CheckResult], list[CheckResult]]:
    """What was lost comes first, else as the part has them; apart from them, what simply passed.

    A check that a person passed stays among the first: the student should read what they wrote.
    """
    passed = [check for check in checks if check.outcome == "passed" and not by_hand(check)]
    rest = [check for check in checks if check not in passed]
    return sorted(rest, key=lambda check: check.outcome not in ("failed", "partial")), passed


def _put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _scores(rows: Sequence[tally.Row]) -> str:
    bins = stats.tenths(tally.shares(rows))
    counts = ", ".join(str(column.many) for column in bins)
    said = f"Submissions by score, in tenths of the full score from lowest to highest: {counts}"
    return plots.histogram(bins, said, lambda share: f"{100 * share:.0f} %")


def _speedups(measured: speeds.Speeds) -> str:
    bins = stats.spread(measured.ratios, measured.bar)
    ends = f"{min(measured.ratios):.2f}x to {max(measured.ratios):.2f}x"
    said = f"{len(measured.ratios)} speedups from {ends}, half of them above {statistics.median(measured.ratios):.2f}x"
    return plots.histogram(
        bins, f"{said}; the bar is {measured.bar:.2f}x", lambda ratio: f"{ratio:.2f}x", measured.bar
    )


def render(name: str, **values: Any) -> str:
    """Fill a template; everything in it is escaped and cleaned."""
    words = {
        "OUTCOMES": OUTCOMES,
        "BASES": BASES,
        "MARKED": MARKED,
        "SETTLED_BY": SETTLED_BY,
        "bonus": bonus,
        "explained": explained,
        "strip": strip,
        "memory": drawn.memory,
        "wrong": wrong,
        "breakdown": drawn.breakdown,
        "colour": profile.colour,
        "shown": shown,
        "by_hand": by_hand,
    }
    return _environment().get_template(name).render(**words | values)


@cache  # a template is compiled once, and not once for each submission
def _environment() -> Environment:
    """Escape everything, refuse unknown names, and clean every text on its way into a page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"points": points, "time": time, "worth": worth}
    return pages
