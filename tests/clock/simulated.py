"""Simulated machines, and one trial of the decision rule on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from statistics import fmean, pstdev

from autograder.clock.gate import Session, examine
from autograder.clock.pairs import FEW, Take, alternating, compare
from autograder.clock.rule import CLEAR_LOOK, FIRST_LOOK, rule

BAR = 1.5
FAMILIES = {  # log-noise of a process: sd of its own, sd of a slow drift, share of (slow) outliers, their mean size
    "bell": (0.01, 0.0, 0.0, 0.0),
    "quiet": (0.005, 0.005, 0.02, 0.1),
    "typical": (0.02, 0.02, 0.05, 0.2),
    "noisy": (0.05, 0.05, 0.10, 0.4),
    "shared": (0.10, 0.10, 0.15, 0.6),
}
RUN = 20.0  # seconds that five pairs of alternating windows take
THIRD = RUN / 3
HOGS: dict[
    str, Callable[[float], float]
] = {  # seconds since it came -> the share of the machine that it takes
    "step": lambda t: 0.3 if 0 <= t < THIRD else 0.0,
    "burst": lambda t: 0.3 if t % 0.6 < 0.2 else 0.0,  # a third of all the time, two windows long
    "ramp": lambda t: 0.3 * t / THIRD if 0 <= t < THIRD else 0.0,
}

End = tuple[str, float]
"""How one trial ended, and after how many pairs."""


@dataclass
class SimulatedArm:
    """A worker on a machine whose time and load both arms share; it freezes at once."""

    name: str
    seconds: float
    time: list[float]
    load: Callable[[float], float]
    random: Random
    rough: float = 1.0
    pace: float = 0.0

    def start(self, seed: int) -> None:  # noqa: ARG002 its noise has a seed of its own
        """Start a process, a little faster or slower than the last one."""
        self.pace = self.seconds * math.exp(self.random.gauss(0, self.rough * 0.02 / math.sqrt(2)))
        self.time[0] += 0.5

    def window(self) -> float:
        """Let the time of one window pass."""
        took = (
            self.pace
            * math.exp(self.random.gauss(0, self.rough * 0.04))
            / (1 - self.load(self.time[0]))
        )
        self.time[0] += took
        return took

    def turns(self) -> dict[str, int]:
        """Stand still."""
        return {}

    def freeze(self) -> None:
        """Do nothing."""

    thaw = end = freeze


def processes(family: str, random: Random) -> Iterator[float]:
    """Yield the log-noise of one process after the other."""
    own, drift, share, size = FAMILIES[family]
    slow = random.gauss(0, drift)
    while True:
        outlier = math.log1p(random.expovariate(1) * size) if random.random() < share else 0.0
        yield random.gauss(0, own) + slow + outlier
        slow = 0.9 * slow + random.gauss(0, drift * math.sqrt(1 - 0.9**2))


@cache
def own_noise(family: str) -> float:
    """Return the sd of a pair of this family before it is scaled."""
    noise = processes(family, Random(family))
    return pstdev([next(noise) - next(noise) for _ in range(50_000)])


def draw(family: str, random: Random, noise: float, ratio: float = 1.0) -> Take:
    """Draw pairs A B, B A, ... of a true speedup and a given noise."""
    processed, scale = processes(family, random), noise / own_noise(family)
    return lambda index: (
        math.log(ratio) + scale * (-1) ** index * (next(processed) - next(processed))
    )


def graded(family: str, random: Random, ratio: float, noise: float, bar: float = BAR) -> End:
    """Grade a true speedup of *ratio* x bar."""
    margin = examine(draw(family, random, noise), FEW, math.inf, lambda: 0.0).margin
    take = draw(family, random, noise, ratio * bar)
    ruling = compare(take, bar, math.inf, lambda: 0.0, margin=margin).ruling
    return ruling.decision, ruling.pairs


def unpaid(family: str, random: Random, ratio: float, noise: float, bar: float = BAR) -> End:
    """Say whether an early FAIL keeps a share of the points that more pairs would have proved."""
    margin = examine(draw(family, random, noise), FEW, math.inf, lambda: 0.0).margin
    take = draw(family, random, noise, ratio)
    pairs = [take(index) for index in range(FIRST_LOOK)]
    early = rule(pairs[:CLEAR_LOOK], bar, margin=margin).decision == "FAIL"
    paid = rule(pairs, bar, last=True).credit
    return "UNPAID" if early and paid else "PAID", CLEAR_LOOK if early else FIRST_LOOK


def cut_short(family: str, random: Random, ratio: float, noise: float) -> End:
    """Grade when the time is over after the fewest pairs that can be judged."""
    take = draw(family, random, noise, ratio * BAR)
    return rule([take(index) for index in range(FIRST_LOOK)], BAR, last=True).decision, FIRST_LOOK


def repeated(family: str, random: Random, ratio: float, noise: float) -> End:
    """Grade one submission 20 times and pool nothing."""
    ends = [graded(family, random, ratio, noise) for _ in range(20)]
    return "SAME" if len({word for word, _ in ends}) == 1 else "DIFFERENT", fmean(
        pairs for _, pairs in ends
    )


def examined(family: str, random: Random, noise: float) -> End:
    """Hold the baseline against itself at the gate."""
    found = examine(draw(family, random, noise), FEW, math.inf, lambda: 0.0)
    return found.state, found.pairs


def hogged(
    kind: str,
    random: Random,
    ratio: float,
    rough: float = 1.0,
    *,
    first: bool = False,
) -> End:
    """Grade by alternating windows while something else has its share for a random third of the run, or the first.

    The machine was examined before that came.
    """
    time, came = [0.0], [math.inf]

    def arm(name: str, seconds: float) -> SimulatedArm:
        return SimulatedArm(name, seconds, time, lambda t: HOGS[kind](t - came[0]), random, rough)

    baseline, itself = arm("baseline", 0.1), arm("student", 0.1)
    gate = examine(
        lambda index: alternating(baseline, itself, index, timed=FEW), FEW, math.inf, lambda: 0.0
    )
    session = Session(windows=gate.windows)
    began = time[0]
    came[0] = began + (0.0 if first else random.uniform(0, RUN - THIRD))
    student = arm("student", 0.1 / (ratio * BAR))
    ruling = compare(
        lambda index: alternating(baseline, student, index, timed=session.windows_of(index)),
        BAR,
        120.0,
        lambda: time[0] - began,
        margin=gate.margin,
    ).ruling
    return ruling.decision, ruling.pairs
