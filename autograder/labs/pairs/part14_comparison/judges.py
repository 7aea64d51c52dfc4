"""What is right about scripted pairs, and about tables that are compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from autograder.checks.table_form import (
    DEVICE,
    Form,
    Row,
    Slip,
    chosen,
    not_negative,
    positive,
    ratio,
    words,
)
from autograder.checks.timing import JUMPS, STEADY, WALL, ratio_of_means

PAIRS = {
    "part03_lifetimes": {"summarize": "memory", "evaluate": "memory"},
    "part04_checkpointing": {"stack": "memory", "mlp": "memory"},
    "part05_precision": {"mixed": "time"},
    "part06_custom_gradients": {"swiglu": "memory", "head": "memory"},
    "part07_attention": {"banded": "time"},
    "part08_kv_cache": {"append": "time"},
    "part09_roofline": {"advance": "time", "product": "time", "epilogue": "memory"},
    "part10_compile": {"regions": "time"},
    "part11_loading": {"fetch": "time"},
}
"""Part -> its pairs, and what each is for."""
GOALS = {name: goal for own in PAIRS.values() for name, goal in own.items()}
MISSING = 2  # pairs that a table may lack
WARMUP, OBSERVED = 10, 3.0
SIDES = ("baseline", "optimized")
FIGURE = {"time": "optimized_ms", "memory": "optimized_mb"}
TOLERANCE = 0.05
LEAST = 1.05  # times as much memory is a difference
ROUNDED = 1e-9  # relative: rounding of a ratio
VERDICT = "for memory by memory_ratio (from 1.05 on), for time by the interval of the speedup"
TABLE = Form(
    "pairs.csv",
    (
        words("pair", "its name"),
        chosen("goal", "what the pair is for", "time", "memory"),
        positive("baseline_ms", "mean of the baseline's timed calls", "ms"),
        not_negative("baseline_std_ms", "their standard deviation (n - 1)", "ms"),
        positive("optimized_ms", "mean of yours", "ms"),
        not_negative("optimized_std_ms", "their standard deviation (n - 1)", "ms"),
        positive("baseline_mb", "by `live_peak`, in a call of its own", "MB"),
        positive("optimized_mb", "the same of yours", "MB"),
        ratio("speedup", "baseline_ms", "optimized_ms"),
        ratio("memory_ratio", "baseline_mb", "optimized_mb"),
        chosen("verdict", VERDICT, "better", "worse", "cannot tell"),
        DEVICE,
    ),
)

LIES = {
    "better": "the interval of the speedup lies above 1",
    "worse": "the interval of the speedup lies below 1",
    "cannot tell": "1 lies in the interval of the speedup",
}
"""Verdict -> why it is right about a time."""
TRIES = {
    "ran under live_peak": "call the function itself while the clock runs, and live_peak after the timed calls",
    "includes cold calls": "make ten calls before those that are timed, on each side",
    "it is the median": "take the mean of the times",
    "half of the work": "synchronize() before each reading of the clock",
    "divides by n": "divide by n - 1, as statistics.stdev does",
    "one clock around": "read the clock before and after each call, and keep each time",
    "a MB is": "divide the bytes by 1e6",
    "and it is for": "hand on the goal of the pair as it comes",
    "1 lies in the interval": (
        "compare low and high with 1, by s = sqrt(sum of (std / mean) ** 2 / iterations over both sides)"
    ),
    "from 1.05 on": "for memory, compare memory_ratio with 1.05 and 1 / 1.05",
}
"""What to try, by words of what is wrong."""


def figures_problem(
    row: Row, goal: str, seconds: Sequence[Sequence[float]], sizes: Sequence[int]
) -> str:
    """Say how a row is not what the calls of both sides took; the first ten are cold."""
    if row["goal"] != goal:
        return f"goal of {row['pair']} is {row['goal']}, and it is for {goal}"
    problems = (_side_problem(row, *each) for each in zip(SIDES, seconds, sizes, strict=True))
    name = row["pair"]
    return next(filter(None, problems), "").replace(f" of {name} is", f" of the pair '{name}' is")


def measured_verdict_problem(
    row: Row, goal: str, seconds: Sequence[Sequence[float]], sizes: Sequence[int]
) -> str:
    """Say how the verdict is not what the calls of both sides allow."""
    timed = [times[WARMUP:] for times in seconds]
    means = [(statistics.mean(it), statistics.stdev(it), len(it)) for it in timed]
    expected = verdict(goal, means, sizes[0] / sizes[1])
    if row["verdict"] == expected:
        return ""
    right = f"'{expected}' is right: "
    if goal == "memory":
        ratio = f"memory_ratio is {sizes[0] / sizes[1]:.4g}"
        return f"{right}the goal is memory, and {ratio}: better from {LEAST} on, worse up to 1 / {LEAST}"
    _, low, high = ratio_of_means(*means)
    return f"{right}{LIES[expected]}: {low:.4g} to {high:.4g} for {means[0][2]} calls of each"


def reach(sides: Any) -> float:
    """Return how many times as fast a side must be to be better, from arrays of times with equal means."""
    return ratio_of_means(*((it.mean(), it.std(ddof=1), len(it)) for it in sides))[2]


def names(parts: Collection[str]) -> list[str]:
    """Name the pairs of these parts."""
    return [name for part, own in PAIRS.items() if part in parts for name in own]


def shown_row(row: Row) -> str:
    """Write a row in words."""
    sides = (f"{side} {row[f'{side}_ms']:.4g} ms, {row[f'{side}_mb']:.4g} MB" for side in SIDES)
    return f"pair '{row['pair']}': {'; '.join(sides)}; the verdict is '{row['verdict']}'"


def _side_problem(row: Row, side: str, seconds: Sequence[float], size: int) -> str:
    times = [1000 * it for it in seconds[WARMUP:]]
    cold = "it includes cold calls: ten calls to warm up come first"
    mean, std = statistics.mean(times), statistics.stdev(times)
    means: list[Slip] = [
        (OBSERVED * times[-1], "the timed calls ran under live_peak, which slows them down"),
        (statistics.mean(1000 * it for it in seconds), cold),
        (1000 * statistics.mean(seconds[: len(times)]), cold),
        (1000 * seconds[0], cold),
        (statistics.median(times), "it is the median"),
        (mean / 2, "half of the work is missing: it is queued, and the clock does not wait for it"),
        (mean / 1000, "it is in seconds"),
        (mean * WALL, f"{JUMPS}: {STEADY}"),
    ]
    deviations: list[Slip] = [
        (statistics.pstdev(times), "it divides by n, and not by n - 1"),
        (std / 1000, "it is in seconds"),
        (0.0, "no time of a single call is known, as with one clock around all calls"),
    ]
    units: list[Slip] = [(size / 2**20, "a MB is 10**6 bytes"), (size, "it is in bytes")]
    return (
        TABLE.mismatch(row, f"{side}_ms", mean, 2e-3, means)
        or TABLE.mismatch(row, f"{side}_std_ms", std, 5e-3, deviations)
        or TABLE.mismatch(row, f"{side}_mb", size / 1e6, 1e-6, units)
    )


def verdict(goal: str, means: Sequence[Sequence[float]], memory_ratio: float) -> str:
    """Return what may be said of a pair."""
    low = high = memory_ratio
    better, worse = LEAST, 1 / LEAST
    if goal == "time":
        _, low, high = ratio_of_means(*means)
        better = worse = 1.0
    if low >= better and low > 1:
        return "better"
    return "worse" if high <= worse and high < 1 else "cannot tell"


REFUSED = "raises ValueError"
Worse = Callable[[float, float, float], bool]


def grew(before: float, after: float, tolerance: float) -> bool:
    """Whether a number grew by more than this share of what it was."""
    return after > before * (1 + tolerance)


def grew_by_share_of_after(before: float, after: float, tolerance: float) -> bool:
    """Make a mistake: take the share of what the number is now."""
    return after * (1 - tolerance) > before


def listed(names: Iterable[Any]) -> str:
    """Write names in order, however they were returned."""
    return ", ".join(sorted(map(str, names))) or "no pair"


def regressed(
    before: Sequence[Row],
    after: Sequence[Row],
    tolerance: float,
    figure: Mapping[str, str] = FIGURE,
    worse: Worse = grew,
) -> str:
    """Name the pairs of both tables whose optimized side got worse at its goal; of two devices nothing is said."""
    if len({row["device"] for row in [*before, *after]}) > 1:
        return REFUSED
    earlier = {row["pair"]: row for row in before}
    both = [(earlier[row["pair"]], row) for row in after if row["pair"] in earlier]
    figures = ((was, row, figure[row["goal"]]) for was, row in both)
    return listed(
        row["pair"] for was, row, name in figures if worse(was[name], row[name], tolerance)
    )


def verdict_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say which goal of the table is not that of its pair, or which verdict contradicts its own row."""
    for row in rows:
        goal = GOALS.get(row["pair"], row["goal"])
        if row["goal"] != goal:
            return f"{row['pair']} has the goal {row['goal']}, and {goal} is right"
        gain = row["speedup"] if row["goal"] == "time" else row["memory_ratio"]
        least = 1.0 if row["goal"] == "time" else LEAST
        up, down = gain * (1 + ROUNDED), gain * (1 - ROUNDED)
        ok = {"better": up >= least, "worse": down <= 1 / least, "cannot tell": True}
        if row["goal"] == "memory":
            ok["cannot tell"] = up >= 1 / LEAST and down <= LEAST
        if not ok[row["verdict"]]:
            return f"{row['pair']}, for {row['goal']}, has {gain:.4g}x and the verdict {row['verdict']}"
    return ""
