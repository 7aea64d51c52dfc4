"""Measures what a device can do at most: a large product in each size of number, and a large copy.

python -m autograder.worker.measured_ceilings cuda:0      prints one line of JSON
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import torch

SIDE, COPIED = {"cuda": 8192, "cpu": 1024}, {"cuda": 1 << 30, "cpu": 1 << 26}  # numbers, bytes
REPEATS = 20
DTYPES = {4: torch.float32, 2: torch.bfloat16}


def measure(device: torch.device) -> dict[str, object]:
    """Return operations a second by the bytes of a number, and bytes a second of a copy."""
    side, size = SIDE[device.type], COPIED[device.type]
    rates = {}
    for number, dtype in DTYPES.items():
        left = torch.randn(side, side, device=device).to(dtype)
        out = torch.empty_like(left)
        rates[number] = 2 * side**3 / best(partial(torch.mm, left, left, out=out), device)
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = best(partial(target.copy_, source), device)
    return {"rates": rates, "bandwidth": 2 * size / seconds, "torch": torch.__version__}


def best(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds of the fastest of some calls; the first is to warm up."""
    times = []
    for _ in range(REPEATS + 1):
        begun = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - begun)
    return min(times[1:])


if __name__ == "__main__":
    print(json.dumps(measure(torch.device(sys.argv[1]))))
