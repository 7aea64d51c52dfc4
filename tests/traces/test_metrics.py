"""Every figure, table and slice of recordings whose answers were worked out by hand."""

from __future__ import annotations

import pytest

from autograder.traces.record import Transfer
from tests.traces.made import event, figures, kernel, kineto, processor, read_made, step, training

US = 1000  # ns

TRAINING = {
    ("busy_kernel", "steps"): 33.0,
    ("busy_any", "steps"): 41.0,
    ("est_sm_efficiency", "steps"): 10.0,
    ("est_occupancy", "steps"): 40.0,
    ("busy_kernel", "gpu"): 100 * 380 / 750,
    ("busy_any", "gpu"): 100 * 460 / 750,
    ("est_sm_efficiency", "gpu"): 100 * 100 / 750,
    ("est_occupancy", "gpu"): 40.0,
    ("busy_kernel", "trace"): 100 * 380 / 1050,
    ("busy_any", "trace"): 100 * 460 / 1050,
    ("est_sm_efficiency", "trace"): 100 * 100 / 1050,
    ("est_occupancy", "trace"): 40.0,
    ("idle", "steps"): 590 * US,
    ("gap_count", "steps"): 2,
    ("gap_longest", "steps"): 300 * US,
    ("gaps_over_10us", "steps"): 2,
    ("gaps_over_100us", "steps"): 2,
    ("gaps_over_1ms", "steps"): 0,
    ("kernel_count", "trace"): 3,
    ("kernel_sum", "trace"): 400 * US,
    ("kernel_mean", "trace"): 400 * US / 3,
    ("kernel_median", "trace"): 100 * US,
    ("kernels_under_10us", "trace"): 0.0,
    ("h2d_count", "trace"): 1,
    ("h2d_time", "trace"): 100 * US,
    ("h2d_sum", "trace"): 100 * US,
    ("h2d_bytes", "trace"): 1_000_000,
    ("h2d_rate", "trace"): 10.0,
    ("h2d_overlap", "trace"): 20.0,
    ("h2d_exposed", "trace"): 80 * US,
    ("h2d_pinned", "trace"): 100.0,
    ("copy_time", "trace"): 100 * US,
    ("copy_exposed", "trace"): 80 * US,
    ("comm_time", "trace"): 100 * US,
    ("comm_exposed", "trace"): 80 * US,
    ("comm_overlap", "trace"): 20.0,
    ("launch_count", "trace"): 3,
    ("graph_launches", "trace"): 0,
    ("sync_count", "trace"): 1,
    ("sync_time", "trace"): 60 * US,
    ("launch_mean", "trace"): 10 * US,
    ("launch_delay", "trace"): 40 * US,
    ("unmatched_kernels", "trace"): 0,
    ("item_count", "trace"): 1,
    ("step_count", "steps"): 1,
    ("without_data", "steps"): 700_000,
    ("without_sync", "steps"): 940_000,
    ("never_idle", "steps"): 410_000,
    ("step_median", "steps"): 1000 * US,
    ("dataloader", "steps"): 30.0,
    ("dataloader_longest", "steps"): 300 * US,
    ("host_busy", "steps"): 44.0,
    ("spill", "steps"): 50 * US,
}
PROCESSOR = {
    ("item_count", "trace"): 0,
    ("step_count", "steps"): 2,
    ("without_data", "steps"): 120_000,
    ("step_median", "steps"): 100 * US,
    ("step_longest", "steps"): 100 * US,
    ("step_mad", "steps"): 0,
    ("dataloader", "steps"): 40.0,
    ("dataloader_longest", "steps"): 40 * US,
    ("host_busy", "steps"): 80.0,
    ("op_count", "trace"): 8,
    ("op_mean", "trace"): 13.75 * US,
    ("ops_under_10us", "trace"): 25.0,
    ("op_busy", "steps"): 40.0,
    ("op_gaps_over_1ms", "steps"): 0,
    ("cpu_comm", "steps"): 20.0,
    ("cpu_comm_overlap", "steps"): 50.0,
}


def slices(trace):
    return {
        where: {one.name: one.ns / US for one in parts} for where, parts in trace.breakdown.items()
    }


@pytest.mark.parametrize(
    ("made", "expected"), [(training(), TRAINING), (processor(), PROCESSOR)], ids=["GPU", "CPU"]
)
def test_figures_are_those_worked_out_by_hand(tmp_path, made, expected):
    assert pytest.approx(expected) == figures(read_made(tmp_path, kineto(made)))


