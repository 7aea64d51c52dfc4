"""A roofline for people: lines, and a picture with its words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.report import profile, profile_page, roof
from autograder.traces.operators import work
from autograder.traces.record import Point, Roofline, Slice, Trace
from tests.traces.made import kineto, read_made, step
from tests.traces.test_operators import args
from tests.traces.test_roofline import SQUARE, on_a_gpu, op


def test_lines_say_the_roof_each_operator_and_what_is_unplaced(tmp_path):
    said = list(profile.lines(read_made(tmp_path, kineto(on_a_gpu()))))

    assert "\nroofline: operators by the time they take, and how near they come to the roof" in said
    assert (
        "  There are no measured ceilings of this device. The roof is the best that this profile reached itself: "
        "20 Gflop/s (aten::addmm) and 2.4 GB/s (aten::add). "
        "Its calls move less than 64 MB each: that says more of caches and of the cost of a call than of memory."
    ) in said
    assert (
        "     300 us       16.7 6.67 Gflop/s     33 %  arithmetic  aten::mm float32 100x100 100x100"
        in said
    )
    assert (
        "      50 us     0.0833  200 Mflop/s    100 %  memory      aten::add float32 100x100 100x100"
        in said
    )
    assert (
        "  Most is to be gained in aten::mm (float32 100x100 100x100): it runs at 33 % of its roof, "
        "where it would take 100 us instead of 300 us."
    ) in said
    assert (
        "  90.0 % of the time of all kernels is placed. Without a place, the longest first: "
        "aten::cat 25 us, kernels without an operator 25 us."
    ) in said
    assert any(line.startswith("  and operators at their roof") for line in said)


def test_the_picture_has_a_dot_for_each_operator_under_one_line(tmp_path):
    """Axes go from the power of ten below all to the one above."""
    trace = read_made(tmp_path, kineto(on_a_gpu()))
    found = roof.drawn(trace)
    page = profile_page.page(trace)

    assert ["0.01", "0.1", "1", "10", "100"] == [label for _, label in found.across]
    assert ["100 M", "1 G", "10 G", "100 G"] == [label for _, label in found.up]
    assert 3 == page.count('class="dot ')
    assert pytest.approx((100 * (1.2218 + 2) / 4, 100 * (1 - 1.8239 / 3)), abs=0.01) == (
        found.dots[0].left, found.dots[0].top,
    )  # fmt: skip
    assert all(0 <= place <= 100 for dot in found.dots for place in (dot.left, dot.top))
    assert [("matmul", "kernels"), ("elementwise", "launch")] == found.kinds
    assert roof.DEFINED in page
    assert "Each dot is an operator with one shape" in page


def test_the_words_say_what_a_norm_and_its_backward_pass_count():
    """As the formulas have it."""
    recorded = args((5, 6), (5, 6))
    passes = (work(f"aten::native_layer_norm{end}", recorded) for end in ("", "_backward"))

    assert [5 * 30, 10 * 30] == [one.flops for one in passes]
    assert "five for each number, and the backward pass of a norm as ten." in roof.DEFINED


def test_a_measured_roof_names_its_device(tmp_path):
    trace = read_made(tmp_path, kineto(on_a_gpu()))
    measured = replace(trace.roofline, measured="A1 (32-bit numbers; 2027-01-20)", best_rate=4e10)
    drawn = roof.drawn(replace(trace, roofline=measured))

    assert (
        "The roof was measured on A1 (32-bit numbers; 2027-01-20): 40 Gflop/s and 2.4 GB/s."
        == drawn.roof
    )


POINT = Point("aten::<b>mm", "matmul", "9x9 " * 30, 1, 1000, 1e6, 1e3)


def test_what_a_file_says_is_escaped_and_cut():
    alone = Roofline((POINT,), 3, 1000, 1000, POINT.rate, POINT.bandwidth, 0.0, (Slice("<i>", 5),))
    trace = Trace("a", "0", "kineto", roofline=alone)
    page = profile_page.page(trace)

    assert "aten::&lt;b&gt;mm" in page
    assert "<b>mm" not in page
    assert "<i>" not in page
    assert "…" in roof.drawn(trace).row(POINT).shape
    assert "Those that take longest are near the roof." in page
    assert "3 shorter points are not drawn." in page


def test_products_alone_do_not_say_what_memory_allows(tmp_path):
    """The roof is level, and no product is called limited by memory."""
    products = [
        op("aten::mm", 0, 100, 1, SQUARE, SQUARE),
        op("aten::mm", 100, 50, 2, (9, 9), (9, 9)),
    ]
    drawing = roof.drawn(read_made(tmp_path, kineto([step(0, 0, 1000), *products])))

    assert drawing.roof.endswith(
        "itself: 20 Gflop/s (aten::mm). The limit of memory is unknown, because only products have a place."
    )
    assert {"arithmetic"} == {drawing.row(point).limit for point in drawing.roofline.points}
    assert 1 == len({top for _, top in drawing.line})


@pytest.mark.parametrize("factor", [1e-20, 1.0, 1e20])
def test_any_rate_has_a_place(factor):
    other = replace(POINT, flops=POINT.flops * factor)
    points = (POINT, other)
    best = max(point.rate for point in points), max(point.bandwidth for point in points)
    trace = Trace("a", "0", "kineto", roofline=Roofline(points, 0, 2000, 2000, *best))

    assert all(0 <= dot.left <= 100 and 0 <= dot.top <= 100 for dot in roof.drawn(trace).dots)
    assert len(roof.drawn(trace).up) <= 9
