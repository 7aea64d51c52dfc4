"""Judges part 6: what two processes did, five configurations, traces, and figures in prose.

Each says what was measured and what is wrong with it; nothing is wrong where the second is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import mean, median
from typing import Any

import numpy as np

from autograder.checks import numerics, rendered, report, table
from autograder.checks.forms import DEVICE, Column, Form, Row, Slip, count, positive, ratio, words
from autograder.checks.numerics import shown
from autograder.claims.groups import EXACT, Calls, Group, usual
from autograder.model import Pair, Table, Text
from autograder.traces import Trace

NAMES = ("Baseline", "+ AMP", "+ Grad Accum", "+ DataLoader", "+ All")
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
RESULTS = Form(
    "distributed_results.csv",
    (
        words("optimization", "the five names, in their order"),
        positive("throughput", "`samples` / the median epoch after the first", "samples/s"),
        ratio("speedup", "throughput", "first throughput"),
        positive("memory_mb", "the largest peak of all processes", "MB"),
        Column("accuracy", "on the test set, a share: 0.98, not 98", SHARE),
        count("steps", "of the optimizer, in all epochs; the same in all rows"),
        DEVICE,
    ),
    rows=NAMES,
)
Finding = tuple[str, str]
"""What was measured, and what is wrong with it."""

# --- two processes ----------------------------------------------------------------------------------------------------

ROUNDED = 5e-3  # relative: what is left of a figure with three digits
SHARES = 2e-3  # relative: a sample that counts twice changes the accuracy by ten times as much
NEAR, HALF_NEAR = (1e-4, EXACT), (2e-2, 1e-2)  # of the update; of the loss


class Processes(Group):
    """Two processes that read the samples in any order."""

    def reason(self, ranks: Pair, ratio: float) -> str:
        """Look at who read what before anything else."""
        own = ranks.student.values
        read = [each["asked"] for each in own["ranks"]]
        expected = ranks.baseline.values
        every = sorted(chain(*read))
        if every != sorted(chain(*(each["asked"] for each in expected["ranks"]))):
            missing = own["samples"] - len({*every})
            counts = " and ".join(str(len(each)) for each in read)
            asked = len(expected["ranks"][0]["asked"])
            why = f"the processes read {counts} samples where each reads {asked}"
            return f"{why}, and no process read {missing} of the samples"
        ordered = replace(ranks.student, values={**own, "ranks": expected["ranks"]})
        return super().reason(replace(ranks, student=ordered), ratio)


def loss_problem(ranks: Pair, within: float) -> str:
    """Say how the loss is not one process's."""
    own, expected = (side.values["written"]["loss"] for side in (ranks.student, ranks.baseline))
    close = numerics.close(own, expected, within)
    return "" if close else f"loss is {shown(own)}, and it is {shown(expected)}"


def written(ranks: Pair) -> Finding:
    """Compare loss and accuracy with one process's."""
    own, expected = ranks.student.values["written"], ranks.baseline.values["written"]
    why = {
        "loss": "it is that of one process, of one batch or of another epoch",
        "accuracy": "padded shares count a sample twice, and a mean of shares weighs them alike",
    }
    for name, within in (("loss", EXACT), ("accuracy", SHARES)):
        if not numerics.close(own[name], expected[name], within):
            return f"{name} is {shown(own[name])}, and it is {shown(expected[name])}", why[name]
    return f"loss {shown(own['loss'])}, accuracy {shown(own['accuracy'])} in both", ""


def one_writes(ranks: Pair) -> Finding:
    """Look at who wrote, whether the group is gone, and whose the figures are."""
    own, expected = ranks.student, ranks.baseline
    each = own.values["ranks"]
    if any(it["wrote"] for it in each[1:]):
        return (
            "both processes wrote the file for --result",
            "one tears the other's file on one disk",
        )
    if any(it["open"] for it in each):
        return "a process group is there at the end", "a process may wait for it at its exit"
    reasons = {
        "seconds": "they are those of one process, or testing is among them: the slowest decides",
        "peak_mb": "each process has one: gather them in the order of the ranks",
    }
    for name, why in reasons.items():
        reported, right = (side.arrays[name] for side in (own, expected))
        if len(reported) != len(right) or not np.allclose(reported, right, rtol=ROUNDED):
            return f"{name} are {_listed(reported)} where {_listed(right)} are right", why
    for name in ("samples", "steps"):
        reported, right = (side.values["written"][name] for side in (own, expected))
        if reported != right:
            return f"{name} is {shown(reported)}, and it is {shown(right)}", "of all processes"
    return "rank 0 wrote, and the group is gone", ""


