"""What is right about calls whose times and bytes are known, and which mistake gives another number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

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


def time_problem(row: Mapping[str, Any], cold: Times, times: Times) -> str:
    """Say how the mean or the deviation is not that of the timed calls, which came after the cold ones."""
    every = [*cold, *times]
    with_cold = "that is with the cold calls; let them pass before the clock counts"
    mean = statistics.mean(times)
    means: list[Slip] = [
        (statistics.mean(every), with_cold),
        (sum(every) / len(times), with_cold),
        (statistics.mean(every[: len(times)]), with_cold),
        (statistics.median(times), "that is the median"),
        (sum(times), "that is the time of all calls together"),
        (mean * 1000, "that is in milliseconds"),
        (mean * WALL, f"{JUMPS}: {STEADY}"),
    ]
    deviations: list[Slip] = [
        (0.0, "one clock around all calls knows no deviation: read it before and after each call"),
        (statistics.pstdev(times), "that divides by n; divide by n - 1"),
        (statistics.stdev(every), with_cold),
        (statistics.stdev(times) * 1000, "that is in milliseconds"),
        (statistics.stdev(times) / math.sqrt(len(times)), "that is the error of the mean"),
    ]
    wrong = RESULT.mismatch(row, "mean_time", mean, 2e-3, means)
    return wrong or RESULT.mismatch(row, "std_time", statistics.stdev(times), 2e-3, deviations)


def wait_problem(row: Mapping[str, Any], times: Times, share: float, before: float) -> str:
    """Say how the mean leaves out the *share* that was queued, or has what was queued *before* the first call."""
    mean = statistics.mean(times)
    early = f"{1000 * before:.0f} ms of other work had been queued before: wait before the first reading, too"
    late = (
        "read the clock while the device is idle, by perf_counter, which also runs while you wait"
    )
    slips: list[Slip] = [
        (mean * (1 - share), f"the queued work is missing: {late}"),
        (mean - share * times[-1] / len(times), f"the last call's queued work is missing: {late}"),
        (mean + before / len(times), early),
        (mean + (before + share * times[0]) / len(times), early),
    ]
    return RESULT.mismatch(row, "mean_time", mean, 5e-3, slips)


def peak_problem(row: Mapping[str, Any], script: Mapping[str, int]) -> str:
    """Say whose bytes the peak is: the cold call's, those that were held before, or those that the cold call kept."""
    held, cold, kept, timed = (script[name] for name in ("held", "cold", "kept", "timed"))
    after, each = held + kept, script["each"]
    last = (timed - 3 * each) // 2 + 4 * each
    whole = "that includes what was allocated before the timed calls: subtract it"
    slips: list[Slip] = [
        (cold, "that is the cold call's: reset the peak after the warm-up"),
        (cold - kept, "that is the cold call's: reset the peak after the warm-up"),
        (held + cold, "that is the peak since the process began: reset it after the warm-up"),
        (after + timed, whole),
        (kept + timed, "that includes what the warm-up kept: read allocated() after it"),
        (
            timed + script["output"],
            "the output of a call is kept during the next call: write fn() and keep no result",
        ),
        (timed - 5 * each, "read allocated() before the timed calls, and not after them"),
        (timed / 1e6, "that is in megabytes"),
        (last, "that is the last call's: reset the peak once, before all timed calls"),
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
