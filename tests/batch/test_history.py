"""What becomes of a submission next."""

from __future__ import annotations

import pytest

from autograder.batch.history import History

STANDINGS = {
    "nothing yet": ([], "new"),
    "stopped by hand": (["stopped"], "new"),
    "its grader died once": (["lost"], "new"),
    "its grader died twice": (["lost", "lost"], "aside"),
    "twice, with a result between": (["lost", "timing", "lost"], "aside"),
    "the whole grader was gone four times": (["cut off"] * 4, "new"),
    "and a fifth time": (["cut off"] * 5, "aside"),
    "settled": (["timing", "graded"], "settled"),
    "settled, and cut off before": (["cut off", "graded"], "settled"),
    "waits for the clock": (["timing", "stopped"], "timing"),
    "undecided": (["timing", "again"], "again"),
    "undecided twice": (["again", "again"], "again"),
    "undecided three times": (["again", "again", "again"], "person"),
    "settled at the third time": (["again", "again", "graded"], "settled"),
}


@pytest.mark.parametrize(("outcomes", "standing"), STANDINGS.values(), ids=STANDINGS)
def test_the_history_says_what_is_next(outcomes, standing):
    """A person decides after three tries, or when two graders died."""
    assert standing == History(tuple(outcomes)).standing
