"""Judges how a training scales over processes: which runs were asked for, and the table that is made of their times.

A row has scaling, processes, batch_size (of a process), samples (in all), seconds, throughput, speedup, efficiency and
device. Strong scaling keeps the whole batch and the data set; weak scaling keeps each process's share of both. Each
judge says what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

import numpy as np

from autograder.checks import outputs, table
from autograder.checks.numerics import Array, explained, shown
from autograder.checks.table_form import DEVICE, Form, Row, Slip, chosen, count, positive, ratio
from autograder.model import Pair

KINDS = ("strong", "weak")
RESULTS = Form(
    "scaling_results.csv",
    (
        chosen("scaling", "`strong` or `weak`; all rows of strong scaling first", *KINDS),
        count("processes", "1 in the first row of each kind"),
        count("batch_size", "samples of a batch of each process, as `run` was given it"),
        count("samples", "of all processes together, as `run` was given it"),
        positive("seconds", "median of all epochs but the first, in which everything starts", "s"),
        ratio("throughput", "samples", "seconds", "samples/s"),
        positive("speedup", "`throughput` / that of one process, in the same kind of scaling", "x"),
        ratio("efficiency", "speedup", "processes", "", ", a share: 0.8, not 80"),
        DEVICE,
    ),
    keys=2,
)
MOST = 2.0  # efficiency: caches make a share of the work faster than the whole of it, but not that much
EXACT = 0.005  # relative: nothing but rounding is between the seconds that are handed over and what is made of them

NO_SECONDS = (
    "an epoch after the first took 0 seconds, and samples / 0 s is no throughput",
    "raise ValueError after a run if any of seconds[1:] is 0",
)
NO_FIRST = (
    "speedup is relative to one process, and processes does not begin with 1",
    "raise ValueError before the first run if processes[0] is not 1",
)
NO_LATER = (
    "there is no epoch after the first, and the first does not count",
    "raise ValueError after a run if len(seconds) is 1",
)
NO_SHARES = (
    "5 does not divide 12, so the processes cannot have equal shares of the batch",
    "raise ValueError before the first run if batch_size % n is not 0 for an n in processes",
)

KEEPS = "your code keeps batch_size and samples, so the whole batch grows with the processes"
STRONG = "strong: call run(n, samples, batch_size // n)"
PLAN_HINTS = {
    "in strong scaling your code": STRONG,
    "weak scaling your code": "weak: call run(n, n * samples, batch_size)",
    "the whole batch grows": "strong: divide batch_size by n; weak: multiply samples by n",
    "of all processes as": "give run the batch of one process",
    "samples of one process": STRONG,
    "must make this run": "call run for each number in processes, in both kinds",
}
ROW_HINTS = {
    "epoch": "take the median of the epochs after the first",
    "the run of strong scaling": "divide by the throughput of one process in the same kind of scaling",
    "upside down": "divide by the throughput of one process",
    "seconds / seconds": "divide throughputs, not seconds",
    "share": "efficiency is speedup / processes, without 100",
    "seconds of": "put the median of what run returned for this row, without its first epoch",
}

Run = tuple[int, int, int]
"""Processes, samples in all, batch of a process."""


def planned(kind: str, processes: Sequence[int], samples: int, batch: int) -> list[Run]:
    """Return the runs of a kind of scaling that begins with so many samples and such a batch in one process."""
    if kind == "strong":
        return [(count, samples, batch // count) for count in processes]
    return [(count, samples * count, batch) for count in processes]


def plan_problem(runs: Sequence[Sequence[float]], script: Mapping[str, Any]) -> tuple[str, str]:
    """Say which run was not asked for, or which one nobody wants, of the processes and samples in *script*."""
    requested = [tuple(run) for run in runs]
    plan = wanted(script)
    planned_runs = [run for _, run in plan]
    for run in requested:
        if run not in planned_runs:
            reason = _plan_reason(run, script["samples"], script["batch_size"])
            same = [it for it in plan if it[1][0] == run[0] and it[1] not in requested]
            right = " and ".join(f"{_named(it)} in {kind} scaling" for kind, it in same)
            if len(same) == 1 and reason == KEEPS:
                reason = f"in {same[0][0]} scaling {KEEPS}"
            return f"{_named(run)}; right: {right or 'no such run'}", reason
    left = Counter(requested)
    for kind, run in plan:
        if not left[run]:
            often = "run only once" if run in requested else "never run"
            return f"{_named(run)} was {often}", f"{kind} scaling must make this run"
        left[run] -= 1
    return "", ""


def _named(run: Sequence[float]) -> str:
    return f"run({', '.join(f'{it:g}' for it in run)})"


def _plan_reason(run: Sequence[float], samples: int, batch: int) -> str:
    """Recognise what was kept that should grow, or the other way round."""
    count = run[0]
    otherwise = "the run belongs to neither kind of scaling"
    if not 1 <= count <= batch:
        return otherwise
    square = "your code gives run the batch of all processes as that of each"
    stays = "in weak scaling your code changes the batch of each process"
    all_of_them = "your code gives run the samples of one process, not those of all"
    stories = {
        (samples, batch): KEEPS,
        (samples, batch * count): square,
        (samples * count, batch * count): stays,
        (samples * count, batch // count): stays,
        (samples // count, batch): all_of_them,
        (samples // count, batch // count): all_of_them,
    }
    return stories.get((run[1], run[2]), otherwise)


def row_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of both kinds of scaling contradict each other."""
    kinds = [row["scaling"] for row in rows]
    if set(kinds) != set(KINDS) or kinds != sorted(kinds):
        return (
            f"scaling is {', '.join(map(str, dict.fromkeys(kinds)))}; strong and then weak is right"
        )
    series = ([row for row in rows if row["scaling"] == kind] for kind in KINDS)
    return next(filter(None, map(_series_problem, series)), "")


