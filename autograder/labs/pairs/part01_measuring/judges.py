"""What is right about calls whose times and bytes are known, and which mistake gives another number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks.hints import Hints
from autograder.checks.table_form import Form, Slip, count, not_negative, positive, words
from autograder.checks.timing import JUMPS, STEADY, WALL, ratio_of_means

RESULT = Form(
    "",
    (
        words("name", "of the function"),
        count("iterations", "timed calls"),
        positive("mean_time", "of a call", "s"),
        not_negative("std_time", "with n - 1", "s"),
        not_negative("memory_peak", "of the timed calls", "B"),
    ),
)
Times = Sequence[float]
THREADS = 5  # that compute: process_time is 1.5 times the right time where 70 % are queued
COLD = "the first `warmup` calls, which are cold, are timed as well"
TIMES: Hints = {
    COLD: "make the `warmup` calls before you read the clock for the first time",
    "median": "take the mean of the times: statistics.mean",
    "the sum": "divide the sum by iterations",
    "milliseconds": "leave out the factor 1000: the result holds seconds",
    JUMPS: STEADY,
    "one clock around": "read the clock before and after each call, and keep each time",
    "divides by n": "divide by n - 1, as statistics.stdev does",
    "error of the mean": "leave the deviation as it is, and do not divide it by the root of n",
    "queued before": "synchronize() before the first reading of the clock as well",
    "process_time": "read time.perf_counter() in its place",
    "queued work": "synchronize(), read time.perf_counter(), fn(), synchronize(), read it again",
}
PEAKS: Hints = {
    "nothing is subtracted, and": "after the warm-up, reset_peak() and subtract allocated()",
    "cold call": "make the `warmup` calls, then reset_peak(), then the timed calls",
    "last call": "reset the peak once, before all timed calls, and not in the loop",
    "not subtracted": "subtract allocated(), read right before the timed calls",
    "warm-up kept": "read allocated() after the warm-up",
    "output of a call": "write fn() and keep no result",
    "at the end": "read allocated() before the timed calls",
    "megabytes": "leave out the factor 1e-6: the result holds bytes",
}
"""What to try, by words of what is wrong."""


def time_problem(row: Mapping[str, Any], cold: Times, times: Times) -> str:
    """Say how the mean or the deviation is not that of the timed calls, which came after the cold ones."""
    every = [*cold, *times]
    mean = statistics.mean(times)
    means: list[Slip] = [
        (statistics.mean(every), COLD),
        (sum(every) / len(times), COLD),
        (statistics.mean(every[: len(times)]), COLD),
        (statistics.median(times), "your code takes the median, and not the mean"),
        (sum(times), "mean_time is the sum of all times"),
        (mean * 1000, "the number is in milliseconds"),
        (mean * WALL, JUMPS),
    ]
    deviations: list[Slip] = [
        (0.0, "no time of a single call is known, as with one clock around all calls"),
        (statistics.pstdev(times), "std_time divides by n, and not by n - 1"),
        (statistics.stdev(every), COLD),
        (statistics.stdev(times) * 1000, "the number is in milliseconds"),
        (
            statistics.stdev(times) / math.sqrt(len(times)),
            "std_time is the error of the mean: the deviation over the root of n",
        ),
    ]
    wrong = RESULT.mismatch(row, "mean_time", mean, 2e-3, means)
    return wrong or RESULT.mismatch(row, "std_time", statistics.stdev(times), 2e-3, deviations)


def wait_problem(row: Mapping[str, Any], times: Times, share: float, before: float) -> str:
    """Say how the mean leaves out the *share* that was queued, or has what was queued *before* the first call."""
    mean = statistics.mean(times)
    early = f"the times include {1000 * before:.0f} ms of other work that was queued before"
    slips: list[Slip] = [
        (mean * (1 - share), "the queued work of each call is missing in its time"),
        (
            mean - share * times[-1] / len(times),
            "the last call's queued work is missing: your code does not wait after each call",
        ),
        (mean * 1000, "the number is in milliseconds"),
        (mean * WALL, JUMPS),
        (mean + before / len(times), early),
        (mean + (before + share * times[0]) / len(times), early),
        (
            mean * (1 - share) * THREADS,
            "the clock counts computing alone, as time.process_time() does, and no wait",
        ),
    ]
    return RESULT.mismatch(row, "mean_time", mean, 5e-3, slips)


def peak_problem(row: Mapping[str, Any], script: Mapping[str, int]) -> str:
    """Say whose bytes the peak is: the cold call's, those that were held before, or those that the cold call kept."""
    held, cold, kept, timed = (script[name] for name in ("held", "cold", "kept", "timed"))
    after, each = held + kept, script["each"]
    last = (timed - 3 * each) // 2 + 4 * each
    slips: list[Slip] = [
        (cold, "the peak is that of the cold call"),
        (cold - kept, "the peak is that of the cold call"),
        (held + cold, "nothing is subtracted, and the peak is that of the cold call"),
        (after + timed, "what was allocated before the timed calls is not subtracted"),
        (kept + timed, "allocated() is read before the warm-up: what the warm-up kept counts"),
        (timed + script["output"], "the output of a call is kept during the next call"),
        (timed - 5 * each, "allocated() is read at the end, after what the calls kept"),
        (timed / 1e6, "memory_peak is in megabytes"),
        (last, "the peak is that of the last call alone"),
    ]
    return RESULT.mismatch(row, "memory_peak", timed, 1e-9, slips)


def compared(baseline: Times, candidate: Times) -> tuple[float, float, float, str]:
    """Return what speedup says of two results: mean, standard deviation and number of calls of each."""
    return _with_verdict(*ratio_of_means(baseline, candidate))


def _with_verdict(ratio: float, low: float, high: float) -> tuple[float, float, float, str]:
    verdict = "cannot tell"
    if low > 1 or high < 1:
        verdict = "faster" if low > 1 else "slower"
    return ratio, low, high, verdict


def upside_down(baseline: Times, candidate: Times) -> tuple[float, float, float, str]:
    """Return what comes of the candidate's mean over the baseline's."""
    return compared(candidate, baseline)


def of_a_line(baseline: Times, candidate: Times) -> tuple[float, float, float, str]:
    """Return what comes of 1 - 1.96 s and 1 + 1.96 s in the place of the exponentials."""
    ratio, _, high = ratio_of_means(baseline, candidate)
    spread = ratio * math.log(high / ratio)
    return _with_verdict(ratio, ratio - spread, ratio + spread)


def of_two_deviations(baseline: Times, candidate: Times) -> tuple[float, float, float, str]:
    """Return what comes of 2 in the place of 1.96."""
    return compared(*((mean, std * 2 / 1.96, calls) for mean, std, calls in (baseline, candidate)))


def of_one_less(baseline: Times, candidate: Times) -> tuple[float, float, float, str]:
    """Return what comes of iterations - 1."""
    return compared(*((mean, std, calls - 1) for mean, std, calls in (baseline, candidate)))
