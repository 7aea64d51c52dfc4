"""What each figure is. Every number that is shown or compared carries one of these ids and a window."""

from __future__ import annotations

from collections.abc import Mapping

DEFINITIONS: Mapping[str, str] = {
    "busy_kernel": (
        "share of the window in which at least one kernel or CUDA graph ran (GPU utilization)"
    ),
    "busy_any": "share of the window in which a kernel, a graph, a copy or a memset ran",
    "busy_kernel_only": (
        "share of the window in which a kernel ran that was recorded by itself, not in a graph"
    ),
    "est_sm_efficiency": (
        "estimate: kernel time weighted by the share of multiprocessors that had a block"
    ),
    "est_occupancy": "estimate: achieved occupancy, weighted by kernel time",
    "idle": "time of the window in which nothing ran on the GPU",
    "gap_count": "stretches of the window in which nothing ran on the GPU",
    "gap_longest": "the longest stretch of the window in which nothing ran on the GPU",
    "gaps_over_10us": "stretches without GPU work that are longer than 10 us",
    "gaps_over_100us": "stretches without GPU work that are longer than 100 us",
    "gaps_over_1ms": "stretches without GPU work that are longer than 1 ms",
    "kernel_count": "kernels recorded",
    "kernel_sum": (
        "sum of the durations of all kernels; can exceed the window where streams overlap"
    ),
    "kernel_mean": "mean duration of a kernel",
    "kernel_median": "median duration of a kernel",
    "kernels_under_10us": (
        "share of the kernels that are shorter than 10 us; many of them mean launches limit"
    ),
    "h2d_count": "copies from host to device",
    "h2d_time": "time in which at least one copy from host to device ran",
    "h2d_sum": "sum of the durations of copies from host to device",
    "h2d_bytes": "bytes copied from host to device",
    "h2d_rate": "bytes copied from host to device over the time that took",
    "h2d_pinned": "share of the bytes copied to the device that came from pinned memory",
    "h2d_overlap": "share of the time of copies to the device in which a kernel ran too",
    "h2d_exposed": "time of copies to the device in which no kernel ran",
    "d2h_count": "copies from device to host",
    "d2h_time": "time in which at least one copy from device to host ran",
    "d2h_sum": "sum of the durations of copies from device to host",
    "d2h_bytes": "bytes copied from device to host",
    "copy_time": "time in which any copy ran",
    "copy_exposed": "time of copies in which no kernel ran",
    "memory_peak": "most memory of the GPU that torch had handed out at one time",
    "cpu_memory_peak": (
        "most memory of the CPU that torch had handed out at one time, since the recording began"
    ),
    "comm_time": ("time in which a communication kernel ran; it includes waiting for other ranks"),
    "comm_exposed": "time of communication kernels in which no compute kernel ran",
    "comm_overlap": "share of communication time in which a compute kernel ran too",
    "launch_count": "calls that launch kernels",
    "launch_mean": "mean duration of a call that launches a kernel",
    "launch_delay": (
        "median from the end of a launch to the start of its kernel; "
        "large means queueing, not overhead"
    ),
    "graph_launches": "launches of CUDA graphs",
    "unmatched_kernels": "kernels whose launch was not recorded",
    "sync_count": "calls that wait for the GPU (cuda...Synchronize)",
    "sync_time": "time in calls that wait for the GPU",
    "item_count": "operators that bring one value to the host (.item() and such)",
    "step_count": "ProfilerSteps recorded",
    "step_median": "median duration of a ProfilerStep",
    "step_longest": "duration of the slowest ProfilerStep",
    "step_mad": "median distance of a ProfilerStep from the median one",
    "dataloader": "share of the window in which the main thread waited for the DataLoader",
    "dataloader_longest": (
        "the longest single wait for the DataLoader that begins in the window, taken whole"
    ),
    "host_busy": (
        "share of the window in which the CPU loaded data, "
        "or was in an operator or a call that does not wait"
    ),
    "op_busy": (
        "share of the window in which an operator ran on the CPU, "
        "outside DataLoader and communication"
    ),
    "op_count": "operators recorded outside communication, the DataLoader's own included",
    "op_mean": "mean duration of an operator outside communication",
    "ops_under_10us": "share of these operators that are shorter than 10 us",
    "op_gaps_over_1ms": (
        "stretches longer than 1 ms in which no operator ran, those of the DataLoader not counted"
    ),
    "cpu_comm": "share of the window in which a collective of the CPU ran",
    "cpu_comm_overlap": "share of the time of collectives in which an operator ran too",
    "spill": (
        "GPU work after the end of the last step; "
        "end it with torch.cuda.synchronize() before prof.step()"
    ),
    "without_data": (
        "what the window would take without the waits for the DataLoader: "
        "all other work keeps its length and its order, across streams as well, "
        "and a call that waits for the GPU returns when the work that it waits for is done"
    ),
    "without_sync": (
        "what the window would take if the host never waited for the GPU: in cuda...Synchronize, "
        "in a copy to pageable memory, or for queued work before a copy from pageable memory; "
        "all other work keeps its length and its order, across streams as well"
    ),
    "never_idle": (
        "what the window would take if the host always had the next work ready: "
        "kernels, copies, and the gaps between work that was already queued"
    ),
    "at_roof": (
        "what the window would take if every operator with a known amount of work ran as fast "
        "as the roofline allows; a GPU is never idle then, but a CPU waits for data as before"
    ),
    "duration": (
        "duration of the kernel, serialised and at locked clocks: never compare it with a trace's"
    ),
    "sm_throughput": "share of the multiprocessors' peak throughput that was reached",
    "memory_throughput": "share of the memory system's peak throughput that was reached",
    "dram_throughput": "share of the DRAM's peak bandwidth that was reached",
    "achieved_occupancy": ("share of the warps that a multiprocessor can hold which were active"),
    "registers": "registers per thread",
}
