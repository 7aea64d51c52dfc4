"""Judges a table that compares two trainings, against a clock whose every move was scripted and what the maker logged.

A row has precision, throughput, epoch_time, peak_memory_mb, accuracy, speedup and device. Each judge returns what is
wrong and what to try, or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks import table, timing
from autograder.checks.forms import DEVICE, Form, not_negative, or_nothing, percent, positive, words
from autograder.checks.numerics import close, nearest

MODES = ("FP32", "AMP")
RESULTS = Form(
    "amp_results.csv",
    (
        words("precision", "FP32 in the first row, AMP in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "of the measured epoch", "s"),
        or_nothing(
            not_negative(
                "peak_memory_mb", "peak of the GPU's memory, 1e6 bytes; empty without a GPU", "MB"
            )
        ),
        percent("accuracy", "of the samples"),
        positive("speedup", "throughput / FP32's throughput", "x"),
        DEVICE,
    ),
    rows=MODES,
)
PACE, WHOLE = (
    0.02,
    0.05,
)  # relative: of throughput; of epoch_time, which may hold a little more than the training
EPOCHS = 0.1  # relative: samples of two epochs, by throughput and epoch_time
ROUNDED = 0.0051  # seconds: half of the last of two decimals; an epoch on a GPU may take 0.02 s

Row = Mapping[str, Any]
Problem = tuple[str, str] | None
"""What is wrong, and what to try."""


@dataclass(frozen=True)
class Script:
    """What the clock was told: seconds until all batches arrived, of a pass in each precision, and of the first one."""

    samples: int
    batches: int
    wait: float
    full: float
    half: float
    cold: float
    accuracy: float
    """Percent that fresh weights reach in FP32."""
    device: str

    def seconds(self, mode: str) -> float:
        """Return how long an epoch takes that was warmed up before."""
        return self.wait + self.batches * (self.full if mode == "FP32" else self.half)


def row_problem(rows: Sequence[Row]) -> Problem:
    """Say what is wrong with the form of the two rows, or how they contradict themselves."""
    if wrong := RESULTS.problem(rows):
        return (
            wrong,
            f"two rows, {' and '.join(MODES)}, of {', '.join(RESULTS.names)}; numbers as numbers: 2.1, not '2.10x'",
        )
    for row in rows:
        ratio = row["throughput"] / rows[0]["throughput"]
        if not table.alike(row["speedup"], ratio):
            why = f"speedup of {row['precision']} is {row['speedup']:.4g}, but throughput / FP32's is {ratio:.4g}"
            return why, "speedup = throughput / throughput of the FP32 row"
    return None


def run_problem(rows: Sequence[Row]) -> str:
    """Say how two rows, each right by itself, cannot be of one run."""
    memory = [row["peak_memory_mb"] or 0.0 for row in rows]
    if min(memory) <= 0 and any(memory):
        return "peak_memory_mb is above 0 in both rows, or empty in both: one device measures them"
    return samples_problem(rows)


def samples_problem(rows: Sequence[Row]) -> str:
    """Say how the epochs of two rows had different samples."""
    first, last = (row["throughput"] * row["epoch_time"] for row in rows)
    rounded = ROUNDED * sum(row["throughput"] for row in rows)
    if abs(last - first) > EPOCHS * first + rounded:
        return (
            f"throughput x epoch_time is {first:.4g} samples in one row and {last:.4g} in the other"
        )
    return ""


def form_words(rows: Sequence[Row]) -> str:
    """Say what is wrong with the rows, where nothing is to be tried but to write them again."""
    found = row_problem(rows)
    return found[0] if found else ""


def device_problem(rows: Sequence[Row], script: Script, *, on_gpu: bool) -> Problem:
    """Say which row names another device than the one it ran on, or gives a CPU a GPU's memory."""
    for row in rows:
        if row["device"].strip() != script.device.strip():
            why = f"the device is called {row['device'][:60]!r}, and its name is {script.device!r}"
            return why, "device_name(device), from given"
        if not on_gpu and row["peak_memory_mb"] not in (None, ""):
            why = f"peak_memory_mb of {row['precision']} is {row['peak_memory_mb']:.4g}, and no GPU was there to ask"
            return (
                why,
                "None where device.type is not 'cuda': an empty cell, and no panel in the figure",
            )
    return None


def time_problem(rows: Sequence[Row], script: Script) -> Problem:
    """Say how the figures differ from what the scripted clock showed."""
    for row, other in zip(rows, reversed(MODES), strict=True):
        mode = row["precision"]
        seconds = script.seconds(mode)
        if not close(row["throughput"], script.samples / seconds, PACE):
            passed = f"is not the {script.samples / seconds:.4g} samples/s that passed"
            story = nearest(row["throughput"], _rates(script, mode, other), PACE)
            why, try_ = story or (passed, "samples / seconds of the epoch")
            return f"throughput of {mode} {why}", try_
        if not close(row["epoch_time"], seconds, WHOLE):
            took = f"{script.samples} samples took {seconds:.4g} s"
            why = f"epoch_time of {mode} is {row['epoch_time']:.4g} s, but {took}"
            return (
                why,
                "read the clock before and after train_epoch_amp; the difference is in seconds",
            )
    return None


