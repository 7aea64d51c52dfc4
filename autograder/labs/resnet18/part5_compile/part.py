"""What is handed in for part 5, and what its probes and its checks both name."""

from __future__ import annotations

from autograder.checks.table_form import (
    DEVICE,
    Form,
    any_number,
    not_negative,
    positive,
    ratio,
    words,
)
from autograder.lab import Part

RESULTS = Form(
    "compile_results.csv",
    (
        words("model", "Eager in the first row, Compiled in the second"),
        positive("throughput", "waiting for data included", "samples/s"),
        positive("epoch_time", "what the measured call of `train_epoch_compiled` took", "s"),
        not_negative(
            "compile_s",
            "what the warm-up of the compiled model took, builds included; 0 for Eager",
            "s",
        ),
        any_number("loss", "mean over the epoch"),
        ratio("speedup", "throughput", "first throughput"),
        DEVICE,
    ),
    rows=("Eager", "Compiled"),
)
FIGURE = "compile_comparison.png"
part = Part(
    "part5_compile",
    writes=["SpikeGuard", "compile_model", "train_epoch_compiled", "warm_up", "compare_compile"],
    hands_in=[RESULTS.file, FIGURE, "part5_notes.md"],
    tables=[RESULTS],
)

BATCH = 16  # samples
BREAKS = 'see "What breaks a graph" in the part 5 handout'
