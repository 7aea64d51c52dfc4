"""Timed calls: N calls on N inputs that are first seen when the clock starts.

    GO, inputs -> ANSWER, a commitment to each output      the clock runs
    SHOW, calls -> OUTPUTS                                 of a few calls that nobody could foresee

What is shown must be what was committed to, and what the baseline's side shows for the same inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograder.digest import COMMITMENT_BYTES, commitment
from autograder.model import Close
from autograder.revealed import seal
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import Talk

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SHOWN = 2  # calls of each window: who leaves out one call in ten is caught in 19 of 20 pairs


@dataclass
class Calls:
    """What one pair is asked, and what it showed."""

    inputs: Callable[[np.random.Generator], Mapping[str, Array]]
    count: int
    """Calls in a window."""
    seed: int
    """Secret."""
    within: Close
    fewer: int = 0
    """Calls of the side named student, where that is not all of them: a canary."""
    now: Callable[[], float] = time.monotonic
    _drawn: tuple[int, list[Mapping[str, Array]]] = (-1, [])
    _shown: dict[int, dict[str, list[Array]]] = field(default_factory=dict)

    def window(self, talk: Talk, side: str, turn: int) -> float:
        """Time one window, then see some of its outputs."""
        calls = self._calls(turn)[: self.fewer or None] if side == "student" else self._calls(turn)
        revealed = seal(calls)
        try:
            began = self.now()
            talk.say("GO", revealed.form, [revealed.fd])
            answer = talk.hear("ANSWER", {}, {"commitments": ("uint8", (len(calls) * COMMITMENT_BYTES,))})
            seconds = self.now() - began
        finally:
            revealed.close()
        commitments = answer.arrays["commitments"].reshape(-1, COMMITMENT_BYTES)
        chosen = self._chosen(turn)
        talk.say("SHOW", {"calls": chosen})
        outputs = talk.hear("OUTPUTS", {}, {str(call): ("float32", (-1,)) for call in chosen}).arrays
        for call in chosen:
            if commitment(outputs[str(call)]) != commitments[call].tobytes():
                raise Stopped("refused", "showed another output than it had while the clock ran")
        self._shown.setdefault(turn, {})[side] = [outputs[str(call)] for call in chosen]
        return seconds

    def agree(self, turn: int) -> None:
        """Compare what both sides showed."""
        if len(self._shown[turn]) < 2:
            return
        sides = self._shown.pop(turn)
        for output, expected in zip(sides["student"], sides["baseline"], strict=True):
            if problem := difference(output, expected, self.within):
                raise Stopped("refused", f"in a timed window {problem}")

    def bytes_of_a_call(self) -> int:
        """Say how large one call's inputs are."""
        return max(1, sum(array.nbytes for array in self.inputs(_random(self.seed)).values()))

    def _calls(self, turn: int) -> list[Mapping[str, Array]]:
        """Draw the inputs when the first side needs them."""
        if self._drawn[0] != turn:
            random = _random(self.seed, turn, 0)
            self._drawn = turn, [self.inputs(random) for _ in range(self.count)]
        return self._drawn[1]

    def _chosen(self, turn: int) -> list[int]:
        count = self.fewer or self.count
        found: list[int] = _random(self.seed, turn, 1).choice(count, min(SHOWN, count), replace=False).tolist()
        return found


def difference(output: Array, expected: Array, within: Close) -> str:
    """Say how an output differs from the baseline's, or nothing."""
    import numpy as np

    if output.shape != expected.shape:
        return f"{len(output)} numbers were returned where the baseline returns {len(expected)}"
    with np.errstate(all="ignore"):
        apart = np.abs(output.astype(np.float64) - expected)
        fine = (output == expected) | (apart <= within.atol + within.rtol * np.abs(expected))
    if np.all(fine):
        return ""
    worst = int(np.argmax(np.where(fine, -1, np.where(np.isnan(apart), np.inf, apart))))
    return f"{float(output[worst]):.6g} was returned where the baseline returns {float(expected[worst]):.6g}"


def _random(*seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)
