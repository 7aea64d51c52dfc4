"""Claims about a study: what the table, the figure and the files handed in have to show, and what else a part asks."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.table_form import DEVICE, Form, positive, words
from autograder.claims.studies import Study
from autograder.lab import Part
from autograder.model import Failed, Observation, Pair, Passed, Picture, Table
from tests.checks.test_plot import png

FORM = Form("speeds.csv", (words("net", "its name"), positive("ms", "a call", "ms"), DEVICE))
ROWS = [{"net": "a", "ms": 2.5, "device": "a CPU"}, {"net": "b", "ms": 1.0, "device": "a CPU"}]
CSV = "net,ms,device\na,2.5,a CPU\nb,1.0,a CPU\n"
PANEL = {"label": "ms", "title": "", "place": 0, "bars": 2, "cut": 0}
DRAWN = [{"value": row["ms"], "name": row["net"]} for row in ROWS]


def measured(student, rig):
    """The probe's name is all that a study needs."""


def a_part(also=None):
    part = Part("part1_speeds", hands_in=["speeds.csv", "speeds.png"])
    study = Study(part, FORM, "compare_nets", by=measured)
    study.is_written(also=also)
    study.is_drawn("speeds.png", {"ms": "ms"}, says="It draws them.", try_="draw them", also=also)
    study.is_consistent(lambda rows: "a is slower" * (rows[0]["ms"] > 2.6), says="They fit.")
    study.is_pictured("speeds.png")
    return part.checks


def seen(**changes):
    values = {"rows": ROWS, "csv": CSV, "panels": [{**PANEL, "values": DRAWN}], **changes}
    student = Observation("measured", "ok", values, {"picture": np.frombuffer(png(), "uint8")})
    return Pair(student, Observation("measured", "ok", {}))


def judged(name, evidence, also=None):
    check = a_part(also)[name]
    return check.judge(**{check.reads[0]: evidence})


def test_the_checks_say_what_students_read():
    assert [
        (
            "csv_says_what_was_measured",
            "scripted",
            "compare_nets writes speeds.csv with the rows that it returns.",
        ),
        ("figure_shows_the_rows", "scripted", "It draws them."),
        ("csv_is_consistent", "artefact", "They fit."),
        (
            "plot_is_a_picture",
            "artefact",
            "The submitted speeds.png is a picture with something on it.",
        ),
    ] == [(check.name, check.basis, check.title) for check in a_part().values()]


def test_the_example_on_the_page_for_authors_is_a_part_with_a_table():
    """It is there to be copied."""
    page = (Path(__file__).parents[2] / "docs" / "authors.md").read_text(encoding="utf-8")
    [example] = re.findall(
        r"^    from autograder\.checks\.table_form .*?(?=^\w)", page, re.MULTILINE | re.DOTALL
    )
    said = {}
    exec(textwrap.dedent(example), said)
    part = said["part"]

    assert [] == part.problems()
    assert ["csv_is_consistent"] == list(part.checks)
    assert "2 rows of consistent numbers" in part.checks["csv_is_consistent"].title


ASKED = {None: "has rows of", ("a", "b"): "has 2 rows of", ("a",): "has 1 row of"}


@pytest.mark.parametrize(("rows", "said"), ASKED.items())
def test_how_many_rows_a_table_has_is_said_where_they_are_named(rows, said):
    part = Part("part1_speeds", hands_in=["speeds.csv"])
    Study(part, replace(FORM, rows=rows), "compare_nets").is_consistent()

    assert f"speeds.csv {said} consistent numbers." in part.checks["csv_is_consistent"].title


RETURNED = {
    "as it should be": ("csv_says_what_was_measured", {}, ""),
    "another file": (
        "csv_says_what_was_measured",
        {"csv": CSV.replace("2.5", "9")},
        "ms is 9 in the file",
    ),
    "drawn": ("figure_shows_the_rows", {}, ""),
    "not drawn": ("figure_shows_the_rows", {"panels": []}, "no visible panel shows the ms"),
}


@pytest.mark.parametrize(("name", "changes", "said"), RETURNED.values(), ids=RETURNED)
def test_what_was_returned_is_written_and_drawn(name, changes, said):
    found = judged(name, seen(**changes))

    assert said in found.measured + found.why if said else isinstance(found, Passed)


@pytest.mark.parametrize("name", ["csv_says_what_was_measured", "figure_shows_the_rows"])
def test_a_part_may_ask_more(name):
    """Of what has passed so far, and of both sides."""
    found = judged(
        name,
        seen(),
        also=lambda pair: ("no training ran", "train") if pair.baseline.values == {} else None,
    )

    assert ("no training ran", "train") == (found.why, found.try_)
    assert isinstance(judged(name, seen(), also=lambda pair: None), Passed)


def test_a_single_observation_will_do():
    assert isinstance(judged("csv_says_what_was_measured", seen().student), Passed)


HANDED_IN = {
    "as it should be": ("2.5", ""),
    "another form": ("fast", "ms of a is 'fast'"),
    "impossible": ("-1", "has to be above 0"),
    "against the rule": ("3", "a is slower"),
}


@pytest.mark.parametrize(("cell", "said"), HANDED_IN.values(), ids=HANDED_IN)
def test_rows_that_are_handed_in_have_the_form_and_keep_the_rule(cell, said):
    rows = ({"net": "a", "ms": cell, "device": "a CPU"}, {"net": "b", "ms": "1", "device": "a CPU"})

    found = judged("csv_is_consistent", Table("speeds.csv", FORM.names, rows))

    assert said in found.measured if said else isinstance(found, Passed)


def test_an_index_of_pandas_in_a_table_that_is_handed_in_is_told_with_what_to_write():
    rows = tuple({"": str(at), **row, "ms": str(row["ms"])} for at, row in enumerate(ROWS))

    found = judged("csv_is_consistent", Table("speeds.csv", ("", *FORM.names), rows))

    assert "column 1 has no name, and is not expected in row 1" == found.measured
    assert "pandas wrote" in found.why
    assert "index=False" in found.try_


def test_a_figure_that_is_handed_in_is_a_picture():
    assert isinstance(
        judged("plot_is_a_picture", Picture("speeds.png", 800, 600, 9, 1, 0.1)), Passed
    )
    blank = judged("plot_is_a_picture", Picture("speeds.png", 800, 600, 1, 1, 0.1))
    assert isinstance(blank, Failed)
    assert blank.try_.endswith("submit the file that compare_nets writes")
