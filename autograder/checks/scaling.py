"""Judges how a training scales over processes: which runs were asked for, and the table that is made of their times.

A row has scaling, processes, batch_size (of a process), samples (in all), seconds, throughput, speedup, efficiency and
device. Strong scaling keeps the whole batch and the data set; weak scaling keeps each process's share of both. Each
judge says what is wrong in one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import table
from autograder.checks.forms import DEVICE, Form, count, positive, words
from autograder.checks.numerics import close, explained, shown

RESULTS = Form(
    "scaling_results.csv",
    (
        words("scaling", "`strong` or `weak`; all rows of strong scaling first"),
        count("processes", "1 in the first row of each kind"),
        count("batch_size", "samples of a batch of each process, as `run` was given it"),
        count("samples", "of all processes together, as `run` was given it"),
        positive(
            "seconds", "median of the epochs after the first: in that one everything starts", "s"
        ),
        positive("throughput", "`samples / seconds`", "samples/s"),
        positive("speedup", "`throughput` / that of one process, in the same kind of scaling", "x"),
        positive("efficiency", "`speedup / processes`, a share: 0.8, not 80"),
        DEVICE,
    ),
)
KINDS = ("strong", "weak")
MOST = 2.0  # efficiency: caches make a share of the work faster than the whole of it, but not that much
EXACT = 0.005  # relative: nothing but rounding is between the seconds that are handed over and what is made of them

Row = Mapping[str, Any]
Run = tuple[int, int, int]
"""Processes, samples in all, batch of a process."""


def planned(kind: str, processes: Sequence[int], samples: int, batch: int) -> list[Run]:
    """Return the runs of a kind of scaling that begins with so many samples and such a batch in one process."""
    if kind == "strong":
        return [(count, samples, batch // count) for count in processes]
    return [(count, samples * count, batch) for count in processes]


def plan_problem(runs: Sequence[Sequence[float]], known: Mapping[str, Any]) -> tuple[str, str]:
    """Say which run of *known* processes, samples and batch_size was not asked for, or which one nobody wants."""
    counts, samples, batch = known["processes"], known["samples"], known["batch_size"]
    asked = [tuple(run) for run in runs]
    wanted = [(kind, run) for kind in KINDS for run in planned(kind, counts, samples, batch)]
    extra = next((run for run in asked if run not in [it for _, it in wanted]), None)
    if extra:
        return f"{_named(extra)} was asked for", _plan_reason(extra, samples, batch)
    missing = next(((kind, run) for kind, run in wanted if run not in asked), None)
    if missing:
        return f"{_named(missing[1])} was never asked for", f"{missing[0]} scaling needs it"
    return "", ""


def _named(run: Sequence[float]) -> str:
    count, samples, batch = run
    return f"a run of {_counted(count)}, {samples:g} samples and batches of {batch:g}"


def _counted(count: float) -> str:
    return f"{count:g} process{'es' * (count != 1)}"


def _plan_reason(run: Sequence[float], samples: int, batch: int) -> str:
    """Recognise what was kept that should grow, or the other way round."""
    count, otherwise = run[0], "it belongs to neither kind of scaling"
    if not 1 <= count <= batch:
        return otherwise
    stories = {
        (
            samples,
            batch,
        ): "each process keeps its batch while the data set stays: the whole batch grows with the "
        "processes, which is neither scaling",
        (
            samples,
            batch * count,
        ): "the batch is that of a process, so the whole one would grow with the square",
        (
            samples * count,
            batch * count,
        ): "in weak scaling the batch of each process stays as it is",
        (
            samples * count,
            batch // count,
        ): "in weak scaling the batch of each process stays as it is",
        (samples // count, batch): "samples are those of all processes together",
        (samples // count, batch // count): "samples are those of all processes together",
    }
    return stories.get((run[1], run[2]), otherwise)


def row_problem(rows: Sequence[Row]) -> str:
    """Say what is wrong with the form of rows, or how they contradict themselves."""
    if wrong := RESULTS.problem(rows):
        return wrong
    kinds = [row["scaling"] for row in rows]
    if set(kinds) != set(KINDS) or kinds != sorted(kinds):
        return f"scaling is {', '.join(map(str, dict.fromkeys(kinds)))}; rows of 'strong' come first, then 'weak'"
    return next(
        (
            why
            for kind in KINDS
            if (why := _series_problem([r for r in rows if r["scaling"] == kind]))
        ),
        "",
    )


def _series_problem(rows: Sequence[Row]) -> str:
    """Say how the rows of one kind of scaling do not fit the first of them."""
    first = rows[0]
    if first["processes"] != 1:
        return f"the first row of {first['scaling']} scaling has {first['processes']:g} processes: it begins with one"
    counts = [int(row["processes"]) for row in rows]
    plan = planned(first["scaling"], counts, int(first["samples"]), int(first["batch_size"]))
    for row, (_, samples, batch) in zip(rows, plan, strict=True):
        if (row["samples"], row["batch_size"]) != (samples, batch):
            told = f"{row['samples']:g} samples and batches of {row['batch_size']:g}"
            return f"{_row(row)} has {told}; {samples} and {batch} keep what {first['scaling']} scaling keeps"
        rates = row["samples"] / row["seconds"], row["throughput"] / first["throughput"]
        for name, right, how in (
            ("throughput", rates[0], "samples / seconds"),
            ("speedup", rates[1], "throughput / that of one process"),
            ("efficiency", row["speedup"] / row["processes"], "speedup / processes"),
        ):
            if not table.alike(row[name], right):
                return f"{name} of {_row(row)} is {shown(row[name])}, but {how} is {right:.4g}{_slip(row, name, right)}"
    return ""


def _slip(row: Row, name: str, right: float) -> str:
    """Recognise a usual mistake in a figure."""
    count = row["processes"]
    stories = [(100 * right, "in percent, and it must be a share")] if name == "efficiency" else []
    if name == "speedup" and count > 1:
        stories = [
            (right / count, "seconds over seconds, where the work has grown"),
            (1 / max(right, 1e-30), "upside down"),
        ]
    words = explained(row[name], stories, EXACT)
    return f": {words}" if words else ""


def time_problem(rows: Sequence[Row], known: Mapping[str, Any]) -> str:
    """Say how rows differ from scripted runs: *known* has the plan, the epochs of each run, and the device."""
    counts, samples, batch = known["processes"], known["samples"], known["batch_size"]
    wanted = [(kind, run) for kind in KINDS for run in planned(kind, counts, samples, batch)]
    found = [(row["scaling"], row["processes"]) for row in rows]
    if found != [(kind, run[0]) for kind, run in wanted]:
        return f"the rows are {len(found)} pairs of scaling and processes, not the {len(wanted)} in their order"
    for row, (_, run), epochs in zip(rows, wanted, known["epochs"], strict=True):
        runs = (
            _median(own[1:])
            for (_, same), own in zip(wanted, known["epochs"], strict=True)
            if same == run
        )
        right = min(runs, key=lambda it: abs(it - row["seconds"]))  # of one process there are two
        if not close(row["seconds"], right, EXACT):
            stories = [
                (_median(epochs), "the first epoch is among them, in which everything starts"),
                (sum(epochs) / len(epochs), "it is the mean, and the first epoch is among them"),
                (
                    sum(epochs[1:]) / len(epochs[1:]),
                    "it is the mean, which one slow epoch decides: take the median",
                ),
                (min(epochs), "it is the fastest epoch: take the median"),
                (sum(epochs), "it is all epochs together"),
                (epochs[0], "it is the first epoch, in which everything starts"),
            ]
            words = explained(row["seconds"], stories, EXACT)
            told = f"seconds of {_row(row)} is {row['seconds']:.4g}, and the median after the first is {right:.4g}"
            return told + f": {words}" * bool(words)
        if row["device"].strip() != known["device"].strip():
            return (
                f"the device is called {row['device'][:60]!r}, and its name is {known['device']!r}"
            )
        if (row["processes"], row["samples"], row["batch_size"]) != run:
            return f"{_row(row)} does not say which run it was"
    return ""


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def whole_problem(rows: Sequence[Row]) -> str:
    """Say what a table lacks that is to show how a training scales, or what in it no machine does."""
    for kind in KINDS:
        counts = [row["processes"] for row in rows if row["scaling"] == kind]
        if len(counts) < 2 or counts != sorted(set(counts)):
            listed = ", ".join(f"{count:g}" for count in counts) or "nothing"
            asked = "1 process, 2, and more where there are more, each once, are asked for"
            return f"{kind} scaling is measured with {listed}; {asked}"
    best = max(rows, key=lambda row: row["efficiency"])
    if best["efficiency"] > MOST:
        return (
            f"efficiency of {_row(best)} is {best['efficiency']:.3g}: {best['processes']:g} processes on one device "
            "cannot be that much faster; was one process measured beside something else?"
        )
    return ""


def _row(row: Row) -> str:
    return f"{row['scaling']} scaling with {_counted(row['processes'])}"
