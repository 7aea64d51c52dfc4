"""What the scripted clocks of part 2 show: how long a step takes, and what a transfer costs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np

FASTER = 0.87  # times as long take the faster ranks
WALL = 2.2  # times as far goes time.time, which others may set: no other mistake is near
WARMUP = 5  # steps: not what the template has
ONE_LATENCY = "your total_ms has one latency: no call is waited for before the next"
ALL_PARAMETERS = "those are the bytes of all parameters, and a frozen one sends nothing"
PARAMETERS = "your collectives is the number of parameters, not of the calls in a step"
SHARE = "your figure is a share of 1, not in percent"
FIGURES = ("step_ms", "compute_ms", "total_ms", "exposed_ms", "exposed_percent", "hidden_percent")


class Script(NamedTuple):
    """How much longer or shorter than its median each turn takes, over and over, and on which rank most."""

    pattern: list[float]
    slower: int

    def of(self, rank: int) -> list[float]:
        """Return the factors of a rank, turn by turn: each has its slow turns at another time."""
        factor = 1.0 if rank == self.slower else FASTER
        return [factor * it for it in (*self.pattern[rank:], *self.pattern[:rank])]

    def slips(self, right: float, world: int, barrier: float = 1.0) -> dict[str, float]:
        """Return what usual mistakes make of measured times with this median; all in milliseconds."""
        turns = zip(*map(self.of, range(world)), strict=True)
        average, count = mean(self.pattern), len(self.pattern)
        together = 1 + (world - 1) * FASTER
        slips = {
            "your time is that of a faster rank, not the largest of all ranks": FASTER * right,
            "your time is the mean, which one slow call decides, not the median": average * right,
            "your time is the mean over ranks, not the largest": together / world * right,
            "your time is the sum over ranks, not the largest": together * right,
            "your time has the barrier's time in it, which must not count": right + barrier,
            "your clock is time.time(), which others may set": WALL * right,
            "your time is the median of each turn's slowest rank, not the largest median": (
                median(map(max, turns)) * right
            ),
            "your time is that of the fastest call, not the median": min(self.pattern) * right,
            "your time is in seconds": right / 1e3,
        }
        if count % 2 == 0:
            upper = sorted(self.pattern)[count // 2]
            slips[
                "of an even number of times your code takes the larger middle one, "
                "not the mean of the middle two"
            ] = upper * right
        return slips


class Link(NamedTuple):
    """What an all_reduce costs alone."""

    latency: float
    """Seconds; also of a barrier."""
    bandwidth: float
    """Bytes a second."""

    def seconds(self, size: int) -> float:
        return self.latency + size / self.bandwidth


class Story(NamedTuple):
    """One training: the times of the slower rank in seconds; without synchronisation the other one is slower."""

    width: int
    bucket_mb: float
    collectives: int
    compute: float
    exposed: float
    link: Link
    script: Script

    @property
    def bytes(self) -> int:
        """Return what is sent in a step: four linear layers of float32, but the first one's bias, which is frozen."""
        return 4 * (self.width * (64 + 2 * (self.width + 1)) + (self.width + 1) * 10)

    def slips(self) -> dict[str, dict[str, float]]:
        """Return what usual mistakes make of some figures."""
        right, latency = self.figures(), 1e3 * self.link.latency
        early = right["total_ms"] - (self.collectives - 1) * latency
        total = {
            "your total_ms is exposed_ms; the calls must be timed alone": right["exposed_ms"],
            ONE_LATENCY: early,
        }
        return {
            "step_ms": self.script.slips(right["step_ms"], 2, latency),
            "compute_ms": self.script.slips(right["compute_ms"], 2, latency),
            "total_ms": total,
            "collectives": {PARAMETERS: 8.0},
            "bytes": {ALL_PARAMETERS: self.bytes + 4.0 * self.width},
        } | {it: {SHARE: right[it] / 100} for it in ("exposed_percent", "hidden_percent")}

    def figures(self) -> dict[str, float]:
        """Return what has to be measured."""
        step, exposed = self.compute + self.exposed, self.exposed
        total = self.collectives * self.link.latency + self.bytes / self.link.bandwidth
        return {
            "step_ms": 1e3 * step,
            "compute_ms": 1e3 * self.compute,
            "total_ms": 1e3 * total,
            "exposed_ms": 1e3 * exposed,
            "exposed_percent": 100 * exposed / step,
            "hidden_percent": 100 * (1 - exposed / total),
            "collectives": self.collectives,
            "bytes": self.bytes,
        }


