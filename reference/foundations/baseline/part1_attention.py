"""Part 1 before the work: attention by hand, and a growth measured once, cold, from two points.

Your attention is compared with this one: the same results and gradients, in less time and in
far less memory.
"""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from given import attention_by_hand, device_name, peak_mb


def attention(q, k, v, causal=False):
    """Keep all scores in memory, and again for the backward pass."""
    return attention_by_hand(q, k, v, causal)


def measure_growth(versions, make_inputs, lengths, device, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Time one first call of each; what else it did, such as loading kernels, counts as well."""
    rows = []
    for version, function in versions.items():
        own = [measure_once(version, function, make_inputs(length, device), device) for length in lengths]
        times, memory = ([row[name] for row in own] for name in ("milliseconds", "memory_mb"))
        steps = math.log(lengths[-1] / lengths[0])
        for row in own:
            row["time_exponent"] = math.log(times[-1] / times[0]) / steps
            row["memory_exponent"] = math.log(memory[-1] / memory[0]) / steps
        rows += own
    with (Path(folder) / "attention_growth.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    plt.plot([row["milliseconds"] for row in rows])
    plt.savefig(Path(folder) / "attention_curves.png")
    plt.close()
    return rows


def measure_once(version, function, inputs, device) -> dict[str, Any]:
    """Return a row without its exponents."""
    start = time.perf_counter()
    function(*inputs)
    seconds = time.perf_counter() - start
    return {
        "version": version,
        "length": inputs[0].shape[-2],
        "milliseconds": 1000 * seconds,
        "memory_mb": peak_mb(function, *inputs),
        "device": device_name(device),
    }
