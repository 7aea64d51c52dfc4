"""Numbers of a report: the definition that they meet, or the mistake that they look like, in the words students read."""

from __future__ import annotations

import pytest

from autograder.traces.definitions import DEFINITIONS
from autograder.traces.figures_claimed import DEFINED, QUANTITIES, compare, compare_top, plain
from autograder.traces.record import Figure, Row, Trace
from autograder.traces.words import shortened

TRACE = Trace(
    "made_trace.json",
    "0" * 64,
    "kineto",
    figures=(
        Figure("busy_kernel", 54.89, "%", "steps", 0),
        Figure("busy_kernel", 59.36, "%", "gpu", 0),
        Figure("busy_any", 60.57, "%", "gpu", 0),
        Figure("h2d_time", 11_492_000, "ns", "trace", 0),
        Figure("kernel_count", 8772, "count", "trace", 0),
        Figure("gap_longest", 0, "ns", "steps", 0),
        Figure("sm_throughput", 80.3, "%", "kernel", 0, "gemm(int)"),
        Figure("sm_throughput", 12.0, "%", "kernel", 0, "relu(int)"),
        Figure("step_median", 0, "ns", "steps"),
    ),
    tables={
        "kernels": (
            Row("void gemm<float, 1>(int)", 10, 900, 88.3),
            Row("relu", 10, 100, 9.1),
            Row("add", 1, 98, 2.6),
        ),
        "copies": (Row("Memcpy HtoD", 3, 50, 100.0),),
    },
)
UTIL = "GPU utilization is given as"
SAYS = "the profile says 54.9 % (`busy_kernel` in perflab trace, over the steps, GPU 0)"
RANGE = f"{SAYS}; other accepted definitions give 54.9 % to 60.6 %"


@pytest.mark.parametrize(
    ("quantity", "value", "verdict", "words", "why"),
    [
        pytest.param("gpu_utilization", 55.0, "exact", f"{UTIL} 55.0 %; {SAYS}", "", id="the handout's definition"),
        pytest.param("gpu_utilization", 56.5, "exact", f"{UTIL} 56.5 %; {SAYS}", "", id="within two points"),
        pytest.param("gpu_utilization", 60.6, "accepted", f"{UTIL} 60.6 %; the profile says 60.6 % (`busy_any` in perflab trace, over the time of its GPU work, GPU 0)", "", id="another definition, the nearest"),
        pytest.param("gpu_utilization", 0.55, "mistake", f"{UTIL} 0.6 %; {RANGE}", "that is the fraction, and it must be in percent", id="a fraction"),
        pytest.param("gpu_utilization", 45.1, "mistake", f"{UTIL} 45.1 %; {RANGE}", "your number is near 100 % - 54.9 %: usually the rest, and not the share", id="the idle share"),
        pytest.param("gpu_utilization", 88.3, "mistake", f"{UTIL} 88.3 %; {RANGE}", "that is the share of 'gemm<float, 1>(int)' among the kernels listed, not a utilization", id="a Time (%) cell"),
        pytest.param("gpu_utilization", 2.6, "apart", f"{UTIL} 2.6 %; {RANGE}", f"{DEFINED}: `busy_kernel` of perflab trace is the {DEFINITIONS['busy_kernel']}", id="a small share is no coincidence to build on"),
        pytest.param("gpu_utilization", 75.0, "apart", f"{UTIL} 75.0 %; {RANGE}", f"{DEFINED}: `busy_kernel` of perflab trace is the {DEFINITIONS['busy_kernel']}", id="nothing fits"),
        pytest.param("h2d_time", 11_500_000, "exact", "time of copies to the GPU is given as 11.5 ms; the profile says 11.49 ms (`h2d_time` in perflab trace, over the whole trace, GPU 0)", "", id="a time"),
        pytest.param("h2d_time", 11_500, "mistake", "time of copies to the GPU is given as 11.5 us; the profile says 11.49 ms (`h2d_time` in perflab trace, over the whole trace, GPU 0)", "your number is a thousandth of the profile's, so it is in another unit", id="us for ms"),
        pytest.param("h2d_time", 11_500_000_000, "mistake", "time of copies to the GPU is given as 11.5 s; the profile says 11.49 ms (`h2d_time` in perflab trace, over the whole trace, GPU 0)", "your number is 1000 times the profile's, so it is in another unit", id="s for ms"),
        pytest.param("kernel_count", 877, "mistake", "number of kernels is given as 877; the profile says 8,772 (`kernel_count` in perflab trace, over the whole trace, GPU 0)", "your number is a tenth of the profile's", id="a digit lost"),
        pytest.param("step_time", 5, "apart", "time of a step is given as 5 ns; the profile says 0 ns (`step_median` in perflab trace, over the steps)", f"{DEFINED}: `step_median` of perflab trace is the {DEFINITIONS['step_median']}", id="a figure of nothing"),
        pytest.param("comm_overlap", 20, "unknown", "overlap of communication is given as 20.0 %", "it cannot be recomputed from made_trace.json", id="not recorded"),
        pytest.param("sm_throughput", 12.4, "exact", "SM throughput is given as 12.4 %; the profile says 12.0 % (`sm_throughput` in perflab trace, over one kernel, GPU 0)", "", id="any of the kernels"),
        pytest.param("nvidia_smi", 98, "unverifiable", "nvidia-smi is said to have shown 98.0 %; not verifiable: its samples cannot be recomputed from a profile", "", id="what a sampled counter may show"),
        pytest.param("nvidia_smi", 20, "apart", "nvidia-smi is said to have shown 20.0 %; kernels ran 54.9 % of the time", "a sample counts as busy when one kernel ran in it, so it cannot be below the share of time kernels ran", id="what it cannot show"),
    ],
)  # fmt: skip
def test_a_claim_is_told_what_it_is(quantity, value, verdict, words, why):
    found = compare(TRACE, quantity, value)

    assert (verdict, words, why) == (found.verdict, found.words, found.why)
    assert (verdict in ("exact", "accepted", "unverifiable")) == found.holds
    assert bool(found.definition) == (verdict in ("exact", "accepted"))


