"""Two profiles side by side, and what forbids to compare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.traces.record import Figure, Trace
from autograder.traces.words import many

KEPT = ("busy_", "idle", "kernel_", "h2d_", "copy_", "comm_", "launch_", "sync_", "step_m", "dataloader", "op_", "cpu_")


@dataclass(frozen=True)
class Change:
    """One figure of both."""

    figure: Figure
    before: float

    @property
    def ratio(self) -> float | None:
        """What it is now over what it was."""
        return self.figure.value / self.before if self.before else None


def changes(now: Trace, before: Trace) -> list[Change]:
    """Pair the figures that both have, with the same definition, window and device."""
    old = {_key(one): one.value for one in before.figures}
    kept = (one for one in now.figures if one.id.startswith(KEPT))
    found = ((one, old.get(_key(one))) for one in kept)
    return [Change(one, value) for one, value in found if value is not None]


def _key(figure: Figure) -> tuple[str | int | None, ...]:
    return figure.id, figure.window, figure.device, figure.subject, figure.launch


def incomparable(now: Trace, before: Trace) -> Iterator[str]:
    """Say why the two are not alike enough for a before and after."""
    if now.sha256 == before.sha256:
        yield "both files hold the same profile"
    if now.tool != before.tool:
        yield f"one was recorded with {now.tool}, the other with {before.tool}: their times are not alike"
    if now.devices != before.devices:
        yield f"recorded on {_list(now)} and on {_list(before)}: compare on one machine"
    if now.step_count != before.step_count:
        counts = f"{many(now.step_count, 'step')} against {before.step_count:,}"
        yield f"{counts}: compare shares and times per step, not totals"
    windows = [{one.id for one in trace.windows} for trace in (now, before)]
    if ("steps" in windows[0]) != ("steps" in windows[1]):
        yield "only one of them has steps: their windows are not alike"


def _list(trace: Trace) -> str:
    return ", ".join(dict.fromkeys(trace.devices)) or "no GPU"
