"""perflab trace: figures and a picture of a profile, for students and graders alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import DONE, cli, json_option, make_console
from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.traces import Trace

PAGES = (".html", ".png")
FIRST = "-"
"""In place of the profile of before: it is the first of two files."""


@cli.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "--compare",
    "before",
    type=click.Path(path_type=Path),
    is_flag=False,
    flag_value=FIRST,
    help="A profile of before, to set beside it. Without a value, the first of two FILEs is that.",
)
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write a page (.html) or a picture (.png)."
)
@click.option(
    "--redact",
    is_flag=True,
    help="Write a copy without environment, paths and names beside each file.",
)
@click.option(
    "--open",
    "perfetto",
    is_flag=True,
    help="Then open FILE in Perfetto, in the browser; it is read from this machine.",
)
@json_option
def trace(
    files: tuple[Path, ...],
    before: Path | None,
    page: Path | None,
    redact: bool,
    perfetto: bool,
    as_json: bool,
) -> int:
    """Show what a profile says: what would help most, busy share, gaps, copies, top operators.

    Of several, such as the ranks of one training, the last lines set the main figures side by side.
    FILE is what torch.profiler (.json, .json.gz), nsys export (.sqlite), nsys stats or ncu --csv wrote.

    \b
    Example:  perflab trace baseline_trace.json.gz --page baseline.html
              perflab trace baseline_trace.json.gz mine.json --compare
    """
    from autograder.report import profile
    from autograder.traces.compare import incomparable

    if before == Path(FIRST):
        before, files = _first_of_two(files)
    if (before or page or perfetto) and len(files) > 1:
        raise UserError(
            "--compare, --page and --open take one FILE; without them, several are set side by side at the end"
        )
    if perfetto:
        from autograder.cli.perfetto import refuse

        refuse(files[0])
    if page and page.suffix not in PAGES:
        raise UserError(f"{page}: a page ends in .html, a picture in .png")
    if redact:
        return _redact(files)
    console, old = make_console(), _read(before) if before else None
    several = []
    for file in files:
        now = _read(file)
        several.append(now)
        reasons = list(incomparable(now, old)) if old else []
        if as_json:
            _print_json(now, old, reasons)
        elif old:
            lines = [
                *profile.heading(old),
                *profile.heading(now),
                *(f"note  {reason}" for reason in reasons),
                *profile.comparison(now, old),
            ]
            console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        else:
            profile.show(now, console)
        if page:
            _write(page, now, old)
            console.print(f"\nwrote {page}", markup=False, highlight=False, soft_wrap=True)
    if len(files) > 1 and not as_json:
        console.print(
            "\n".join(profile.beside(several)), markup=False, highlight=False, soft_wrap=True
        )
    if perfetto:
        from autograder.cli.perfetto import show

        show(files[0], lambda line: console.print(f"\n{line}", markup=False, soft_wrap=True))
    return DONE


def _first_of_two(files: tuple[Path, ...]) -> tuple[Path, tuple[Path, ...]]:
    if len(files) != 2:
        raise UserError("--compare without a value takes two FILEs: the baseline's, then yours")
    return files[0], files[1:]


def _read(file: Path) -> Trace:
    from autograder.checks.trace import decoded
    from autograder.sandbox import evaluate_file
    from autograder.traces.source import no_file

    if why := no_file(file):
        raise UserError(f"{file}: {why}")
    return decoded(evaluate_file("autograder.traces", file, file.name))


def _print_json(now: Trace, old: Trace | None, reasons: list[str]) -> None:
    from autograder.records import to_json
    from autograder.traces.compare import sections
    from autograder.traces.stack import stacks

    if old is None:
        click.echo(json.dumps(to_json(now)))
        return
    changes = [
        {**to_json(row.figure), "before": row.before, "ratio": row.ratio, "among": heading}
        for heading, rows in sections(now, old).items()
        for row in rows
    ]
    compared = {"file": now.file, "before": old.file, "incomparable": reasons}
    speedup = [{**to_json(stack), "ratio": stack.ratio} for stack in stacks(now, old)]
    click.echo(json.dumps({**compared, "speedup": speedup, "changes": changes}))


def _redact(files: tuple[Path, ...]) -> int:
    from autograder.traces.redact import redact

    for file in files:
        written, left = redact(file)
        click.echo(f"wrote {written}: {left}")
    return DONE


def _write(page: Path, now: Trace, old: Trace | None) -> None:
    from autograder.report import picture, profile_page

    page.parent.mkdir(parents=True, exist_ok=True)
    if page.suffix == ".png":
        picture.write(page, now)
    else:
        page.write_text(profile_page.page(now, old), encoding="utf-8")