def _rates(script: Script, mode: str, other: str) -> list[tuple[float, tuple[str, str]]]:
    seconds, warm = (
        script.seconds(mode),
        "train a few batches of each precision first, on a training of its own",
    )
    cast = "not on", "train_epoch_amp(..., use_amp=True, scaler=...) for the AMP row"
    if mode == "FP32":
        cast = (
            "on",
            "train_epoch_amp(..., use_amp=False) for the FP32 row, and autocast(..., enabled=use_amp)",
        )
    return [
        (
            script.samples / (seconds + script.cold),
            ("includes the slow first step: warm up before", warm),
        ),
        (
            script.samples / (seconds - script.wait),
            ("leaves out the wait for data", "time whole iterations"),
        ),
        (script.samples / seconds / timing.WALL, (f"is wrong: {timing.JUMPS}", timing.STEADY)),
        (
            script.samples / script.seconds(other),
            (f"is that of {other}: autocast was {cast[0]}", cast[1]),
        ),
    ]


def epoch_problem(trainings: Sequence[Mapping[str, Any]], batches: int) -> Problem:
    """Say that no training was as long as an epoch."""
    longest = max((it["full"] + it["half"] for it in trainings), default=0)
    if longest >= batches:
        return None
    if not longest and any(it["steps"] for it in trainings):
        return (
            "the model was trained and never called",
            "model(images), and not model.forward(images)",
        )
    why = f"no training ran the whole epoch: the longest had {longest} of {batches} batches"
    return (
        why,
        "train_epoch_amp(model, loader, ...) with the loader itself; only the warm-up takes a few batches",
    )


def training_problem(trainings: Sequence[Mapping[str, Any]], batches: int) -> Problem:
    """Say how trainings were mixed up. A report, which can only take away."""
    epochs = {
        mode: [it for it in trainings if _is_epoch(it, mode, batches)] for mode in ("full", "half")
    }
    whole = [it for it in trainings if it["full"] + it["half"] >= batches]
    if len(whole) > sum(map(len, epochs.values())) and not all(epochs.values()):
        why = (
            "the measured model had been trained before: by the warm-up, or in the other precision"
        )
        return (
            why,
            "call make_training for the warm-up, and again for the measured epoch, in FP32 and then in AMP",
        )
    warm = {
        i for i, it in enumerate(trainings) if not any(it in found for found in epochs.values())
    }
    for it in (*epochs["full"], *epochs["half"]):
        if it["misplaced"]:
            why = "the AMP epoch's GradScaler is one for another kind of device, and switches itself off on this one"
            return why, "torch.amp.GradScaler(device.type)"
        if it["half"] and not it["scaled"]:
            return (
                "the AMP epoch ran without a GradScaler",
                "scaler=torch.amp.GradScaler(device.type)",
            )
        if warm & set(it["alive"]):
            why = "a warm-up model was still in memory during the measured epoch"
            return (
                why,
                "warm up in a function of its own: what it made is let go of when it returns",
            )
    if any(trainings[i]["full"] + trainings[i]["half"] for i in warm) and not any(
        trainings[i]["back"] for i in warm
    ):
        why = "the warm-up ran the model and did not train: the first backward pass and step are still the slow ones"
        return why, "train_epoch_amp on a few batches, of a training of its own"
    return None


def _is_epoch(it: Mapping[str, Any], mode: str, batches: int) -> bool:
    """Whether a training was one epoch from fresh weights, in one precision: the measured one, or as good as that."""
    return bool(it["fresh"] and it[mode] == it["full"] + it["half"] == batches)


def accuracy_problem(rows: Sequence[Row], script: Script) -> Problem:
    """Say which row has another accuracy than fresh weights reach; rounding may turn a close call."""
    one = 100 / script.samples
    for row, allowed in zip(rows, (1.01 * one, max(3.01 * one, 5.0)), strict=True):
        if abs(row["accuracy"] - script.accuracy) > allowed:
            found = f"accuracy of {row['precision']} is {row['accuracy']:.4g} %"
            if abs(100 * row["accuracy"] - script.accuracy) <= allowed:
                return f"{found}: a fraction, and it must be in percent", "100 * correct / samples"
            try_ = "take the accuracy that train_epoch_amp returns; if you do, mend what fp32_is_untouched says first"
            return f"{found}; fresh weights give {script.accuracy:.4g} %", try_
    return None
