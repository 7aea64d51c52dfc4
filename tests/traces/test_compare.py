"""Before and after: what is set side by side, and what forbids it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.traces.compare import changes, incomparable, sections, verdict
from autograder.traces.record import Figure, Row, Slice, Trace, Window

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

    assert [("busy_kernel", 40, 2.0), ("step_median", 0, None)] == [
        (c.figure.id, c.before, c.ratio) for c in found
    ]


@pytest.mark.parametrize(
    ("before", "reasons"),
    [
        pytest.param(BEFORE, [], id="alike"),
        pytest.param(
            replace(BEFORE, sha256="1"), ["both files hold the same profile"], id="the same"
        ),
        pytest.param(
            replace(BEFORE, tool="nsys"),
            ["one was recorded with kineto, the other with nsys: their times are not alike"],
            id="another tool",
        ),
        pytest.param(
            replace(BEFORE, devices=()),
            ["recorded on A100 and on no GPU: compare on one machine"],
            id="another GPU",
        ),
        pytest.param(
            replace(BEFORE, devices=(), tables={"kernels": (Row("gemm", 1, 1, 100.0),)}),
            ["recorded on A100 and on a GPU without a name: compare on one machine"],
            id="a GPU without a name",
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


OLD = Trace(
    "old", "3", "kineto",
    breakdown={"gpu0": (Slice("kernels", 60), Slice("data loading", 34), Slice("launching", 6))},
    tables={"ranges": (Row("forward", 2, 100, 50.0), Row("gone", 1, 1, 1.0))},
    figures=(
        Figure("step_median", 100, "ns", "steps"), Figure("busy_any", 60, "%", "steps", 0),
        Figure("idle", 40, "ns", "steps", 0), Figure("gap_count", 0, "count", "steps", 0),
    ),
)  # fmt: skip
NEW = replace(
    OLD,
    breakdown={"gpu0": (Slice("kernels", 80), Slice("launching", 20))},
    tables={"ranges": (Row("forward", 4, 100, 50.0),)},
    figures=(
        Figure("step_median", 50, "ns", "steps"), Figure("busy_any", 80, "%", "steps", 0),
        Figure("idle", 10, "ns", "steps", 0), Figure("gap_count", 3, "count", "steps", 0),
    ),
)  # fmt: skip


def test_what_changed_most_stands_first():
    """Parts of the time as well, and of ranges the time of one."""
    found = {
        heading: [(one.figure.id, round(one.before), round(one.figure.value)) for one in rows]
        for heading, rows in sections(NEW, OLD).items()
    }

    assert {
        "what the time consists of": [
            ("data loading", 34, 0),
            ("kernels", 60, 80),
            ("launching", 6, 20),
        ],
        "shares": [("busy_any", 60, 80)],
        "times and counts": [("gap_count", 0, 3), ("idle", 40, 10), ("step_median", 100, 50)],
        "ranges, the mean of one": [("forward", 50, 25)],
    } == found


def test_a_comparison_begins_with_a_line_that_says_it_all():
    said = "the median step takes 50 ns, before 100 ns: 2.00x as fast; the largest change is of data loading, about 34 ns -> 0 ns a step"

    assert said == verdict(NEW, OLD)
    assert said.partition(";")[0] == verdict(replace(NEW, breakdown={}), OLD)
    assert "" == verdict(NEW, replace(OLD, figures=()))
