"""python tests/traces/make_large.py MB FILE: a torch.profiler trace of that size, for measuring what reading one costs.

Each operator is an event of its own with shapes, calls a launch, and that a kernel, as in a training step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MB = 10**6
NAMES = [f"aten::op_{i}" for i in range(200)]
KERNELS = [
    f"void at::native::kernel_{i}<float, {i}, at::native::Functor<float>>(int, float const*)"
    for i in range(200)
]


def event(cat: str, name: str, ts: float, dur: float, tid: int, **args: object) -> str:
    pid = 0 if tid == 7 else 100
    return json.dumps(
        {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": pid,
            "tid": tid,
            "ts": ts,
            "dur": dur,
            "args": args,
        },
        indent=1,
    )


def write(path: Path, size: int) -> int:
    """Write at least *size* bytes; return how many events."""
    count = at = 0
    with path.open("w") as file:
        file.write(
            '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made up"}], "traceEvents": [\n'
        )
        while file.tell() < size:
            ts = 4_000_000_000.123 + 40 * at
            if at % 2000 == 0:
                file.write(
                    event("user_annotation", f"ProfilerStep#{at // 2000}", ts, 40 * 2000 - 1, 1)
                    + ",\n"
                )
            shapes = [[64, 128, 28, 28], [128, 128, 3, 3], [], [], []]
            for one in (
                event("cpu_op", NAMES[at % 200], ts, 30.5, 1, **{"External id": at, "Input Dims": shapes, "Ev Idx": at}),
                event("cuda_runtime", "cudaLaunchKernel", ts + 10, 6.25, 1, correlation=at, cbid=211),
                event(
                    "kernel", KERNELS[at % 200], ts + 20, 25.125, 7, device=0, context=1, stream=7, correlation=at,
                    **{"External id": at, "blocks per SM": 4.7, "est. achieved occupancy %": 31, "grid": [512, 1, 1]},
                ),
            ):  # fmt: skip
                file.write(one + ",\n")
                count += 1
            at += 1
        file.write(
            '{"ph": "i", "name": "Record Window End", "ts": 1}], "baseTimeNanoseconds": 1711964646000000000}\n'
        )
    return count


if __name__ == "__main__":
    print(write(Path(sys.argv[2]), int(float(sys.argv[1]) * MB)), "events")