def drawn_script(
    random: np.random.Generator, slower: int, middle: Sequence[float] = (1.0,)
) -> Script:
    """Draw factors around those in the *middle*, whose mean is 1; one of them is far too slow."""
    half = int(random.integers(3, 6))
    below, above = random.uniform(0.7, 0.9, half), random.uniform(1.2, 1.4, half - 1)
    return Script(random.permutation([*below, *middle, *above, 4.6]).tolist(), slower)


def drawn_link(random: np.random.Generator) -> Link:
    return Link(float(random.uniform(4e-3, 8e-3)), float(random.uniform(5e6, 9e6)))


def drawn_stories(random: np.random.Generator) -> list[Story]:
    """Draw a training of two buckets, and one of three.

    There the other rank is slower, nothing is hidden, and the number of steps is even.
    """
    stories = []
    first = int(random.integers(2))
    kinds = (
        (first, 0.1, 2, (0.3, 0.7), (1.0,)),
        (1 - first, 0.03, 3, (1.2, 1.5), (0.95, 1.05)),
    )
    for slower, bucket_mb, collectives, shares, middle in kinds:
        compute, width = float(random.uniform(0.2, 0.4)), int(random.integers(116, 129))
        link, script = drawn_link(random), drawn_script(random, slower, middle)
        story = Story(width, bucket_mb, collectives, compute, 0.0, link, script)
        exposed = float(random.uniform(*shares)) * story.figures()["total_ms"] / 1e3
        stories.append(story._replace(exposed=exposed))
    return stories


# --- advice ---

SITUATIONS: dict[str, dict[str, float]] = {
    "4 percent are exposed": {"exposed": 4.0},
    "5 percent are exposed": {"exposed": 5.0},
    "latencies are most of total_ms": {"latencies": 0.75, "by_compute": 1.25, "hidden": 30.0},
    "latencies are half of total_ms": {"latencies": 0.5},
    "more communication than computation": {"by_compute": 1.25, "hidden": 30.0},
    "as much communication as computation": {"by_compute": 1.0},
    "less than half is hidden": {"hidden": 30.0},
    "half is hidden": {"hidden": 50.0},
    "most is hidden": {},
}


ADVICE = {
    "4 percent": "exposed_percent is less than 5, and the first condition must decide",
    "5 percent": '"nothing" must be for less than 5 percent, and here are 5 exactly',
    "latencies are most": (
        "latencies are more than half of total_ms: only exposed_percent < 5 may decide before this"
    ),
    "latencies are half": (
        '"larger buckets" must be for more than half of total_ms, and here latencies are half'
    ),
    "more communication": "total_ms > compute_ms must decide here, before hidden_percent < 50",
    "as much": '"accumulate" must be for total_ms > compute_ms, and here both are equal',
    "less than half": "hidden_percent is less than 50, and this condition must decide",
    "half is hidden": '"overlap" must be for less than 50 percent, and here are 50 exactly',
    "": "no condition holds, so the last advice must be returned",
}
"""What to say of a situation."""


def drawn_figures(
    random: np.random.Generator,
    exposed: float = 20.0,
    latencies: float = 0.2,
    by_compute: float = 0.3,
    hidden: float = 70.0,
) -> dict[str, Any]:
    """Draw what measure_communication returns, and a latency, by exact shares.

    Latencies are a share of total_ms, which is so many times compute_ms.
    """
    calls, latency = int(random.integers(2, 9)), float(random.integers(2, 9))
    total = calls * latency / latencies
    compute = total / by_compute
    step = compute / (1 - exposed / 100)
    figures = {
        "step_ms": step,
        "compute_ms": compute,
        "total_ms": total,
        "exposed_ms": step - compute,
        "exposed_percent": exposed,
        "hidden_percent": hidden,
        "collectives": calls,
        "bytes": 4 * int(random.integers(10**4, 10**7)),
    }
    return {"figures": figures, "latency_ms": latency}


def advised(figures: dict[str, Any], latency_ms: float) -> str:
    """Return the right advice."""
    total = figures["total_ms"]
    if figures["exposed_percent"] < 5:
        return "nothing"
    if 2 * figures["collectives"] * latency_ms > total:
        return "larger buckets"
    if total > figures["compute_ms"]:
        return "accumulate"
    return "compress" if figures["hidden_percent"] >= 50 else "overlap"
