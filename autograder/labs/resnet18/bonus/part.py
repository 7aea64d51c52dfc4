"""What is handed in for the bonus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks.table_form import DEVICE, Form, count, positive, ratio, words
from autograder.lab import Part

if TYPE_CHECKING:
    from autograder.labs.resnet18.bonus.rig import Rig
else:
    Rig = Any

__all__ = ["Rig", "part"]

OPTIONS = ("plain", "channels_last", "bfloat16")
CPU = Form(
    "cpu_study.csv",
    (
        words(
            "option",
            "a name of CPU_OPTIONS; each has a row for each number of threads, in the order given",
        ),
        count("threads", "that torch used"),
        positive("ms", "median of seven timed calls of step()", "ms"),
        ratio("speedup", "first ms", "ms"),
        DEVICE,
    ),
    keys=2,
)
BYTES = ("parameters", "buffers", "gradients", "optimizer", "activations", "batch")
PLANNED = (("resnet18", 32), ("resnet50", 32), ("resnet50", 128))
PLANS = Form(
    "memory_plan.csv",
    (
        words(
            "model", "resnet18 in row 1, resnet50 in rows 2 and 3, with ten classes, at 224 pixels"
        ),
        count("batch_size", "images: 32, 32, 128"),
        *(
            count(name, about, least=0)
            for name, about in {
                "parameters": "bytes",
                "buffers": "bytes",
                "gradients": "bytes after a backward pass",
                "optimizer": "bytes of its state after a step",
                "activations": "bytes kept for the backward pass, without what other entries count",
                "batch": "bytes of images and labels",
                "total": "the sum of the six before",
                "largest_batch": "the most images of a batch whose `total` is at most 16,000,000,000 bytes",
            }.items()
        ),
    ),
    rows=PLANNED,
    keys=2,
)
PICTURED = "cpu_threads.png"
part = Part(
    "bonus",
    writes=[
        "plan_memory",
        "largest_batch",
        "timed",
        "profile_calls",
        "time_lines",
        "study_cpu",
        "train_distributed",
    ],
    hands_in=[PLANS.file, CPU.file, PICTURED, "bonus_notes.md"],
    tables=[PLANS, CPU],
)
