"""Where operators stand below the best that a profile reached itself."""

from __future__ import annotations

import pytest

from autograder.traces import ceilings
from autograder.traces.ceilings import Ceiling
from autograder.traces.record import Slice
from tests.traces.made import event, kernel, kineto, processor, read_made, step, training
from tests.traces.test_operators import args


def op(name, ts, dur, number, *tensors, **more):
    recorded = args(*tensors) if tensors else {}
    return event("cpu_op", name, ts, dur, **{"External id": number}, **recorded, **more)


def launch(ts, number):
    return event("cuda_runtime", "cudaLaunchKernel", ts, 1, correlation=number)


SQUARE = (100, 100)
"""Of a product: 2,000,000 operations and 120,000 bytes."""


def on_a_gpu():
    """Two products of 100 us and 300 us, an addition of 50 us, a copy of 25 us, a strange kernel."""
    return [
        step(0, 0, 1000),
        op("aten::addmm", 0, 20, 1, (100,), SQUARE, SQUARE), launch(5, 1),
        op("aten::mm", 6, 5, 2, SQUARE, SQUARE), launch(8, 2),
        op("aten::mm", 30, 20, 3, SQUARE, SQUARE), launch(35, 3),
        op("aten::add", 60, 20, 4, SQUARE, SQUARE), launch(65, 4),
        op("aten::cat", 90, 20, 5), launch(95, 5), launch(120, 6),
        kernel(100, 60, correlation=1, **{"External id": 1}),
        kernel(160, 40, correlation=2, **{"External id": 2}),
        kernel(200, 300, correlation=3, **{"External id": 3}),
        kernel(500, 50, correlation=4, **{"External id": 4}),
        kernel(550, 25, correlation=5, **{"External id": 5}),
        kernel(600, 25, correlation=6),
        kernel(700, 99, "ncclDevKernel_AllReduce", stream=8, correlation=7),
    ]  # fmt: skip


def test_an_operator_has_the_kernels_of_what_it_calls(tmp_path):
    """The product inside addmm is a part of it. Communication is no operator's."""
    found = read_made(tmp_path, kineto(on_a_gpu())).roofline

    assert [
        ("aten::mm", 1, 300_000, 2e6, 120e3),
        ("aten::addmm", 1, 100_000, 2e6, 120e3 + 400),
        ("aten::add", 1, 50_000, 10e3, 120e3),
    ] == [(p.operator, p.count, p.ns, p.flops, p.bytes) for p in found.points]
    assert (450_000, 500_000) == (found.placed_ns, found.whole_ns)
    assert (
        Slice("aten::cat", 25_000),
        Slice("kernels without an operator", 25_000),
    ) == found.unplaced


def test_the_roof_is_the_best_that_was_reached(tmp_path):
    """2e6 operations in 100 us, and 120,000 bytes in 50 us."""
    found = read_made(tmp_path, kineto(on_a_gpu())).roofline
    product, best, addition = found.points

    assert pytest.approx((2e10, 2.4e9)) == (found.best_rate, found.best_bandwidth)
    assert pytest.approx((2e10, 2e10, 2.4e9 / 12)) == tuple(
        found.roof(point.intensity) for point in (product, best, addition)
    )
    assert pytest.approx((2e6 / 120e3, 2e10 / 3, 120e3 / 300e-6)) == (
        product.intensity, product.rate, product.bandwidth,
    )  # fmt: skip
    assert pytest.approx(200_000) == found.saved_ns


def test_memory_is_as_fast_as_operators_that_no_cache_holds(tmp_path):
    """3,000 x 3,000 numbers go in twice and out once: 108 MB in 100 us. The small one was in a cache.

    It stands above the roof, and has nothing to gain.
    """
    large = (3000, 3000)
    adds = [
        op("aten::add", 0, 100, 1, large, large),
        op("aten::add", 200, 1, 2, (500, 500), (500, 500)),
    ]
    product = op("aten::mm", 300, 500, 3, (9000, 9000), (9000, 1))
    found = read_made(tmp_path, kineto([step(0, 0, 1000), product, *adds])).roofline
    small = found.points[-1]

    assert pytest.approx(1.08e12) == found.best_bandwidth
    assert ("3000x3000 3000x3000", "aten::mm") == (found.widest.shape, found.fastest.operator)
    assert found.share(small) > 2
    assert 0 == found.saved(small)
    assert found.saved_ns == found.saved(found.points[0])


def test_among_small_operators_a_product_may_be_the_fastest_with_memory(tmp_path):
    """A matrix and a vector are 40,800 bytes in 10 us; the sum has 16 bytes in 1 us."""
    product = op("aten::mm", 0, 10, 1, SQUARE, (100, 1))
    found = read_made(
        tmp_path, kineto([step(0, 0, 100), product, op("aten::relu", 20, 1, 2, (2,))])
    )

    assert "aten::mm" == found.roofline.widest.operator
    assert pytest.approx(4.08e9) == found.roofline.best_bandwidth


def test_the_roof_of_memory_is_unknown_where_all_are_products(tmp_path):
    products = [
        op("aten::mm", 0, 100, 1, SQUARE, SQUARE),
        op("aten::mm", 200, 50, 2, (9, 9), (9, 9)),
    ]
    found = read_made(tmp_path, kineto([step(0, 0, 1000), *products])).roofline

    assert found.best_bandwidth is None
    assert {found.best_rate} == {found.roof(point.intensity) for point in found.points}


