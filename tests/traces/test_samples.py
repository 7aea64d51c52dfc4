"""Real profiles of eight projects, where they lie beside the checkout: figures that other tools gave for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autograder import traces
from autograder.traces import nsys, summary

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the real profiles do not lie beside this checkout"
)

read = cache(traces.read)
K = "kineto"
N = "nsys"
# file -> (figure, window, device) -> value as its reference gives it, to the digits given
REFERENCE = {
    f"{K}/kineto_resnet50_num_workers_0.json.gz": {
        ("busy_any", "gpu", 0): 60.57, ("busy_kernel", "gpu", 0): 59.36, ("busy_any", "steps", 0): 56.03,
        ("busy_kernel", "steps", 0): 54.89, ("busy_kernel", "trace", 0): 55.51, ("kernel_count", "trace", 0): 8772,
        ("h2d_time", "trace", 0): 11_492_000, ("h2d_overlap", "trace", 0): 0.0,
        ("without_data", "steps", 0): 695_414_000, ("without_sync", "steps", 0): 1_048_766_000,
    },
    f"{K}/tracelens_h100_Falconsai_nsfw_image_detection__1016002.json.gz": {
        ("busy_any", "gpu", 0): 16.21, ("busy_kernel", "gpu", 0): 16.15, ("busy_any", "steps", 0): 15.52,
        ("busy_kernel", "steps", 0): 15.47, ("kernel_count", "trace", 0): 154,
    },
    f"{K}/tracelens_h100_gaunernst_bert-small-uncased__1016001.json.gz": {
        ("busy_any", "gpu", 0): 7.92, ("busy_kernel", "gpu", 0): 7.86, ("busy_any", "steps", 0): 6.99,
        ("busy_kernel", "steps", 0): 6.94, ("kernel_count", "trace", 0): 60,
    },
    f"{K}/hta_ns_resolution_rank0.json.gz": {
        ("busy_any", "gpu", 0): 98.42, ("busy_kernel", "gpu", 0): 97.53, ("busy_any", "steps", 0): 97.44,
        ("busy_kernel", "steps", 0): 96.52, ("kernel_count", "trace", 0): 4350, ("kernel_mean", "trace", 0): 107_622,
    },
    f"{K}/hta_event_sync_tiny.json.gz": {("busy_any", "gpu", 0): 19.39, ("busy_kernel", "gpu", 0): 18.63},
    f"{K}/hta_mi250_rocm_tiny.json.gz": {("busy_any", "gpu", 2): 1.67, ("busy_kernel", "gpu", 2): 1.24},
    f"{K}/hta_ddp_nccl_rank0of2_a100.json.gz": {
        ("busy_any", "gpu", 0): 23.84, ("busy_kernel", "gpu", 0): 23.5, ("comm_time", "trace", 0): 46_876_493,
        ("comm_overlap", "trace", 0): 15.61,
    },
    f"{K}/own_torch2.15_cpu_w0.json.gz": {("dataloader", "steps", None): 71.07, ("op_busy", "steps", None): 25.0},
    f"{K}/own_torch2.15_cpu_w1.json.gz": {("dataloader", "steps", None): 44.87, ("op_busy", "steps", None): 46.64},
    f"{K}/own_torch2.15_ddp_rank0.json.gz": {("cpu_comm", "steps", None): 89.33, ("cpu_comm_overlap", "steps", None): 17.53},
    f"{K}/own_torch2.15_ddp_rank1.json.gz": {("cpu_comm", "steps", None): 12.24, ("cpu_comm_overlap", "steps", None): 93.11},
    f"{N}/cs336_2.7B_compile_cudagraph_2024.6.sqlite.gz": {
        ("busy_kernel_only", "gpu", 0): 0.0, ("busy_kernel", "gpu", 0): 100.0, ("kernel_count", "trace", 0): 30,
        ("kernel_sum", "trace", 0): 78_270,
    },
    f"{N}/cs336_2.7B_nvtx_2024.6.sqlite.gz": {
        ("busy_any", "gpu", 0): 83.49, ("busy_kernel", "gpu", 0): 43.35, ("kernel_count", "trace", 0): 7328,
        ("kernel_sum", "trace", 0): 3_408_380_989, ("h2d_sum", "trace", 0): 3_156_475_895, ("h2d_count", "trace", 0): 294,
    },
    f"{N}/nsightful_power_iteration_t4_2025.3.sqlite.gz": {
        ("busy_any", "gpu", 0): 63.22, ("busy_kernel", "gpu", 0): 63.2, ("kernel_count", "trace", 0): 3689,
        ("kernel_sum", "trace", 0): 1_131_742_684, ("without_sync", "gpu", 0): 1_147_544_924,
    },
    f"{N}/nsysai_mfu_2gpu_before_2026.2.sqlite.gz": {
        ("busy_any", "gpu", 0): 91.32, ("busy_kernel", "gpu", 0): 90.33, ("busy_any", "gpu", 1): 89.49,
        ("busy_kernel", "gpu", 1): 88.5,
    },
    f"{N}/nsysai_h100_2gpu_offload_2026.2.sqlite.gz": {("busy_any", "gpu", 0): 99.32, ("busy_kernel", "gpu", 0): 2.31},
    f"{N}/cs336_2.7B_nvtx_2024.6.nsys_stats_2023.4.csv": {
        ("kernel_count", "trace", None): 7328, ("kernel_sum", "trace", None): 3_408_380_989,
        ("h2d_sum", "trace", None): 3_156_475_895, ("h2d_count", "trace", None): 294,
    },
    f"{N}/cs336_2.7B_compile_cudagraph_2024.6.nsys_stats.txt": {
        ("kernel_count", "trace", None): 30, ("kernel_sum", "trace", None): 78_270,
    },
    "ncu/nsightful_copy_blocked_details_base_units.csv": {
        ("duration", "kernel", 0): 21_058_944, ("memory_throughput", "kernel", 0): 61.84,
    },
    "ncu/yzwang.details.ncu2024.1.csv": {("duration", "kernel", 0): 1_170_000_000, ("sm_throughput", "kernel", 0): 80.3},
    "ncu/yzwang.details.ncu2024.1.txt": {("duration", "kernel", 0): 1_170_000_000, ("sm_throughput", "kernel", 0): 80.3},
    "ncu/yzwang.raw_base.ncu2024.1.csv": {("duration", "kernel", 0): 1_168_077_824, ("sm_throughput", "kernel", 0): 80.3},
}  # fmt: skip
NOTES = {
    f"{K}/own_torch2.15_cpu_overwritten_empty.json.gz": summary.OVERWRITTEN,
    f"{K}/hta_cupti_profiler_counters.json.gz": summary.NO_KERNELS,
    f"{N}/cs336_2.7B_compile_cudagraph_2024.6.sqlite.gz": summary.GRAPHS,
    f"{N}/nsightful_power_iteration_t4_2025.3.sqlite.gz": nsys.ENVIRONMENT,
}


@pytest.mark.parametrize(
    ("file", "expected"), REFERENCE.items(), ids=[file.split("/")[1] for file in REFERENCE]
)
def test_figures_equal_the_reference(file, expected):
    trace = read(SAMPLES / file)

    assert pytest.approx(expected, abs=0.0051, rel=1e-5) == {
        key: trace.figure(*key) for key in expected
    }


@pytest.mark.parametrize(
    ("file", "note"), NOTES.items(), ids=[file.split("/")[1] for file in NOTES]
)
def test_the_reader_is_told_what_is_odd(file, note):
    assert note in read(SAMPLES / file).notes


def test_idle_time_of_a_data_bound_run_is_put_to_data_loading():
    parts = {
        one.name: one.ns / 1e6
        for one in read(SAMPLES / K / "kineto_resnet50_num_workers_0.json.gz").breakdown["gpu0"]
    }

    assert (352.4, 93.6) == (round(parts["data loading"], 1), round(parts["launching"], 1))


def test_idle_time_between_queued_kernels_is_not_put_to_launching():
    """HTA calls most of this run's idle time kernel wait: the CPU is 76 ms ahead of the GPU."""
    parts = {
        one.name: one.ns / 1e6
        for one in read(SAMPLES / K / "hta_ns_resolution_rank0.json.gz").breakdown["gpu0"]
    }

    assert (4.5, 2.1) == (round(parts["between queued work"], 1), round(parts["launching"], 1))


def test_causes_come_before_effects_in_every_sample():
    name = "kernels that start before their launch"
    early = [
        read(SAMPLES / file).signals[name]
        for file in REFERENCE
        if name in read(SAMPLES / file).signals
    ]

    assert ["0"] * 12 == early


def test_the_three_largest_estimates_of_nsight_compute_are_kept():
    rules = read(SAMPLES / "ncu/nsightful_copy_blocked_details_base_units.csv").rules

    assert [
        ("UncoalescedGlobalAccess", 74.14), ("MemoryCacheAccessPattern", 45.14), ("MemoryCacheAccessPattern", 42.96)
    ] == [(one.name, one.percent) for one in rules]  # fmt: skip
