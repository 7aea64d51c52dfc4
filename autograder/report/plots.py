"""Distributions as pictures inside a page: drawn by matplotlib, in the page's own colours and letters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from autograder.report.stats import Bin

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

INCHES = (
    4.8,
    1.75,
)  # about as many points as a phone has pixels, so that letters are as large as in the text
INKS = {
    "#0000a1": "won",
    "#0000a2": "ink",
    "#0000a3": "quiet",
    "#0000a4": "lost",
    "#0000a5": "paper",
}  # stands for -> of style.css
WON, INK, QUIET, LOST, PAPER = INKS
DROPPED = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<defs>.*?</defs>"
    r'|\s(?:id|clip-path|xmlns(?::\w+)?|version)="[^"]*"|font-family: [^;"]*;? ?',
    re.DOTALL,
)
TICKS = 5


def histogram(
    bins: Sequence[Bin], said: str, shown: Callable[[float], str], line: float | None = None
) -> Markup:
    """Draw bars with their counts, the values at some edges, and a line where a speedup is wanted.

    *said* is what it shows in words, for who hears the page.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "font.size": 11}):
        figure = Figure(figsize=INCHES, layout="constrained")
        axes = figure.subplots()
        _bars(axes, bins)
        _edges(axes, bins, shown)
        if line is not None:
            share = math.log(line / bins[0].low) / math.log(bins[-1].high / bins[0].low)
            axes.axvline(share * len(bins), color=LOST, linewidth=2)
        figure.patch.set_visible(False)
        out = StringIO()
        figure.savefig(out, format="svg")
    return _inline(out.getvalue(), said)


def _bars(axes: Axes, bins: Sequence[Bin]) -> None:
    top = max(column.many for column in bins)
    for at, column in enumerate(bins):
        axes.bar(at + 0.5, column.many, width=0.9, color=WON)
        if column.many:
            behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6}  # where the line is
            axes.text(
                at + 0.5,
                column.many + 0.04 * top,
                f"{column.many}",
                ha="center",
                color=INK,
                bbox=behind,
            )
    axes.set_ylim(0, 1.24 * top)
    axes.set_xlim(-0.02 * len(bins), 1.02 * len(bins))


def _edges(axes: Axes, bins: Sequence[Bin], shown: Callable[[float], str]) -> None:
    edges = [*(column.low for column in bins), bins[-1].high]
    step = math.ceil(len(bins) / TICKS)
    at = range(0, len(edges), step)
    axes.set_xticks(list(at), [shown(edges[i]) for i in at], color=QUIET)
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.patch.set_visible(False)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)


def _inline(svg: str, said: str) -> Markup:
    """Leave of a file what belongs into a page: its style would reach the page, its ids could stand there twice."""
    from markupsafe import Markup, escape

    body = DROPPED.sub("", svg).strip()
    for colour, name in INKS.items():
        body = body.replace(colour, f"var(--{name})")
    start = f'<svg class="plot" role="img" aria-label="{escape(said)}" '
    return Markup(re.sub(r"<svg.*?(?=viewBox)", lambda _: start, body, count=1))  # noqa: S704 what is said was escaped