def test_at_the_roof_a_window_loses_that_share_of_its_kernels(tmp_path):
    """Of 500 us of kernels, 200 are saved. With communication and a gap of 25, it works for 624."""
    trace = read_made(tmp_path, kineto(on_a_gpu()))
    fed = trace.figure("never_idle", "steps", 0)

    assert 624_000 == fed
    assert pytest.approx(fed - 200_000) == trace.figure("at_roof", "steps", 0)


def test_without_a_gpu_an_operator_has_the_time_of_its_call(tmp_path):
    """What ran in the loader does not count; what calls a product is unplaced for the rest."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace = read_made(tmp_path, kineto([
        step(0, 0, 1000), event("user_annotation", loader, 0, 100), op("aten::mul", 10, 50, 1, SQUARE),
        op("aten::linear", 100, 500, 2), op("aten::mm", 150, 400, 3, SQUARE, SQUARE),
        op("aten::mm", 600, 100, 4, SQUARE, SQUARE), op("aten::add", 700, 50, 5, SQUARE, SQUARE),
    ]))  # fmt: skip
    found = trace.roofline

    assert [("aten::mm", 2, 500_000), ("aten::add", 1, 50_000)] == [
        (p.operator, p.count, p.ns) for p in found.points
    ]
    assert (550_000, 650_000) == (found.placed_ns, found.whole_ns)
    assert (Slice("aten::linear", 100_000),) == found.unplaced
    assert pytest.approx(1_000_000) == trace.figure("at_roof", "steps")


def test_without_shapes_there_is_no_roofline(tmp_path):
    assert read_made(tmp_path, kineto(training())).roofline is None
    assert read_made(tmp_path, kineto(processor())).roofline is None
    hidden = [op("aten::mm", 0, 10, 1, SQUARE, SQUARE), kernel(20, 10)]
    assert read_made(tmp_path, kineto(hidden)).roofline is None  # no kernel is known to be its


def test_an_old_convolution_that_gave_one_gradient_alone_has_no_place(tmp_path):
    """Its file does not say which were asked for. The first convolution needs none of its image."""
    name, tensors = "aten::cudnn_convolution_backward", ((2, 4, 9, 10), (2, 8, 7, 8), (8, 4, 3, 3))
    both = [
        op(name, 0, 100, 1, *tensors),
        op(f"{name}_input", 5, 40, 2),
        op(f"{name}_weight", 50, 40, 3),
    ]
    one = [op(name, 200, 60, 4, *tensors), op(f"{name}_weight", 210, 40, 5)]
    found = read_made(tmp_path, kineto([step(0, 0, 1000), *both, *one])).roofline

    assert [(name, 1, 100_000)] == [(p.operator, p.count, p.ns) for p in found.points]
    assert Slice(f"{name}_weight", 40_000) in found.unplaced


def test_each_type_is_a_point_of_its_own(tmp_path):
    """A mean of float32 and float16 is the rate of neither."""
    half = args(SQUARE, SQUARE, kind="c10::Half")
    found = read_made(tmp_path, kineto([
        step(0, 0, 1000), op("aten::mm", 0, 400, 1, SQUARE, SQUARE),
        event("cpu_op", "aten::mm", 400, 100, **half),
    ])).roofline  # fmt: skip

    assert [("float32", 5e9), ("float16", 2e10)] == [(p.type, p.rate) for p in found.points]


def test_shorter_points_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.traces.roofline.DRAWN", 1)
    found = read_made(tmp_path, kineto(on_a_gpu())).roofline

    assert (["aten::mm"], 2, 450_000) == (
        [p.operator for p in found.points],
        found.more,
        found.placed_ns,
    )


def test_a_device_with_measured_ceilings_has_them_as_its_roof(tmp_path, monkeypatch):
    """Those of the size of its numbers; where the profile itself was faster, that counts."""
    table = tmp_path / "ceilings.csv"
    ceilings.keep(
        [Ceiling("A1", 4, 4e10, 1e9, "2027-01-20"), Ceiling("A1", 2, 9e10, 1e9, "2027-01-20")],
        table,
    )
    monkeypatch.setattr(ceilings.of, "__defaults__", (table,))
    named = kineto(on_a_gpu(), deviceProperties=[{"name": "A1"}])
    other = kineto(on_a_gpu(), deviceProperties=[{"name": "A1"}, {"name": "B2"}])
    under, free = (read_made(tmp_path, made).roofline for made in (named, other))

    assert ("A1 (32-bit numbers; 2027-01-20)", "") == (under.measured, free.measured)
    assert pytest.approx((4e10, 2.4e9)) == (under.best_rate, under.best_bandwidth)
    assert pytest.approx((2e10, 2.4e9)) == (free.best_rate, free.best_bandwidth)
    assert pytest.approx(299_833.3) == under.saved_ns  # addmm is bound by its 120,400 bytes


def test_ceilings_of_a_device_are_replaced_and_others_stay(tmp_path):
    table = tmp_path / "ceilings.csv"
    ceilings.keep([Ceiling("A1", 4, 1e10, 1e9, "old"), Ceiling("B2", 4, 2e10, 2e9, "old")], table)
    ceilings.keep([Ceiling("A1", 4, 3e10, 3e9, "new")], table)

    assert {("B2", 2e10, "old"), ("A1", 3e10, "new")} == {
        (it.device, it.rate, it.measured) for it in ceilings.read(table)
    }
    assert [] == ceilings.read(tmp_path / "none.csv")
