"""What a benchmark says of one function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchmarkResult:
    """Times of single calls, in seconds: their mean and standard deviation (n - 1).

    memory_peak: bytes that the timed calls needed beyond what was held before them; None where nobody knows.
    """

    name: str
    iterations: int
    mean_time: float
    std_time: float
    memory_peak: int | None
