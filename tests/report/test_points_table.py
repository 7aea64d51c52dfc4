"""The points at the end of a run: a line per check, owed points apart from lost ones."""

from __future__ import annotations

from rich.console import Console

from autograder.report.points_table import points_table
from tests.samples import a_check, a_part, a_silent_check


def shown(*parts) -> list[list[str]]:
    """Print the table as a terminal without colours would, words by line."""
    console = Console(width=100, no_color=True)
    with console.capture() as printed:
        console.print(points_table(parts))
    return [line.split() for line in printed.get().splitlines()]


def test_each_check_has_its_line_and_the_last_one_adds_up():
    """What is owed is neither won nor lost."""
    passed = a_silent_check(id="follows_fp32", outcome="passed", points=6)
    owed = a_silent_check(id="amp_saves_memory", outcome="unavailable", max_points=1.5)

    assert [
        ["check", "outcome", "points"],
        ["part3_amp.follows_fp32", "passed", "6/6"],
        ["part3_amp.amp_is_faster", "failed", "0/6"],
        ["part3_amp.amp_saves_memory", "owed", "0/1.5"],
        ["total", "1.5", "of", "13.5", "owed", "6/12"],
    ] == shown(a_part("part3_amp", "Mixed precision", passed, a_check(), owed))


def test_nothing_owed_is_not_mentioned():
    """A run whose points are all settled ends with a plain sum."""
    assert ["total", "0/6"] == shown(a_part("part3_amp", "Mixed precision", a_check()))[-1]
