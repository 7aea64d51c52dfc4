"""The part: what it has a student write and hand in."""

from __future__ import annotations

from autograder.checks.table_form import DEVICE, Form, any_number, count, positive, words
from autograder.lab import Part

GROWTH = Form(
    "attention_growth.csv",
    (
        words("version", "its name in `versions`"),
        count("length", "positions of the input"),
        positive("milliseconds", "median of the calls, after a warm-up", "ms"),
        positive("memory_mb", "1e6 bytes, at the peak of one call, beyond its inputs", "MB"),
        any_number(
            "time_exponent", "slope of log(milliseconds) against log(length), one for each version"
        ),
        any_number("memory_exponent", "the same for the memory"),
        DEVICE,
    ),
    keys=2,
)
CURVES = "attention_curves.png"
part = Part(
    "part1_attention",
    writes=["measure_growth"],
    hands_in=[GROWTH.file, CURVES, "part1_notes.md"],
    tables=[GROWTH],
)
