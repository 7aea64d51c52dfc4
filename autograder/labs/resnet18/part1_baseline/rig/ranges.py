"""Which named range was open when forward, backward and step ran: with ranges(window) as seen: ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerAction, profile

from autograder.worker.rigs.hooks import Hook

EARLY, WARM_UP = "prof.step before a batch", "warm-up"


class Ranges:
    """Counts, for each kind of work, the ranges that it ran in."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.running: set[int] = set()
        """Profilers that were started and not stopped."""

    def note(self, work: str) -> None:
        """Count one piece of work in the ranges that are open."""
        self._seen[work, tuple(name[:60] for name in self._open[:8])] += 1

    def stepped(self, action: ProfilerAction) -> None:
        """Note a step of the profiler: at the end of a batch, of warm-up or not, or before there was any."""
        if action == ProfilerAction.WARMUP:
            self.note(WARM_UP)
        self.note("prof.step" if any(work == "forward" for work, _ in self._seen) else EARLY)

    def values(self) -> list[dict[str, Any]]:
        """Return what ran where how often."""
        return [
            {"work": work, "ranges": list(names), "count": n}
            for (work, names), n in sorted(self._seen.items())[:60]
        ]


@contextmanager
def ranges(window: Any) -> Iterator[Ranges]:
    """Watch the work of *window* and each record_function; the profiler's own steps are ranges as well."""
    ranges, start, step, stop = Ranges(), profile.start, profile.step, profile.stop
    entered: Any = record_function.__enter__
    left: Any = record_function.__exit__

    @wraps(entered)
    def enter(self: Any) -> Any:
        if not self.name.startswith(("ProfilerStep", "Optimizer.", "enumerate(DataLoader)")):
            ranges._open.append(self.name)
            self.watched = True
        return entered(self)

    @wraps(left)
    def leave(self: Any, *error: Any) -> Any:
        if getattr(self, "watched", False):
            ranges._open.remove(self.name)
        return left(self, *error)

    def passed(_: Any, __: Any, output: Any) -> None:
        ranges.note("forward")
        if isinstance(output, torch.Tensor) and output.requires_grad:
            output.register_hook(lambda _: ranges.note("backward"))

    @wraps(start)
    def started(self: Any) -> None:
        ranges.running.add(id(self))
        start(self)

    @wraps(step)
    def stepped(self: Any) -> None:
        ranges.stepped(self.current_action)
        step(self)

    @wraps(stop)
    def stopped(self: Any) -> None:
        ranges.running.discard(id(self))
        stop(self)

    window.model.register_forward_hook(Hook(passed))
    window.criterion.register_forward_hook(Hook(lambda *_: ranges.note("loss")))
    window.optimizer.register_step_pre_hook(lambda *_: ranges.note("optimizer.step()"))
    scopes = patch.multiple(record_function, __enter__=enter, __exit__=leave)
    with scopes, patch.multiple(profile, start=started, step=stepped, stop=stopped):
        yield ranges
