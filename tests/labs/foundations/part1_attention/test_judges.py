"""Exponents are slopes of logarithms; a wrong one is told by what it is instead."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part1_attention.judges import exponent, exponent_problem

LENGTHS = (100, 200, 400, 800)
FIGURES = (3.0, 8.0, 45.0, 170.0)  # no straight line
RIGHT = 1.9965  # numpy.polyfit of their logarithms


def rows(told):
    return [{"length": n, "ms": ms, "told": told} for n, ms in zip(LENGTHS, FIGURES, strict=True)]


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 2.0])
def test_a_power_is_found(power):
    assert pytest.approx(power) == exponent(LENGTHS, [7 * n**power for n in LENGTHS])


def test_the_slope_of_all_points_is_right():
    assert "" == exponent_problem(rows(RIGHT), "length", "ms", "told")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param(1.9416, "it joins the first and the last point", id="two points"),
        pytest.param(1 / RIGHT, "the axes are swapped", id="swapped"),
        pytest.param(
            0.247478,
            "it is the slope of the figures and not of their logarithms",
            id="no logarithms",
        ),
        pytest.param(77.617, "only the lengths are logarithms", id="lengths only"),
        pytest.param(0.0056065, "only the figures are logarithms", id="figures only"),
        pytest.param(
            1.5,
            "told is 1.5, and the rows give 2: it must be the slope of log against log, of all lengths",
            id="unknown",
        ),
    ],
)
def test_a_usual_mistake_is_recognised(told, words):
    assert words in exponent_problem(rows(told), "length", "ms", "told")


def test_figures_that_do_not_grow_have_the_exponent_zero():
    flat = [{"length": n, "ms": 1.0, "told": 1.0} for n in LENGTHS]

    assert "told is 1, and the rows give 0" in exponent_problem(flat, "length", "ms", "told")
