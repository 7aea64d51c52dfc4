"""A profile as a picture for a report: the timeline, and under it what the window consists of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import UserError
from autograder.report import profile
from autograder.report.outcome_words import clean
from autograder.report.profile import colour
from autograder.report.profile_page import span, ticks
from autograder.traces.record import Trace
from autograder.traces.words import shown, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INKS = {
    "kernels": "#2f7d5b",
    "comm": "#7c5ba6",
    "copies": "#2f6fb0",
    "queued": "#5f7691",
    "loading": "#bf4a36",
    "alloc": "#8a5a34",
    "sync": "#2c9c9c",
    "launch": "#d99a2b",
    "rest": "#b8b3a8",
}
LIGHT = (INKS["rest"], INKS["launch"])
QUIET = "#5d636c"
NARROW = 6.0  # percent: a slice below it has no room for its own words


def write(path: Path, trace: Trace) -> None:
    """Draw it; what was not recorded is not drawn."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    if not trace.timeline:
        raise UserError(
            f"{trace.file}: says nothing of when things ran, so there is no timeline to draw"
        )
    lanes, bars = len(trace.timeline), len(trace.breakdown)
    heights = [0.42 * lanes, *([0.55 * bars] if bars else [])]
    figure, axes = plt.subplots(
        len(heights),
        1,
        figsize=(10, 1.9 + sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    figure.suptitle(clean(profile.headline(trace)), x=0.01, ha="left", fontsize=11)
    _timeline(axes[0][0], trace)
    if bars:
        _breakdown(axes[1][0], trace)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _timeline(axes: Axes, trace: Trace) -> None:
    from matplotlib.colors import to_rgba

    window = span(trace)
    assert window is not None
    unit, scale = ("ms", 1e6) if window.length >= 1e6 else ("us", 1e3)
    length = window.length / scale
    for at, lane in enumerate(trace.timeline):
        ink = to_rgba(INKS[colour(lane.name)])[:3]
        pixels = [[(*ink, min(max(share, 0.0), 1.0)) for share in lane.shares]]
        axes.imshow(
            pixels, extent=(0, length, at + 0.38, at - 0.38), aspect="auto", interpolation="nearest"
        )
    for share, name in ticks(trace):
        axes.axvline(share * length, color=QUIET, linewidth=0.6, linestyle=":")
        axes.text(
            share * length,
            -0.55,
            f" step {name}" if name else "",
            fontsize=8,
            color=QUIET,
            va="bottom",
        )
    axes.set_xlim(0, length)
    axes.set_ylim(len(trace.timeline) - 0.5, -0.5)
    axes.set_yticks(range(len(trace.timeline)), [lane.name for lane in trace.timeline])
    axes.set_xlabel(
        f"time ({unit}); the fainter, the smaller the share of a moment that was covered"
    )
    _plain(axes)


def _breakdown(axes: Axes, trace: Trace) -> None:
    named = set()
    for at, slices in enumerate(trace.breakdown.values()):
        whole, left = sum(piece.ns for piece in slices), 0.0
        for piece in slices:
            width, ink = 100 * piece.ns / whole, INKS[colour(piece.name)]
            label = None if piece.name in named else piece.name
            axes.barh(
                at,
                width,
                left=left,
                color=ink,
                height=0.6,
                label=label,
                edgecolor="white",
                linewidth=0.8,
            )
            named.add(piece.name)
            if width >= NARROW:
                ink = "black" if ink in LIGHT else "white"
                words = f"{width:.1f} %"
                axes.text(
                    left + width / 2, at, words, ha="center", va="center", fontsize=9, color=ink
                )
            left += width
    axes.set_xlim(0, 100)
    axes.set_ylim(len(trace.breakdown) - 0.5, -0.5)
    names = [
        f"{where(name)}\n{shown(sum(piece.ns for piece in s), 'ns')}"
        for name, s in trace.breakdown.items()
    ]
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("percent of the window")
    below = (0.5, -0.55 / len(names) - 0.15)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=below,
        ncols=len(named),
        frameon=False,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.2,
    )
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
