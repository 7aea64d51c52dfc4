"""A table of an epoch without and one with checkpointing, on a scripted clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from autograder.checks import plot, slips, table
from autograder.checks.comparison import run_problem
from autograder.checks.hints import USUAL
from autograder.checks.slips import COLD, Epoch, epochs
from autograder.checks.table_form import Row
from autograder.claims.studies import DEVICE, DRAWN, EPOCHS, MISSHAPEN, PICTURE, Study, drawn
from autograder.lab import INTEGER, Answer, Pair, Student, list_of
from autograder.labs.resnet18.part4_memory.part import BATCH, FIGURE, RESULTS, Rig, part
from autograder.traces.words import many


@part.probe(pair=True, arrays=PICTURE, values={**DRAWN, **EPOCHS, "passes": list_of(INTEGER)})
def comparison(student: Student, rig: Rig) -> Answer:
    """Each convolution takes scripted seconds, in the second run of a segment as in the first; the first one longer."""
    # More batches than the ten of a loop that is cut short.
    window = rig.window([BATCH] * rig.integer(11, 12))
    window.loader.images_want_gradients = True
    batches = len(window.loader)
    (each,) = rig.seconds(0.02, 0.05, 1)
    cold = 3.0
    # So short that the first one alone changes no figure by 2 %.
    waits = rig.seconds(0.02, 0.05, batches)
    rig.script(window, waits, [])
    passes: Counter[Any] = Counter()
    trainings = rig.resnet_trainings(each, cold, passes=passes)
    arguments = trainings, window.loader, window.device
    answer = drawn(rig, RESULTS, FIGURE, student.compare_checkpointing, *arguments)
    forward = each * sum(parameter.dim() == 4 for parameter in rig.nets.small().parameters())
    return {
        **answer,
        "samples": len(window.loader.dataset),
        "wait": sum(waits),
        "batches": batches,
        "work": [forward, 2 * forward],
        "cold": cold,
        "passes": list(passes.values())[:64],
    }


EXACT = 0.01  # relative: of a loss beside the trusted one, where a ReLU may turn


def row_problem(rows: Sequence[Row]) -> str:
    """Say what two rows in the right form show that checkpointing does not do."""
    (plain, loss), (kept, other) = ((row["saved_mb"], row["loss"]) for row in rows)
    if kept >= plain:
        return f"checkpointing keeps {kept:.4g} MB, and the standard model {plain:.4g} MB"
    if not table.alike(other, loss):
        return f"the two losses differ: {loss:.6g} and {other:.6g}"
    return ""


def doubt(rows: Sequence[Row]) -> str:
    """Say what rows without a problem show all the same that cannot be; noise is no mistake."""
    if rows[1]["slowdown"] >= 1:
        return ""
    return (
        f"checkpointing came out faster ({rows[1]['slowdown']:.2f}) "
        "but computes more: repeat the measurement"
    )


REUSED = "usually the measured model had trained before: it had no fresh weights"
TRAINED = "it is not the mean loss of an epoch of right training from fresh weights"


def figure_problem(rows: Sequence[Row], trusted: Row, untrained: str) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the standard model.

    *untrained* says why a loss is another.
    """
    mb = trusted["saved_mb"]
    units = [(mb * 1e6 / 2**20, "it is in MiB, and MB are expected"), (mb * 1e6, "it is in bytes")]
    if wrong := RESULTS.mismatch(rows[0], "saved_mb", mb, EXACT, units):
        return wrong
    kept = rows[1]["saved_mb"]
    if kept > mb / 2:
        return f"saved_mb of With Checkpointing is {kept:.4g}, and less than {mb / 2:.4g} is right"
    loss = trusted["loss"]
    losses = (RESULTS.mismatch(row, "loss", loss, EXACT, (), untrained) for row in rows)
    if wrong := next(filter(None, losses), ""):
        return wrong
    on_gpu = trusted["peak_memory_mb"] is not None
    return RESULTS.machine_problem(rows, trusted["device"], on_gpu=on_gpu)


def time_problem(rows: Sequence[Row], epochs: Sequence[Epoch]) -> str:
    """Say how the figures differ from what the clock showed: with checkpointing each segment runs forward twice."""
    once, twice = epochs
    of_once = [*once.slips(), (twice.rate, "something ran a second time")]
    of_twice = [
        twice.slips()[0],
        (once.rate, "no segment ran again in the backward pass"),
    ]
    between = twice.rate < rows[1]["throughput"] < once.rate
    faster = "it is faster than segments that run a second time" * between
    return slips.time_problem(RESULTS, rows[0], once, of_once) or slips.time_problem(
        RESULTS, rows[1], twice, of_twice, otherwise=faster
    )


