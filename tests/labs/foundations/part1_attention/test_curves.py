"""Figures of curves are judged: axes, places of points, lines of their own."""

from __future__ import annotations

import pytest

from autograder.labs.foundations.part1_attention import curves


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        pytest.param(["log log"], "", id="both"),
        pytest.param(["log symlog"], "", id="of another kind"),
        pytest.param(
            ["linear log"],
            "in the panel of ms x is linear and y is log, and both must be logarithmic",
            id="one",
        ),
        pytest.param([], "there is no panel of ms", id="none"),
    ],
)
def test_a_column_is_drawn_on_logarithmic_axes(scales, words):
    panels = [{"label": "ms", "title": "", "values": [{"value": 2.0, "name": "a"}]}]

    assert words == curves.linear(panels, scales, [{"ms": 2.0}], ["ms"])


@pytest.mark.parametrize(
    ("across", "words"),
    [
        pytest.param([[20.0, 40.0]], "", id="lengths"),
        pytest.param([[0.02, 0.04]], "", id="in thousands"),
        pytest.param([[1.0, 2.0]], "the points of ms do not stand at the length of their rows", id="order"),
        pytest.param([[20.0]], "the points of ms do not stand at the length of their rows", id="one alone"),
    ],
)  # fmt: skip
def test_a_column_is_drawn_against_the_size_of_its_rows(across, words):
    rows = [{"ms": 2.0, "length": 20}, {"ms": 9.0, "length": 40}]
    panels = [{"values": [{"value": row["ms"], "name": "a"} for row in rows]}]

    assert words == curves.displaced(panels, across, rows, ["ms"], "length")
