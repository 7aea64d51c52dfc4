"""Judges a table of nets at several batch sizes and in two precisions: what a training step keeps, and how fast it is.

A row has net, batch_size, precision, peak_memory_mb, saved_mb, throughput and device. Each judge says what is wrong in
one sentence, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks.forms import DEVICE, Form, count, or_nothing, positive, words
from autograder.checks.numerics import close, explained

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
        positive("saved_mb", "1e6 bytes kept for the backward pass of a step", "MB"),
        positive("throughput", "of complete training steps", "samples/s"),
        DEVICE,
    ),
)
EXACT, PACE = 0.01, 0.02  # relative: of bytes, which are counted; of throughput on a scripted clock

Row = Mapping[str, Any]


def row_problem(rows: Sequence[Row], expected: Sequence[tuple[str, int, str]] | None = None) -> str:
    """Say what is wrong with the form of rows; *expected* are (net, batch_size, precision), in order."""
    if wrong := RESULTS.problem(rows):
        return wrong
    found = [(row["net"], row["batch_size"], row["precision"]) for row in rows]
    if expected is not None and found != list(expected):
        told, asked = (
            "; ".join(" ".join(map(_plain, one)) for one in many[:4]) for many in (found, expected)
        )
        return f"the rows are {told}, and not {asked}, and so on"
    return _unit_problem(rows)


def _unit_problem(rows: Sequence[Row]) -> str:
    exact = [row["saved_mb"] for row in rows if row["precision"] == "FP32"]
    in_mib = _whole(exact, 2**20) and not _whole(exact, 10**6)
    return "saved_mb is in MiB (1048576 bytes), and its column in MB (1e6 bytes)" * in_mib


def whole_problem(rows: Sequence[Row], nets: Sequence[str], sizes: int) -> str:
    """Say what a table lacks that is to hold each of *nets* at so many sizes, in both precisions."""
    kept: dict[tuple[str, float, str], float] = {
        (row["net"], row["batch_size"], row["precision"]): row["saved_mb"] for row in rows
    }
    found = sorted({size for _, size, _ in kept})
    missing = [
        (net, size, mode)
        for net in nets
        for size in found
        for mode in PRECISIONS
        if (net, size, mode) not in kept
    ]
    if len(rows) > len(kept):
        return f"it holds {len(rows)} rows for {len(kept)} measurements: some are there twice"
    if missing or len(found) < sizes:
        lacks = f", and {' '.join(map(_plain, missing[0]))} is missing" if missing else ""
        return f"it holds {len(found)} batch sizes{lacks}, not {sizes}, each for both nets and precisions"
    for net in nets:
        for mode in PRECISIONS:
            series = [kept[net, size, mode] for size in found]
            if sorted(set(series)) != series:
                return f"saved_mb of {net} in {mode} does not grow with the batch: {', '.join(map(_plain, series))}"
    for size in found:
        for net in nets:
            if 2 * kept[net, size, "AMP"] <= kept[net, size, "FP32"]:
                return f"at {size:g} images {net} keeps half or less with AMP, and 16 bits cannot bring more than half"
        if kept[nets[1], size, "FP32"] >= kept[nets[0], size, "FP32"]:
            return f"at {size:g} images {nets[1]} keeps as much as {nets[0]}"
    return ""


def _whole(sizes: Sequence[float], unit: int) -> bool:
    """Whether sizes in this unit are whole numbers of four bytes, as those of float32 tensors are."""
    return all(abs(size * unit / 4 - round(size * unit / 4)) < 1e-3 for size in sizes)


def figure_problem(rows: Sequence[Row], known: Mapping[str, Any], *, on_gpu: bool) -> str:
    """Say how rows differ from what was scripted: *known* has nets, sizes, saved, script, steps and the device."""
    saved = list(known["saved"]) * len(known["nets"])
    scripts = [own for own in known["script"] for _ in saved[: len(rows) // len(known["nets"])]]
    for number, (row, right, script) in enumerate(zip(rows, saved, scripts, strict=False)):
        if not close(row["saved_mb"], right, EXACT):
            plain = explained(
                row["saved_mb"],
                [(saved[number - number % 2], ": that is FP32's; use autocast")],
                EXACT,
            )
            return f"saved_mb of {_named(row)} is {row['saved_mb']:.4g}, and given.saved_mb says {right:.4g}{plain}"
        wrong = _pace_problem(row, script, known["steps"])
        if wrong:
            return wrong
        if row["device"].strip() != known["device"].strip():
            return (
                f"the device is called {row['device'][:60]!r}, and its name is {known['device']!r}"
            )
        if not on_gpu and row["peak_memory_mb"] not in (None, ""):
            return f"peak_memory_mb of {_named(row)} is {row['peak_memory_mb']:.4g}, and no GPU was there to ask"
    return ""


def _pace_problem(row: Row, script: Mapping[str, float], steps: int) -> str:
    modes = {"FP32": script["full"], "AMP": script["half"]}
    forward, other = modes[row["precision"]], modes[PRECISIONS[row["precision"] == "FP32"]]
    size, back, cold, step = row["batch_size"], script["backward"], script["cold"], script["step"]
    whole = forward + back + step
    if close(row["throughput"], size / whole, PACE):
        return ""
    stories = [
        *(
            (size / (it + extra), "the backward pass is left out")
            for it in (forward, other)
            for extra in (0, step)
        ),
        (size / (forward + back), "the optimizer's step is left out"),
        (
            size / (whole - forward + other),
            f"it is the pace of {PRECISIONS[row['precision'] == 'FP32']}",
        ),
        (1 / whole, "it counts steps, not images"),
        *(
            (
                size * steps / (steps * whole + n * cold),
                "it holds a slow first step: warm up with two",
            )
            for n in (1, 2, 3)
        ),
        *(
            (size / (whole + n * step), "a model goes on that ran at another size or precision")
            for n in (1, 2, 3)
        ),
    ]
    told = f"throughput of {_named(row)} is {row['throughput']:.4g} images/s, and {size / whole:.4g} is right"
    why = explained(row["throughput"], stories, PACE)
    return f"{told}: {why}" if why else told


def _named(row: Row) -> str:
    return f"{row['net']} at {row['batch_size']:g} in {row['precision']}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)[:40]
