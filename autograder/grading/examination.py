"""Whether a machine is fit for timing: the baseline against itself, and against half of its work.

That takes the shortest windows which any bar has, since longer ones scatter less, and few of them in a pair; a machine
that is too noisy for few is examined once more with twice as many. What was found is kept for an hour. A session that
finds it only looks again: half of the work has to pass after as few pairs, and these have to agree.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.clock.gate import CANARIES, Gate, Session, examine
from autograder.clock.pairs import FEW, TIMED, Take, compare
from autograder.clock.rule import CLEAR_LOOK, Ruling, rule
from autograder.config import LOWEST_BAR
from autograder.machine.kept_examination import Examined, Memory

SECONDS = 100.0
KNOWN_GOOD_BAR = 1.4  # for half of the work
ITSELF = "the baseline against itself"
HALF = "the baseline against half of its work"
LOG = logging.getLogger(__name__)


def announced(take: Take, purpose: str) -> Take:
    """Say before each pair what it is for: it may be minutes until there is a verdict."""

    def said(index: int) -> float:
        LOG.info("%s, pair %d", purpose, index + 1)
        return take(index)

    return said


@dataclass(frozen=True)
class Examination:
    """Examines the machine of a session with what takes pairs of the baseline: *itself*, or *half* of its work."""

    session: Session
    memory: Memory
    itself: Take
    half: Take
    now: Callable[[], float]

    def look(self) -> None:
        """Examine the machine, or look again whether its last examination holds."""
        kept = self.memory.recall()
        if kept is None or not self._holds(kept):
            self._examine()

    def _holds(self, kept: Examined) -> bool:
        self.session.windows, self.session.interrupted = kept.windows, kept.interrupted
        pairs = self._against_half(kept.margin, "looked at again")
        agree = 0 < len(pairs) <= CLEAR_LOOK and max(pairs) - min(pairs) < kept.margin
        canaries = {
            "known-good": _certain(pairs, kept.margin),
            "known-slow": _certain([-ratio for ratio in pairs], kept.margin),
        }
        if not agree or any(canaries[name].decision != CANARIES[name] for name in CANARIES):
            return False
        gate = Gate("OPEN", kept.pairs, kept.noise, "", kept.margin, kept.windows)
        self.session.record(self.now(), gate, canaries)
        return True

    def _examine(self) -> None:
        gate, slow = self._against_itself(FEW, "examined")
        if gate.problem and not gate.differs:
            gate, slow = self._against_itself(TIMED, "examined once more, in longer pairs")
        canaries = {"known-slow": slow}
        if not gate.problem:
            self.session.windows = gate.windows
            half = self._against_half(gate.margin, "examined")
            canaries["known-good"] = _certain(half, gate.margin)
        self.session.record(self.now(), gate, canaries)
        if self.session.counts:
            interrupted = self.session.interrupted
            self.memory.keep(gate.pairs, gate.noise, gate.margin, gate.windows, interrupted)

    def _against_itself(self, windows: int, how: str) -> tuple[Gate, Ruling]:
        self.session.windows = windows
        take = announced(self.itself, f"the machine is {how}: {ITSELF}")
        pairs: list[float] = []

        def noted(index: int) -> float:
            pairs.append(take(index))
            return pairs[-1]

        gate = examine(noted, windows, SECONDS, self.now)
        return gate, rule(pairs, LOWEST_BAR, last=True)

    def _against_half(self, margin: float, how: str) -> Sequence[float]:
        take = announced(self.half, f"the machine is {how}: {HALF}")
        return compare(take, KNOWN_GOOD_BAR, SECONDS, self.now, margin=margin).gathered.pairs


def _certain(pairs: Sequence[float], margin: float) -> Ruling:
    """Judge a submission whose verdict nobody doubts."""
    return rule(pairs, KNOWN_GOOD_BAR, last=True, margin=margin)
