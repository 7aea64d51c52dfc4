"""What is right about scripted times, speedups and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

Seconds = Sequence[float]
RECIPES = {
    "fp32": (4, 4, 0, 8),
    "amp": (4, 4, 0, 8),
    "half_with_masters": (2, 2, 4, 8),
    "pure_half": (2, 2, 0, 4),
}
"""Bytes of a parameter: weights, gradients, masters, optimizer."""
HELD = ("weights", "gradients", "masters", "optimizer")
PERCENTILES = (50, 95, 99)
SPREAD = ("mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms", "per_second")


class Machine:
    """Functions that take scripted seconds on one clock, longer and longer, and leave work to a device."""

    def __init__(self, advance: Callable[[float], None], slower: float = 0.0) -> None:
        """Each call takes by *slower* of its seconds longer than it would have as the first."""
        self._advance, self._slower = advance, slower
        self.called: list[str] = []
        self.queued = 0.0

    def function(
        self, seconds: Seconds, name: str = "", *, queues: float = 0.0
    ) -> Callable[..., None]:
        """Return a function whose calls take these seconds, one after the other and from the start again."""
        own = _again(seconds)

        def call(*_: Any) -> None:
            self._advance(next(own) * (1 + self._slower * len(self.called)))
            self.called.append(name)
            self.queued += queues

        return call

    def synchronize(self) -> None:
        """Wait for what is queued."""
        self._advance(self.queued)
        self.queued = 0.0


def _again(seconds: Seconds) -> Iterator[float]:
    while True:
        yield from seconds


def spread(seconds: Seconds) -> dict[str, float]:
    runs = 1000 * np.array(seconds)
    figures = [runs.mean(), runs.std(), *np.percentile(runs, PERCENTILES), 1000 / runs.mean()]
    return dict(zip(SPREAD, map(float, figures), strict=True))


def compared(
    baseline: Seconds, candidate: Seconds, pairs: int, warmup: int, slower: float = 0.0
) -> dict[str, Any]:
    """Return what a comparison says of two functions whose calls take these seconds, on such a machine."""
    ratios = []
    for pair in range(pairs):
        calls = 2 * (warmup + pair)  # before this pair
        first, second = (1 + slower * at for at in (calls, calls + 1))
        factor = first / second if pair % 2 == 0 else second / first
        at = warmup + pair
        ratios.append(baseline[at] / candidate[at] * factor)
    ratios.sort()
    k = rank(pairs)
    low, high = ratios[k - 1], ratios[-k]
    verdict = "no difference"
    if low > 1:
        verdict = "faster"
    elif high < 1:
        verdict = "slower"
    middle = float(np.median(ratios))
    return {"ratio": middle, "low": low, "high": high, "verdict": verdict}


def rank(pairs: int) -> int:
    """Return the largest k with P(Bin(pairs, 1/2) < k) <= 2.5 %."""
    ways = [sum(math.comb(pairs, at) for at in range(k)) for k in range(pairs)]
    return max(k for k, below in enumerate(ways) if below <= 0.025 * 2**pairs)


def speedups(minutes: Mapping[str, float]) -> list[dict[str, Any]]:
    times = list(minutes.values())
    return [
        {
            "step": step,
            "minutes": own,
            "cumulative": times[0] / own,
            "incremental": times[max(0, at - 1)] / own,
            "saved_percent": 100 * (times[0] - own) / times[0],
        }
        for at, (step, own) in enumerate(minutes.items())
    ]


def held(
    parameters: int,
    recipe: str,
    activations_per_sample: int,
    micro_batch: int,
    accumulation: int,
    processes: int,
) -> dict[str, float]:
    each = {kind: parameters * size for kind, size in zip(HELD, RECIPES[recipe], strict=True)}
    total = sum(each.values()) + activations_per_sample * micro_batch
    return {
        **each,
        "activations": activations_per_sample * micro_batch,
        "total": total,
        "total_gib": total / 2**30,
        "effective_batch": micro_batch * accumulation * processes,
    }


SIDES = {"faster": "lies above 1", "slower": "lies below 1", "no difference": "holds 1"}


def row_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how a row of the table contradicts itself."""
    for row in rows:
        name = row["version"]
        if not row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]:
            return f"{name}: p50_ms, p95_ms and p99_ms fall, and must rise"
        if abs(row["mean_ms"] * row["per_second"] / 1000 - 1) > 0.01:
            return f"{name}: per_second is {row['per_second']:.4g}, and 1000 / mean_ms {1000 / row['mean_ms']:.4g}"
        if not row["low"] <= row["ratio"] <= row["high"]:
            return f"{name}: the ratio is outside of its interval, from low to high"
        verdict = "faster" if row["low"] > 1 else "slower" if row["high"] < 1 else "no difference"
        if row["verdict"] != verdict:
            interval = f"the interval from {row['low']:.4g} to {row['high']:.4g} {SIDES[verdict]}"
            return f"{name}: the verdict is '{row['verdict']}', but {interval}: it is '{verdict}'"
    return ""


