"""The words for every figure: whatever a reader yields has some, and none are about a figure that nothing yields."""

from __future__ import annotations

from autograder.report.profile_page import KEY
from autograder.traces.definitions import DEFINITIONS
from autograder.traces.figures_claimed import QUANTITIES
from tests.traces import test_ncu, test_nsys_stats
from tests.traces.made import (
    allocated,
    event,
    export,
    kernel,
    kineto,
    processor,
    read_made,
    step,
    training,
)
from tests.traces.test_operators import args
from tests.traces.test_roofline import on_a_gpu

OTHERS = [
    event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 10, 5, 7, device=0, bytes=100),
    event("cuda_runtime", "cudaGraphLaunch", 0, 10, correlation=77),
    kernel(20, 1, correlation=77),
    allocated(100),
    allocated(1000, 0, 1),
]
STATS = f"{test_nsys_stats.KERNELS}\n{test_nsys_stats.COPIES}\n{test_nsys_stats.SIZES}\n{test_nsys_stats.CALLS}"
FILES = {
    "a_trace.json": kineto([*training(), *OTHERS]),
    "cpu_trace.json": kineto(processor()),
    "shapes_trace.json": kineto(on_a_gpu()),
    "nsys.csv": STATS,
    "ncu.csv": test_ncu.DETAILS + test_ncu.MEASURED,
}


def test_every_figure_of_every_reader_is_defined(tmp_path):
    """A page of figures that stops in the middle is worse than none."""
    graphs = export(
        tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[(10, 1000, 0, 7, 6, None)]
    )
    files = {**FILES, "b.sqlite": graphs.read_bytes()}
    found = {
        one.id for name, data in files.items() for one in read_made(tmp_path, data, name).figures
    }

    assert set(DEFINITIONS) == found


def test_operators_at_their_roof_do_not_take_the_wait_of_a_cpu_away(tmp_path):
    """Half of 100 is loading. The product of 30 is as fast as the fastest, itself."""
    product = event("cpu_op", "aten::mm", 50, 30, **args((9, 9), (9, 9)))
    loading = event("user_annotation", "enumerate(DataLoader)#__next__", 0, 50)
    trace = read_made(tmp_path, kineto([step(0, 0, 100), loading, product]))

    assert 100_000 == trace.figure("at_roof", "steps")
    assert DEFINITIONS["at_roof"].endswith("but a CPU waits for data as before")


def test_what_is_asked_and_what_leads_a_page_are_figures():
    asked = {name for quantity in QUANTITIES.values() for name, _ in quantity.accepted}

    assert asked | set(KEY) <= set(DEFINITIONS)
