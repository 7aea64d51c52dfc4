"""The errors of perflab.

PerflabError
  x UserError            the user can mend it: one line, no traceback, exit status 2
    + CourseError        the course is not whole: configuration, a part, a marker
    + SubmissionError    what was handed in cannot be read
    + NotGradedError     a submission has no verdict that could go into a gradebook; it stays ungraded
  x WireError            bytes of a worker that are not a well-formed message
  x ReadError            a record or file of ours does not have its declared form
  x WorkerLostError      the trusted zygote died; the caller starts another
  x GoneError            who graded elsewhere is gone
  x OwedError            what was asked cannot be shown on this machine; the points wait
  x SpoiltError          a measurement that does not count, through nobody's fault
    + PostponedError     it is not the clock's turn yet
    + MovedError         one side worked while it was stopped, or could not be stopped; once it is chance
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

NOWHERE_TO_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class PerflabError(Exception):
    """The root: everything this package raises on purpose."""


class UserError(PerflabError):
    """One clear line that names the file, the value, and what to do."""


class CourseError(UserError):
    """The course itself has to be mended before anything can be graded."""


class SubmissionError(UserError):
    """What was handed in cannot be read, with the reason in the student's words."""


class NotGradedError(UserError):
    """A submission stays ungraded in a gradebook: why, and what to do."""


class WireError(PerflabError):
    """A message of a worker was refused."""


class ReadError(PerflabError):
    """A value does not have the declared form; the text starts with its path."""


class WorkerLostError(PerflabError):
    """The zygote is gone."""


class GoneError(PerflabError):
    """Who graded a submission elsewhere is gone: its own process (`lost`), or all that it ran on (`cut off`)."""

    def __init__(self, outcome: str, why: str) -> None:
        """Name what it is to the journal, and say why."""
        super().__init__(why)
        self.outcome = outcome


class OwedError(PerflabError):
    """This machine cannot show it: why, in words that a student reads."""


class SpoiltError(PerflabError):
    """A measurement must be dropped as a whole: a frozen arm moved, a GPU throttled, a foreign process used it."""


class PostponedError(SpoiltError):
    """What needs the whole machine is put off, until nothing else runs."""


class MovedError(SpoiltError):
    """A frozen arm moved, or there was no freezing it."""

    def __init__(self, arm: str, what: str = "ran while they were stopped") -> None:
        """Name the arm, and say what its processes did."""
        super().__init__(f"processes of the {arm} {what}")
        self.arm = arm


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' for a misspelt name, or nothing.

    >>> nearest("folows_fp32", ["follows_fp32"])
    " (did you mean 'follows_fp32'?)"
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""
