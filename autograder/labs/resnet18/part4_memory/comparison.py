"""A table of an epoch without and one with checkpointing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from autograder.checks.comparison import run_problem
from autograder.checks.slips import epochs
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
from autograder.lab import INTEGER, Answer, Pair, Rig, Student, list_of
from autograder.labs.resnet18.part4_memory import judges
from autograder.labs.resnet18.part4_memory.part import BATCH, FIGURE, WRONG, part

if TYPE_CHECKING:
    from autograder.labs.resnet18.part4_memory.rig import Rig
else:
    Rig = Any


# What a panel's label must match.
UNITS = {"throughput": r"/|per|s⁻¹|\^\{?-1", "saved_mb": r"MB|[Mm]egabyte"}


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
    return why, "leave the panel of the peak out without a GPU; the others are above 0 anywhere"


def _measured(comparison: Pair) -> str:
    observed, script = comparison.student.values, comparison.baseline.values
    rows = observed["rows"]
    return (
        judges.row_problem(rows)
        or judges.figure_problem(rows, script["rows"][0])
        or judges.time_problem(rows, epochs(script))
        or judges.reuse_problem(observed["passes"], script["batches"])
    )


study = Study(part, judges.RESULTS, "compare_checkpointing", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_checkpointing measures an epoch of each model, "
        "from fresh weights after a warm-up on others."
    ),
    try_="mend honest_throughput first if it fails; a warm-up and saved_mb on a training "
    f"that is thrown away, then one epoch of a fresh one; {WRONG}",
    shows=["throughput", "saved_mb"],
)
study.is_written()
study.is_drawn(
    FIGURE,
    UNITS,
    says=(
        "compare_checkpointing draws throughput and memory of its rows, "
        "and writes checkpointing_comparison.png."
    ),
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
    also=_zeros,
)

# --- what is judged: the files that are handed in ---------------------------------------------------------------------


study.is_consistent(
    lambda rows: judges.row_problem(rows) or run_problem(rows),
    says="The checkpointing_results.csv handed in has two rows of numbers that fit each other.",
    note=judges.doubt,
)
study.is_pictured(FIGURE)
