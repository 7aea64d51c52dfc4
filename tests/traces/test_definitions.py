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
    training,
)
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


def test_what_is_asked_and_what_leads_a_page_are_figures():
    asked = {name for quantity in QUANTITIES.values() for name, _ in quantity.accepted}

    assert asked | set(KEY) <= set(DEFINITIONS)