def epoch_problem(passes: Sequence[int], batches: int) -> str:
    """Say that no training was as long as an epoch."""
    longest = max(passes, default=0)
    if longest >= batches:
        return ""
    return f"no epoch had all {batches} batches; the longest training had {longest} forward passes"


def reuse_problem(passes: Sequence[int], batches: int) -> str:
    """Say that no two trainings ran for the batches of an epoch alone; *passes* are each one's forward passes."""
    if passes.count(batches) >= 2:
        return ""
    most = max(passes, default=0)
    if most == batches:
        return f"only one training ran for the {batches} batches of an epoch, and 2 are right"
    return f"a measured model ran {many(most, 'batch', 'batches')}, and its epoch has {batches}"


def _zeros(comparison: Pair) -> tuple[str, ...] | None:
    panels = [panel for panel in comparison.student.values["panels"] if panel["values"]]
    zeros = [panel["label"] for panel in panels if not any(bar["value"] for bar in panel["values"])]
    if not zeros:
        return None
    why = "without a GPU there is no peak to show"
    try_ = "without a GPU, leave the panel of the peak out"
    return why, try_, f"{FIGURE}: the bars of {zeros[0]!r} are 0"


AGAIN = "call make_training for the warm-up and saved_mb, and again for the measured epoch"
BOTH = "ResNet18Checkpointed(model) in the second row, the model itself in the first"
METRICS = "fix returns_the_metrics first if it fails; then"
TRAINS = "fix every_parameter_trains first if it fails; then"
KEPT = f"{TRAINS} fix keeps_only_the_boundaries first if it fails; then"
KEEPS = f"{KEPT} {BOTH}"
RERUN = f"{KEPT} train ResNet18Checkpointed(model) in the second row, with checkpoint(...) for each segment"
SEGMENTS = "the model of the second row keeps most activations", KEEPS
CAUSES = {  # words of what is wrong with the rows -> why, if a figure does not say it, and what to try
    "checkpointing keeps": SEGMENTS,
    "saved_mb of With": SEGMENTS,
    "the two losses": (
        "checkpointing must change no loss",
        f"{TRAINS} {BOTH}",
    ),
    "longest": (
        "your code measures fewer batches than the loader has",
        f"{METRICS} pass the loader itself, not a part",
    ),
    "a measured model ran": (
        "it also ran something else, as the warm-up or the batch for saved_mb",
        AGAIN,
    ),
    "only one training": ("one epoch of each model is measured", AGAIN),
    REUSED: ("", AGAIN),
    "saved_mb of": ("", "write what given.saved_mb(model, images) returns, as it is: in MB"),
    TRAINED: ("", f"{METRICS} fix equals_a_large_batch first if it fails; then {AGAIN}"),
    "no GPU was there to ask": (MISSHAPEN, USUAL["no GPU was there to ask"]),
    "the device is": (DEVICE, USUAL["the device is"]),
    "second time": ("", KEEPS),
    "ran again": ("", RERUN),
    COLD: ("", "warm up on a training of its own, before the clock starts"),
    "time.time()": ("", "fix honest_throughput first if it fails; time.perf_counter() everywhere"),
    "": ("", "fix honest_throughput first if it fails; then time one epoch after a warm-up"),
}


def _measured(comparison: Pair) -> tuple[str, ...] | None:
    observed, script = comparison.student.values, comparison.baseline.values
    rows = observed["rows"]
    reused = reuse_problem(observed["passes"], script["batches"])
    problems = (
        row_problem(rows),
        epoch_problem(observed["passes"], script["batches"]),
        figure_problem(rows, script["rows"][0], REUSED if reused else TRAINED),
        time_problem(rows, epochs(script)),
        reused,
    )
    if wrong := next(filter(None, problems), ""):
        why, try_ = next(it for words, it in CAUSES.items() if words in wrong)
        return why or wrong, try_, wrong
    return None


study = Study(part, RESULTS, "compare_checkpointing", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_checkpointing measures an epoch of each model, "
        "from fresh weights, after a warm-up on a separate model."
    ),
    try_=KEEPS,
    shows=["throughput", "saved_mb"],
)
study.is_written()
study.is_drawn(
    FIGURE,
    {"throughput": plot.RATE, "saved_mb": plot.MEGABYTES},
    also=_zeros,
)

study.is_consistent(
    lambda rows: row_problem(rows) or run_problem(rows),
    note=doubt,
)
study.is_pictured(FIGURE)
