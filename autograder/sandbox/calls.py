"""Timed calls: N calls on N inputs that are first seen when the clock starts.

    GO, inputs -> ANSWER, a commitment to each output      the clock runs
    SHOW, call -> OUTPUT                                   of a few calls that nobody could foresee

What is shown must be what was committed to, and what the baseline's side shows for the same inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograder.probe import Close
from autograder.protocol.digest import COMMITMENT_BYTES, commitment
from autograder.protocol.revealed import seal
from autograder.sandbox.watch import Stopped
from autograder.sandbox.windows import Talk, generator

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SHOWN = 4  # calls of each window: who leaves out one call in ten is caught in 99.7 % of all pairs


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
            answer = talk.hear(
                "ANSWER", {}, {"commitments": ("uint8", (len(calls) * COMMITMENT_BYTES,))}
            )
            seconds = self.now() - began
        finally:
            revealed.close()
        commitments = answer.arrays["commitments"].reshape(-1, COMMITMENT_BYTES)
        shown = self._shown.setdefault(turn, {})[side] = []
        for call in self._chosen(turn):
            talk.say("SHOW", {"call": call})
            shown.append(talk.hear("OUTPUT", {}, {"output": ("float32", (-1,))}).arrays["output"])
            if commitment(shown[-1]) != commitments[call].tobytes():
                raise Stopped("refused", "showed a different output from while the clock ran")
        return seconds

    def agree(self, turn: int) -> str:
        """Say how the outputs that both sides showed differ, or nothing."""
        if len(self._shown[turn]) < 2:
            return ""
        sides = self._shown.pop(turn)
        both = zip(sides["student"], sides["baseline"], strict=True)
        return next(
            filter(None, (difference(output, expected, self.within) for output, expected in both)),
            "",
        )

    def settle(self, talk: Talk) -> str:  # noqa: ARG002 outputs were compared window by window
        """Have no question left."""
        return ""

    def store(self, side: str) -> None:
        """Need none: what a window asks comes with it."""

    def bytes_of_one(self) -> int:
        """Say how large one call's inputs are."""
        return max(1, sum(array.nbytes for array in self.inputs(generator(self.seed)).values()))

    def _calls(self, turn: int) -> list[Mapping[str, Array]]:
        """Draw the inputs when the first side needs them."""
        if self._drawn[0] != turn:
            random = generator(self.seed, turn, 0)
            self._drawn = turn, [self.inputs(random) for _ in range(self.count)]
        return self._drawn[1]

    def _chosen(self, turn: int) -> list[int]:
        count = self.fewer or self.count
        numbers: list[int] = (
            generator(self.seed, turn, 1).choice(count, min(SHOWN, count), replace=False).tolist()
        )
        return numbers


def difference(output: Array, expected: Array, within: Close) -> str:
    """Say how an output differs from the baseline's, or nothing.

    NaN is right where the baseline returns it.
    """
    if output.shape != expected.shape:
        return f"{len(output)} numbers were returned where the baseline returns {len(expected)}"
    shares = shares_of_allowed(output, expected, within)
    if not (shares > 1).any():
        return ""
    worst = int(shares.argmax())
    return (
        f"{float(output[worst]):.6g} was returned where the "
        f"baseline returns {float(expected[worst]):.6g}"
    )


def shares_of_allowed(output: Array, expected: Array, within: Close) -> Array:
    """Return how far each number is from the baseline's, as a share of what is allowed.

    Infinite for NaN.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        shares = np.abs(output.astype(np.float64) - expected) / (
            within.atol + within.rtol * np.abs(expected)
        )
        alike = (output == expected) | (np.isnan(output) & np.isnan(expected))
    worst: Array = np.where(alike, 0.0, np.nan_to_num(shares, nan=np.inf, posinf=np.inf))
    return worst
