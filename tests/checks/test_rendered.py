"""Figures by name: what stands in their place, what no table has, and typed numbers that contradict it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.checks import rendered as module
from autograder.checks.rendered import contradicted, named, rendered

ROWS = [
    {"name": "Plain", "rate": "252.7197", "peak": "1976.7", "share": "0.0", "device": "AMD EPYC"},
    {
        "name": "+ Data loader",
        "rate": "505.0",
        "peak": "988.35",
        "share": "12.5",
        "device": "AMD EPYC",
    },
    {"name": "2", "rate": "0.0123", "peak": "", "share": "7", "device": "T4"},
]
TABLES = {"results": ROWS, "other": [{"name": 4.0, "rate": 8.0}]}
UNITS = {"rate": "samples/s", "peak": "MB", "share": "%", "speed": "x"}

FILLED = {
    "{Plain.rate}": "253",
    "{ Plain.rate }": "253",
    "{Plain.rate:.1f}": "252.7",
    "{Plain.peak}": "1977",
    "{Plain.peak:,.0f}": "1,977",
    "{2.rate}": "0.0123",
    "{2.rate:.1e}": "1.2e-02",
    "{+ Data loader.share} %": "12.5 %",
    "{Plain.device}": "AMD EPYC",
    "{2.peak}": "",
    "{results:Plain.share}": "0",
    "{other:4.rate}": "8",
    "{+ Data loader.rate / Plain.rate}x": "2x",
    "{1 - + Data loader.peak / Plain.peak:.0%} less": "50% less",
    "{Plain.peak - + Data loader.peak - 1:.1f}": "987.4",
    "{+ Data loader.rate / Plain.rate - 1:+.1%}": "+99.8%",
    "**{Plain.rate}**, {Plain.rate}": "**253**, 253",
    '`{No.name}` "{No.name}" <!-- {No.name} -->': '`{No.name}` "{No.name}" <!-- {No.name} -->',
    "> {No.name}": "> {No.name}",
    "a formula, $\\frac{a}{b}$, {1.5} and {braces}": "a formula, $\\frac{a}{b}$, {1.5} and {braces}",
}


@pytest.mark.parametrize(("text", "filled"), FILLED.items(), ids=FILLED)
def test_a_figure_stands_in_the_place_of_its_name(text, filled):
    """With three digits, or as it is asked for."""
    assert filled == rendered(text, TABLES)


UNKNOWN = {
    "{Plane.rate}": "there is no row 'Plane'; did you mean 'Plain'?",
    "{Plain.rates}": "there is no column 'rates'; did you mean 'rate'?",
    "{result:Plain.rate}": "there is no table 'result'; did you mean 'results'?",
    "{XY.rate}": "there is no row 'XY'; there are Plain, + Data loader, 2",
    "{Plain.rate / Plain.share}": "divides by 0",
    "{Plain.rate - Plain.device}": "one of them is no number",
    "{Plain.rate / 2.peak}": "one of them is no number",
    "{Plain.rate * 2}": "has no {row.column} in it",
    "{Plain.rate:99999d}": "has no {row.column} in it",
}


@pytest.mark.parametrize(("text", "words"), UNKNOWN.items(), ids=UNKNOWN)
def test_a_name_of_nothing_is_told_with_its_line(text, words):
    with pytest.raises(ValueError, match="line 2: ") as told:
        named(f"fine: {{Plain.rate}}\n{text}", TABLES)

    assert f"line 2: {text}: {words}" == str(told.value)


def test_every_name_of_nothing_is_told():
    with pytest.raises(ValueError, match="line 2") as told:
        rendered("{A.b}\n{Plain.c}", TABLES)

    assert ["line 1", "line 2"] == [line[:6] for line in str(told.value).splitlines()]


def test_an_empty_table_has_no_rows():
    with pytest.raises(ValueError, match="there are none"):
        rendered("{A.b}", {"results": []})


def test_a_figure_tells_the_places_that_it_is_made_of():
    (one,) = named("{1 - Plain.peak / + Data loader.peak:.1f}", TABLES)

    assert {("Plain", "peak"), ("+ Data loader", "peak")} == one.places


TYPED = {
    "252.7 samples/s, 253 samples/s, 252.72 samples/s and 505samples/s": [],
    "1,977 MB, 1976.7 MB, 1976,7 MB and 0 %": [],
    "a batch of 32, 4 workers, 30 s, 24 GB, 56 ms, torch 2.15": [],
    "pictures of 32 x 32 pixels, 224x224": [],
    '`7 %`, "7.5 %", and\n> 9 MB': [],
    "{Plain.rate} samples/s": [],
    "254 samples/s": ["line 1: 254 samples/s is no row's rate"],
    "fine\n12.6 % and 12.5 %": ["line 2: 12.6 % is no row's share"],
    "1,8x, and 2x": ["line 1: 1,8x is no row's speed", "line 1: 2x is no row's speed"],
    "1.2.3 %": ["line 1: 1.2.3 % is no row's share"],
}


@pytest.mark.parametrize(("text", "wrong"), TYPED.items(), ids=TYPED)
def test_a_typed_number_with_a_unit_of_the_table_is_a_row_s(text, wrong):
    """Rounded as it is typed; other units are not looked at."""
    assert wrong == contradicted(text, ROWS, UNITS)


def test_students_run_it_on_their_report(tmp_path):
    (tmp_path / "report.md").write_text("It is {A.rate} as fast.\n")
    (tmp_path / "results.csv").write_text("name,rate\nA,2.5\n")
    run = [sys.executable, str(Path(module.__file__)), "report.md", "results.csv"]

    told = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("It is 2.5 as fast.\n", 0) == (told.stdout, told.returncode)
    (tmp_path / "report.md").write_text("It is {B.rate} as fast.\n")
    told = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 1 == told.returncode
    assert "line 1: {B.rate}: there is no row 'B'" in told.stderr
    assert "Traceback" not in told.stderr


HOSTILE = {
    "braces": "{" * 400_000,
    "opened": "{a" * 200_000,
    "dotted": "{" + "a.b" * 100_000,
    "names": "{A.b}" * 20_000,
    "digits": "1" * 400_000,
    "thousands": "1,111" * 80_000,
    "quotes": '"' * 400_001,
    "brackets": "](" * 200_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_report_takes_no_longer_than_its_length(text):
    """Ten times the CPU of an honest one of this length, on a machine that is busy."""
    begun = time.process_time()
    contradicted(text, ROWS, UNITS)
    with contextlib.suppress(ValueError):
        named(text, TABLES)

    assert time.process_time() - begun < 10
