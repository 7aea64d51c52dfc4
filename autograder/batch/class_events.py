"""What happens while a class is graded, one event after the other, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

What = Literal[
    "begins",
    "round",
    "starts",
    "says",
    "graded",
    "waits",
    "kept",
    "lost",
    "aside",
    "twice",
    "tick",
    "ends",
]


@dataclass(frozen=True)
class Event:
    """Something to show: what happened, to whom, in which lane."""

    what: What
    submission: str = ""
    lane: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
