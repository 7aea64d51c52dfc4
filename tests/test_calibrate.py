"""Lines between honest work and mistakes, bars between the baseline and the reference, and the page that says so."""

from __future__ import annotations

import math
from datetime import date

import pytest

from autograder.calibrate import Line, Share, Speed, draw, page
from autograder.checks import plot
from tests.samples import H100

HONEST = (Share("reference", True, 0.1), Share("channels_last", True, 0.5))
WRONG = (Share("skips_a_step", False, 4.5), Share("no_zero_grad", False, 80.0))


def test_a_line_knows_its_furthest_honest_and_its_nearest_wrong_work():
    """It would lie best at the geometric middle of both."""
    line = Line("part3_amp.follows_fp32", HONEST + WRONG)

    assert (0.5, 4.5, 9.0, True) == (line.honest, line.wrong, line.apart, line.holds)
    assert line.move == 1.5


def test_honest_work_and_mistakes_that_are_close_are_no_line():
    """Less than a factor of four is luck."""
    assert not Line("c", (Share("reference", True, 0.5), Share("skips", False, 1.9))).holds


def test_a_line_that_nobody_stands_near_holds():
    """Exact work has no deviation, and a check may have only gross mistakes."""
    assert (math.inf, True) == (Line("c", ()).apart, Line("c", ()).holds)
    assert Line("c", (Share("reference", True, 0.2),)).holds


BARS = {
    "a fast reference": (4.0, (1.15, 4.0 / 1.15), 2.0),
    "just fast enough": (1.3226, (1.15, 1.3226 / 1.15), 1.15),
    "not fast enough": (1.3, None, None),
    "not measured": (0.0, None, None),
}


@pytest.mark.parametrize(("low", "allowed", "proposal"), BARS.values(), ids=BARS)
def test_a_bar_leaves_room_on_both_sides(low, allowed, proposal):
    """15 % above the baseline, 15 % below what the reference was proved to reach; never outside of that."""
    speed = Speed("part1_attention.is_faster", "", 0.02, low)

    assert (allowed, proposal) == (speed.allowed, proposal and pytest.approx(proposal))
    assert (proposal is None) is (speed.proposal is None)
    if allowed:
        assert allowed[0] <= speed.proposal <= allowed[1]


def test_the_page_names_machine_day_and_who_stands_where():
    """Everything on it was measured; a line that does not hold is shouted."""
    lines = [Line("part3_amp.follows_fp32", HONEST + WRONG), Line("c", (HONEST[1], Share("skips", False, 1.2)))]
    speeds = [Speed("p.fast", "4.10x (4.00 to 4.20, 5 pairs)", 0.021, 4.0), Speed("p.slow", "no pair", None, 0.0)]
    text = page("resnet18", H100, date(2027, 1, 13), lines, speeds, "picture.png")

    assert "on 2027-01-13, NVIDIA H100 80GB HBM3 (tier `hopper`), torch 2.15.0, python 3.11.7." in text
    assert "| part3_amp.follows_fp32 | 0.5 | channels_last | 4.5 | skips_a_step | 9.0 | yes | 1.5 |" in text
    assert "| c | 0.5 | channels_last | 1.2 | skips | 2.4 | NO | 0.77 |" in text
    assert "| p.fast | 4.10x (4.00 to 4.20, 5 pairs) | 2.1% | 1.15 to 3.48 | 2.00 |" in text
    assert "| p.slow | no pair |  | none | none |" in text
    assert "![Honest work and mistakes, and the line between them](picture.png)" in text


def test_a_line_without_wrong_work_names_nobody():
    """Then there is no C."""
    assert "| c | 0.5 | channels_last | inf | nobody | inf | yes | inf |" in page(
        "x", H100, date(2027, 1, 13), [Line("c", HONEST)], [], "p.png"
    )


def test_the_picture_is_one(tmp_path):
    """Drawn by the same library that students use, and read by the reader that judges their pictures."""
    draw([Line("part3_amp.follows_fp32", HONEST + WRONG), Line("c", WRONG)], tmp_path / "picture.png")

    seen = plot.read((tmp_path / "picture.png").read_bytes(), "picture.png")
    assert seen.width > 800
    assert seen.distinct_lines > 2
