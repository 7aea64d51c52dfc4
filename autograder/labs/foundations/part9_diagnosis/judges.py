"""What is right about drawn steps and machines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]
PARTS = ("input", "copy", "communication", "launch", "kernel")
LEAST = 0.01  # of the time that is left, for a fix that pays
LINKS = ("SYS", "NODE", "PHB", "PXB", "PIX")


def largest(step: Mapping[str, float]) -> str:
    seconds = [step[part] for part in PARTS]
    return PARTS[seconds.index(max(seconds))]


def bottleneck(step: Mapping[str, float]) -> str:
    part = largest(step)
    if part == "input":
        return "cpu" if step["worker_busy"] >= 0.5 else "io"
    if part == "kernel":
        computes = step["flops"] / step["peak_flops"] >= step["bytes"] / step["peak_bandwidth"]
        return "compute" if computes else "bandwidth"
    return part


def gain(step: Mapping[str, float]) -> Row:
    part, total = largest(step), sum(step[part] for part in PARTS)
    roof = max(step["flops"] / step["peak_flops"], step["bytes"] / step["peak_bandwidth"])
    least = roof if part == "kernel" else 0.0
    return {"share": step[part] / total, "at_most": total / (total - step[part] + least)}


def planned(step: Mapping[str, float], fixes: Mapping[str, Mapping[str, float]]) -> list[Row]:
    left, remaining, rows = dict(step), dict(fixes), list[Row]()
    first = seconds = sum(step.values())
    while remaining:
        after = {name: sum(_fixed(left, fix).values()) for name, fix in remaining.items()}
        best = min(after, key=lambda name: after[name])
        if seconds - after[best] <= LEAST * seconds:
            break
        speedup, seconds = seconds / after[best], after[best]
        row = {"fix": best, "seconds": seconds, "speedup": speedup, "cumulative": first / seconds}
        rows.append(row)
        left = _fixed(left, remaining.pop(best))
    return rows


def _fixed(step: Mapping[str, float], fix: Mapping[str, float]) -> dict[str, float]:
    return {part: seconds / fix.get(part, 1) for part, seconds in step.items()}


def visible(value: str | None, count: int) -> list[int]:
    if value is None:
        return list(range(count))
    gpus: list[int] = []
    for entry in value.split(","):
        digits = re.match(r"\s*\+?(\d+)", entry)
        if not digits or int(digits[1]) >= count:
            return gpus
        if int(digits[1]) in gpus:
            return []
        gpus.append(int(digits[1]))
    return gpus


def usable(affinity: int, quota: str) -> int:
    limit, _, period = quota.partition(" ")
    if not limit.isdigit():
        return affinity
    return max(1, min(affinity, int(limit) // int(period)))


def cpus(text: str) -> list[int]:
    """Return the numbers of a list of CPUs, in order."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sorted({cpu for end in ends for cpu in range(end[0], end[-1] + 1)})


def listed(numbers: Sequence[int]) -> str:
    """Write numbers of CPUs as Linux does."""
    words: list[list[int]] = []
    for cpu in sorted(numbers):
        if words and words[-1][-1] == cpu - 1:
            words[-1] = [words[-1][0], cpu]
        else:
            words.append([cpu])
    return ",".join("-".join(map(str, ends)) for ends in words)


def placed(machine: Mapping[str, Any], ranks: int) -> list[Row]:
    """Share out the cores of each GPU's node."""
    allowed, rows = set(cpus(machine["allowed"])), list[Row]()
    for rank, node in enumerate(machine["gpus"][:ranks]):
        here = allowed & set(cpus(machine["nodes"][node]))
        cores = [sorted(here & set(cpus(core))) for core in machine["cores"]]
        units = [core for core in cores if core]
        sharing = [other for other in range(ranks) if machine["gpus"][other] == node]
        at, of, n = sharing.index(rank), len(sharing), len(units)
        own = units[at * n // of : (at + 1) * n // of]
        numbers = listed([cpu for unit in own for cpu in unit])
        threads = max(1, len(own) - machine["workers"])
        rows.append({"rank": rank, "gpu": rank, "node": node, "cpus": numbers, "threads": threads})
    return rows


def closest(links: Sequence[Sequence[str]]) -> list[int]:
    def width(link: str) -> int:
        return LINKS.index(link) if link in LINKS else len(LINKS) + int(link[2:])

    pairs = [(a, b) for b in range(len(links)) for a in range(b)]
    best = max(width(links[a][b]) for a, b in pairs)
    return list(min((a, b) for a, b in pairs if width(links[a][b]) == best))
