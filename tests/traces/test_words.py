"""Figures as people read them."""

from __future__ import annotations

import pytest

from autograder.traces.record import Figure
from autograder.traces.words import shortened, shown, titled


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (54.889, "%", "54.9 %"),
        (0, "ns", "0 ns"),
        (999, "ns", "999 ns"),
        (11_492_000, "ns", "11.49 ms"),
        (7_805_825_284, "ns", "7.806 s"),
        (-2_000, "ns", "-2 us"),
        (5_400_000_000_000, "ns", "5,400 s"),
        (115_607_040, "bytes", "115.6 MB"),
        (12, "bytes", "12 bytes"),
        (8772, "count", "8,772"),
        (10.06, "GB/s", "10.1 GB/s"),
        (0.008, "GB/s", "0.008 GB/s"),
    ],
)
def test_values_have_a_unit_that_fits(value, unit, words):
    assert words == shown(value, unit)


def test_a_figure_is_named_with_its_window_and_device():
    assert "`busy_kernel` in perflab trace, over the steps, GPU 1" == titled(
        Figure("busy_kernel", 5, "%", "steps", 1)
    )
    assert "`op_busy` in perflab trace, over the steps" == titled(
        Figure("op_busy", 5, "%", "steps")
    )


COMMON = (
    "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<"
)


@pytest.mark.parametrize("most", [20, 60, 100])
def test_names_that_differ_anywhere_stay_apart(most):
    """At their end, in their middle, in a namespace alone, or because one goes on."""
    names = [
        f"{COMMON}at::native::{kind}<float>>(at::TensorIteratorBase &)::[lambda(int)]"
        for kind in "abc"
    ]
    names += [
        names[0] + "z",
        COMMON,
        "x" * 200,
        "x" * 201,
        "x" * 100 + "y" * 100,
        "gemm",
        "x" * 100 + "y" * 99 + "z",
    ]
    short = shortened(names, most)

    assert len(names) == len(set(short))
    assert all(len(one) <= most for one in short)
    assert ["relu", "void relu"] == shortened(["relu", "void relu"], most)