def test_slices_add_up_to_the_window(tmp_path):
    """Work counts first; what the GPU idles is put to the first reason that fits."""
    gpu, cpu = (slices(read_made(tmp_path, kineto(made))) for made in (training(), processor()))

    assert {
        "gpu0": {
            "kernels": 250, "communication": 80, "copies": 80, "data loading": 300, "synchronising": 60,
            "launching": 50, "Python and other": 180,
        }
    } == gpu  # fmt: skip
    assert {
        "cpu": {"data loading": 80, "operators": 80, "communication": 20, "Python and other": 20}
    } == cpu


def test_a_gap_before_work_that_was_launched_is_not_put_to_the_cpu(tmp_path):
    """Whatever the CPU does meanwhile; where the launch ends inside the gap, the GPU did wait for it."""
    made = [
        step(1, 0, 100),
        event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 5, 5, correlation=2),
        event("cuda_runtime", "cudaDeviceSynchronize", 10, 50),
        event("cuda_runtime", "cudaLaunchKernel", 60, 5, correlation=3),
        kernel(5, 15, correlation=1),
        kernel(30, 25, correlation=2),  # launched at 10, before the gap of 20 to 30 began
        kernel(70, 30, correlation=3),  # launched at 65, inside the gap of 55 to 70
    ]

    assert {
        "kernels": 70,
        "between queued work": 10,
        "synchronising": 5,
        "launching": 10,
        "Python and other": 5,
    } == (slices(read_made(tmp_path, kineto(made)))["gpu0"])


def test_tables_list_own_time_and_what_was_started(tmp_path):
    trace = read_made(tmp_path, kineto(training()))

    assert [
        ("aten::addmm", 30),
        ("aten::linear", 20),
        ("aten::item", 20),
        ("aten::_local_scalar_dense", 20),
        ("aten::copy_", 10),
    ] == [(row.name, row.total_ns / US) for row in trace.rows("operators")]
    assert [("aten::addmm", 1, 200 * US, 100.0)] == [
        (r.name, r.count, r.total_ns, r.share) for r in trace.rows("device operators")
    ]
    assert [("Memcpy HtoD (Pinned -> Device)", 1_000_000)] == [
        (row.name, row.bytes) for row in trace.rows("copies")
    ]
    assert ["gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "relu"] == [
        row.name for row in trace.rows("kernels")
    ]
    assert 100 == pytest.approx(sum(row.share for row in trace.rows("kernels")))
    assert () == trace.rows("no such table")


def test_a_range_has_the_gpu_time_of_what_was_launched_in_it(tmp_path):
    """Whichever thread launched it, and whenever it ran; two kernels at a time count once."""
    made = [
        event("user_annotation", "forward", 0, 10),
        event("user_annotation", "backward", 10, 20),
        event("user_annotation", "idle", 40, 20),
        event("cuda_runtime", "cudaLaunchKernel", 5, 2, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 15, 2, tid=2, correlation=2),
        event("cuda_runtime", "cudaLaunchKernel", 18, 2, tid=2, correlation=3),
        kernel(50, 30, correlation=1),
        kernel(80, 60, correlation=2),
        kernel(90, 60, stream=8, correlation=3),
    ]
    trace = read_made(tmp_path, kineto(made))

    assert [("backward", 1, 70 * US, 70.0), ("forward", 1, 30 * US, 30.0)] == [
        (row.name, row.count, row.total_ns, row.share) for row in trace.rows("ranges on the GPU")
    ]


def test_a_timeline_covers_what_ran(tmp_path):
    lanes = {lane.name: lane.shares for lane in read_made(tmp_path, kineto(training())).timeline}

    assert [
        "GPU 0 kernels",
        "GPU 0 communication",
        "GPU 0 copies",
        "operators",
        "GPU calls",
        "data loading",
    ] == list(lanes)
    assert 0.3 == pytest.approx(sum(lanes["data loading"]) / len(lanes["data loading"]), abs=1e-3)


def test_what_the_loader_computes_fills_no_gap_between_operators(tmp_path):
    """A wait of 3 ms with an operator in its middle is one gap, however short the pieces."""
    made = [
        step(1, 0, 5000),
        event(
            "user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            0,
            3000,
        ),
        event("cpu_op", "aten::div", 1500, 900),
        event("cpu_op", "aten::mm", 3000, 900),
    ]
    trace = read_made(tmp_path, kineto(made))

    assert 2 == trace.figure("op_gaps_over_1ms", "steps")
    assert 18.0 == trace.figure("op_busy", "steps")


