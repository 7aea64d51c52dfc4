"""Whether the timed checks of a session count.

That rests on the baseline against itself, and on submissions whose verdict is certain. A session is
one grading run on one device. Its machine is examined before the first timed check and every 30
minutes; after one bad examination nothing that was timed in this session counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, Literal

from autograder.clock.pairs import FEW, TIMED, Now, Take, gather
from autograder.clock.rule import CLEAR_LOOK, FIRST_LOOK, Decision, Ruling, Z, far, rule
from autograder.config import LOWEST_BAR

MOST_NOISE = 0.10
"""sd of one pair's log-ratio."""
QUIET_NOISE = 0.02
"""The same at its upper bound, of a pair of few windows. Below it all pairs have few."""
EXAMINE_EVERY = 30 * 60.0
"""Seconds."""
CANARIES: Mapping[str, Decision] = {"known-good": "PASS", "known-slow": "FAIL"}

State = Literal["OPEN", "REFUSED", "GO ON"]


@dataclass(frozen=True)
class Gate:
    """What the baseline against itself says about the machine."""

    state: State
    pairs: int
    noise: float = 0.0
    """sd of one pair's log-ratio."""
    problem: str = ""
    margin: float = math.inf
    """How far from a bar is far, in log-ratio."""
    windows: int = TIMED
    """How many a pair needs on this machine where the first look does not decide."""
    differs: bool = False
    """The baseline was faster or slower than itself. Longer pairs would not mend that."""


def gate(pairs: Sequence[float], windows: int = FEW, *, last: bool = False) -> Gate:
    """Open when less than 10 % noise is proved and neither arm beats the other at the lowest bar.

    The first holds for an upper bound of the noise: of two machines with 10 %, one would show
    less by luck. *windows* is how many these pairs have.
    """
    n = len(pairs)
    if n < FIRST_LOOK:
        if last:
            return Gate("REFUSED", n, problem=f"only {n} pairs fit into the time allowed")
        return Gate("GO ON", n)
    noise = stdev(pairs)
    faster = rule(pairs, LOWEST_BAR, last=last).decision
    slower = rule([-ratio for ratio in pairs], LOWEST_BAR, last=last).decision
    if "PASS" in (faster, slower):
        problem = "equal runs differed by as much as a bar asks for"
        return Gate("REFUSED", n, noise, problem, differs=True)
    bound = noise_bound(pairs)
    if bound < MOST_NOISE and faster == slower == "FAIL":
        of_few = bound * math.sqrt(windows / FEW)
        needed = FEW if of_few < QUIET_NOISE else TIMED
        return Gate("OPEN", n, noise, "", far(of_few), needed)
    if not last:
        return Gate("GO ON", n, noise)
    return Gate("REFUSED", n, noise, _noise_problem(noise))


def _noise_problem(noise: float) -> str:
    most = f"the {100 * MOST_NOISE:.0f} % that are allowed"
    differed = f"equal runs differed by about {100 * noise:.0f} %"
    if noise >= MOST_NOISE:
        return f"{differed}, more than {most}"
    return f"{differed}, and the real figure may be more than {most}"


def noise_bound(pairs: Sequence[float]) -> float:
    """Return what the sd of a pair is below.

    The chi-square bound in the form of Wilson and Hilferty.
    """
    df = len(pairs) - 1
    share = 1 - 2 / (9 * df) - Z * math.sqrt(2 / (9 * df))
    return stdev(pairs) / math.sqrt(share**3)


def examine(take: Take, windows: int, seconds: float, now: Now) -> Gate:
    """Take pairs of the baseline against itself until the gate opens or is refused."""
    gathered = gather(take, lambda pairs: gate(pairs, windows).state == "GO ON", seconds, now)
    return gate(gathered.pairs, windows, last=True)


@dataclass
class Session:
    """Remembers when the machine was examined, and the first reason why nothing timed here
    counts.
    """

    examined: float | None = None
    refusal: str = ""
    interrupted: float = 0.0
    """The largest share of a pair of two baselines in which the kernel served interrupts."""
    margin: float = math.inf
    """How far from a bar is far, in log-ratio, since the last examination."""
    windows: int = TIMED
    """How many a pair after the first look has since then."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Of the last examination; they go with every result that rests on it."""

    @property
    def counts(self) -> bool:
        """Whether what is timed in this session may become a verdict."""
        return self.examined is not None and not self.refusal

    def windows_of(self, index: int) -> int:
        """Return how many windows this pair has: most verdicts are clear after three short ones."""
        return FEW if index < CLEAR_LOOK else self.windows

    def needs_gate(self, now: float) -> bool:
        """Whether the machine must be examined before the next timed check.

        A refused session is past that.
        """
        if self.refusal:
            return False
        return self.examined is None or now - self.examined >= EXAMINE_EVERY

    def record(self, now: float, gate: Gate, canaries: Mapping[str, Ruling]) -> None:
        """Note one examination; a missing canary is a canary with the wrong verdict."""
        self.examined = now
        self.margin = gate.margin
        self.windows = gate.windows
        self.figures = {
            "state": gate.state,
            "pairs": gate.pairs,
            "noise": round(gate.noise, 4),
            "windows": gate.windows,
            "far": round(math.exp(gate.margin), 3) if math.isfinite(gate.margin) else None,
            "canaries": {name: f"{ruling.decision}, {ruling}" for name, ruling in canaries.items()},
        }
        problem = gate.problem or _canary_problem(canaries)
        if problem and not self.refusal:
            self.refusal = f"this machine could not time anything reliably: {problem}"


def _canary_problem(canaries: Mapping[str, Ruling]) -> str:
    for name, expected in CANARIES.items():
        ruling = canaries.get(name)
        if ruling is None or ruling.decision != expected:
            outcome = "was not timed" if ruling is None else f"got {ruling.decision} at {ruling}"
            return f"the {name} submission {outcome}, not {expected}"
    return ""
