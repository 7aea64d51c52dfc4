"""The errors of perflab.

PerflabError
  x UserError            the user can mend it
    + CourseError        the course is not whole
    + SubmissionError    what was handed in cannot be read
    + NotGradedError     a submission stays ungraded
  x WireError            a worker's message is malformed
  x ReadError            a file of ours is malformed
  x WorkerLostError      the trusted zygote died
  x GoneError            who graded elsewhere is gone
  x OwedError            not to be shown on this machine
  x SpoiltError          a measurement does not count
    + PostponedError     it is not the clock's turn yet
    + MovedError         one side worked while stopped
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

NOWHERE_TO_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def nowhere(problem: OSError) -> str:
    """Say where there is no room, as far as that is known."""
    where = "" if problem.filename else " (in --out, /tmp or /dev/shm: see df)"
    return f"{problem}{where}"


class PerflabError(Exception):
    """The root: everything this package raises on purpose."""


class UserError(PerflabError):
    """The user can mend it: one line, no traceback, exit status 2.

    The line names the file, the value, and what to do.
    """


class CourseError(UserError):
    """The course has to be mended: its configuration, a part, a marker."""


class SubmissionError(UserError):
    """What was handed in cannot be read; the reason is for the student."""


class NotGradedError(UserError):
    """A submission has no verdict that could go into a gradebook."""


class WireError(PerflabError):
    """Bytes of a worker are not a well-formed message."""


class ReadError(PerflabError):
    """A value does not have the declared form; the text starts with its path."""


class WorkerLostError(PerflabError):
    """The zygote is gone; the caller starts another."""


class GoneError(PerflabError):
    """What graded a submission elsewhere is gone.

    That is its own process (`lost`), or all that it ran on (`cut off`).
    """

    def __init__(self, outcome: str, reason: str) -> None:
        """Name what it is to the journal."""
        super().__init__(reason)
        self.outcome = outcome


class OwedError(PerflabError):
    """This machine cannot show it, and the points wait; students read why."""


class SpoiltError(PerflabError):
    """A measurement must be dropped as a whole, through nobody's fault.

    A frozen arm moved, a GPU throttled, or a foreign process used it.
    """


class PostponedError(SpoiltError):
    """What needs the whole machine is put off, until nothing else runs."""


class MovedError(SpoiltError):
    """A frozen arm moved, or could not be frozen; once, that is chance."""

    def __init__(self, arm: str, what: str = "ran while they were stopped") -> None:
        """Name the arm, and say what its processes did."""
        super().__init__(f"processes of the {arm} {what}")
        self.arm = arm


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' for a misspelt name, or nothing.

    >>> nearest("folows_fp32", ["follows_fp32"])
    " (did you mean 'follows_fp32'?)"
    """
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""
