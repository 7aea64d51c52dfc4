"""Mixed precision: the losses of float32, 16 bits where they help, the scaler in order."""

from __future__ import annotations

from typing import Any

from autograder.checks import precision
from autograder.checks.hints import hint_for
from autograder.claims.precision import HalfPrecision
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import Pair, Student, Tolerance, Window
from autograder.labs.gpu_profiling.part4_memory.part import part

WHERE = 'see "Where autocast goes" in the part 4 handout'


def train(student: Student, window: Window, *, with_scaler: bool = True) -> Any:
    """Call the student's training loop, with the scaler of the window."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    scaler = window.scaler if with_scaler else None
    return {"losses": student.train_with_amp(*arguments, scaler=scaler)}


def train_alone(student: Student, window: Window) -> Any:
    """Call it without a scaler where none is needed: a CPU computes in bfloat16."""
    return train(student, window, with_scaler=window.device.type != "cpu")


# The bounds of the lab resnet18, part 3, which were measured with this very training: see its file.
FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)


def _apart(pair: Pair, within: Tolerance) -> tuple[str, str]:
    why = precision.why_apart(pair, within)
    return why, hint_for(why, precision.APART) or WHERE


loop = TrainingLoop(part, "train_with_amp", train_alone)
follows_fp32 = loop.follows(
    "follows_fp32",
    FOLLOWS,
    says="Training with AMP stays near the FP32 losses, batch by batch.",
    otherwise=_apart,
    see=WHERE,
)


half = HalfPrecision(part, train, WHERE, takes="train_with_amp")
half.rounds_as_autocast(needs=["follows_fp32"])
half.runs_where_it_helps(needs=["follows_fp32"])
half.uses_the_scaler_in_order()
half.skips_overflow()
