"""Notes what saved matplotlib figures show: per panel its words, and the values drawn with their names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from autograder.worker.rigs.returned import text

CUT = 0.02  # of an axis may be out of view where a bar starts
MOST_VALUES = 32  # of a panel; with their names they have to fit into one message

Panel = tuple[dict[str, Any], str, list[float]]
"""What a panel shows, the scales of its axes, and where its points stand on the x axis."""


class Figures:
    """A context: watches what is saved while it is active."""

    def __init__(self) -> None:
        self._saved: dict[str, list[Panel]] = {}

    def panels(self, name: str) -> list[dict[str, Any]]:
        """Return the panels of the figure that was saved last under this file name, or else into memory."""
        return [panel for panel, _, _ in self._of(name)]

    def scales(self, name: str) -> list[str]:
        """Return for each of these panels the scales of its axes, x and y: 'linear log'."""
        return [scales for _, scales, _ in self._of(name)]

    def across(self, name: str) -> list[list[float]]:
        """Return for each of these panels where its points stand on the x axis."""
        return [places for _, _, places in self._of(name)]

    def _of(self, name: str) -> list[Panel]:
        return self._saved.get(name, self._saved.get("", []))

    def __enter__(self) -> Self:
        from matplotlib.figure import Figure

        self._savefig = Figure.savefig

        def savefig(figure: Any, fname: Any, *args: Any, **kwargs: Any) -> Any:
            result = self._savefig(figure, fname, *args, **kwargs)
            shown = [axis for axis in figure.axes if axis.get_visible()]
            places = [axis.get_position().bounds for axis in shown]  # twins have one
            self._saved[_file_name(fname)] = [
                (
                    _panel(axis, figure, places.index(place)),
                    f"{axis.get_xscale()} {axis.get_yscale()}",
                    _across(axis),
                )
                for axis, place in zip(shown[:8], places, strict=False)
            ]
            return result

        Figure.savefig = savefig  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        from matplotlib.figure import Figure

        Figure.savefig = self._savefig  # type: ignore[method-assign]


def _file_name(target: Any) -> str:
    """Return the name of a path or of an open file, or none; matplotlib adds .png where an ending is missing."""
    name = getattr(target, "name", target)
    if not isinstance(name, str | PathLike):
        return ""
    path = Path(name)
    return path.name if path.suffix else f"{path.name}.png"


def _panel(axis: Any, figure: Any, place: int) -> dict[str, Any]:
    words = [
        axis.get_ylabel(),
        axis.get_xlabel(),
        axis.get_title(),
        figure.get_suptitle(),
    ]
    drawn = [*_bars(axis), *_points(axis)][:MOST_VALUES]
    legends = [it for it in [axis.get_legend(), *figure.legends] if it is not None]
    texts = [
        *axis.texts,
        *(it for legend in legends for it in legend.get_texts()),
    ]
    label = text(" ".join(dict.fromkeys(filter(None, words[:3]))))
    title = text(" ".join([words[3], *(it.get_text() for it in texts)]))
    values = [{"value": v, "name": text(n, 60)} for v, n in drawn]
    return {
        "label": label,
        "title": title,
        "place": place,
        **_whole_bars(axis),
        "values": values,
    }


def _bars(axis: Any) -> Iterator[tuple[float, str]]:
    """Yield the length of each bar, named by its tick and by what a legend says of it."""
    for bars in axis.containers:
        lying = getattr(bars, "orientation", "vertical") == "horizontal"
        ticks = _ticks(axis.yaxis if lying else axis.xaxis)
        for bar, value in zip(
            getattr(bars, "patches", []),
            _plain(getattr(bars, "datavalues", [])),
            strict=False,
        ):
            centre = (
                bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            )
            if bar.get_visible() and math.isfinite(value):
                yield (
                    value,
                    _named(
                        [
                            _nearest(ticks, centre),
                            bars.get_label(),
                            bar.get_label(),
                        ]
                    ),
                )


def _whole_bars(axis: Any) -> dict[str, float]:
    """Count the bars that are in view from where they start, and say where the axis is cut if one is not."""
    count, cut = 0, 0.0
    for bars in axis.containers:
        lying = getattr(bars, "orientation", "vertical") == "horizontal"
        shown = axis.xaxis if lying else axis.yaxis
        low, high = sorted(shown.get_view_interval())
        for bar in getattr(bars, "patches", []):
            start, size = (
                (bar.get_x(), bar.get_width()) if lying else (bar.get_y(), bar.get_height())
            )
            in_view = shown.get_scale() != "linear" or low <= start + CUT * (high - low)
            if bar.get_visible() and math.isfinite(size):
                count, cut = count + bool(in_view), cut if in_view else float(low)
    return {"bars": count, "cut": cut}


def _points(axis: Any) -> Iterator[tuple[float, str]]:
    """Yield the height of each point of lines and scatter plots, named by its tick and by what a legend says of it."""
    ticks = _ticks(axis.xaxis)
    figure = axis.get_figure()
    has_legend = bool(figure.legends) or any(each.get_legend() for each in figure.axes)
    # Errorbar, stem.
    labels = {
        drawn: group.get_label() for group in axis.containers for drawn in group.get_children()
    }
    for drawn in (*axis.lines, *axis.collections):
        for x, y in _places(drawn):
            label = labels.get(drawn, drawn.get_label()) if has_legend else ""
            yield y, _named([_nearest(ticks, x), label])


def _across(axis: Any) -> list[float]:
    drawn = (*axis.lines, *axis.collections)
    return sorted({x for it in drawn for x, _ in _places(it) if math.isfinite(x)})[:MOST_VALUES]


def _places(drawn: Any) -> list[tuple[float, float]]:
    """Return where the points of a line or a scatter plot stand that are seen."""
    points = drawn.get_xydata() if hasattr(drawn, "get_xydata") else drawn.get_offsets()
    shown = points[:MOST_VALUES] if drawn.get_visible() else []
    return [(float(x), float(y)) for x, y in shown if math.isfinite(y)]


def _ticks(axis: Any) -> list[tuple[float, str]]:
    places = axis.get_majorticklocs()
    return list(
        zip(
            map(float, places),
            axis.get_major_formatter().format_ticks(places),
            strict=False,
        )
    )


def _nearest(ticks: Sequence[tuple[float, str]], at: float) -> str:
    return min(
        ((abs(place - at), words) for place, words in ticks if abs(place - at) <= 0.5),
        default=(0, ""),
    )[1]


def _named(names: Sequence[Any]) -> str:
    # _child0: matplotlib's own.
    return " ".join(str(name) for name in names if name and not str(name).startswith("_"))


def _plain(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=float).ravel()[:MOST_VALUES]]
