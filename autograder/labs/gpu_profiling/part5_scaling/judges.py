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

from autograder.checks import table
from autograder.checks.numerics import explained, shown
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
        positive(
            "seconds", "median of the epochs after the first: in that one everything starts", "s"
        ),
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
    "an epoch took 0 seconds, and samples / 0 seconds is no throughput",
    "raise ValueError after a run if min(seconds[1:]) is 0",
)
NO_FIRST = (
    "speedup is relative to one process, and that run does not come first",
    "raise ValueError before the first run if processes[0] is not 1",
)
WHY_REFUSED = {  # case: why it must be refused, and what to try
    "epochs of 0 seconds": NO_SECONDS,
    "one epoch of 0 seconds among others": NO_SECONDS,
    "a run of one epoch": (
        "only epochs after the first count, and there are none",
        "raise ValueError after a run if len(seconds) is 1",
    ),
    "5 processes for a batch of 12": (
        "5 does not divide 12, so the processes cannot have equal shares of the batch",
        "raise ValueError before the first run if batch_size % n is not 0 for an n in processes",
    ),
    "no run of one process": NO_FIRST,
    "one process after two": NO_FIRST,
}

PLAN_HINTS = {
    "neither scaling": "strong: divide the batch; weak: multiply the samples",
    "grows with the square": "give run the batch of one process",
    "in weak scaling the batch": "weak: keep batch_size, and multiply the samples",
    "of all processes together": "strong: give run all samples, not a share of them",
    "scaling needs it": "call run for each number in processes, in both kinds",
}
ROW_HINTS = {
    "first epoch": "take the median of the epochs after the first",
    "take the median": "take the median of the epochs after the first",
    "the run of strong scaling": "divide by the throughput of one process in the same kind of scaling",
    "upside down": "divide by the throughput of one process",
    "seconds over seconds": "divide throughputs, not seconds",
    "fastest": "take the median of the epochs after the first",
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
            return f"{_named(run)} was run", reason
    left = Counter(requested)
    for kind, run in plan:
        if not left[run]:
            often = "run only once" if run in requested else "never run"
            return f"{_named(run)} was {often}", f"{kind} scaling needs it"
        left[run] -= 1
    return "", ""


def _named(run: Sequence[float]) -> str:
    count, samples, batch = run
    processes = "1 process" if count == 1 else f"{count:g} processes"
    return f"a run of {processes}, {samples:g} samples and batches of {batch:g}"


def _plan_reason(run: Sequence[float], samples: int, batch: int) -> str:
    """Recognise what was kept that should grow, or the other way round."""
    count = run[0]
    otherwise = "it belongs to neither kind of scaling"
    if not 1 <= count <= batch:
        return otherwise
    keeps = (
        "each process keeps its batch while the data set stays: the whole batch grows "
        "with the processes, which is neither scaling"
    )
    square = "it is the batch of each process, so the batch of all processes grows with the square"
    stays = "in weak scaling the batch of each process stays as it is"
    all_of_them = "samples are those of all processes together"
    stories = {
        (samples, batch): keeps,
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
        return f"scaling is {', '.join(map(str, dict.fromkeys(kinds)))}; rows of 'strong' come first, then 'weak'"
    series = ([row for row in rows if row["scaling"] == kind] for kind in KINDS)
    return next(filter(None, map(_series_problem, series)), "")


def _series_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of one kind of scaling do not fit the first of them."""
    first = rows[0]
    if first["processes"] != 1:
        return f"the first row of {first['scaling']} scaling has {first['processes']:g} processes: it begins with one"
    counts = [int(row["processes"]) for row in rows]
    plan = planned(first["scaling"], counts, int(first["samples"]), int(first["batch_size"]))
    for row, (processes, samples, batch) in zip(rows, plan, strict=True):
        name = RESULTS.name(row)
        if (row["samples"], row["batch_size"]) != (samples, batch):
            reported = f"{row['samples']:g} samples and batches of {row['batch_size']:g}"
            kept = f"keep what {first['scaling']} scaling keeps"
            return f"{name}: {reported}; {samples} and {batch} {kept}"
        expected = row["throughput"] / first["throughput"]
        if not table.alike(row["speedup"], expected):
            slips = [(1 / max(expected, 1e-30), ": upside down")]
            if processes == 1 and first["scaling"] == "weak":
                strong = ": it is relative to the run of strong scaling"
                slips.insert(0, (row["speedup"], strong))
            if processes > 1:
                grown = ": seconds over seconds, where the work has grown"
                slips.insert(0, (expected / processes, grown))
            why = explained(row["speedup"], slips, EXACT)
            reported = f"speedup of {name} is {shown(row['speedup'])}"
            return f"{reported}, but throughput / that of one process is {expected:.4g}{why}"
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
        if problem := RESULTS.mismatch(row, "seconds", expected, EXACT, _slips(epochs)):
            return problem
        if (row["processes"], row["samples"], row["batch_size"]) != run:
            return f"{RESULTS.name(row)} does not say which run it was"
    return table.other_device(rows, script["device"])


def _slips(epochs: Sequence[float]) -> list[Slip]:
    """Return the seconds that each usual mistake makes of these epochs."""
    _, *later = epochs
    return [
        (median(epochs), "the first epoch is among them, in which everything starts"),
        (mean(epochs), "it is the mean, and the first epoch is among them"),
        (mean(later), "it is the mean, which follows one slow epoch: take the median"),
        (min(epochs), "it is the fastest epoch: take the median"),
        (sum(epochs), "it is all epochs together"),
        (epochs[0], "it is the first epoch, in which everything starts"),
    ]


def loss_cause(ranks: Pair) -> tuple[str, str]:
    """Say why the losses of all processes may not be those of the whole batch, and what to try."""
    if _differ(ranks, "losses"):
        return (
            "each loss is that of this process alone",
            "dist.all_reduce the sum of the losses and the number of samples, then divide",
        )
    return (
        "the processes agree, but batches count alike, although the last one is shorter",
        "add up loss * len(labels) and len(labels), and divide after dist.all_reduce",
    )


def time_cause(ranks: Pair, loading: float, within: float) -> tuple[str, str]:
    """Say why seconds may not be those of the slowest process, and what to try; *loading* is in each epoch."""
    own, slowest = (side.arrays["seconds0"] for side in (ranks.student, ranks.baseline))
    if _differ(ranks, "seconds"):
        return (
            "this is the time of this process, and an epoch ends when the last process is done",
            "dist.all_reduce(seconds, op=dist.ReduceOp.MAX)",
        )
    stories = [
        (
            slowest - loading,
            "loading is left out",
            "start the clock before the loop over the loader",
        ),
        (
            np.cumsum(slowest),
            "it is the time since the first epoch",
            "start the clock in each epoch",
        ),
    ]
    for seconds, why, try_ in stories:
        if len(own) == len(slowest) and np.allclose(own, seconds, rtol=within):
            return why, try_
    return (
        "the processes agree, but not on the time of the slowest: a sum or a mean is another",
        "dist.all_reduce(seconds, op=dist.ReduceOp.MAX)",
    )


def _differ(ranks: Pair, figure: str) -> bool:
    first, second = (ranks.student.arrays[f"{figure}{rank}"] for rank in range(2))
    return len(first) != len(second) or not np.allclose(first, second, rtol=1e-6)


def whole_problem(rows: Sequence[Row]) -> str:
    """Say what a table lacks that is to show how a training scales, or what in it no machine does."""
    for kind in KINDS:
        counts = [row["processes"] for row in rows if row["scaling"] == kind]
        if len(counts) < 2 or counts != sorted(set(counts)):
            listed = ", ".join(f"{count:g}" for count in counts) or "nothing"
            expected = "1 process, 2, and more if possible are needed, each once"
            return f"{kind} scaling is measured with {listed}; {expected}"
    best = max(rows, key=lambda row: row["efficiency"])
    if best["efficiency"] > MOST:
        reported = f"efficiency of {RESULTS.name(best)} is {best['efficiency']:.3g}"
        return (
            f"{reported}: {best['processes']:g} processes on one device cannot be that "
            "much faster; was one process measured beside something else?"
        )
    return ""
