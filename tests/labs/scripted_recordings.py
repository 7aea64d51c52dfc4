"""What profilers record of the script of gpu_profiling with a GPU: made, and the same each time."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from tests.traces.made import PID, event, export, kineto, step

LOADER = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
STEPS = 6


def draws(seed: int) -> Any:
    """Return a source of whole microseconds."""
    random = np.random.default_rng(seed)
    return lambda low, high: int(random.integers(low, high))


def work(seed: int, convolutions: int, wait: int) -> list[tuple[str, str, int, int]]:
    """Return (kind, name, start, length) of each thing that happens; a step waits for data most of its time."""
    draw, made, now = draws(seed), [], 0
    for number in range(STEPS):
        began, gpu = now, 0
        made.append(("load", LOADER, now, draw(wait, wait + 4_000)))
        now += made[-1][3]
        copy = draw(900, 1_300)
        made += [("range", "copy", now, copy + 60), ("call", "cudaMemcpyAsync", now + 5, 30)]
        made += [("copy", "Memcpy HtoD (Pageable -> Device)", now + 30, copy)]
        made.append(("call", "cudaDeviceSynchronize", now + 65, copy))
        now = gpu = now + copy + 80
        for name, kernels in (
            ("forward", convolutions + 6),
            ("backward", 2 * convolutions + 5),
            ("optimizer_step", 4),
        ):
            first = now
            for index in range(kernels):
                operator = f"aten::{name}_{index}"
                if name == "backward" and index < convolutions:
                    operator = "aten::convolution_backward"
                made += [
                    ("operator", operator, now, 40),
                    ("call", "cudaLaunchKernel", now + 20, 10),
                ]
                long = draw(150, 400) if "conv" in operator or index < convolutions else draw(3, 30)
                gpu = max(gpu, now + 25)
                made.append(("kernel", f"void {name}_{index % 4}<float>(float*)", gpu, long))
                gpu, now = gpu + long, now + 55
            made.append(("range", name, first, now - first))
        made.append(("call", "cudaDeviceSynchronize", now, max(gpu - now, 0) + 20))
        now = max(gpu, now) + 40
        made.append(("step", f"ProfilerStep#{number + 2}", began, now - began))
    return made


def of_torch(
    seed: int = 1, convolutions: int = 3, wait: int = 9_000, workers: str = "SingleProcess"
) -> bytes:
    """Return what torch.profiler would write."""
    events: list[dict[str, Any]] = []
    where, number = {"device": 0, "stream": 7}, 0
    for kind, name, at, long in work(seed, convolutions, wait):
        number += kind == "call"  # what it launches comes next
        if kind == "step":
            events.append(step(int(name.partition("#")[2]), at, long))
        elif kind in ("kernel", "copy"):
            size = {"bytes": 12 * long} if kind == "copy" else {}
            args = {**where, **size, "correlation": number}
            events.append(
                event("kernel" if kind == "kernel" else "gpu_memcpy", name, at, long, 7, **args)
            )
        else:
            category = {"operator": "cpu_op", "call": "cuda_runtime"}.get(kind, "user_annotation")
            args = {"correlation": number} if kind == "call" else {}
            events.append(event(category, name.format(f"{workers}"), at, long, **args))
    return gzip.compress(kineto(events, deviceProperties=[{"name": "a made GPU"}]), 9, mtime=0)


def of_nsys(folder: Path, *, cuda: bool = True) -> bytes:
    """Return what nsys would export; without CUDA it recorded the script on a CPU, with its operators as ranges."""
    tables: dict[str, list[tuple[Any, ...]]] = {"NVTX_EVENTS": []}
    strings = [(1, "void gemm<float>(float*)"), (2, "gemm")]
    calls = {"cudaMemcpyAsync": 3, "cudaDeviceSynchronize": 4, "cudaLaunchKernel": 5}
    strings += [(number, f"{name}_v3020") for name, number in calls.items()]
    number = 0
    for kind, name, at, long in work(1, 3, 9_000):
        number += kind == "call"
        start, end = 1000 * at, 1000 * (at + long)
        if kind in ("step", "range", "load") or (kind == "operator" and not cuda):
            text = f"{name}, op_id = 7" if kind == "operator" else name.format("SingleProcess")
            tables["NVTX_EVENTS"].append((start, end, 59, text, None, PID + 1))
        elif kind == "call" and cuda:
            tables.setdefault("CUPTI_ACTIVITY_KIND_RUNTIME", []).append(
                (start, end, calls[name], number, PID + 1)
            )
        elif kind == "kernel" and cuda:
            tables.setdefault("CUPTI_ACTIVITY_KIND_KERNEL", []).append(
                (start, end, 0, 7, number, PID, 1, 2)
            )
        elif kind == "copy" and cuda:
            row = (start, end, 0, 7, number, PID, 12 * long, 1, 0, 2)
            tables.setdefault("CUPTI_ACTIVITY_KIND_MEMCPY", []).append(row)
    path = folder / f"baseline_{cuda}.sqlite"
    return gzip.compress(export(path, StringIds=strings, **tables).read_bytes(), 9, mtime=0)
