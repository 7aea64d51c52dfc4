"""What saved figures show: which one was saved under a name, and what its panels draw under which names."""

from __future__ import annotations

import math
from io import BytesIO

import pytest

from autograder.worker.rigs.figures import Figures

pytest.importorskip("matplotlib").use("Agg")


def saved(tmp_path, draw, name="a.png"):
    """The panels of a figure that *draw* was called with."""
    from matplotlib.figure import Figure

    figure = Figure()
    with Figures() as seen:
        draw(figure)
        figure.savefig(tmp_path / name)
    return seen.panels("a.png")


def test_a_panel_is_its_labels_and_the_values_drawn(tmp_path):
    def draw(figure):
        bars, points = figure.subplots(1, 2)
        bars.barh(["FP32", "AMP"], [1.0, math.nan])
        bars.set_xlabel("speed (1/s)")
        bars.set_title("speed (1/s)")  # once is enough
        points.plot([0, 1], [3.0, 4.0], label="AMP")
        points.set_xticks([0, 1], ["x", "y"])
        points.scatter([0], [5.0])
        points.legend()
        figure.suptitle("Title")

    assert [
        {
            "label": "speed (1/s)",
            "title": "Title",
            "place": 0,
            "bars": 1,
            "cut": 0.0,
            "values": [{"value": 1.0, "name": "FP32"}],
        },
        {
            "label": "",
            "title": "Title AMP",
            "place": 1,
            "bars": 0,
            "cut": 0.0,
            "values": [
                {"value": 3.0, "name": "x AMP"},
                {"value": 4.0, "name": "y AMP"},
                {"value": 5.0, "name": "x"},
            ],
        },
    ] == saved(tmp_path, draw)


@pytest.mark.parametrize(
    ("limits", "scale", "bars"),
    [
        ((0.0, 3.0), "linear", 2),
        ((-1.0, 3.0), "linear", 2),
        ((0.9, 3.0), "linear", 0),
        ((0.9, 3.0), "log", 2),
    ],
)
def test_bars_count_where_their_foot_is_in_view(tmp_path, limits, scale, bars):
    def draw(figure):
        upright, lying = figure.subplots(1, 2)
        upright.bar(["FP32", "AMP"], [1.0, 2.0])
        lying.barh(["FP32", "AMP"], [1.0, 2.0])
        upright.set(yscale=scale, ylim=limits)
        lying.set(xscale=scale, xlim=limits)

    panels = saved(tmp_path, draw)
    assert [bars, bars] == [panel["bars"] for panel in panels]
    assert [0.0 if bars else 0.9] * 2 == [panel["cut"] for panel in panels]


def ticks(axis):
    axis.bar([0, 1], [1.0, 2.0])
    axis.set_xticks([0, 1], ["FP32", "AMP"])


def legend(axis):
    for at, name in enumerate(("FP32", "AMP")):
        axis.bar([at / 4], [1.0 + at], width=0.2, label=name)
    axis.set_xticks([])


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda axis: axis.bar(["FP32", "AMP"], [1.0, 2.0]), id="categories"),
        pytest.param(
            lambda axis: [axis.bar(n, v) for n, v in (("FP32", 1.0), ("AMP", 2.0))],
            id="one bar at a time",
        ),
        pytest.param(
            lambda axis: axis.bar([0, 1], [1.0, 2.0], tick_label=["FP32", "AMP"]), id="tick_label"
        ),
        pytest.param(
            lambda axis: axis.bar([0, 9], [1.0, 2.0], label=["FP32", "AMP"]),
            id="a label for each bar",
        ),
        pytest.param(ticks, id="ticks set by hand"),
        pytest.param(legend, id="a legend and no ticks"),
    ],
)
def test_a_bar_is_named_by_its_tick_or_by_the_legend(tmp_path, draw):
    (panel,) = saved(tmp_path, lambda figure: draw(figure.subplots()))

    assert [(1.0, "FP32"), (2.0, "AMP")] == [
        (drawn["value"], drawn["name"].removeprefix("0 ").strip()) for drawn in panel["values"]
    ]


def test_what_is_not_visible_is_not_shown(tmp_path):
    def draw(figure):
        shown, hidden = figure.subplots(1, 2)
        hidden.bar(["a"], [1.0])
        hidden.set_visible(False)
        shown.bar(["a", "b"], [2.0, 3.0])[0].set_visible(False)

    assert [[3.0]] == [
        [drawn["value"] for drawn in panel["values"]] for panel in saved(tmp_path, draw)
    ]


@pytest.mark.parametrize(
    ("name", "panels"),
    [("a.png", 1), ("a", 1), ("b.png", 0)],
    ids=["this name", "without an ending", "another name"],
)
def test_only_the_figure_of_that_name_counts(tmp_path, name, panels):
    assert panels == len(saved(tmp_path, lambda figure: figure.subplots().bar(["a"], [1.0]), name))


def test_the_last_figure_of_a_name_counts_also_through_an_open_file(tmp_path):
    from matplotlib.figure import Figure

    first, last = Figure(), Figure()
    first.subplots(1, 3)
    last.subplots(1, 2)
    with Figures() as seen, (tmp_path / "a.png").open("wb") as file:
        first.savefig(tmp_path / "a.png")
        last.savefig(file)

    assert 2 == len(seen.panels("a.png"))


def test_a_figure_saved_into_memory_counts_where_no_file_was(tmp_path):
    """Whoever writes the bytes to the file afterwards has drawn it as well."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots(1, 2)
    with Figures() as seen:
        figure.savefig(BytesIO())

    assert 2 == len(seen.panels("a.png"))


def test_the_scales_of_a_panel_are_those_of_its_axes(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.loglog([1, 2], [3, 4])
    right.semilogx([1, 2], [3, 4])
    with Figures() as seen:
        figure.savefig(tmp_path / "a.png")

    assert ["log log", "log linear"] == seen.scales("a.png")
    assert [[1.0, 2.0], [1.0, 2.0]] == seen.across("a.png")


def lines(figure):
    axis = figure.subplots()
    axis.plot([7, 8], [3.0, 4.0], label="AMP")
    axis.set_xticks([])
    return axis


@pytest.mark.parametrize(
    ("legend", "names", "title"),
    [
        pytest.param(lambda axis: None, "", "", id="none"),
        pytest.param(lambda axis: axis.legend(), "AMP", "AMP", id="its own"),
        pytest.param(lambda axis: axis.get_figure().legend(), "AMP", "AMP", id="of all panels"),
        pytest.param(lambda axis: axis.legend(["FP32"]), "AMP", "FP32", id="other words"),
    ],
)
def test_a_line_has_the_name_that_a_legend_shows(tmp_path, legend, names, title):
    panel = saved(tmp_path, lambda figure: legend(lines(figure)))[0]

    assert {names} == {drawn["name"] for drawn in panel["values"]}
    assert title == panel["title"].strip()
