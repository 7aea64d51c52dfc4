"""Judges a table that compares two trainings, against a scripted clock and what the maker of trainings logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import slips
from autograder.checks.slips import Epoch
from autograder.checks.table_form import (
    DEVICE,
    Form,
    Row,
    not_negative,
    or_nothing,
    percent,
    positive,
    ratio,
    samples_problem,
    words,
)

MODES = ("FP32", "AMP")
RESULTS = Form(
    "amp_results.csv",
    (
        words("precision", "FP32 in the first row, AMP in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "what the measured call of `train_epoch_amp` took", "s"),
        or_nothing(
            not_negative(
                "peak_memory_mb",
                "peak of the GPU's memory, 1e6 bytes; empty without a GPU",
                "MB",
            )
        ),
        percent("accuracy", "of the samples"),
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=MODES,
)
EPOCHS = 0.1  # relative: samples of two epochs, by throughput and epoch_time
CAST = {
    "FP32": "it is that of AMP: autocast was on",
    "AMP": "it is that of FP32: autocast was not on",
}

Problem = tuple[str, str] | None
"""What is wrong, and what to try."""


def run_problem(rows: Sequence[Row]) -> str:
    """Say how two rows, each right by itself, cannot be of one run."""
    memory = [row["peak_memory_mb"] or 0.0 for row in rows]
    if min(memory) <= 0 and any(memory):
        return "peak_memory_mb is above 0 in both rows, or empty in both: one device measures them"
    return samples_problem(rows, EPOCHS)


def time_problem(rows: Sequence[Row], epochs: Sequence[Epoch]) -> str:
    """Say how the figures differ from what the scripted clock showed."""
    for row, epoch, other in zip(rows, epochs, reversed(epochs), strict=True):
        usual = [(other.rate, CAST[row["precision"]]), *epoch.slips()]
        if why := slips.time_problem(RESULTS, row, epoch, usual):
            return why
    return ""


def epoch_problem(trainings: Sequence[Mapping[str, Any]], batches: int) -> Problem:
    """Say that no training was as long as an epoch."""
    longest = max((it["full"] + it["half"] for it in trainings), default=0)
    if longest >= batches:
        return None
    if not longest and any(it["steps"] for it in trainings):
        return (
            "the model was trained and never called",
            "call outputs = model(images) for each batch",
        )
    why = f"no training ran the whole epoch: the longest had {longest} of {batches} batches"
    try_ = (
        "fix returns_the_metrics first if it fails; then train_epoch_amp(model, loader, ...) with "
    )
    return why, f"{try_}the loader itself: only the warm-up takes a few batches"


def training_problem(
    trainings: Sequence[Mapping[str, Any]], batches: int
) -> tuple[str, str, str] | None:
    """Say why trainings were mixed up, what to try, and what was seen. A report, which can only take away."""
    epochs = {
        mode: [it for it in trainings if _is_epoch(it, mode, batches)] for mode in ("full", "half")
    }
    whole = [it for it in trainings if it["full"] + it["half"] >= batches]
    if len(whole) > sum(map(len, epochs.values())) and not all(epochs.values()):
        why = "your code measures a model that was trained before, usually by the warm-up"
        none = " or in ".join(MODES[mode == "half"] for mode in epochs if not epochs[mode])
        try_ = "call make_training for the warm-up, and again for each measured epoch"
        return why, try_, f"no fresh model was trained for exactly one epoch in {none}"
    warm = {
        i for i, it in enumerate(trainings) if not any(it in epoch for epoch in epochs.values())
    }
    for it in (*epochs["full"], *epochs["half"]):
        if it["misplaced"]:
            why = "it is one for another kind of device"
            try_ = "torch.amp.GradScaler(device.type)"
            return why, try_, "the AMP epoch's GradScaler switched itself off on this device"
        if it["half"] and not it["scaled"]:
            try_ = "fix scaler_in_order first if it fails; "
            try_ += "else scaler=torch.amp.GradScaler(device.type)"
            why = "the AMP epoch ran without a GradScaler"
            return why, try_, "no GradScaler scaled a loss in the AMP epoch"
        if warm & set(it["alive"]):
            why = "something that outlives the warm-up refers to the model or what it computed"
            try_ = "warm up in a separate function that leaves nothing in a list or outer variable"
            return why, try_, "a warm-up model was still in memory during the measured epoch"
    if any(trainings[i]["full"] + trainings[i]["half"] for i in warm) and not any(
        trainings[i]["back"] for i in warm
    ):
        why = "the first backward pass and step of the measured epoch are still the slow ones"
        return (
            why,
            "train_epoch_amp on a few batches, with a separate model",
            "the warm-up ran the model and did not train",
        )
    return None


def _is_epoch(it: Mapping[str, Any], mode: str, batches: int) -> bool:
    """Whether a training was one epoch from fresh weights, in one precision: the measured one, or as good as that."""
    return bool(it["fresh"] and it[mode] == it["full"] + it["half"] == batches)


def accuracy_problem(
    rows: Sequence[Row], samples: int, expected: float
) -> tuple[str, str, str] | None:
    """Say why a row has another accuracy than fresh weights reach, what to try, and which; a close call may turn."""
    image_percent = 100 / samples
    for row, allowed in zip(
        rows, (1.01 * image_percent, max(3.01 * image_percent, 5.0)), strict=True
    ):
        if abs(row["accuracy"] - expected) > allowed:
            measured = f"accuracy of {row['precision']} is {row['accuracy']:.4g} %"
            measured = f"{measured}; fresh weights give {expected:.4g} %"
            if abs(100 * row["accuracy"] - expected) <= allowed:
                why = "it is a fraction, and it must be in percent"
                return why, "100 * correct / samples", measured
            try_ = "take the accuracy that train_epoch_amp returns; if you do, fix "
            try_ += "returns_the_metrics or fp32_is_untouched first"
            return "it is not that of an epoch from fresh weights, over its samples", try_, measured
    return None
