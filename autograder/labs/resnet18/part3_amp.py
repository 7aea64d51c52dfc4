"""Part 3: mixed precision. The losses follow FP32, half precision where it helps, honest timing, speed on a GPU."""

from __future__ import annotations

import math
from typing import Any

from autograder.checks import comparison as compare
from autograder.checks import memory, numerics, plot, precision, speedup
from autograder.checks.hints import USUAL, hint_for, hinted
from autograder.checks.slips import epochs
from autograder.checks.table_form import fraction_problem
from autograder.claims.precision import TRAINED, HalfPrecision
from autograder.claims.studies import DRAWN, EPOCHS, MISSHAPEN, PICTURE, Study, drawn
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    Answer,
    Bar,
    Device,
    Failed,
    Pair,
    Part,
    Passed,
    Rig,
    Student,
    Timed,
    Tolerance,
    Verdict,
    Window,
    list_of,
    record,
)

FIGURE = "amp_comparison.png"
part = Part(
    "part3_amp",
    writes=["train_epoch_amp", "compare_precision"],
    hands_in=[compare.RESULTS.file, FIGURE, "part3_notes.md"],
    tables=[compare.RESULTS],
)

BATCH = 16  # samples
WHERE = 'see "Where autocast goes" in the part 3 handout'

# Measured on 2026-11-21 on a CPU with torch 2.15, 50 seeds. Each bound lies between A, the furthest that honest work
# came, and C, the nearest that a mistake came.
#   FOLLOWS, losses apart, and weights apart relative to their norm.
#     A: bfloat16 or float16, with a scaler or without, channels_last or not: 7.1e-4 and 5.7e-5; of 600 seeds in
#     bfloat16 9.4e-4 and 6.0e-5.
#     C: in the weights 1.1e-3: a step left out, the rate 10 % off, a layer frozen, half a batch, no zero_grad, eval(),
#     not unscaled. In the losses 5.3e-3: a loss taken of 16-bit outputs. (Rounded losses are 1.4e-3 apart:
#     where FOLLOWS lets them pass, rounds_as_autocast does not.)
#   UNTOUCHED, the same. A: FP32 with channels_last: 2.4e-7 and 2.8e-8. C: float16: 2.0e-5 and 4.5e-6.
#   UPDATE, apart relative to the update's norm. A: as for FOLLOWS: 0.0044, and 0.0082 of one batch (60 seeds). C: the
#     rate 10 % off: 0.095.
#   LARGE, the same of two steps of 4096, 8 seeds. A: bfloat16 0.0036, float16 0.0144. C: the rate 10 % off: about 0.1.
FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)
UNTOUCHED = Tolerance(losses=3e-6, weights=4e-7)
UPDATE = 0.02
LARGE = 0.05


# --- what is run ---


def train(student: Student, window: Window, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    return window.returned("train_epoch_amp", student.train_epoch_amp(*arguments, **options))


def mixed_epoch(student: Student, window: Window) -> Any:
    """Train in half precision, with the scaler of the window."""
    return train(student, window, use_amp=True, scaler=window.scaler)


@part.timed("train")
def amp(student: Student, window: Window) -> Any:
    return mixed_epoch(student, window)["losses"]


@part.probe(pair=True, arrays=TRAINED)
def large_batches(student: Student, rig: Rig) -> Answer:
    """Activations that outweigh all else; the memory is measured from outside, and the baseline's side is FP32."""
    window = rig.window([4096] * 2)
    start = window.weights()
    mixed_epoch(student, window)
    return {"start": start, "weights": window.weights()}


@part.probe(pair=True)
def idle(student: Student, rig: Rig) -> Answer:
    """Small work: what a worker holds before anything is large."""
    mixed_epoch(student, rig.window([2, 2]))
    return {}


SCALE = 2.0**8
CLIPPED = {"fp32": "FP32", "amp": "AMP", "bare": "AMP without a scaler"}


@part.probe(
    pair=True, arrays={f"{mode}_{name}": form for mode in CLIPPED for name, form in TRAINED.items()}
)
def clipping(student: Student, rig: Rig) -> Answer:
    """One batch, in which no gradient is left from another: a missing zero_grad is told elsewhere."""
    weights = {}
    for mode in CLIPPED:
        window = rig.window([BATCH], scale=SCALE, lr=0.2)
        weights[f"{mode}_start"] = window.weights()
        scaler = window.scaler if mode == "amp" else None
        train(student, window, use_amp=mode != "fp32", scaler=scaler, max_grad_norm=0.1)
        weights[f"{mode}_weights"] = window.weights()
    return weights


COUNTS = ("full", "half", "back", "scaled", "misplaced", "steps")
LOGGED = record(fresh=BOOLEAN, alive=list_of(INTEGER), **dict.fromkeys(COUNTS, INTEGER))


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={**DRAWN, **EPOCHS, "trainings": list_of(LOGGED)},
)
def comparison(student: Student, rig: Rig) -> Answer:
    """A pass takes scripted seconds, others in half precision, and more the first time.

    AMP is the slower one, as on a CPU: a speedup that cannot be below 1 is seen.
    """
    # More batches than the ten of a loop copied from a profile.
    window = rig.window([BATCH] * rig.integer(10, 12) + [rig.integer(5, 11)])
    batches = len(window.loader)
    (full,) = rig.seconds(0.2, 0.4, 1)
    (slower,) = rig.seconds(1.3, 2.5, 1)
    waits = rig.seconds(0.02, 0.1, batches)
    waits[0] /= 5  # so short that the first one alone changes no figure by 2 %
    cold = 3.0
    rig.script(window, waits, [])
    with rig.trainings(full, full * slower, cold) as trainings:
        arguments = trainings, window.loader, window.device
        answer = drawn(rig, compare.RESULTS, FIGURE, student.compare_precision, *arguments)
    return {
        **answer,
        "trainings": trainings.values(),
        "samples": len(window.loader.dataset),
        "batches": batches,
        "wait": sum(waits),
        "work": [full, full * slower],
        "cold": cold,
    }


