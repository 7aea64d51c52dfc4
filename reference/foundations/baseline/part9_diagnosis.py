"""Part 9 before the work: what is usually assumed of a step and of a machine. Each function is wrong in some case.

Yours is compared with the rules of the handout, and not with these.
"""

from __future__ import annotations

import os
from typing import Any

PARTS = ("input", "copy", "communication", "launch", "kernel")


def diagnose(step) -> dict[str, Any]:
    """Take a busy GPU for one that computes."""
    total = sum(step[part] for part in PARTS)
    largest = max(PARTS, key=lambda part: step[part])
    name = {"input": "io", "kernel": "compute"}.get(largest, largest)
    return {"bottleneck": name, "share": step[largest] / total, "at_most": total / (total - step[largest])}


def plan(step, fixes) -> list[dict[str, Any]]:
    """Multiply speedups that were each measured alone."""
    first = sum(step[part] for part in PARTS)
    rows: list[dict[str, Any]] = []
    cumulative = 1.0
    for name, fix in fixes.items():
        speedup = first / sum(step[part] / fix.get(part, 1) for part in PARTS)
        cumulative *= speedup
        rows.append({"fix": name, "seconds": first / cumulative, "speedup": speedup, "cumulative": cumulative})
    return rows


def visible_gpus(value, count) -> list[int]:
    """Leave out what is no number of a GPU."""
    if value is None:
        return list(range(count))
    return [int(entry) for entry in value.split(",") if entry.isdigit() and int(entry) < count]


def usable_cpus(quota="/sys/fs/cgroup/cpu.max") -> int:
    """Count the CPUs of the machine."""
    return os.cpu_count() or 1


def place(machine, ranks) -> list[dict[str, Any]]:
    """Give each rank the next CPU numbers, wherever its GPU is."""
    cpus = sum(text.count(",") + 1 for text in machine["cores"])
    each = cpus // ranks
    return [
        {"rank": r, "gpu": r, "node": 0, "cpus": f"{r * each}-{(r + 1) * each - 1}", "threads": each}
        for r in range(ranks)
    ]


def bind_command(row, program) -> list[str]:
    """Bind the CPUs, and leave the memory where it falls."""
    return ["taskset", "--cpu-list", row["cpus"], *program]


def closest_pair(links) -> tuple[int, int]:
    """Take the first two."""
    return 0, 1
