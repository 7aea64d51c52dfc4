"""Results as static pages: one of feedback for each submission, and one of the class.

Each page is a single file without any request to elsewhere; what students wrote is escaped and cleaned.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import ReadError, UserError
from autograder.model import CheckResult, Result, load_result
from autograder.report import tally
from autograder.report.pairs import strip
from autograder.report.words import BASES, OUTCOMES, SETTLED_BY, clean, explained, points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def feedback_page(result: Result) -> str:
    """Show one student what holds, what does not, why, and what to try."""
    return render("feedback.html.j2", result=result, waiting=tally.waiting([tally.Row(result, ".")]))


def class_page(
    results: Sequence[Result], title: str, *, folders: Sequence[str] = (), broken: Sequence[str] = ()
) -> str:
    """Show an instructor the class; *folders* hold the feedback pages, *broken* says what could not be read."""
    homes = folders or [result.submission for result in results]
    rows = [tally.Row(result, folder) for result, folder in zip(results, homes, strict=True)]
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
    )


def checks_table(checks: Sequence[CheckResult], notes: Sequence[str] = ()) -> str:
    """Show checks as a table for the output of a notebook's cell."""
    return render("cell.html.j2", checks=checks, notes=notes)


def write(folder: Path) -> list[Path]:
    """Write the pages of every `<folder>/*/result.json`; what could not be read is raised once the rest is written."""
    files = sorted(folder.glob("*/result.json"))
    if not files:
        raise UserError(f"{folder}: no */result.json here; give the folder that `perflab grade --out` wrote")
    results, broken = _read_all(files)
    labs = ", ".join(sorted({result.lab for result in results.values()}))
    homes = [file.parent.name for file in results]
    pages = {file.with_name("feedback.html"): feedback_page(result) for file, result in results.items()}
    pages[folder / "index.html"] = class_page(list(results.values()), labs or folder.name, folders=homes, broken=broken)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    if broken:
        raise ReadError(f"{folder}: {len(broken)} of {len(files)} results could not be read: {'; '.join(broken)}")
    return list(pages)


def _read_all(files: Sequence[Path]) -> tuple[dict[Path, Result], list[str]]:
    results, broken = {}, []
    for file in files:
        try:
            results[file] = load_result(file)
        except ReadError as error:
            broken.append(str(error))
    return results, broken


def render(name: str, **values: Any) -> str:
    """Fill a template; everything in it is escaped and cleaned."""
    words = {"OUTCOMES": OUTCOMES, "BASES": BASES, "SETTLED_BY": SETTLED_BY, "explained": explained, "strip": strip}
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
