"""What the scripted clocks of part 2 show: how long a step takes, and what a transfer costs."""

from __future__ import annotations

from statistics import mean
from typing import Any, NamedTuple

import numpy as np

FASTER = 0.87  # times as long takes the faster rank
MIB = 2**20
FIGURES = ("step_ms", "compute_ms", "total_ms", "exposed_ms", "exposed_percent", "hidden_percent")


class Link(NamedTuple):
    """What an all_reduce costs alone."""

    latency: float
    """Seconds."""
    bandwidth: float
    """Bytes a second."""
    pattern: list[float]
    """Times as long takes each call of a size, over and over; their median is 1."""

    def seconds(self, size: int, call: int) -> float:
        """Return what a call takes, by how often this size was reduced before."""
        return self.median(size) * self.pattern[call % len(self.pattern)]

    def median(self, size: int) -> float:
        return self.latency + size / self.bandwidth


class Story(NamedTuple):
    """One training: the times of the slower rank in seconds."""

    slower: int
    width: int
    bucket_mb: float
    collectives: int
    compute: float
    exposed: float
    link: Link
    pattern: list[float]
    """Times as long takes each step, over and over; their median is 1."""

    @property
    def bytes(self) -> int:
        """Return what is sent in a step: four linear layers of float32."""
        rows = 64 + 1, self.width + 1, self.width + 1
        return 4 * (self.width * sum(rows) + (self.width + 1) * 10)

    @property
    def total(self) -> float:
        return self.collectives * self.link.latency + self.bytes / self.link.bandwidth

    def figures(self, factor: float = 1.0) -> dict[str, float]:
        """Return what has to be measured; with a *factor*, of all times."""
        step, total = 1e3 * (self.compute + self.exposed), 1e3 * self.total
        exposed = 1e3 * self.exposed
        return {
            "step_ms": factor * step,
            "compute_ms": factor * (step - exposed),
            "total_ms": factor * total,
            "exposed_ms": factor * exposed,
            "exposed_percent": 100 * exposed / step,
            "hidden_percent": 100 * (1 - exposed / total),
            "collectives": self.collectives,
            "bytes": self.bytes,
        }

    def slips(self) -> dict[str, dict[str, float]]:
        """Return by figure and words the number that a usual mistake gives."""
        right = self.figures()
        usual = {name: times(right[name], self.pattern) for name in FIGURES[:3]}
        alone = "no_sync() around backward alone changes nothing: forward decides, put it inside"
        usual["compute_ms"][f"that is a step with its collectives; {alone}"] = right["step_ms"]
        one_call = right["total_ms"] - 1e3 * (self.collectives - 1) * self.link.latency
        usual["total_ms"] |= {
            "that is what could not be hidden; the transfers alone take longer": right[
                "exposed_ms"
            ],
            "one call for all bytes has one latency; each bucket is a call": one_call,
        }
        usual["exposed_ms"] = {
            "that is the total; exposed is step_ms - compute_ms": right["total_ms"]
        }
        usual["hidden_percent"] = {
            "that is the part that is not hidden": 100 - right["hidden_percent"],
            "that is a share, not percent": right["hidden_percent"] / 100,
        }
        return usual


def times(median: float, pattern: list[float]) -> dict[str, float]:
    """Return what usual mistakes make of measured times with this median."""
    return {
        "it is the faster rank's: take the largest of all ranks": FASTER * median,
        "it is the mean, which one slow call decides: take the median": mean(pattern) * median,
        "it is the mean, and of the faster rank": mean(pattern) * FASTER * median,
        "it is the mean over ranks: take the largest": (1 + FASTER) / 2 * median,
        "it is the fastest call: take the median": min(pattern) * median,
        "it is in seconds": median / 1e3,
    }


def drawn_pattern(random: np.random.Generator, count: int) -> list[float]:
    """Draw an odd number of factors around 1, one of them far too slow."""
    half = count // 2
    below, above = random.uniform(0.7, 0.9, half), random.uniform(1.1, 1.3, half - 1)
    return [float(it) for it in random.permutation([*below, 1.0, *above, 4.6])]


def drawn_link(random: np.random.Generator, count: int) -> Link:
    latency, bandwidth = random.uniform(4e-3, 8e-3), random.uniform(5e6, 9e6)
    return Link(float(latency), float(bandwidth), drawn_pattern(random, count))


def drawn_stories(random: np.random.Generator) -> list[Story]:
    """Draw a training of two buckets, and one of three; in each the other rank is slower."""
    stories = []
    first = int(random.integers(2))
    for slower, bucket_mb, collectives in ((first, 0.1, 2), (1 - first, 0.03, 3)):
        count = 2 * int(random.integers(3, 6)) + 1
        link, pattern = drawn_link(random, count), drawn_pattern(random, count)
        width = int(random.integers(116, 129))
        compute = float(random.uniform(0.2, 0.4))
        story = Story(slower, width, bucket_mb, collectives, compute, 0.0, link, pattern)
        share = float(random.uniform(0.3, 0.7))
        stories.append(story._replace(exposed=share * story.total))
    return stories


# --- advice -----------------------------------------------------------------------------------

SITUATIONS = {
    "nothing is exposed": (4.0, 0.2, 0.3, 70.0),
    "exposed is just 5 percent": (5.0, 0.2, 0.3, 70.0),
    "latency is most of it": (20.0, 0.75, 1.25, 30.0),
    "latency is half of it": (20.0, 0.5, 0.3, 70.0),
    "more communication than computation": (20.0, 0.2, 1.25, 30.0),
    "as much communication as computation": (20.0, 0.2, 1.0, 70.0),
    "less than half is hidden": (20.0, 0.2, 0.3, 30.0),
    "half is hidden": (20.0, 0.2, 0.3, 50.0),
    "most is hidden": (20.0, 0.2, 0.3, 70.0),
}
"""exposed_percent, the latencies' part of total_ms, total_ms by compute_ms, hidden_percent."""


def drawn_figures(random: np.random.Generator, kind: str) -> dict[str, Any]:
    """Draw what measure_communication returns, and a latency; boundaries are exact."""
    exposed, latencies, by_compute, hidden = SITUATIONS[kind]
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
