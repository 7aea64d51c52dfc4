"""A table of an epoch without and one with checkpointing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from autograder.checks import plot
from autograder.checks.comparison import run_problem
from autograder.checks.slips import epochs
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
from autograder.lab import INTEGER, Answer, Pair, Student, list_of
from autograder.labs.resnet18.part4_memory import judges
from autograder.labs.resnet18.part4_memory.part import BATCH, FIGURE, WRONG, Rig, part


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
    folder = str(rig.made_folder())
    with rig.figures() as figures:
        returned = student.compare_checkpointing(
            trainings, window.loader, window.device, folder=folder
        )
    forward = each * sum(parameter.dim() == 4 for parameter in rig.nets.small().parameters())
    return {
        **written(rig, judges.RESULTS, "compare_checkpointing", returned, FIGURE, figures),
        "samples": len(window.loader.dataset),
        "wait": sum(waits),
        "batches": batches,
        "work": [forward, 2 * forward],
        "cold": cold,
        "passes": list(passes.values())[:64],
    }


def _zeros(comparison: Pair) -> tuple[str, str] | None:
    panels = [panel for panel in comparison.student.values["panels"] if panel["values"]]
    zeros = [panel["label"] for panel in panels if not any(bar["value"] for bar in panel["values"])]
    if not zeros:
        return None
    why = (
        f"the bars of {zeros[0]!r} are 0: nothing was measured; "
        "without a GPU there is no peak to show"
    )
    return why, "without a GPU, leave the panel of the peak out; all other bars are above 0"


KEEPS = "ResNet18Checkpointed(model) in the second row, the model itself in the first"
FRESH = "take saved_mb on a separate model, and loss from an epoch of fresh weights"
TIMED = "fix honest_throughput first if it fails; then time one whole epoch after a warm-up"
AGAIN = "call make_training for the warm-up and saved_mb, and again for the measured epoch"


def _measured(comparison: Pair) -> tuple[str, str] | None:
    observed, script = comparison.student.values, comparison.baseline.values
    rows = observed["rows"]
    problems = (
        (judges.row_problem(rows), KEEPS),
        (judges.figure_problem(rows, script["rows"][0]), FRESH),
        (judges.time_problem(rows, epochs(script)), TIMED),
        (judges.reuse_problem(observed["passes"], script["batches"]), AGAIN),
    )
    return next(((why, f"{try_}; {WRONG}") for why, try_ in problems if why), None)


study = Study(part, judges.RESULTS, "compare_checkpointing", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_checkpointing measures an epoch of each model, "
        "from fresh weights, after a warm-up on a separate model."
    ),
    try_=WRONG,
    shows=["throughput", "saved_mb"],
)
study.is_written()
study.is_drawn(
    FIGURE,
    {"throughput": plot.RATE, "saved_mb": plot.MEGABYTES},
    also=_zeros,
)

# --- what is judged: the files that are handed in ---------------------------------------------------------------------


study.is_consistent(
    lambda rows: judges.row_problem(rows) or run_problem(rows),
    note=judges.doubt,
)
study.is_pictured(FIGURE)
