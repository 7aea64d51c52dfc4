"""Results as static pages: one of feedback for each submission, and one of the class.

Each page is a single file without any request to elsewhere; what students wrote is escaped and cleaned.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import drift, standing
from autograder.drift import Drift
from autograder.errors import ReadError
from autograder.model import CheckResult, Result
from autograder.overrides import by_hand
from autograder.report import tally
from autograder.report.pairs import strip
from autograder.report.words import BASES, OUTCOMES, SETTLED_BY, clean, explained, points
from autograder.scoring import Late
from autograder.standing import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def feedback_page(result: Result, late: Late | None = None) -> str:
    """Show one student what holds, what does not, why, and what to try; lateness has a line of its own."""
    waiting = tally.waiting([tally.Row(result, ".")])
    return render("feedback.html.j2", result=result, late=late, waiting=waiting)


def class_page(
    results: Sequence[Result],
    title: str,
    *,
    folders: Sequence[str] = (),
    broken: Sequence[str] = (),
    late: Mapping[str, Late] | None = None,
    twice: Sequence[Drift] = (),
) -> str:
    """Show an instructor the class; *folders* hold the feedback pages, *broken* says what could not be read."""
    homes = folders or [result.submission for result in results]
    rows = [
        tally.Row(result, home, (late or {}).get(result.submission))
        for result, home in zip(results, homes, strict=True)
    ]
    return render(
        "class.html.j2",
        title=title,
        rows=rows,
        parts=list(dict.fromkeys(part.id for result in results for part in result.parts)),
        rates=tally.rates(rows),
        waiting=tally.waiting(rows),
        bars=tally.histogram(results),
        median=statistics.median(result.score for result in results) if results else None,
        broken=broken,
        late=bool(late),
        twice=twice,
    )


def checks_table(checks: Sequence[CheckResult], notes: Sequence[str] = ()) -> str:
    """Show checks as a table for the output of a notebook's cell."""
    return render("cell.html.j2", checks=checks, notes=notes)


def write(folder: Path, rules: Rules | None = None) -> list[Path]:
    """Write the pages of every `<folder>/*/result.json`; what could not be read is raised once the rest is written."""
    found = standing.read(folder, rules)
    results = [one.result for one in found.standings]
    labs = ", ".join(sorted({result.lab for result in results}))
    pages = {one.home / "feedback.html": feedback_page(one.result, one.late) for one in found.standings}
    pages[folder / "index.html"] = class_page(
        results,
        labs or folder.name,
        folders=[one.home.name for one in found.standings],
        broken=found.broken,
        late={one.result.submission: one.late for one in found.standings if one.late},
        twice=drift.read(folder),
    )
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    if found.broken:
        whole = len(results) + len(found.broken)
        raise ReadError(
            f"{folder}: {len(found.broken)} of {whole} results could not be read: {'; '.join(found.broken)}"
        )
    return list(pages)


def render(name: str, **values: Any) -> str:
    """Fill a template; everything in it is escaped and cleaned."""
    words = {
        "OUTCOMES": OUTCOMES,
        "BASES": BASES,
        "SETTLED_BY": SETTLED_BY,
        "explained": explained,
        "strip": strip,
        "by_hand": by_hand,
    }
    return _environment().get_template(name).render(**words, **values)


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
    pages.filters["points"] = points
    return pages