def begun(timed: Sequence[str]) -> str:
    """Name the side that begins each of the first six pairs; where that is one, say how long."""
    first = timed[::2]
    calls, pairs = (len([*next(groupby([*own, ""]))[1]]) for own in (timed, first))
    if pairs < 6:
        return ", ".join(first[:6])
    return f"{first[0]} in calls 1 to {calls}" if calls > 1 else f"{first[0]} in pairs 1 to {pairs}"


# --- words of failures, and what to try ---

SPEEDUPS = {
    "cumulative": (
        "cumulative must be the first row's minutes / this row's: 120 / 31 is 3.87",
        "divide the minutes of the first row, not of the second or of the longest",
    ),
    "saved": (
        "saved_percent must be the saved minutes over the first row's: 60 in place of 120 are 50 % less",
        "100 * (1 - own / first)",
    ),
    "incremental": (
        "each row must be compared with the row before it, the first with itself",
        "previous / own, and 1 for the first",
    ),
    "": (
        "there must be a row for each entry of minutes, in order",
        "for step, own in minutes.items()",
    ),
}


MEMORY = {
    "activations": (
        "activations must be of one micro-batch: there is one at a time",
        "micro_batch * activations_per_sample, without accumulation",
    ),
    "effective": (
        "the effective batch must be what an update averages over, in all processes",
        "micro_batch * accumulation * processes",
    ),
    "gib": ("total_gib must be in GiB: a GiB is 2**30 bytes", "total / 2**30"),
    "total": (
        "total must be the sum of weights, gradients, masters, optimizer and activations",
        "add all five",
    ),
    "optimizer": (
        "optimizer must be 8 bytes for each parameter, and 4 in pure_half: Adam keeps two numbers",
        "parameters times the last column of the handout's table",
    ),
    "": (
        "each process must hold all parameters, of as many bytes as the recipe says",
        "parameters times the number in the recipe's row, not divided by processes",
    ),
}


CALLS = {
    "calls for": (
        "the function must be called warmup times, and then repeats times more",
        "two loops, one after the other, that both call function(*inputs)",
    ),
    "other inputs": (
        "some calls get other objects than those that benchmark was given, such as copies",
        "function(*inputs), for calls that warm up as well",
    ),
    "slow first": (
        "your code times calls that warm up as well",
        "begin the list of runs after the loop of the warm-up",
    ),
}


STATISTICS = {
    "runs": (
        "runs must be the times of the calls in ms, each measured alone by time.perf_counter()",
        "start = time.perf_counter(); call; 1000 * (time.perf_counter() - start)",
    ),
    "std": (
        "std_ms must be the standard deviation of the runs, in ms, with n or n - 1",
        "statistics.stdev(runs)",
    ),
    "p50": (
        "p50_ms must be interpolated between two runs; runs[int(0.5 * n)] is a single run",
        "np.percentile(runs, 50)",
    ),
    "p9": (
        "percentiles must be interpolated between two runs; runs[int(0.99 * n)] is a single run",
        "np.percentile(runs, [95, 99])",
    ),
    "per_second": (
        "per_second must be repeats / the sum of the seconds, not a mean of rates",
        "divide once, by the sum of all calls",
    ),
    "": ("mean_ms must be the mean of the runs, in ms", "np.mean(runs)"),
}


CALLED = {
    ", calls": (
        "each function must be called warmup times, and then once in each pair",
        "call both functions in the loop of the warm-up, and both in each pair",
    )
}


INVERTED = (
    "this is candidate over baseline, and ratio says how many times as fast the candidate is",
    "seconds of the baseline / seconds of the candidate, in each pair",
)


DRIFT = {
    ", side that begins pairs 1 to 6": (
        "the sides must take turns: the machine gets slower, and the later call pays for it",
        "begin pairs 1, 3, 5, ... with the baseline, and pairs 2, 4, 6, ... with the candidate",
    ),
    "take 4 times": (
        "two slow calls change your ratio: usually it is a mean",
        "take the median of the pairs' ratios",
    ),
    "": (
        "only the two calls of one pair must be compared: calls get slower one after the other",
        "a ratio for each pair, and the median of these ratios",
    ),
}


VERDICTS = {
    "equal times": (
        "an interval that begins or ends at 1 exactly must be on neither side of 1",
        "compare with > and <, not with >= and <=",
    ),
    "": (
        "the interval must decide: a ratio that is not 1 may be chance",
        "fix interval_is_right first if it fails; then low > 1 or high < 1, whatever ratio is",
    ),
}
