"""What commands do that change results: write the pages and grades.csv again, so that all show the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import rules_for

if TYPE_CHECKING:
    from autograder.course import Course


TABLE = "utf-8-sig"
"""Of a table: by its first bytes a spreadsheet knows that names are in UTF-8."""


def show_again(
    folder: Path, course: Course, roster: Path | None, *, anonymous: bool = False
) -> None:
    """Write pages and grades.csv of a folder of results, and say so."""
    from autograder.batch.journal import unfinished
    from autograder.batch.store import write_grades
    from autograder.report.html import write

    rules, rest = rules_for(course, folder, roster), unfinished(folder)
    pages = write(folder, rules, anonymous=anonymous, unfinished=rest)
    grades = write_grades(pages.everyone.whole, folder)
    if rest:
        click.echo(rest)
    click.echo(f"{grades}, {len(pages.files)} pages; open {folder / 'index.html'}")


def who() -> dict[str, str]:
    """Who decides, and when."""
    import getpass
    import os
    from datetime import UTC, datetime

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        name = str(os.getuid())
    return {"by": name, "at": datetime.now(UTC).isoformat(timespec="seconds")}