def test_a_claim_about_one_kernel_is_compared_with_that_kernel():
    assert "exact" == compare(TRACE, "sm_throughput", 80.0, "gemm").verdict
    assert "apart" == compare(TRACE, "sm_throughput", 80.0, "relu").verdict


def test_a_profile_without_figures_says_why():
    """The first note is the reason that a reader needs."""
    empty = Trace("a.csv", "", "nsys stats", notes=("nsys found no CUDA kernels",))

    assert (
        "a.csv has no figures: nsys found no CUDA kernels"
        == compare(empty, "gpu_utilization", 5).why
    )
    assert "unverifiable" == compare(empty, "nvidia_smi", 5).verdict


def test_every_accepted_definition_is_defined():
    assert {name for one in QUANTITIES.values() for name, _ in one.accepted} <= set(DEFINITIONS)


@pytest.mark.parametrize(
    ("named", "verdict", "table"),
    [
        pytest.param(["gemm"], "exact", "kernels", id="without its template"),
        pytest.param(
            ["relu", "void gemm<double, 2>(long)"],
            "exact",
            "kernels",
            id="in any order, of any type",
        ),
        pytest.param(["gemm", "add"], "exact", "kernels", id="as good as second"),
        pytest.param(["Memcpy HtoD"], "exact", "copies", id="of another table"),
        pytest.param(["add"], "apart", "", id="not the largest"),
        pytest.param(["gemm", "gemm"], "apart", "", id="one name twice"),
        pytest.param(["gemm", "relu", "add", "more"], "apart", "", id="more than there are"),
        pytest.param([], "apart", "", id="none"),
    ],
)
def test_names_lead_a_table_or_do_not(named, verdict, table):
    found = compare_top(TRACE, named)

    assert (verdict, table) == (found.verdict, found.definition)
    if not found.holds:
        assert "the profile's largest are kernels: gemm<float, 1>(int)" in found.why


def test_a_name_that_is_not_among_the_largest_is_told_where_others_are():
    assert compare_top(TRACE, ["gemm", "sigmoid"]).why.endswith("; sigmoid is none of these")
    assert "not among" not in compare_top(TRACE, ["sigmoid", "tanh"]).why


def test_names_of_a_profile_without_tables():
    assert (
        "the profile holds no table that could be compared"
        == compare_top(Trace("a", "", "kineto"), ["gemm"]).why
    )


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("void at::native::(anonymous namespace)::op<float, Functor<int>>(int, f(*)(int))", "op"),
        ("aten::Conv2d", "aten::conv2d"),
        ("volta_sgemm_128x64_tn", "volta_sgemm_128x64_tn"),
        ("void cut<float, of a long na", "cut"),
    ],
)
def test_a_plain_name_has_no_types(name, bare):
    assert bare == plain(name)


def test_a_name_may_be_cut_as_it_is_printed():
    """Namespaces are left out there, and the middle of a name that begins like another."""
    long = "void at::native::elementwise_kernel<128, gpu_kernel_impl_nocast<BinaryFunctor<float, {}Functor<float>>>>(int)"
    names = [long.format(kind) for kind in ("Mul", "Div", "Add")]
    trace = Trace(
        "a", "", "kineto", tables={"kernels": tuple(Row(name, 1, 100, 33.3) for name in names)}
    )

    assert "exact" == compare_top(trace, shortened(names, 60)).verdict
    assert (
        "exact"
        == compare_top(
            trace, [name.removeprefix("void at::native::") for name in names[:1]]
        ).verdict
    )
    assert "apart" == compare_top(trace, ["elementwise_kernel<128, …PowFunctor"]).verdict
    assert "apart" == compare_top(trace, ["gemm…MulFunctor"]).verdict
