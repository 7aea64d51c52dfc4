"""perflab build, course check, new: what the author of a lab uses."""

from __future__ import annotations

import json
import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import autograder
from autograder.cli.base import (
    CHECK_FAILED,
    DONE,
    cli,
    course_option,
    device_option,
    json_option,
    make_console,
    open_course,
    seed_option,
)
from autograder.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.course.proof import Timing


@cli.command()
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Change nothing; say whether the templates are current.",
)
@course_option
def build(only_check: bool, root: Path | None) -> int:
    """Make the student templates from the reference.

    \b
    Example:  perflab build --check
    """
    from autograder.course import build as builder

    course, console = open_course(root), make_console()
    changed = {
        lab: (builder.stale if only_check else builder.write)(course, lab) for lab in course.labs
    }
    for names in changed.values():
        for name in names:
            did = "wrote" if (course.root / name).exists() else "removed"
            console.print(f"{'stale' if only_check else did}  {name}", highlight=False)
    if not any(changed.values()):
        console.print("templates are current")
    return CHECK_FAILED if only_check and any(changed.values()) else DONE


@cli.group(name="course")
def course_group() -> None:
    """Look after the course as a whole."""


@course_group.command(name="check")
@click.argument("lab", required=False)
@click.option("--part", default="", help="Only this part of the lab.")
@click.option(
    "--only",
    default="",
    help="Only entries of the corpus whose id holds this text; no reference, no template.",
)
@click.option(
    "--timed",
    type=click.Choice(["few", "all", "none"]),
    default="none",
    show_default=True,
    help="Run the clock too: for the reference and, of the corpus, entries that fail a timed check and one unusual "
    "entry of each part; or for all. Timed checks of the others are owed.",
)
@click.option(
    "--draws",
    type=click.IntRange(0),
    default=0,
    help="Instead: whatever must pass, graded with so many seeds and without a clock, to find draws that are unfair.",
)
@click.option(
    "--lanes",
    type=click.IntRange(0, 8),
    default=0,
    help="Entries at a time; else one for each core.",
)
@course_option
@device_option
@seed_option
@json_option
def course_check(
    lab: str | None,
    part: str,
    only: str,
    timed: Timing,
    draws: int,
    lanes: int,
    root: Path | None,
    device: str,
    seed: int | None,
    as_json: bool,
) -> int:
    """Prove labs whole: reference full, template at its floor, each known submission judged as it states.

    A timed check takes half a minute, and they run one by one after all others; so by default none runs, and before a
    lab is released --timed few proves those entries whose verdict depends on the clock.

    \b
    Example:  perflab course check resnet18 --timed few
              perflab course check resnet18 --part part4
    """
    from autograder.course.expectations import undecided
    from autograder.course.proof import fair, prove
    from autograder.grading.session import open_session

    course, console = open_course(root), make_console()
    run_seed = seed if seed is not None else secrets.randbits(48)
    if part and not lab:
        raise UserError("--part wants its lab: perflab course check LAB --part PART")
    bad = count = open_ = 0
    begin = partial(open_session, course.config.tier, device, "best", rehearsal=False)
    with begin() as session:
        isolation = session.isolation
    for name in [lab] if lab else course.labs:
        whole = partial(prove, seed=run_seed, timing=timed)
        look = partial(fair, seeds=range(run_seed, run_seed + draws)) if draws else whole
        for finding in look(course, name, begin, part=part, only=only, lanes=lanes):
            count, bad = count + 1, bad + bool(finding.problems)
            open_ += undecided(finding.problems)
            _show_finding(name, finding, console, as_json=as_json)
    if not count:
        raise UserError(
            f"--only {only}: no entry has such an id; tests/submissions/ has the entries"
        )
    if not as_json:
        console.print(
            f"{count - bad} as stated, {bad} not; seed {run_seed}, isolation {isolation}",
            highlight=False,
        )
        if open_:
            console.print(
                f"{open_} of those not as stated could not be decided on this machine now; "
                "run it again when nothing else runs here",
                soft_wrap=True,
                highlight=False,
            )
        if timed == "none":
            console.print(
                "timed checks are owed here; --timed few runs the clock where it decides",
                highlight=False,
            )
    return CHECK_FAILED if bad else DONE


