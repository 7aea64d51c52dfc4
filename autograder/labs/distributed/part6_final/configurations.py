"""Judges five configurations of a training: what was run, the rows, and what more processes would do.

A problem is one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import table
from autograder.checks.table_form import (
    DEVICE,
    Column,
    Form,
    Row,
    count,
    positive,
    ratio,
    words,
)

NAMES = ("Baseline", "+ AMP", "+ Grad Accum", "+ DataLoader", "+ All")
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
RESULTS = Form(
    "distributed_results.csv",
    (
        words("optimization", "the five names, in their order"),
        positive(
            "throughput", "`samples` / the median of `seconds` without the first epoch", "samples/s"
        ),
        ratio("speedup", "throughput", "first throughput"),
        positive("memory_mb", "the largest peak of all processes", "MB"),
        Column("accuracy", "on the test set, a share: 0.98, not 98", SHARE),
        count("steps", "of the optimizer, in all epochs; the same in all rows"),
        DEVICE,
    ),
    rows=NAMES,
)
MEASURED = {
    "throughput": "it must be samples / the median of the epochs after the first",
    "memory_mb": "it must be the largest peak of all processes",
    **dict.fromkeys(("accuracy", "steps"), "the row must have what its run returned"),
}
SLIPS = {
    "throughput": {
        "all epochs": "your median has the first epoch in it, which must not count",
        "mean": "yours is that of the mean of the epochs after the first, not of their median",
    },
    "memory_mb": {
        "rank 0": "yours is the peak of rank 0, not the largest",
        "all ranks": "yours is the sum of all peaks, not the largest",
    },
}
TRIES = {
    "epoch": "samples / statistics.median(seconds[1:])",
    "peak": 'max(result["peak_mb"])',
    "accuracy of": 'put result["accuracy"] into the row as it is, a share',
    "steps of": 'put result["steps"] into the row as it is',
    "device is called": "given.device_name(device)",
}
WORK = {
    "one run has": "begin each row with the baseline's options, and change one of them",
    "no run is of": "make one run for each of the five rows",
    "must train": "hand the samples and epochs on as they are, to every run",
    "another training": "divide the batch by accumulate where batches are accumulated",
}
"""What to try, by words of what is wrong."""
ROUNDED = 5e-3  # relative: what is left of a figure with three digits


def kind(run: Mapping[str, Any]) -> str:
    """Name the configuration that a run is of, or what it changes."""
    changed = (bool(run["amp"]), run["accumulate"] > 1, run["workers"] > 0)
    alone = dict(zip(NAMES[1:4], changed, strict=True))
    if sum(changed) in (0, 3):
        return NAMES[-1] if changed[0] else NAMES[0]
    return " and ".join(name for name, on in alone.items() if on)


def work_problem(runs: Sequence[Mapping[str, Any]], samples: int, batch: int) -> tuple[str, str]:
    """Say which run is of no configuration, or does other work than the baseline."""
    kinds = [kind(run) for run in runs]
    for name in kinds:
        if name not in NAMES:
            return (
                f"one run has {name}",
                "only the last run may change more than one thing of the baseline",
            )
    if missing := [name for name in NAMES if name not in kinds]:
        return f"no run is of {missing[0]}", "your code leaves this configuration out"
    for name, run in zip(kinds, runs, strict=True):
        if run["samples"] != samples or run["epochs"] != runs[0]["epochs"]:
            work = f"{name} trains {run['samples']:g} samples and {run['epochs']:g} epochs"
            right = f"{samples} and {runs[0]['epochs']:g} are right"
            return f"{work}; {right}", "all rows must train equally long, on the samples given"
        step = run["batch_size"] * run["accumulate"]
        if step != batch:
            return (
                f"a step of {name} sees {step:g} samples of a process, and the baseline's {batch}",
                "this row is another training: its batch must be divided by accumulate",
            )
    return f"{len(runs)} runs", ""


def row_problem(rows: Sequence[Row], script: Mapping[str, Any]) -> str:
    """Say how rows are not what the runs returned."""
    for row, right in zip(rows, script["expected"], strict=True):
        for column, why in MEASURED.items():
            slips = [(right[name], words) for name, words in SLIPS.get(column, {}).items()]
            if problem := RESULTS.mismatch(row, column, right[column], ROUNDED, slips, why):
                return problem
    return table.other_device(rows, script["device"])


def same_steps(rows: Sequence[Row]) -> str:
    """Say which row took other steps than the first."""
    for row in rows:
        if row["steps"] != rows[0]["steps"]:
            steps = f"steps of {row['optimization']} are {row['steps']:g}"
            return f"{steps}, and {rows[0]['steps']:g} in the first row: another training"
    return ""


def predicted(slip: str = "", **call: Any) -> dict[str, float]:
    """Return what predict_step has to return, or what somebody returns who makes this *slip*."""
    n, compute, hideable = (call[name] for name in ("processes", "compute_ms", "hideable_ms"))
    rounds = 2 * (n - 1) if slip != "once around" else n - 1
    latency = call["latency_ms"] * (1 if slip == "one latency" else len(call["buckets"]))
    sizes = sum(call["buckets"]) / call["bytes_per_ms"]
    communication = rounds * latency + rounds / n * sizes
    hides = len(call["buckets"]) if slip == "hides each" else 1
    step = compute + max(0.0, communication - hides * hideable)
    hidden = hideable if slip == "hides the whole" else hides * hideable / n
    strong = compute / n + max(0.0, communication - hidden)
    efficiencies = {"efficiency": compute / step, "strong_efficiency": compute / n / strong}
    return {"step_ms": step, **efficiencies}
