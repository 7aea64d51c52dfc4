"""The session in which submissions are graded: the device, one warm process, whose turn it is, and the fence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

from autograder.errors import UserError
from autograder.grading.kit import Clock, Run, Session, Squeeze
from autograder.grading.stopwatch import Stopwatch
from autograder.machine import device
from autograder.machine.device import Tier
from autograder.machine.kept_examination import InCache
from autograder.machine.turns import Turns, during
from autograder.sandbox import BoxError, Workers, gpu, try_out
from autograder.sandbox.ballast import Ballast
from autograder.sandbox.card import Card

Isolation = Literal["bubblewrap", "none", "best"]


@contextmanager
def open_session(
    tier: Tier, wanted: str = "auto", isolation: Isolation = "none", *, rehearsal: bool = True
) -> Iterator[Session]:
    """Find the device and keep one warm process for as long as the session lasts; a rehearsal judges no speed.

    Whoever judges waits for its turn: nothing else is graded on the device while something is timed, or squeezed.
    """
    tested_device, worker_device = device.find(wanted, tier)
    fence = fence_for(isolation, worker_device)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    lent = gpu.nodes(worker_device) if fence == "bubblewrap" else ()
    card = None if worker_device == "cpu" else Card(device.identity(worker_device))
    with Workers(fence, lent=lent, card=card) as workers:
        run: Run = workers
        memory = InCache(device.identity(worker_device))
        clock: Clock = Stopwatch(workers, rehearsal, memory=memory)
        squeeze: Squeeze | None = None
        alone: Run | None = None
        now = time.monotonic
        if not rehearsal:
            turns, whole = Turns(device.identity(worker_device)), Turns()
            run, clock, alone = (
                during(turns.many, run),
                during(turns.alone, clock),
                during(whole.alone, workers),
            )
            squeeze = during(turns.alone, Ballast(workers.fresh, card)) if card else None
            now = lambda: time.monotonic() - turns.waited - whole.waited  # noqa: E731 what is waited for is no work
        inside = gpu.INSIDE if lent else worker_device
        yield Session(
            run,
            tested_device,
            inside,
            workers.isolation,
            started,
            now,
            clock,
            squeeze,
            alone,
            rehearsal,
        )


def fence_for(wanted: Isolation, worker_device: str) -> Literal["bubblewrap", "none"]:
    """Settle what is in force; only `best` takes less than a fence for an answer."""
    if wanted == "none":
        return "none"
    try:
        try_out(gpu.nodes(worker_device))
    except BoxError as problem:
        if wanted == "best":
            return "none"
        raise UserError(
            f"no sandbox: {problem}; --isolation none does without, for work that you trust"
        ) from None
    return "bubblewrap"