def test_streams_that_overlap_never_exceed_the_window(tmp_path):
    """Durations are never added up into a share."""
    made = [
        step(1, 0, 100),
        kernel(0, 100),
        kernel(0, 100, stream=8, **{"blocks per SM": 9, "est. achieved occupancy %": 9}),
    ]
    made.append(kernel(0, 100, stream=9, **{"blocks per SM": 9, "est. achieved occupancy %": 9}))

    found = figures(read_made(tmp_path, kineto(made)))

    assert (100.0, 100.0) == (found["busy_kernel", "steps"], found["est_sm_efficiency", "steps"])


def test_each_gpu_has_figures_of_its_own(tmp_path):
    trace = read_made(
        tmp_path, kineto([kernel(0, 50), kernel(0, 100, device=1), kernel(100, 0, device=1)])
    )

    assert (50.0, 100.0) == tuple(trace.figure("busy_kernel", "trace", device) for device in (0, 1))
    assert 100.0 == trace.figure("busy_kernel", "gpu", 0)
    assert None is trace.figure("busy_kernel", "steps")
    assert ["gpu0", "gpu1", "trace"] == [window.id for window in trace.windows]


def test_copies_say_what_is_known_of_them(tmp_path):
    """Memory whose kind was not recorded (ROCm), and copies that took no time."""
    made = [
        event("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 0, 7, device=0),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 10, 5, 7, device=0, bytes=100),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 10, 5, 7, device=1, bytes=100),
    ]
    trace = read_made(tmp_path, kineto(made))

    assert (1, 0, None, None, None) == tuple(
        trace.figure(f"h2d_{name}", device=0)
        for name in ("count", "time", "rate", "overlap", "pinned")
    )
    assert (1, 100, 0.0) == (
        trace.figure("d2h_count"),
        trace.figure("d2h_bytes"),
        trace.figure("h2d_pinned"),
    )
    assert (0, None) == (trace.figure("kernel_count"), trace.figure("kernel_mean"))


def test_kernels_of_a_graph_share_its_launch_and_have_no_delay(tmp_path):
    made = [
        event("cuda_runtime", "cudaGraphLaunch", 0, 10, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 50, 10, correlation=2),
        *(kernel(20 + i, 1, correlation=1) for i in range(3)),
        kernel(90, 1, correlation="99"),
    ]
    found = figures(read_made(tmp_path, kineto(made)))

    assert (1, 1, 1) == tuple(
        found[name, "trace"] for name in ("graph_launches", "launch_count", "unmatched_kernels")
    )
    assert ("launch_delay", "trace") not in found


def test_a_recording_of_moments_has_no_shares(tmp_path):
    """A window without length divides nothing."""
    trace = read_made(tmp_path, kineto([kernel(5, 0)]))

    assert ((), (), {}) == (trace.windows, trace.timeline, trace.breakdown)
    assert 1 == trace.figure("kernel_count")


def test_the_thread_that_trains_is_the_one_of_the_steps(tmp_path):
    """A loader's span on another thread is not what the training waited for."""
    loader = event("user_annotation", "enumerate(DataLoader)#X.__next__", 0, 50, tid=5)
    alone = read_made(tmp_path, kineto([loader, kernel(0, 100)]))

    assert (
        0.0
        == figures(read_made(tmp_path, kineto([step(1, 0, 100), loader])))["dataloader", "steps"]
    )
    assert {"kernels": 100} == slices(alone)["gpu0"]
    assert "data loading" in {lane.name for lane in alone.timeline}


def test_the_longest_wait_is_taken_whole(tmp_path):
    """One that begins in the steps counts with what lies behind them; one that began before them does not count."""
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    made = [
        event("user_annotation", name, ts, dur) for ts, dur in ((0, 400), (600, 50), (980, 300))
    ]

    trace = read_made(tmp_path, kineto([step(1, 100, 400), step(2, 500, 500), *made]))

    assert 300_000 == trace.figure("dataloader_longest", "steps")


def test_collectives_come_in_the_order_of_their_starts_with_what_they_moved(tmp_path):
    shapes = {"Input Dims": [[100]], "Input type": ["float"]}
    events = [
        step(1, 0, 100),
        event("cpu_op", "aten::mm", 10, 20),
        event("user_annotation", "gloo:all_reduce", 60, 20, 2),
        event("user_annotation", "gloo:all_reduce", 40, 30, 3, **shapes),
    ]

    assert (Transfer(30 * US, 400), Transfer(20 * US, 0)) == read_made(
        tmp_path, kineto(events)
    ).collectives


def test_of_a_gpu_the_collectives_are_kernels(tmp_path):
    events = [*training(), event("user_annotation", "nccl:all_reduce", 300, 10)]

    assert (Transfer(100 * US),) == read_made(tmp_path, kineto(events)).collectives