@cli.command()
@click.argument("lab")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("docs/measurements"),
    show_default=True,
    help="Folder to write to.",
)
@course_option
@device_option
@seed_option
def calibrate(lab: str, out: Path, root: Path | None, device: str, seed: int | None) -> int:
    """Measure what the tolerances and bars of a lab rest on, and write a page with a picture.

    It needs the reference and the corpus of the lab, so a checkout of perflab or a course of your own. It says what
    it is at.
    Exit status 1 when honest work and mistakes are too close to each other.

    \b
    Example:  perflab calibrate resnet18
    """
    from datetime import UTC, datetime

    from autograder.course import calibrate as measure
    from autograder.grading.session import open_session

    course, console = open_course(root), make_console()
    drawn = seed if seed is not None else secrets.randbits(48)
    with open_session(course.config.tier, device, "best", rehearsal=False) as session:
        measured = measure.lines(course, lab, session, drawn, click.echo)
        fast = list(measure.speeds(course, lab, session, click.echo))
        click.echo("what the device can do at most is measured")
        kept = measure.ceilings(session.device, datetime.now(UTC).date())
    name = f"calibration-{lab}-{session.device.tier}"
    out.mkdir(parents=True, exist_ok=True)
    measure.draw(measured, out / f"{name}.png")
    day = datetime.now(UTC).date()
    text = measure.page(lab, session.device, day, measured, fast, f"{name}.png")
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    console.print(f"wrote  {out / name}.md, .png", soft_wrap=True, highlight=False)
    for speed in fast:
        if speed.proposal is None:
            click.echo(f"no bar  {speed.check}: {speed.measured}")
    console.print(kept, soft_wrap=True, highlight=False)
    return DONE if all(line.holds for line in measured) else CHECK_FAILED


@cli.command()
@click.argument("lab")
@click.argument("part")
@click.option(
    "--exercise",
    is_flag=True,
    help="Begin with one function and what is claimed of it; else with a probe and a check of your own.",
)
@course_option
def new(lab: str, part: str, exercise: bool, root: Path | None) -> int:
    """Write the files of a new part, or of a new lab with its first part, ready to fill.

    \b
    Example:  perflab new mylab part1_first --exercise
    """
    from autograder.course import own_course
    from autograder.course.scaffold import NO_COURSE, scaffold

    course, here = open_course(root), Path(autograder.__file__).parents[1]
    if root is None and not Path.cwd().resolve().is_relative_to(course.root.resolve()):
        raise UserError(NO_COURSE)
    written, lines = scaffold(course, lab, part, exercise=exercise)
    for path in written:
        click.echo(f"wrote  {path}")
    readme = f"assignments/{lab}/README.md"
    if lines:
        click.echo(f"\nNow add to grading_config.yaml, {lines}")
    if Path(readme) not in written:
        click.echo(f"\nand a row for the part to the table of {readme}, which students read")
    click.echo(f"\nthen: perflab build && perflab course check {lab}")
    if not here.samefile(course.root) and not own_course.is_own(course.root):
        why = f"this perflab is in {here}, and would not find the part"
        click.echo(f"\nFirst, in {course.root}: pip install -e .   ({why})")
    return DONE


@cli.command(name="new-course")
@click.argument("folder", type=click.Path(path_type=Path))
def new_course(folder: Path) -> int:
    """Make a course of your own: a folder for labs beside those that come with perflab.

    Its labs are Python that perflab runs, so the folder has to be yours, and nobody else may write there.

    \b
    Example:  perflab new-course ~/course && cd ~/course && perflab new mylab part1_first --exercise
    """
    from autograder.course import own_course

    own_course.make(folder)
    click.echo(f"wrote  {folder}\nthen: cd {folder} && perflab new mylab part1_first --exercise")
    return DONE


def _show_finding(lab: str, finding: Any, console: Console, *, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.text import Text

    if as_json:
        click.echo(json.dumps({"lab": lab, **asdict(finding)}))
        return
    word, style = ("NOT", "bold red") if finding.problems else ("ok ", "green")
    console.print(
        Text.assemble(
            (word, style), f"  {lab}  {finding.subject}", (f"  {finding.seconds:.1f} s", "dim")
        ),
        soft_wrap=True,
    )
    for problem in finding.problems:
        console.print(Text(f"       {problem}"), soft_wrap=True)