def _series_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of one kind of scaling do not fit the first of them."""
    first = rows[0]
    if first["processes"] != 1:
        begins = f"the first row of {first['scaling']} scaling has {first['processes']:g} processes"
        return f"{begins}; 1 is right"
    counts = [int(row["processes"]) for row in rows]
    plan = planned(first["scaling"], counts, int(first["samples"]), int(first["batch_size"]))
    for row, (processes, samples, batch) in zip(rows, plan, strict=True):
        name = RESULTS.name(row)
        if (row["samples"], row["batch_size"]) != (samples, batch):
            reported = f"{row['samples']:g} samples and batches of {row['batch_size']:g}"
            return f"{name}: {reported}; {samples} and {batch} are right"
        expected = row["throughput"] / first["throughput"]
        if not table.alike(row["speedup"], expected):
            slips = [(1 / max(expected, 1e-30), "that is the ratio upside down")]
            if processes == 1 and first["scaling"] == "weak":
                slips.insert(0, (row["speedup"], "that is relative to the run of strong scaling"))
            if processes > 1:
                grown = "that is seconds / seconds, although the work has grown"
                slips.insert(0, (expected / processes, grown))
            why = "speedup must be throughput / that of one process"
            why = explained(row["speedup"], slips, EXACT) or why
            return f"speedup of {name} is {shown(row['speedup'])}: {why} ({expected:.4g} is right)"
    return ""


def wanted(script: Mapping[str, Any]) -> list[tuple[str, Run]]:
    """Return the runs of both kinds, in their order."""
    plan = script["processes"], script["samples"], script["batch_size"]
    return [(kind, run) for kind in KINDS for run in planned(kind, *plan)]


def time_problem(rows: Sequence[Row], script: Mapping[str, Any]) -> str:
    """Say how rows differ from scripted runs: *script* has the plan, the epochs of each run, and the device."""
    runs = [run for _, run in wanted(script)]
    took = list(zip(runs, script["epochs"], strict=True))
    for row, (run, epochs) in zip(rows, took, strict=True):
        # A run of one process is there twice.
        medians = [median(own[1:]) for other, own in took if other == run]
        expected = min(medians, key=lambda seconds: abs(seconds - row["seconds"]))
        times = f"that is {row['seconds'] / expected:.3g} times the median"
        slips = [*_slips(epochs), (row["seconds"], times)]
        if problem := RESULTS.mismatch(row, "seconds", expected, EXACT, slips):
            return problem
        if (row["processes"], row["samples"], row["batch_size"]) != run:
            return f"samples or batch_size of {RESULTS.name(row)} are not those of its run"
    return table.other_device(rows, script["device"])


def _slips(epochs: Sequence[float]) -> list[Slip]:
    """Return the seconds that each usual mistake makes of these epochs."""
    _, *later = epochs
    return [
        (median(epochs), "your code includes the first epoch"),
        (mean(epochs), "your code takes the mean, with the first epoch"),
        (mean(later), "your code takes the mean, which follows one slow epoch"),
        (min(epochs), "your code takes the fastest epoch"),
        (sum(epochs), "your code adds up all epochs"),
        (epochs[0], "your code takes the first epoch"),
    ]


def loss_cause(ranks: Pair) -> tuple[str, str]:
    """Say why the losses of all processes may not be those of the whole batch, and what to try."""
    if _differ(ranks, "losses"):
        return (
            "the processes return different losses: usually each returns its own",
            "dist.all_reduce the sum of the losses and the number of samples, then divide",
        )
    return (
        "usually a shorter last batch counts as much as a full one",
        "add up loss * len(labels) and len(labels), and divide after dist.all_reduce",
    )


def time_cause(ranks: Pair, loading: float, within: float) -> tuple[str, str]:
    """Say why seconds may not be those of the slowest process, and what to try; *loading* is in each epoch."""
    own, slowest = (side.arrays["seconds0"] for side in (ranks.student, ranks.baseline))
    if _differ(ranks, "seconds"):
        return (
            "the processes return different times: usually each returns its own",
            "dist.all_reduce(seconds, op=dist.ReduceOp.MAX)",
        )
    stories = [
        (
            slowest - loading,
            "the time leaves loading out",
            "start the clock before the loop over the loader",
        ),
        (
            np.cumsum(slowest),
            "each time counts from the start of the first epoch",
            "start the clock in each epoch",
        ),
    ]
    for seconds, why, try_ in stories:
        if len(own) == len(slowest) and np.allclose(own, seconds, rtol=within):
            return why, try_
    made = _combined(ranks, own, within)
    try_ = "measure by time.perf_counter(), then dist.all_reduce(seconds, op=dist.ReduceOp.MAX)"
    if TIMES in made:
        try_ = (
            "leave time.perf_counter alone; return the difference of two readings without a factor"
        )
        return made, try_
    return f"the processes agree, but not on the slowest: {made}".removesuffix(": "), try_


TIMES = "times the slowest process's"


def _combined(ranks: Pair, own: Array, within: float) -> str:
    """Say what the processes made of their times where it is not the largest; or nothing."""
    slowest, each = ranks.baseline.arrays["seconds0"], np.array(ranks.baseline.values["own"])
    times = outputs.multiple(own, slowest, within)
    made = {
        "they return the mean of their times": each.mean(axis=0),
        "they return the sum of their times": each.sum(axis=0),
        "they return the time of the fastest": each.min(axis=0),
    }
    fits = (
        words
        for words, right in made.items()
        if len(own) == len(right) and np.allclose(own, right, rtol=within)
    )
    other = f"each time is {times:.3g} {TIMES}" if times else ""
    return next(fits, other)


def _differ(ranks: Pair, figure: str) -> bool:
    first, second = (ranks.student.arrays[f"{figure}{rank}"] for rank in range(2))
    return len(first) != len(second) or not np.allclose(first, second, rtol=1e-6)


def whole_problem(rows: Sequence[Row]) -> str:
    """Say what a table lacks that is to show how a training scales, or what in it no machine does."""
    for kind in KINDS:
        counts = [row["processes"] for row in rows if row["scaling"] == kind]
        if len(counts) < 2 or counts != sorted(set(counts)):
            listed = ", ".join(f"{count:g}" for count in counts) or "nothing"
            expected = "1, 2 and more if possible are needed, each once"
            return f"{kind} scaling is measured with processes {listed}; {expected}"
    best = max(rows, key=lambda row: row["efficiency"])
    if best["efficiency"] > MOST:
        reported = f"efficiency of {RESULTS.name(best)} is {best['efficiency']:.3g}"
        return f"{reported}, and more than {MOST:g} is impossible"
    return ""
