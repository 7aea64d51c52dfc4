"""The warm process: what it does when whoever asked is gone."""

from __future__ import annotations

import os

from autograder.worker import zygote


def test_a_keeper_whose_supervisor_is_gone_ends_without_a_word():
    """A grader that was killed leaves no traceback of its workers on the terminal."""
    asked, tells = os.pipe()
    os.close(asked)

    zygote._tell(tells, {"pid": 1})
    os.close(tells)