# --- what is judged: the training loop ---


@part.check(basis="outputs")
def follows_fp32(amp: Timed) -> Verdict:
    """Training with AMP stays near the FP32 losses."""
    why = precision.why_apart(amp, FOLLOWS)
    try_ = "compare your loop with the baseline's, step by step"
    return hinted(numerics.same_trajectory(amp, FOLLOWS, why=why, try_=try_), precision.APART)


full = TrainingLoop(
    part,
    "train_epoch_amp",
    lambda student, window: train(student, window, use_amp=False, scaler=window.scaler),
)
mixed = TrainingLoop(part, "train_epoch_amp", mixed_epoch)
bare = TrainingLoop(  # whoever errs with the scaler returns the metrics all the same
    part, "train_epoch_amp", lambda student, window: train(student, window, use_amp=True)
)
full.follows(
    "fp32_is_untouched",
    UNTOUCHED,
    says="Without use_amp the training is plain FP32, and the argument scaler is not used.",
    words={
        "short": precision.CLIPPED_ALL_THE_SAME,
        "infinite": (
            "no weight moved: the scaler is used without use_amp, and this one skips each step",
            "use the scaler only if use_amp and scaler is not None",
        ),
    },
    see=WHERE,
    momentum=0.5,  # so that steps of another optimizer show
    scale=math.inf,  # so that whoever uses the scaler skips every step
)


half = HalfPrecision(part, mixed_epoch, WHERE, takes="train_epoch_amp")
half.rounds_as_autocast()
half.runs_where_it_helps()
half.uses_the_scaler_in_order(
    "Once for each batch and in this order: scale, backward, unscale_ "
    "where clipping needs it, step, update."
)
half.skips_overflow(UPDATE)


@part.check(basis="outputs")
def clips_true_gradients(clipping: Pair) -> Verdict:
    """max_grad_norm clips the true gradients, in FP32 and in AMP, with a scaler and without."""
    updates = {
        mode: numerics.update(clipping, f"{mode}_weights", f"{mode}_start") for mode in CLIPPED
    }
    off = [mode for mode, update in updates.items() if not update.error <= UPDATE]
    measured = ", ".join(
        f"{CLIPPED[mode]}: update {updates[mode].ratio:.3g}x the expected one"
        for mode in off or updates
    )
    for mode, update in updates.items():
        weights = clipping.student.arrays[f"{mode}_weights"]
        if problem := numerics.not_finite(weights):
            why = "a gradient was NaN or infinite before it was clipped"
            return Failed(f"{CLIPPED[mode]}: {problem}", why, CLIP[mode])
        if mode in off:
            why, try_ = _misclipped(mode, update, numerics.sixteen_bits(weights))
            return Failed(measured, why, try_, numerics.shares(update=update.error / UPDATE))
    furthest = max(update.error for update in updates.values())
    return Passed(measured, numerics.shares(update=furthest / UPDATE))


CLIP = {
    "fp32": (
        "loss.backward(), then clip_grad_norm_(model.parameters(), "
        "max_grad_norm), then optimizer.step()"
    ),
    "amp": (
        "scaler.scale(loss).backward(), scaler.unscale_(optimizer), clip_grad_norm_, "
        "scaler.step(optimizer)"
    ),
    "bare": "without a scaler as in FP32: backward(), clip_grad_norm_, optimizer.step()",
}


