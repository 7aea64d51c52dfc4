from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from given import device_name
from given.loops import masked_mean, pairwise_distances, running_clipped_mean, top_k_hits

__all__ = ["masked_mean", "measure_speedups", "pairwise_distances", "running_clipped_mean", "top_k_hits"]

COLUMNS = ["function", "loop_ms", "vectorized_ms", "speedup", "device"]


def measure_speedups(cases, device, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Time the loop and the vectorized version of each function; return the rows, and write them as a table.

    cases: name -> (loop, vectorized, arguments): call each function with *arguments.

    A row has the names in COLUMNS: loop_ms, vectorized_ms (the median of `repeats` calls, each timed alone, after a
    warm-up, in milliseconds), speedup (loop_ms / vectorized_ms), device (its name). Writes loop_speedups.csv.
    """

    def reading():
        if device.type == "cuda":
            torch.cuda.synchronize()  # calls only queue work there
        return time.perf_counter()

    def milliseconds(function, arguments):
        function(*arguments)  # the warm-up
        times = []
        for _ in range(repeats):
            start = reading()
            function(*arguments)
            times.append(reading() - start)
        return 1000 * statistics.median(times)

    rows: list[dict[str, Any]] = []
    for name, (loop, vectorized, arguments) in cases.items():
        slow, fast = milliseconds(loop, arguments), milliseconds(vectorized, arguments)
        rows.append(dict(zip(COLUMNS, (name, slow, fast, slow / fast, device_name(device)), strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "loop_speedups.csv", index=False)
    return rows
