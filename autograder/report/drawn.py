"""What of a check's evidence a feedback page draws: memory beside the baseline's, and what a trace consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograder.report import profile
from autograder.traces.record import Slice
from autograder.traces.words import where


@dataclass(frozen=True)
class Memory:
    """The most memory that each side held, in bytes."""

    student: float
    baseline: float
    limit: float | None
    """What a check allows, if one was asked."""

    def width(self, peak: float) -> float:
        """Say how long a bar is, in percent of the longest."""
        return 100 * peak / max(self.student, self.baseline, self.limit or 0.0, 1.0)


def memory(evidence: Mapping[str, Any]) -> Memory | None:
    """Read the peaks of both sides; nothing where they were not seen."""
    student, baseline = evidence.get("student_peak_bytes"), evidence.get("baseline_peak_bytes")
    if student is None or not baseline:
        return None
    bar = evidence.get("memory_bar")
    return Memory(student, baseline, baseline / bar if bar else None)


def breakdown(evidence: Mapping[str, Any]) -> dict[str, list[tuple[Slice, float]]]:
    """Read what the time of a trace consists of, device by device, each slice with its percentage."""
    return {
        where(name): profile.parts([Slice(*piece) for piece in slices])
        for name, slices in evidence.get("breakdown", {}).items()
    }