def _misclipped(mode: str, moved: numerics.Update, narrow: bool) -> tuple[str, str]:
    """Say how gradients were clipped in a mode whose weights moved otherwise."""
    if not moved.ratio or (mode == "amp" and moved.ratio < 0.1):
        why = "the gradients that were clipped were still scaled"
        if moved.ratio * SCALE > 1.5:
            why = "backward ran on the loss itself and not on scaler.scale(loss)"
        if not moved.ratio:
            why = f"no weight moved in {CLIPPED[mode]}: no step was taken"
        return why, CLIP[mode]
    if narrow:
        return precision.NARROW, precision.FLOAT32
    same_direction = abs(moved.error - abs(moved.ratio - 1)) <= 0.05 * moved.ratio
    if 1.8 <= moved.ratio <= 2.2 and same_direction:
        why = f"{CLIPPED[mode]} moves twice as far: each step is taken twice"
        return why, "call step(optimizer) once for each batch"
    if moved.ratio > 1.5 and same_direction:
        return "the step was taken with gradients whose norm was not clipped", CLIP[mode]
    if moved.ratio > 1.5:
        why = "gradients were clipped one by one, and not by the norm of all"
        return why, "one clip_grad_norm_ of all model.parameters(): all get one factor"
    why = f"{CLIPPED[mode]} moves in a different direction"
    if same_direction:
        why = f"{CLIPPED[mode]} moves {moved.ratio:.2g} times as far as it should"
    return why, f"the same steps as in the plain loop, but clipped: {CLIP[mode]}"


mixed.waits_rarely()
bare.returns_its_metrics(
    "batches",
    "samples",
    says="losses, loss and accuracy are returned, finite and consistent.",
    rounded=True,
    # So many samples that neither 16-bit format can count them: steps of 19 or 27 are rounded the same way each time.
    batch=40,
    batches=(110, 118),
    right=((19, 19), (27, 27)),
)
full.keeps_an_honest_clock()


# --- what is judged: the comparison ---


def _made_up(comparison: Pair) -> tuple[str, str, str] | None:
    """Say that the rows cannot have been measured at all; compares_both looks closer."""
    if any(training["steps"] for training in comparison.student.values["trainings"]):
        return None
    why = "nothing was trained: the rows are made up"
    try_ = "train with what make_training returns, and write what you measured"
    return why, try_, "no optimizer of make_training took a step"


SLIPS = {
    "autocast was on": "use_amp=False in the FP32 row; if it is there, fix fp32_is_untouched first",
    "autocast was not on": (
        "use_amp=True in the AMP row; if it is there, fix computes_in_half_precision first"
    ),
    "the slow first pass": "before each measured epoch, train a few batches on a separate model",
    "epoch_time of": "perf_counter() after the epoch minus perf_counter() before it, undivided",
}
"""What `time_problem` says -> what to try."""
RATE = "take the throughput that train_epoch_amp returns; if you do, fix honest_throughput first"


def _measured(comparison: Pair, device: Device) -> str | tuple[str, ...] | None:
    rows, trainings = (comparison.student.values[name] for name in ("rows", "trainings"))
    script = comparison.baseline.values
    right = script["rows"][0]
    slow = compare.time_problem(rows, epochs(script))
    machine = compare.RESULTS.machine_problem(rows, right["device"], on_gpu=device.kind == "cuda")
    batches, samples, accuracy = script["batches"], script["samples"], right["accuracy"]
    if epoch := compare.epoch_problem(trainings, batches):
        return "your code measures no whole epoch of model(images)", epoch[1], epoch[0]
    if slow:
        return slow, hint_for(slow, SLIPS) or RATE
    if mixed_up := compare.training_problem(trainings, batches):
        return mixed_up
    if wrong := compare.accuracy_problem(rows, samples, accuracy):
        return wrong
    return machine and (MISSHAPEN, hint_for(machine, USUAL), machine)


study = Study(part, compare.RESULTS, "compare_precision", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_precision measures an FP32 and an AMP epoch, "
        "each from fresh weights, after a warm-up on a separate model."
    ),
    try_=RATE,
    shows=["throughput", "accuracy"],
    reads=["device"],
)
study.is_written(also=_made_up)
study.is_drawn(
    FIGURE,
    {"throughput": plot.RATE, "speedup": r"\S"},
    apart="bars",
    also=_made_up,
)
study.is_consistent(lambda rows: compare.run_problem(rows) or fraction_problem(rows))
study.is_pictured(FIGURE)

# --- what only a GPU shows ---


@part.check(basis="outputs", needs=[follows_fp32])
def amp_is_faster(amp: Timed, bar: Bar) -> Verdict:
    """AMP trains at least {bar} as fast as FP32."""
    why = "usually too little is in half precision, or the host waits at every step"
    try_ = "fix half_precision_where_it_helps and no_wait_per_step first"
    return speedup.at_least(amp, bar, why=why, try_=try_)


@part.check(basis="outputs", needs=[follows_fp32])
def amp_saves_memory(bar: Bar, device: Device, large_batches: Pair, idle: Pair) -> Verdict:
    """AMP saves memory: FP32 needs at least {bar} as much."""
    moved = numerics.update(large_batches)
    if not moved.error <= LARGE:
        measured = f"the change of the weights is {numerics.off(moved.error, LARGE)}"
        why = "with larger batches the weights differ from the baseline's"
        return Failed(measured, why, "take one step for each whole batch")
    why = "activations are kept in FP32, or a graph of an earlier step is kept alive"
    try_ = "forward pass under autocast, and only detached losses kept"
    return memory.at_least_less(large_batches, idle, bar, device, why=why, try_=try_)
