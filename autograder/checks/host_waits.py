"""Judges how often the host waits for the device, and whether graphs of earlier steps are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.model import Failed, Passed, Verdict

GRAPHS = 4  # of earlier steps: the variables of a loop hold one or two, a look back every ten batches another two
KEEP = "collect loss.detach() in a list, and move it to the host once after the loop"


def no_wait_per_step(
    waits: Sequence[Mapping[str, Any]],
    batches: int,
    kept: int,
    *,
    try_: str = KEEP,
) -> Verdict:
    """Pass when the host waits for the device in every tenth batch or more rarely, and no old graph is kept."""
    if kept > GRAPHS:
        measured = f"the graphs of {kept} earlier steps were in memory at once"
        why = "a loss with its graph keeps its whole step, so memory grows with the epoch"
        return Failed(measured, why, "append loss.detach(), not loss")
    waited = {batch for wait in waits for batch in wait["batches"]}
    if len(waited) * 10 <= batches + 9:  # batches 0, 10, 20 ... may
        return Passed(f"the host waited in {len(waited)} of {batches} batches")
    why = "while the host waits for a value, it cannot queue the next step"
    often = f"the host waited in {len(waited)} of {batches} batches, by {listed(waits)}"
    return Failed(f"{often}; at most {(batches + 9) // 10} are allowed", why, try_)


def listed(waits: Sequence[Mapping[str, Any]]) -> str:
    """Name the first few calls, each with its line, as `percent_cells.in_cells` finds it."""
    return ", ".join(f"{wait['call']} (line {wait['line']})" for wait in waits[:4])
