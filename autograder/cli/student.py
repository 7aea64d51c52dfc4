"""perflab check, perflab doctor: what a student runs."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.base import (
    CHECK_FAILED,
    DONE,
    OUR_FAULT,
    USER_ERROR,
    cli,
    course_option,
    device_option,
    json_option,
    make_console,
    open_course,
    seed_option,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from autograder.course import Course
    from autograder.model import Result


@cli.command()
@click.argument("part", required=False)
@click.option("--watch", is_flag=True, help="Run again whenever a file is saved.")
@click.option("--verbose", "-v", is_flag=True, help="Show what passed checks measured, too.")
@course_option
@device_option
@seed_option
@json_option
def check(
    part: str | None,
    watch: bool,
    verbose: bool,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Run the checks of the lab in this folder, the same that grade it.

    \b
    Example:  perflab check part3
    """
    from autograder.grading.session import open_session
    from autograder.report.terminal import labelled, width_of
    from autograder.student.practice import check_folder, watched

    course, console = open_course(root), make_console()
    with open_session(course.config.tier, device) as session:
        for _ in watched(Path.cwd()) if watch else [None]:
            if watch and not as_json:
                console.rule(time.strftime("%H:%M:%S"))
            with console.status("checking ...") as status, names_checks(status):
                result = check_folder(
                    Path.cwd(),
                    course,
                    session,
                    part,
                    seed if seed is not None else secrets.randbits(48),
                )
            _show(result, console, verbose=verbose, as_json=as_json)
            progress = _progress(result, course, console.encoding)
            if not as_json:
                console.print()
                console.print(labelled(progress, width_of(console)), soft_wrap=True)
            if watch and not as_json:
                console.print("\nwaits for the next save; Ctrl-C ends it")
    return _verdict(result)


@cli.command()
@json_option
def doctor(as_json: bool) -> int:
    """Say whether this machine can check and grade, and how to mend what is missing for some points.

    \b
    Example:  perflab doctor
    """
    from dataclasses import asdict

    from autograder.cli.doctor import FENCE, REQUIRED, examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([asdict(f) for f in findings], indent=1))
    for f in () if as_json else findings:
        click.echo(f"{'ok  ' if f.ok else 'miss'}  {f.name:<12} {f.state}")
        if not f.ok:
            click.echo(f"      {'':<12} for {f.needed_for}: {f.mend}")
    missing = {f.name for f in findings if not f.ok}
    if missing & REQUIRED:
        return USER_ERROR
    if missing and not as_json:
        works = "perflab check works here, and perflab grade"
        if FENCE in missing:
            works += " once the sandbox comes up (--isolation none: only for work that you trust)"
        click.echo(f"{works}; points that need what is missing stay owed")
    return DONE


@contextmanager
def names_checks(status: Status) -> Iterator[None]:
    """Say which check is being judged; a training or a build may take a minute."""

    class Names(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            status.update(f"checking {record.getMessage()} ...")

    log, names = logging.getLogger("autograder.grading.part"), Names()
    before = log.level
    log.setLevel(logging.DEBUG)
    log.addHandler(names)
    try:
        yield
    finally:
        log.removeHandler(names)
        log.setLevel(before)


def _show(result: Result, console: Console, *, verbose: bool, as_json: bool) -> None:
    from autograder.records import to_json
    from autograder.report.terminal import show

    if as_json:
        click.echo(json.dumps(to_json(result), indent=1))
    else:
        show(result, console, verbose=verbose)


def _progress(result: Result, course: Course, encoding: str) -> list[tuple[str, str]]:
    from autograder.student.attempts import attempt
    from autograder.student.how_far import keep_and_tell

    run = attempt(result.lab, result.parts)
    return keep_and_tell(Path.cwd(), run, list(course.config.labs[result.lab].parts), encoding)


def _verdict(result: Result) -> int:
    outcomes = {check.outcome for part in result.parts for check in part.checks}
    return (
        OUR_FAULT
        if "error" in outcomes
        else CHECK_FAILED
        if outcomes & {"failed", "partial", "skipped"}
        else DONE
    )
