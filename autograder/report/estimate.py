"""How long a class will take, and in which words a time is told that nobody knows exactly."""

from __future__ import annotations

EXAMINATION_SECONDS, CHECK_SECONDS = 50.0, 16.0  # on 2 cores: docs/measurements/batch.md


def about(seconds: float) -> str:
    """Say a time that nobody knows better than to a second or a minute."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def foretold(checks: int, lanes: int) -> float:
    """Return the seconds that so many timed checks will take; each device times for itself."""
    return EXAMINATION_SECONDS + checks * CHECK_SECONDS / max(lanes, 1)