def _listed(figures: Any) -> str:
    return ", ".join(f"{figure:.4g}" for figure in figures[:4]) or "none"


def does(ranks: Pair, options: Mapping[str, Any], plain: Pair, apart: str) -> str:
    """Say how a run did not do what its *options* say, or something else; *apart*: how it is not one process's."""
    for rank, own in enumerate(ranks.student.values["ranks"]):
        halves = {"float16", "bfloat16"} if options.get("amp") else {"float32"}
        if not {*own["half"]} <= halves or own["kept"] != ["float32"]:
            computed, kept = (", ".join(own[name]) or "nothing" for name in ("half", "kept"))
            wanted = "float16 or bfloat16" if options.get("amp") else "float32"
            where = f"the model computes in {computed} and keeps {kept}"
            return f"rank {rank}: {where}; {wanted} and float32 are expected"
        if own["taken"] != ranks.baseline.values["ranks"][rank]["taken"]:
            return f"rank {rank}: {own['taken']} steps of the optimizer, and one in each epoch is expected"
        sent, usually = (
            _sent(run.student.values["ranks"][rank]["steps"]) for run in (ranks, plain)
        )
        if sent > usually + ranks.student.values["gradient_bytes"]:
            why = "each batch communicates, not only the last of a step"
            return f"rank {rank}: {sent} bytes in a step, and {usually} without options: {why}"
        if problem := _loads(own["loaders"], options.get("workers", 0)):
            return f"rank {rank}: {problem}"
    steps, right = (side.values["written"]["steps"] for side in (ranks.student, ranks.baseline))
    return apart or f"steps is {shown(steps)}, and it is {shown(right)}" * (steps != right)


def _sent(steps: Sequence[Calls]) -> int:
    return sum(call["bytes"] for call in usual(steps)) if steps else 0


def _loads(loaders: Sequence[Mapping[str, Any]], workers: int) -> str:
    largest = max((it["num_workers"] for it in loaders), default=0)
    if largest != workers:
        return f"num_workers is {largest}, and {workers} are asked for"
    if any(it["pin_memory"] for it in loaders):
        return "memory is pinned without CUDA"
    idle = any(it["num_workers"] and not it["persistent_workers"] for it in loaders)
    return "workers are started anew in each epoch: persistent_workers=True" if idle else ""


# --- five configurations ----------------------------------------------------------------------------------------------


def kind(run: Mapping[str, Any]) -> str:
    """Name the configuration that a run is of, or what it changes."""
    changed = (bool(run["amp"]), run["accumulate"] > 1, run["workers"] > 0)
    alone = dict(zip(NAMES[1:4], changed, strict=True))
    if sum(changed) in (0, 3):
        return NAMES[-1] if changed[0] else NAMES[0]
    return " and ".join(name for name, on in alone.items() if on)


def work_problem(runs: Sequence[Mapping[str, Any]], samples: int, batch: int) -> str:
    """Say which run is of no configuration, or does other work than the baseline."""
    kinds = [kind(run) for run in runs]
    for name in kinds:
        if name not in NAMES:
            return f"one run has {name}: each row changes one thing of the baseline, and only the last has all"
    if missing := [name for name in NAMES if name not in kinds]:
        return f"no run is of {missing[0]}"
    for name, run in zip(kinds, runs, strict=True):
        if run["samples"] != samples or run["epochs"] != runs[0]["epochs"]:
            work = f"{run['samples']:g} samples and {run['epochs']:g} epochs"
            return f"{name} trains {work}, and {samples} and {runs[0]['epochs']:g} are expected"
        step = run["batch_size"] * run["accumulate"]
        if step != batch:
            return f"a step of {name} sees {step:g} samples of a process, the baseline's {batch}: another training"
    return ""


