"""Distributions as pictures: they belong into a page, and hold what they show."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from autograder.report.plots import histogram
from autograder.report.stats import spread, tenths


@pytest.fixture(scope="module")
def svg():
    return str(
        histogram(
            spread([1.1, 1.2, 1.9], 1.5), 'said "so" & <so>', lambda ratio: f"{ratio:.2f}x", 1.5
        )
    )


def test_a_picture_takes_the_colours_and_letters_of_the_page(svg):
    """Nothing in it could reach the page, or stand there twice: no style, no ids, no names of fonts."""
    assert {"var(--won)", "var(--ink)", "var(--quiet)", "var(--lost)", "var(--paper)"} == set(
        re.findall(r"var\([\w-]+\)", svg)
    )
    assert [] == re.findall(r"<style|\sid=|clip-path|font-family|://|#0000a|<use", svg)


def test_a_picture_says_what_it_shows(svg):
    found = ET.fromstring(svg)
    texts = ["".join(text.itertext()) for text in found.iter("text")]

    assert ('said "so" & <so>', "img") == (found.get("aria-label"), found.get("role"))
    assert ["1", "1", "1"] == [text for text in texts if text.isdigit()]
    assert "1.10x" in texts


def test_the_same_results_give_the_same_picture():
    bins = tenths([0.1, 0.5])

    assert histogram(bins, "", str) == histogram(bins, "", str)
    assert "var(--lost)" not in histogram(bins, "", str)
