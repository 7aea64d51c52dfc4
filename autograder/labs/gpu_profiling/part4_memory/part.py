"""The part: what it has a student write and hand in."""

from __future__ import annotations

from autograder.lab import Part
from autograder.labs.gpu_profiling.part4_memory.judges import RESULTS

part = Part(
    "part4_memory",
    writes=["MemoryEfficientNet", "train_with_amp", "measure_memory_and_speed", "benchmark_memory"],
    hands_in=[RESULTS.file, "part4_notes.md"],
    tables=[RESULTS],
)
