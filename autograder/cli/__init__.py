"""The command `perflab`: each subcommand gathers its arguments, calls one module, and shows what it returns."""

from __future__ import annotations

import errno
import sys
from typing import NoReturn

import click

from autograder.cli import (
    author,
    by_hand,
    grades,
    grading,
    jobs,
    nbgrader,
    requests,
    runner,
    student,
    trace,
)
from autograder.cli.base import DONE, INTERRUPTED, OUR_FAULT, USER_ERROR, cli
from autograder.errors import ReadError, UserError

# What is wrong with a place to read or write, which whoever typed its name can mend.
FULL, FORBIDDEN = (errno.ENOSPC, errno.EDQUOT), (errno.EROFS, errno.EACCES, errno.EPERM)
NO_PLACE = (*FULL, *FORBIDDEN, errno.ENOTDIR, errno.EISDIR, errno.EEXIST)

__all__ = [
    "author",
    "by_hand",
    "cli",
    "grades",
    "grading",
    "jobs",
    "main",
    "nbgrader",
    "requests",
    "runner",
    "student",
    "trace",
]


def main() -> NoReturn:
    """Run the command; what the user can mend is one line, everything else is our fault and says so."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USER_ERROR
    except (UserError, ReadError) as error:
        click.echo(f"perflab: {error}", err=True)
        code = USER_ERROR
    except OSError as error:
        if error.errno in FULL or (error.errno in NO_PLACE and error.filename):
            where = error.filename or "a file"
            click.echo(f"perflab: {where}: {error.strerror}; mend that, then do it again", err=True)
            code = USER_ERROR
        else:
            code = _our_fault()
    except (KeyboardInterrupt, click.Abort):
        click.echo("perflab: stopped", err=True)
        code = INTERRUPTED
    except Exception:
        code = _our_fault()
    sys.exit(code if isinstance(code, int) else DONE)


def _our_fault() -> int:
    """Show what happened, and say whose fault it is."""
    import traceback

    traceback.print_exc()
    click.echo(
        "perflab: this is a fault of perflab, not of a submission; please report the lines above",
        err=True,
    )
    return OUR_FAULT
