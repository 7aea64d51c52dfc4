"""Judges a table of nets at several batch sizes and in two precisions: what a training step keeps, and how fast it is.

A row has net, batch_size, precision, peak_memory_mb, saved_mb, throughput and device. Each judge says what is wrong in
one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from autograder.checks.numerics import close
from autograder.checks.table_form import DEVICE, Form, Row, count, or_nothing, positive, words

PRECISIONS = ("FP32", "AMP")
RESULTS = Form(
    "memory_results.csv",
    (
        words("net", "its name in `nets`"),
        count("batch_size", "images of a step"),
        words("precision", "`FP32` or `AMP`; FP32 first, at each batch size"),
        or_nothing(
            positive(
                "peak_memory_mb",
                "`torch.cuda.max_memory_allocated() / 1e6`; empty without a GPU",
                "MB",
            )
        ),
        positive("saved_mb", "kept for the backward pass of a step, in 1e6 bytes", "MB"),
        positive("throughput", "of complete training steps", "samples/s"),
        DEVICE,
    ),
    keys=3,
)
EXACT, PACE = 0.01, 0.02  # relative: of bytes, which are counted; of throughput on a scripted clock

Kept = Mapping[tuple[str, float, str], float]
"""MB by net, batch size and precision."""


def unit_problem(rows: Sequence[Row]) -> str:
    """Say that what is kept is in another unit."""
    exact = [row["saved_mb"] for row in rows if row["precision"] == "FP32"]
    if _whole(exact, 2**20) and not _whole(exact, 10**6):
        return "saved_mb is in MiB (1048576 bytes), but the column is in MB (1e6 bytes)"
    return ""


def whole_problem(rows: Sequence[Row], nets: Sequence[str], sizes: int) -> str:
    """Say what a table lacks that is to hold each of *nets* at so many sizes, in both precisions."""
    kept: Kept = {
        (row["net"], row["batch_size"], row["precision"]): row["saved_mb"] for row in rows
    }
    if len(rows) > len(kept):
        return f"{len(rows)} rows are of {len(kept)} measurements: some are there twice"
    measured = sorted({size for _, size, _ in kept})
    missing = [place for place in product(nets, measured, PRECISIONS) if place not in kept]
    if missing or len(measured) < sizes:
        lacks = f"{' '.join(map(_plain, missing[0]))} is missing; " if missing else ""
        held = f"{lacks}the table has {len(measured)} batch sizes"
        return f"{held}; {sizes} are needed, as in the template, each with both nets and precisions"
    for net, mode in product(nets, PRECISIONS):
        series = [kept[net, size, mode] for size in measured]
        for at in range(1, len(series)):
            less, more = (f"{series[n]:g} MB at {measured[n]:g} images" for n in (at - 1, at))
            if series[at] <= series[at - 1]:
                return f"saved_mb of {net} in {mode} does not grow with the batch: {less}, {more}"
    return next(filter(None, (_size_problem(kept, nets, size) for size in measured)), "")


def _size_problem(kept: Kept, nets: Sequence[str], size: float) -> str:
    """Say which net keeps too much or too little at a size, beside itself in FP32 or beside the other net."""
    for net in nets:
        if 2 * kept[net, size, "AMP"] <= kept[net, size, "FP32"]:
            halved = f"at {size:g} images {net} keeps half or less with AMP"
            return f"{halved}, but 16 bits save less than half"
    plain, lean = nets
    if kept[lean, size, "FP32"] >= kept[plain, size, "FP32"]:
        return f"at {size:g} images {lean} keeps as much as {plain}"
    return ""


def _whole(sizes: Sequence[float], unit: int) -> bool:
    """Whether sizes in this unit are whole numbers of four bytes, as those of float32 tensors are."""
    return all(abs(size * unit / 4 - round(size * unit / 4)) < 1e-3 for size in sizes)


def figure_problem(rows: Sequence[Row], scripted: Mapping[str, Any], *, on_gpu: bool) -> str:
    """Say how rows differ from what was *scripted*, which has nets, sizes, saved, script, steps and the device."""
    saved = list(scripted["saved"]) * len(scripted["nets"])
    scripts = [own for own in scripted["script"] for _ in scripted["saved"]]
    for number, (row, right, script) in enumerate(zip(rows, saved, scripts, strict=True)):
        plain = [
            (saved[number - number % 2], "that is FP32's: saved_mb was called without autocast")
        ]
        problem = RESULTS.mismatch(row, "saved_mb", right, EXACT, plain)
        other = rows[number ^ 1]  # the same, in the other precision
        problem = problem or _pace_problem(row, other, script, scripted["steps"])
        if problem:
            return problem
    return RESULTS.machine_problem(rows, scripted["device"], on_gpu=on_gpu)


def _pace_problem(row: Row, partner: Row, script: Mapping[str, float], steps: int) -> str:
    mine, another = PRECISIONS if row["precision"] == "FP32" else PRECISIONS[::-1]
    modes = {"FP32": script["full"], "AMP": script["half"]}
    forward, other = modes[mine], modes[another]
    size, back, step = row["batch_size"], script["backward"], script["step"]
    whole = forward + back + step
    swapped = close(partner["throughput"], size / whole, PACE)
    took_other = "the rows of both precisions are swapped" if swapped else f"both ran as {another}"
    forward_only = "the backward pass is left out"
    again = "your code trained this model already, at another size or precision"
    late = "the time includes the slow {} step"
    slips = [
        *((size / took, forward_only) for took in (forward, forward + step, other, other + step)),
        (size / (forward + back), "the optimizer's step is left out"),
        (
            size / (other + back + step),
            f"that is the pace of {another}: {took_other}",
        ),
        (1 / whole, "your code counts steps, not images"),
        *(
            (size / (whole + n * script["cold"] / steps), late.format(which))
            for n, which in enumerate(("second", "first", "first"), 1)
        ),
        *((size / (whole + n * step), again) for n in (1, 2, 3)),
    ]
    return RESULTS.mismatch(row, "throughput", size / whole, PACE, slips)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)[:40]
