"""Part 3 before the work: the network as it is, a count of everything, one cold call, and the original command line.

Yours is compared with its outputs.
"""

from __future__ import annotations

import csv
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from given import SimpleNet, device_name, load_events

COLUMNS = ["net", "launches", "ms", "speedup", "device"]


class OptimizedNet(SimpleNet):
    """SimpleNet as it is."""


def map_weights(state) -> dict[str, torch.Tensor]:
    """Keep the names."""
    return dict(state)


def compile_net(net, backend="inductor") -> Any:
    """Leave it."""
    return net


def count_launches(file) -> Counter[str]:
    """Count every operator, and those that it calls in turn."""
    return Counter(event.name for event in load_events(file) if event.category == "cpu_op")


def compare_nets(nets, images, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Time the first call of each net."""
    rows: list[dict[str, Any]] = []
    for number, (name, net) in enumerate(nets.items()):
        file = Path(folder) / f"launches_{number}.json"
        start = time.perf_counter()
        with profile(activities=[ProfilerActivity.CPU]) as prof:
            net(images)
        ms = 1000 * (time.perf_counter() - start)
        prof.export_chrome_trace(str(file))
        values = (name, count_launches(file).total(), ms, rows[0]["ms"] / ms if rows else 1.0)
        rows.append(dict(zip(COLUMNS, (*values, device_name(images.device)), strict=True)))
    with (Path(folder) / "kernel_results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def ncu_command(script, kernels, report, launches, skipped=0) -> list[str]:
    """Return the original lab's: ncu has no --output, and without regex: the name must be exactly that."""
    options = ["--set", "full", "--kernel-name", ".*conv.*", "--launch-count", str(launches)]
    return ["ncu", *options, f"--output={report}", "python", script]


def read_ncu(file) -> list[dict[str, Any]]:
    """Return the names alone."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith('"ID",'))
    names = {line["ID"]: line["Kernel Name"] for line in csv.DictReader(lines[begin:])}
    empty = dict.fromkeys(("duration_us", "sm_percent", "memory_percent", "occupancy_percent"), 0.0)
    return [{"kernel": name, **empty, "bound": "latency"} for name in names.values()]
