"""Slow or plain versions: they show what the functions do, and not yet what they have to be."""

from __future__ import annotations

import os
import pstats
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from given import preprocess

__all__ = ["memory_by_line", "preprocess", "rank_functions", "speedup_if"]


def rank_functions(file: str, count: int = 20) -> list[dict[str, Any]]:
    """Return the functions of a profile, the one with the most time of its own first."""
    functions = pstats.Stats(file).get_stats_profile().func_profiles
    total = sum(it.tottime for it in functions.values())
    rows = [
        {
            "function": name,
            "calls": int(it.ncalls.partition("/")[0]),
            "own_seconds": it.tottime,
            "seconds": it.cumtime,
            "own_share": it.tottime / total if total else 0.0,
        }
        for name, it in functions.items()
    ]
    return sorted(rows, key=lambda row: -row["own_seconds"])[:count]


def speedup_if(file: str, function: str, factor: float) -> float:
    """Return what a faster function gains, from its own seconds alone."""
    own = {row["function"]: row["own_seconds"] for row in rank_functions(file, sys.maxsize)}
    total = sum(own.values())
    return total / (total - own.get(function, 0.0) * (1 - 1 / factor))


def memory_by_line(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return how the memory of the process has grown at each line; it seldom shrinks."""
    rows: dict[int, dict[str, Any]] = {}

    def held() -> int:
        statm = Path("/proc/self/statm")
        pages = int(statm.read_text(encoding="utf-8").split()[1]) if statm.is_file() else 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def step(frame: Any, event: str, argument: object) -> Any:
        new = {"line": frame.f_lineno, "hits": 0, "added_bytes": 0, "peak_bytes": 0}
        row = rows.setdefault(frame.f_lineno, new)
        row["hits"] += 1
        row["peak_bytes"] = max(row["peak_bytes"], held())
        return step

    sys.settrace(step)
    result = function(*args, **kwargs)
    sys.settrace(None)
    return result, list(rows.values())
