"""Before and after: what is set side by side, and what forbids it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.traces.compare import changes, incomparable
from autograder.traces.record import Figure, Trace, Window

NOW = Trace(
    "now",
    "1",
    "kineto",
    devices=("A100", "A100"),
    windows=(Window("steps", 0, 10), Window("trace", 0, 10)),
    steps=(Window("ProfilerStep#1", 0, 10),),
    figures=(
        Figure("busy_kernel", 80, "%", "steps", 0),
        Figure("step_median", 50, "ns", "steps"),
        Figure("comm_time", 5, "ns", "trace", 0),
        Figure("registers", 16, "count", "kernel", 0, "gemm"),
    ),
)
BEFORE = replace(
    NOW,
    file="before",
    sha256="2",
    figures=(
        Figure("busy_kernel", 40, "%", "steps", 0),
        Figure("busy_kernel", 60, "%", "gpu", 0),
        Figure("step_median", 0, "ns", "steps"),
        Figure("registers", 8, "count", "kernel", 0, "gemm"),
    ),
)


def test_only_the_same_figure_over_the_same_window_is_set_beside():
    found = changes(NOW, BEFORE)

    assert [("busy_kernel", 40, 2.0), ("step_median", 0, None)] == [(c.figure.id, c.before, c.ratio) for c in found]


@pytest.mark.parametrize(
    ("before", "reasons"),
    [
        pytest.param(BEFORE, [], id="alike"),
        pytest.param(replace(BEFORE, sha256="1"), ["both files hold the same profile"], id="the same"),
        pytest.param(
            replace(BEFORE, tool="nsys"),
            ["one was recorded with kineto, the other with nsys: their times are not alike"],
            id="another tool",
        ),
        pytest.param(
            replace(BEFORE, devices=()), ["recorded on A100 and on no GPU: compare on one machine"], id="another GPU"
        ),
        pytest.param(
            replace(BEFORE, steps=(), windows=()),
            [
                "1 step against 0: compare shares and times per step, not totals",
                "only one of them has steps: their windows are not alike",
            ],
            id="no steps",
        ),
    ],
)
def test_what_forbids_to_compare_is_said(before, reasons):
    assert reasons == list(incomparable(NOW, before))