def row_problem(rows: Sequence[Row], script: Mapping[str, Any]) -> str:
    """Say how rows are not what the runs returned."""
    for row, result in zip(rows, script["results"], strict=True):
        samples, (first, *later) = script["samples"], result["seconds"]
        peaks = result["peak_mb"]
        slips: list[Slip] = [
            (samples / median([first, *later]), "the first epoch is among them"),
            (
                samples / mean([first, *later]),
                "it is of the mean, and the first epoch is among them",
            ),
            (samples / mean(later), "it is of the mean, which one slow epoch decides"),
            (samples / sum([first, *later]), "it is of all epochs together"),
            (samples / min(later), "it is of the fastest epoch"),
            (samples / first, "it is of the first epoch, in which everything starts"),
        ]
        sums = [
            (peaks[0], f"rank 0 had so much, and rank 1 {shown(peaks[1])} MB"),
            (sum(peaks), "it is the sum of all processes"),
            (mean(peaks), "it is the mean of all processes"),
        ]
        problem = RESULTS.mismatch(row, "throughput", samples / median(later), ROUNDED, slips)
        problem = problem or RESULTS.mismatch(row, "memory_mb", max(peaks), ROUNDED, sums)
        for column in ("accuracy", "steps"):
            problem = problem or RESULTS.mismatch(row, column, result[column], ROUNDED)
        if problem:
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
    step = compute + max(0.0, communication - hideable)
    hidden = hideable if slip == "hides the whole" else hideable / n
    strong = compute / n + max(0.0, communication - hidden)
    efficiencies = {"efficiency": compute / step, "strong_efficiency": compute / n / strong}
    return {"step_ms": step, **efficiencies}


# --- files ------------------------------------------------------------------------------------------------------------

COLLECTIVE = re.compile(r"(?:gloo|nccl):")
STEPS = 3


def profiled(before: Trace, after: Trace) -> Finding:
    """Compare the collectives of a step in both traces."""
    calls = []
    for trace in (before, after):
        group = trace.signals.get("rank", "unknown")
        if not re.fullmatch(r"0 of ([2-9]|\d\d+)", group):
            return (
                f"{trace.file} is of rank {group}",
                "rank 0 of two or more processes is asked for",
            )
        if trace.step_count < STEPS:
            return f"{trace.file} holds {trace.step_count} steps", f"{STEPS} are asked for"
        ranges = [row.count for row in trace.rows("ranges") if COLLECTIVE.match(row.name)]
        if not ranges:
            return f"{trace.file} holds no collective", "nothing was sent in these steps"
        calls.append(sum(ranges) / trace.step_count)
    measured = f"{calls[0]:.3g} collectives in a step before, {calls[1]:.3g} after"
    why = "the traces are swapped, or each batch of a step communicates"
    return measured, "" if calls[1] < calls[0] else why


HEADINGS = {
    "What limits the baseline": r"limit|baseline",
    "What each optimization is worth": r"each|optimi[sz]ation",
    "What all of them are worth": r"\ball\b|together",
    "Communication": r"communicat",
    "More processes": r"more processes|scal",
    "What the figures do not show": r"not show",
}
LEAST, MOST = 800, 1300  # words
FIGURES, ROWS = 6, 4  # that are named at least
MEASURES = 3


def analysed(analysis: Text, results: Table) -> Finding:
    """Look whether an analysis is whole, and names figures of the table."""
    measured, why = report.incomplete(analysis.text, HEADINGS, LEAST, MOST)
    if why:
        return measured, why
    named, wrong = report.figures(analysis, results, RESULTS.units)
    if wrong:
        return f"{len(wrong)} figures that the table does not have", report.listed(wrong)
    rows = {row for figure in named for row, _ in figure.places}
    measured = f"{measured}, {len(named)} figures of {len(rows)} rows by their names"
    few = len(named) < FIGURES or len(rows) < ROWS
    return measured, f"at least {FIGURES} of {ROWS} rows are needed" * few


def recommended(recommendations: Text, results: Table) -> Finding:
    """Look whether each of three measures names a figure of the table."""
    if left := report.left_over(recommendations.text):
        return f"{len(left)} places left to fill in", report.listed(left)
    named, wrong = report.figures(recommendations, results, RESULTS.units)
    if wrong:
        return f"{len(wrong)} figures that the table does not have", report.listed(wrong)
    cuts = report.points(recommendations.text)
    count = max((sum(map(_has_figure, cut)) for cut in cuts), default=0)
    measured = f"{count} measures with a figure, {len(named)} figures in all"
    return measured, f"{MEASURES} measures are needed, each with a figure" * (count < MEASURES)


def _has_figure(point: str) -> bool:
    return rendered.BRACES.search(point) is not None
