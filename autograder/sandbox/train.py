"""Timed training: one call of an epoch function, from fresh weights, on batches first seen when
the clock starts.

    RESET -> FRESH                      initial weights again, in place; no clock runs
    GO, batches -> ANSWER, losses       the clock runs: a loss depends on the weights after each step before it,
    CHALLENGE -> PROJECTION             and this on the last step
    SHOW -> WEIGHTS                     which must have that projection

Losses and weights must follow those of the baseline's side, and be worth as much on batches
that neither has seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from autograder.probe import Tolerance
from autograder.protocol import images
from autograder.protocol.digest import projection
from autograder.protocol.revealed import seal
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import Talk, generator

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

BATCH = 16  # samples
HELD_OUT = 8  # batches
TRIED = 0.2  # of the windows, and the last: their weights are tried on held-out batches


class Trained(NamedTuple):
    """What one side handed over."""

    losses: Array
    weights: Array


@dataclass
class Train:
    """What one pair is asked, and what it answered."""

    count: int
    """Batches in a window."""
    seed: int
    """Secret."""
    within: Tolerance
    fewer: int = 0
    """Batches of the side named student, where that is not all of them: a canary."""
    now: Callable[[], float] = time.monotonic
    _drawn: tuple[int, dict[str, Array]] = (-1, {})
    _trained: dict[int, dict[str, Trained]] = field(default_factory=dict)

    def window(self, talk: Talk, side: str, turn: int) -> float:
        """Time one window, then see the weights."""
        count = self.fewer if self.fewer and side == "student" else self.count
        challenge = int(generator(self.seed, turn, 1).integers(0, 1 << 64, dtype="uint64"))
        talk.say("RESET", {})
        talk.hear("FRESH", {}, {})
        drawn = self._batches(turn)
        revealed = seal([{name: array[: count * BATCH] for name, array in drawn.items()}])
        try:
            began = self.now()
            talk.say("GO", {**revealed.form, "batch": BATCH}, [revealed.fd])
            losses = talk.hear("ANSWER", {}, {"losses": ("float64", (-1,))}).arrays["losses"]
            talk.say("CHALLENGE", {"challenge": challenge})
            claimed = talk.hear("PROJECTION", {"projection": int}, {}).body["projection"]
            seconds = self.now() - began
        finally:
            revealed.close()
        talk.say("SHOW", {})
        weights = talk.hear("WEIGHTS", {}, {"weights": ("float32", (-1,))}).arrays["weights"]
        if projection(weights, challenge) != claimed:
            raise Stopped("refused", "showed different weights from while the clock ran")
        self._trained.setdefault(turn, {})[side] = Trained(losses, weights)
        return seconds

    def agree(self, turn: int) -> str:
        """Say where the losses or weights of a window leave the baseline's, or nothing."""
        sides = self._trained[turn]
        if len(sides) < 2:
            return ""
        self._trained = {
            t: s for t, s in self._trained.items() if len(s) < 2 or t == turn or self._tried(t)
        }
        student = sides["student"]
        baseline = sides["baseline"]
        if self.fewer:  # another number of steps ends at other weights
            student = student._replace(weights=baseline.weights)
            baseline = baseline._replace(losses=baseline.losses[: self.fewer])
        return differing(student, baseline, self.within)

    def settle(self, talk: Talk) -> str:
        """Let trusted code try weights of both sides on fresh batches.

        The last window's, and of some others.
        """
        held_out = images.draw(generator(self.seed, 0, 3), HELD_OUT * BATCH)
        for sides in () if self.fewer else self._trained.values():
            student, baseline = (
                self._worth(talk, sides[side], held_out) for side in ("student", "baseline")
            )
            if not abs(student - baseline) <= self.within.losses:
                return (
                    "the weights after a window have a loss of "
                    f"{student:.4f} on other batches, not {baseline:.4f}"
                )
        return ""

    def store(self, side: str) -> None:
        """Need none: what a window asks comes with it."""

    def bytes_of_one(self) -> int:
        """Say how large a batch is."""
        return sum(array.nbytes for array in images.draw(generator(self.seed), BATCH).values())

    def _tried(self, turn: int) -> bool:
        return bool(generator(self.seed, turn, 2).random() < TRIED)

    def _batches(self, turn: int) -> dict[str, Array]:
        """Draw them when the first side needs them."""
        if self._drawn[0] != turn:
            random = generator(self.seed, turn, 0)
            self._drawn = turn, images.draw(random, self.count * BATCH)
        return self._drawn[1]

    def _worth(self, talk: Talk, trained: Trained, held_out: dict[str, Array]) -> float:
        revealed = seal([{"weights": trained.weights, **held_out}])
        try:
            talk.say("EVALUATE", revealed.form, [revealed.fd])
            return float(talk.hear("WORTH", {}, {"loss": ("float64", (1,))}).arrays["loss"][0])
        finally:
            revealed.close()


def differing(student: Trained, baseline: Trained, within: Tolerance) -> str:
    """Say how a training leaves the baseline's, or nothing."""
    import numpy as np

    if student.losses.shape != baseline.losses.shape:
        return f"{len(student.losses)} losses were returned for {len(baseline.losses)} batches"
    if student.weights.shape != baseline.weights.shape:
        return (
            f"{len(student.weights)} weights were shown, the baseline has {len(baseline.weights)}"
        )
    with np.errstate(all="ignore"):
        apart = np.abs(student.losses - baseline.losses)
        norm = np.linalg.norm(baseline.weights)
        moved = np.linalg.norm(student.weights - baseline.weights) / norm
    wrong = np.flatnonzero(~(apart <= within.losses))
    if len(wrong):
        loss = student.losses[wrong[0]]
        expected = baseline.losses[wrong[0]]
        return f"the loss of batch {wrong[0] + 1} is {loss:.5f}, the baseline's is {expected:.5f}"
    if moved <= within.weights:
        return ""
    return f"the weights are {moved:.1e} of their norm away from the baseline's"
