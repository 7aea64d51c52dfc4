"""Claims about a communication hook of DistributedDataParallel: what it makes of gradients, and whether it waits.

hooks = Hooks(part, hooked, SEE)     hooked: the probe, declared with averaged(...)
hooks.rounds(...)                    and all that a `Group` may claim
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.claims.groups import WORLD, Group
from autograder.claims.reductions import BLOCKING, RANK, WAITED
from autograder.lab import exactly
from autograder.model import Pair

BEGINS, ENDS = "hook", "hook ends"
SUM, HALF = 1.5, 0.75  # times as large as the mean: more is a sum, and less is divided twice


def averaged(*dtypes: str) -> dict[str, Any]:
    """Return the form of a probe about gradients that a hook averages, in each of the *dtypes*."""
    arrays = {f"{dtype}{rank}": ("float64", 1) for dtype in dtypes for rank in range(WORLD)}
    return {"values": {"ranks": exactly(WORLD, RANK)}, "arrays": arrays}


ROUNDS = {
    "are rounded as": "convert to the dtype that is given",
    "dtype is not used": "convert to dtype before the call, and reduce what was converted",
    "own unrounded": "return what was reduced, in every process",
    "returns sums": "divide by the number of processes before the sum",
    "divides twice": "divide once, before the sum",
    "tiny gradients": "reduce in the dtype that is given: bfloat16 keeps them",
    "infinite in float16": "divide in float32, then convert and send",
}
BLOCKED = {
    "makes a call": "dist.all_reduce(..., async_op=True)",
    "hook waits": "return the future with .then(...), and call no wait() in the hook",
}
"""What to try, by words of what is wrong."""


class Hooks(Group):
    """What a hook does in some steps; no gradient is 0, or has another sign in another process."""

    def rounds(
        self, name: str, errors: Mapping[str, tuple[float, float]], says: str, try_: str
    ) -> None:
        """Claim, by dtype, the smallest and the largest relative error of a mean, and equal means in all processes."""

        def problem(hooked: Pair) -> tuple[str, str]:
            own, expected = hooked.student.arrays, hooked.baseline.arrays
            measured: list[str] = []
            for dtype, (low, high) in errors.items():
                for rank in range(WORLD):
                    each, mean = (side[f"{dtype}{rank}"] for side in (own, expected))
                    with np.errstate(all="ignore"):
                        share = each / mean if each.shape == mean.shape else each
                    apart = outputs.furthest(share, np.ones_like(mean))
                    off = (
                        f"off by {apart:.1e} of their size"
                        if apart < np.inf
                        else "infinite or NaN somewhere"
                    )
                    measured.append(f"{dtype}, rank {rank}: the means are {off}")
                    allowed = f"{measured[-1]} ({low:.0e} to {high:.1e} are expected)"
                    if not apart <= high:
                        finer = [
                            other
                            for other, (least, most) in errors.items()
                            if other != dtype and least <= apart <= most
                        ]
                        why = f"your means are rounded as {finer[0]} is" if finer else ""
                        return allowed, why or _rounding_reason(each, mean)
                    if apart < low:
                        return allowed, "your means are those of float32: dtype is not used"
                if not np.array_equal(own[f"{dtype}0"], own[f"{dtype}1"]):
                    why = "usually a process has its own unrounded gradients in its means"
                    return f"{dtype}: the processes have different means", why
            return "; ".join(measured), ""

        self._claim(name, says, "outputs", problem, try_, compared="gradients", hints=ROUNDS)

    def does_not_block(self, name: str, says: str, try_: str, needs: Sequence[str] = ()) -> None:
        """Claim that a hook starts its calls asynchronously, and that nothing is waited for while it runs."""

        def problem(hooked: Pair) -> tuple[str, str]:
            measured = ""
            for rank, own in enumerate(hooked.student.values["ranks"]):
                during = [event for step in own["events"] for event in _during(step)]
                blocking, waits = during.count(BLOCKING), during.count(WAITED)
                what = "blocking calls" if blocking or not waits else "waits"
                measured = f"rank {rank}: {blocking or waits} {what} in hooks; expected 0"
                if blocking or waits:
                    what = "makes a call without async_op=True" if blocking else "waits"
                    return measured, f"your hook {what}, which blocks the backward pass"
                if BEGINS not in during:
                    return measured, "the hook was never called"
            return measured, ""

        self._claim(name, says, "report", problem, try_, needs, hints=BLOCKED)


def _rounding_reason(own: Any, expected: Any) -> str:
    if own.shape != expected.shape or not own.size:
        return "there is not one mean for each gradient"
    with np.errstate(all="ignore"):
        ratio = float(np.median(own / expected))
    if ratio > SUM:
        return "your hook returns sums: it must divide by the number of processes itself"
    if ratio < HALF:
        return "your hook returns half of the means: usually it divides twice"
    if not own[expected != 0].all():
        return "your hook makes tiny gradients 0: usually it sends float16 for bfloat16"
    if not np.isfinite(own).all():
        return "sums of large gradients are infinite in float16: your hook divides after the sum"
    return "your means are of other gradients, or in another precision"


def _during(events: Iterable[str]) -> list[str]:
    """Return what happens between a hook's beginning and its end."""
    running = False
    during = []
    for event in events:
        running = event == BEGINS or (running and event != ENDS)
        if running:
            during.append(event)
    return during
