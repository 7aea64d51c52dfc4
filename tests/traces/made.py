"""Small profiles with answers that can be worked out by hand; times are in microseconds where JSON has them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from autograder.traces import Trace, read


def event(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "ts": ts,
        "dur": dur,
        "pid": 9,
        "tid": tid,
        "args": args,
    }


def step(number: int, ts: float, dur: float) -> dict[str, Any]:
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur)


def kernel(ts: float, dur: float, name: str = "gemm", **args: Any) -> dict[str, Any]:
    return event("kernel", name, ts, dur, 7, **{"device": 0, "stream": 7, **args})


def allocated(total: Any, device: Any = -1, kind: Any = 0) -> dict[str, Any]:
    """What profile_memory=True records; kind 0 is the CPU, 1 is CUDA."""
    args = {"Total Allocated": total, "Device Id": device, "Device Type": kind}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1, "args": args}


def kineto(events: list[dict[str, Any]], **header: Any) -> bytes:
    return json.dumps({"schemaVersion": 1, **header, "traceEvents": events}).encode()


def training() -> list[dict[str, Any]]:
    """One step of 1000 us: 300 loading, a copy of 100, kernels of 200 and 100 that overlap it or communicate.

    On the GPU: copy 300-400, gemm 380-580, all-reduce 560-660, and a last kernel 950-1050 after the step's end.
    """
    return [
        step(3, 0, 1000),
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300),
        event("cpu_op", "aten::copy_", 300, 20, **{"External id": 1}),
        event("cuda_runtime", "cudaMemcpyAsync", 305, 10, correlation=1),
        event("cpu_op", "aten::linear", 330, 60, **{"External id": 2}),
        event("cpu_op", "aten::addmm", 340, 40, **{"External id": 3}),
        event("cuda_runtime", "cudaLaunchKernel", 350, 10, correlation=2),
        event("cuda_driver", "cuLaunchKernel", 400, 10, correlation=3),
        event("cpu_op", "aten::item", 700, 100, **{"External id": 4}),
        event("cpu_op", "aten::_local_scalar_dense", 710, 80, **{"External id": 5}),
        event("cuda_runtime", "cudaStreamSynchronize", 720, 60, correlation=4),
        event("cuda_runtime", "cudaLaunchKernel", 900, 10, correlation=5),
        event(
            "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 300, 100, 7, device=0, stream=7, bytes=1_000_000,
            correlation=1,
        ),
        kernel(380, 200, correlation=2, **{"External id": 3, "blocks per SM": 0.5, "est. achieved occupancy %": 40}),
        kernel(560, 100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=8, correlation=3),
        kernel(950, 100, "relu", correlation=5),
        event("gpu_user_annotation", "ProfilerStep#3", 380, 700, 7),
    ]  # fmt: skip


def processor() -> list[dict[str, Any]]:
    """Two steps of 100 us without a GPU: 40 loading, 30 and 10 of operators, a collective of 20 half under one."""
    made = []
    for number, at in ((1, 0), (2, 100)):
        made += [
            step(number, at, 100),
            event(
                "user_annotation",
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                at,
                40,
            ),
            event("cpu_op", "aten::randn", at + 5, 10),
            event("cpu_op", "aten::mm", at + 40, 30),
            event("cpu_op", "aten::add", at + 45, 5),
            event("user_annotation", "gloo:all_reduce", at + 60, 20, 2),
            event("cpu_op", "c10d::allreduce_", at + 60, 5, 2),
            event("cpu_op", "aten::mul", at + 80, 10),
        ]
    return made


def read_made(folder: Path, data: bytes | str, name: str = "made_trace.json") -> Trace:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read(path)


def figures(trace: Trace) -> dict[tuple[str, str], float]:
    return {(one.id, one.window): one.value for one in trace.figures}


GPU = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
PID = 1 << 48 | 77 << 24
COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (*GPU, "demangledName", "shortName"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (*GPU, "bytes", "copyKind", "srcKind", "dstKind"),
    "CUPTI_ACTIVITY_KIND_MEMSET": (*GPU, "bytes"),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": GPU,
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "nameId", "correlationId", "globalTid"),
    "NVTX_EVENTS": ("start", "end", "eventType", "text", "textId", "globalTid"),
    "StringIds": ("id", "value"),
    "META_DATA_EXPORT": ("name", "value"),
    "META_DATA_CAPTURE": ("name", "value"),
    "TARGET_INFO_GPU": ("id", "name"),
    "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs",),
}
NAMES = [
    (1, "void gemm<float>(float*)"),
    (2, "gemm"),
    (3, "cudaLaunchKernel_v7000"),
    (4, "ncclDevKernel_AllGather"),
]


def export(path: Path, **tables: list[tuple[Any, ...]]) -> Path:
    """Write what nsys would; a table that is not given is not there."""
    connection = sqlite3.connect(path)
    for table, rows in {"StringIds": NAMES, **tables}.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(COLUMNS[table])})")
        connection.executemany(
            f"INSERT INTO {table} VALUES ({', '.join('?' * len(COLUMNS[table]))})", rows
        )
    connection.commit()
    connection.close()
    return path
