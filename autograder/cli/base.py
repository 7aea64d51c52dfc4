"""What every subcommand shares: the group, options, exit status, the course and the console."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.course import Course
    from autograder.results.standing import Rules

DONE, CHECK_FAILED, USER_ERROR, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 130

course_option = click.option(
    "--course",
    "root",
    type=click.Path(path_type=Path),
    help="Folder of the course; else the nearest parent with grading_config.yaml.",
)
device_option = click.option(
    "--device", default="auto", show_default=True, help="auto, cpu or cuda:N."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for a program to read."
)
seed_option = click.option(
    "--seed", type=int, help="Draw the inputs from this seed again; else fresh ones."
)

isolation_option = click.option(
    "--isolation",
    type=click.Choice(["bubblewrap", "none"]),
    default="bubblewrap",
    show_default=True,
    help="The sandbox around submissions; 'none' runs them as you, so only work that you trust.",
)


roster_option = click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="Who is in the class; else FOLDER/roster.csv, or the roster that was named last.",
)


FOR = {
    "Students": ("check", "trace", "doctor"),
    "Instructors, to grade": (
        "release",
        "grade",
        "report",
        "replay",
        "diff",
        "similar",
        "forget",
        "grade-one",
    ),
    "Instructors, with grades": (
        "rubric",
        "requests",
        "override",
        "settle",
        "export",
        "sync",
        "gradescope",
    ),
    "Authors of labs": ("new-course", "new", "build", "course", "calibrate"),
}


class ByReader(click.Group):
    """Lists its commands by who needs them, each with its whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list for each kind of reader."""
        for who, names in FOR.items():
            with formatter.section(who):
                commands = {
                    name: command for name in names if (command := self.get_command(ctx, name))
                }
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(limit=500))
                        for name, command in commands.items()
                    ]
                )


@click.group(cls=ByReader, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="perflab")
def cli() -> None:
    """Grade labs on PyTorch performance; the verdict is formed outside the process that is judged."""


def open_course(root: Path | None) -> Course:
    """Find the course that *root* names, or the nearest one."""
    from autograder.course import Course, find_root

    return Course(find_root(root))


def rules_for(course: Course, folder: Path, roster: Path | None) -> Rules:
    """Find what a class is held to: the late policies of the course, and the roster with its extensions."""
    from autograder.results.standing import rules

    return rules(course.config.labs, folder, roster)


def make_console() -> Console:
    """Return where people read; programs read the other stream."""
    from rich.console import Console

    return Console(stderr="--json" in sys.argv)
