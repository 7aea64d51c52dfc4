"""Part 3: mixed precision. The losses follow FP32, half precision where it helps, honest timing, speed on a GPU."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from autograder.checks import comparison as compare
from autograder.checks import memory, numerics, precision, speedup, timing
from autograder.checks.numerics import close
from autograder.checks.slips import epochs
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Bar,
    Device,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Timed,
    Tolerance,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)

FIGURE = "amp_comparison.png"
part = Part(
    "part3_amp",
    writes=["train_epoch_amp", "compare_precision"],
    hands_in=[compare.RESULTS.file, FIGURE, "part3_notes.md"],
    tables=[compare.RESULTS],
)

HALVES = ("bfloat16", "float16")
METRICS = ("loss", "accuracy", "throughput", "data_wait")
UNITS = {"throughput": r"/|per|s⁻¹|\^\{?-1", "speedup": r"\S"}  # a panel's label must match
BATCH = 16  # samples
COUNTED = 40  # samples of a batch where accuracy is counted: enough that 27 of them are clear in bfloat16 too
WHERE = 'see "Where autocast goes" in the part 3 handout'
WRONG = 'see "What usually goes wrong" in the part 3 handout'

# Measured on 2026-11-21 on a CPU with torch 2.15, 50 seeds. Each bound lies between A, the furthest that honest work
# came, and C, the nearest that a mistake came.
#   FOLLOWS, losses apart, and weights apart relative to their norm.
#     A: bfloat16 or float16, with a scaler or without, channels_last or not: 7.1e-4 and 5.7e-5; of 600 seeds in
#     bfloat16 9.4e-4 and 6.0e-5.
#     C: in the weights 1.1e-3: a step left out, the rate 10 % off, a layer frozen, half a batch, no zero_grad, eval(),
#     not unscaled. In the losses 5.3e-3: a loss taken of 16-bit outputs. (Losses that are merely rounded, to two
#     decimals or bfloat16, are 1.4e-3 apart; where FOLLOWS lets them pass, NEARER does not.)
#   UNTOUCHED, the same. A: FP32 with channels_last: 2.4e-7 and 2.8e-8. C: float16: 2.0e-5 and 4.5e-6.
#   UPDATE, apart relative to the update's norm. A: as for FOLLOWS: 0.0044. C: the rate 10 % off: 0.095.
#   LARGE, the same of two steps of 4096, 8 seeds. A: bfloat16 0.0036, float16 0.0144. C: the rate 10 % off: about 0.1.
#   NEARER, the distance to trusted 16-bit losses relative to the distance to FP32's. A: as for FOLLOWS, and with
#     foreach or fused optimizers: 0.19. C: weights and images rounded to bfloat16, noise on the losses: 0.67.
FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)
UNTOUCHED = Tolerance(losses=3e-6, weights=4e-7)
UPDATE = 0.02
LARGE = 0.05
NEARER = 0.35

TRAINED = {"start": ("float32", 1), "weights": ("float32", 1)}


# --- what is run ------------------------------------------------------------------------------------------------------


def train(student: Any, window: Any, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    return window.returned("train_epoch_amp", student.train_epoch_amp(*arguments, **options))


def steep(window: Any, times: float = 64.0) -> None:
    """Make gradients so many times larger at a rate as many times smaller: the same steps, unless they are clipped."""
    for parameter in window.model.parameters():
        parameter.register_hook(lambda gradient: times * gradient)
    for group in window.optimizer.param_groups:
        group["lr"] /= times


@part.timed("train")
def amp(student: Any, window: Any) -> Any:
    return train(student, window, use_amp=True, scaler=window.scaler)["losses"]


@part.probe(pair=True, arrays=TRAINED)
def large_batches(student: Any, rig: Any) -> Any:
    """Activations that outweigh all else; the memory is measured from outside, and the baseline's side is FP32."""
    window = rig.window([4096] * 2)
    start = window.weights()
    train(student, window, use_amp=True, scaler=window.scaler)
    return {"start": start, "weights": window.weights()}


@part.probe(pair=True)
def idle(student: Any, rig: Any) -> Any:
    """Small work: what a worker holds before anything is large."""
    window = rig.window([2, 2])
    train(student, window, use_amp=True, scaler=window.scaler)
    return {}


@part.probe(pair=True, values={"in_eval": NUMBER}, arrays={"losses": ("float64", 1), **TRAINED})
def fp32(student: Any, rig: Any) -> Any:
    """A scaler is there and is not to be used: its scale is infinite, so whoever uses it skips every step."""
    window = rig.window(scale=math.inf, momentum=0.5)  # so that steps of another optimizer show
    window.criterion.label_smoothing = 0.1  # so that another loss than the one handed in shows
    window.model.eval()
    steep(window)
    images, labels = next(iter(window.loader))
    with rig.no_grad():
        in_eval = float(
            window.criterion(window.model(images.to(rig.device)), labels.to(rig.device))
        )
    start = window.weights()
    losses = train(student, window, use_amp=False, scaler=window.scaler)["losses"]
    seen = {"losses": rig.series(losses, "losses"), "start": start, "weights": window.weights()}
    return {**seen, "in_eval": in_eval}


@part.probe(pair=True, arrays=dict.fromkeys(("losses", *HALVES), ("float64", 1)))
def rounding(student: Any, rig: Any) -> Any:
    """With a rate of 0 each loss shows the rounding of its own forward pass; the baseline shows what 16 bits do.

    Without a scaler, as for bfloat16: the precision goes by use_amp alone.
    """

    def losses(**options: Any) -> Any:
        window = rig.window([8] * 40, lr=0.0)
        return rig.series(train(student, window, scaler=None, **options)["losses"], "losses")

    halves = {dtype: rig.autocast(dtype, losses) for dtype in HALVES}
    return {"losses": losses(use_amp=True), **halves}


@part.probe(values={"dtypes": map_of(map_of(INTEGER))})
def op_dtypes(student: Any, rig: Any) -> Any:
    window = rig.window()
    with rig.op_dtypes(window) as seen:
        try:
            amp(student, window)
        except (
            AssertionError,
            RuntimeError,
        ):  # of the scaler's, perhaps: what ran before it is judged all the same
            if "backward" not in seen.values():
                raise
    return {"dtypes": seen.values()}


@part.probe(values={"events": list_of(TEXT), "batches": INTEGER})
def scaler_calls(student: Any, rig: Any) -> Any:
    window = rig.window()
    calls = rig.scaler_calls(window)
    amp(student, window)
    return {"events": calls.events, "batches": len(window.loader)}


@part.probe(pair=True, arrays=TRAINED, values={"before": NUMBER, "after": optional(NUMBER)})
def overflow(student: Any, rig: Any) -> Any:
    """One batch overflows; the baseline runs without it."""
    window = rig.window(scale=2.0 ** rig.integer(7, 10), poison=rig.integer(1, 5))
    steep(window)
    before, start = window.scaler.get_scale(), window.weights()
    amp(student, window)
    return {
        "before": before,
        "after": rig.number(window.scaler.get_scale()),
        "start": start,
        "weights": window.weights(),
    }


CLIPPED = {"fp32": "FP32", "amp": "AMP", "bare": "AMP without a scaler"}


@part.probe(
    pair=True, arrays={f"{mode}_{name}": form for mode in CLIPPED for name, form in TRAINED.items()}
)
def clipping(student: Any, rig: Any) -> Any:
    seen = {}
    for mode in CLIPPED:
        window = rig.window(scale=2.0**8, lr=0.2)
        seen[f"{mode}_start"] = window.weights()
        scaler = window.scaler if mode == "amp" else None
        train(student, window, use_amp=mode != "fp32", scaler=scaler, max_grad_norm=0.1)
        seen[f"{mode}_weights"] = window.weights()
    return seen


@part.probe(
    values={
        "batches": INTEGER,
        "waits": list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER))),
        "kept": INTEGER,
    },
)
def waits(student: Any, rig: Any) -> Any:
    window = rig.window([4] * 23 + [3])
    graphs = rig.graphs(window)
    with rig.waits(window, student) as seen:
        amp(student, window)
    return {"batches": len(window.loader), "waits": seen.values(), "kept": graphs.kept}


@part.probe(
    pair=True,
    arrays={"losses": ("float64", 1)},
    values={
        "sizes": list_of(INTEGER),
        "right": list_of(INTEGER),
        **{name: optional(NUMBER) for name in METRICS},
    },
)
def metrics(student: Any, rig: Any) -> Any:
    """So many samples that neither 16-bit format can count them: steps of 19 or 27 are rounded the same way each time.

    With a rate of 0 as many are right as we please, and so clearly that rounding turns none.
    """
    count, (first, second) = rig.integer(110, 118), rig.random.permutation([19, 27]).tolist()
    sizes = [COUNTED] * count + [rig.integer(3, 11)]
    right = [min(first if at < count // 2 else second, size) for at, size in enumerate(sizes)]
    window = rig.window(sizes, lr=0.0)
    rig.label(window, right=right)
    seen = train(student, window, use_amp=True)
    named = {name: rig.number(seen[name]) for name in METRICS}
    return {"losses": rig.series(seen["losses"], "losses"), "sizes": sizes, "right": right, **named}


@part.probe(
    pair=True,
    values={
        "samples": INTEGER,
        "waits": list_of(NUMBER),
        "work": list_of(NUMBER),
        "queued": NUMBER,
        "throughput": optional(NUMBER),
        "data_wait": optional(NUMBER),
    },
)
def scripted_epoch(student: Any, rig: Any) -> Any:
    """The clock moves only by what is scripted: so long for a batch to arrive, for the host's part of a step, for the
    device's part, which the host waits for where it fetches a value.
    """
    count = rig.integer(5, 8)
    sizes = [BATCH] * (count - 1) + [rig.integer(3, 11)]
    waits, work, (queued,) = (
        rig.seconds(0.2, 0.9, count),
        rig.seconds(0.3, 0.8, count),
        rig.seconds(0.1, 0.3, 1),
    )
    waits[0] += 1.0  # the first batch takes longest, as it does when workers start

    def epoch(device: Any) -> Any:
        window = rig.window(sizes)
        rig.script(window, waits, work)
        left = queued * (device.type != "cpu")  # a CPU leaves nothing to wait for
        with rig.queue(window, left):
            return count * left, train(student, replace(window, device=device))

    left, seen = rig.on_a_gpu(epoch)
    told = {name: rig.number(seen[name]) for name in ("throughput", "data_wait")}
    return {"samples": sum(sizes), "waits": waits, "work": work, "queued": left, **told}


LOGGED = record(
    fresh=BOOLEAN,
    full=INTEGER,
    half=INTEGER,
    back=INTEGER,
    scaled=INTEGER,
    misplaced=INTEGER,
    steps=INTEGER,
    alive=list_of(INTEGER),
)


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={**DRAWN, **EPOCHS, "trainings": list_of(LOGGED)},
)
def comparison(student: Any, rig: Any) -> Any:
    """A pass takes scripted seconds, others in half precision, and more the first time.

    AMP is the slower one, as on a CPU: a speedup that cannot be below 1 is seen.
    """
    window = rig.window([BATCH] * rig.integer(6, 8) + [rig.integer(5, 11)])
    batches, (full,), (slower,) = (
        len(window.loader),
        rig.seconds(0.2, 0.4, 1),
        rig.seconds(1.3, 2.5, 1),
    )
    waits, cold, work = rig.seconds(0.02, 0.1, batches), 3.0, [full, full * slower]
    rig.script(window, waits, [])
    with rig.trainings(*work, cold) as trainings, rig.figures() as figures:
        returned = student.compare_precision(
            trainings, window.loader, window.device, folder=str(rig.made_folder())
        )
    return {
        **written(rig, compare.RESULTS, "compare_precision", returned, FIGURE, figures),
        "trainings": trainings.values(),
        "samples": len(window.loader.dataset),
        "batches": batches,
        "wait": sum(waits),
        "work": work,
        "cold": cold,
    }


# --- what is judged: the training loop --------------------------------------------------------------------------------


@part.check(basis="outputs")
def follows_fp32(amp: Timed) -> Verdict:
    """Training with AMP follows the FP32 losses."""
    why = precision.why_apart(amp, FOLLOWS)
    try_ = FLOAT32 if why == precision.NARROW else f"compare your loop step by step; {WHERE}"
    return numerics.same_trajectory(amp, FOLLOWS, why=why, try_=try_)


FLOAT32 = f"leave the model in float32, without .half() and .bfloat16(): autocast makes 16-bit copies itself; {WHERE}"
# Of the expected update: gradients 64 times as large, cut to a norm of 10, leave a quarter.
SHORT = 0.5
CLIPPED_ALL_THE_SAME = (
    "the weights move far less: gradients are clipped although max_grad_norm is None",
    "if max_grad_norm is not None: around the clipping, and no norm of your own",
)


@part.check(basis="outputs")
def fp32_is_untouched(fp32: Pair) -> Verdict:
    """Without use_amp the training is plain FP32, to rounding; a scaler is not used."""
    first, expected = (side.arrays["losses"][:1] for side in (fp32.student, fp32.baseline))
    why = "the first loss is right, later steps are not: one left out or taken twice, or no zero_grad before each"
    try_ = "zero_grad, forward, loss, backward, step"
    if first.size and close(float(first[0]), fp32.baseline.values["in_eval"], 1e-5):
        why, try_ = (
            "the model was trained in eval(), in which it may come",
            "model.train() before the loop",
        )
    elif numerics.furthest(first, expected) > UNTOUCHED.losses:
        why = "the first loss differs already: something of AMP is on without use_amp, or another loss is taken"
        try_ = "torch.autocast(device.type, enabled=use_amp)"
    if 0 < (moved := numerics.update(fp32).ratio) < SHORT:
        why, try_ = CLIPPED_ALL_THE_SAME
    if moved == 0:
        why = "no weight moved: the scaler handed in is used without use_amp and skips each step, no step is taken, or "
        why += "gradients are cleared before it"
        try_ = "use the scaler only if use_amp and scaler is not None"
    return numerics.same_trajectory(fp32, UNTOUCHED, why=why, try_=f"{try_}; {WHERE}")


@part.check(basis="outputs")
def computes_in_half_precision(rounding: Pair) -> Verdict:
    """With use_amp the losses are rounded as 16-bit arithmetic rounds them."""
    trusted = rounding.baseline.arrays
    return precision.rounded_as(
        rounding.student.arrays["losses"],
        trusted["losses"],
        {dtype: trusted[dtype] for dtype in HALVES},
        NEARER,
        try_=f"use torch.autocast(device.type) around forward pass and loss; {WHERE}",
    )


@part.check(basis="report")
def half_precision_where_it_helps(op_dtypes: Observation, device: Device) -> Verdict:
    """Convolutions and matrix products run in 16 bits; softmax, loss and weights in 32; backward outside autocast."""
    try_ = f"forward pass and loss belong inside autocast; {WHERE}"
    dtypes = op_dtypes.values["dtypes"]
    try_ = try_ if set(dtypes.get("parameters", {})) <= {"float32"} else FLOAT32
    return precision.dtypes_where_they_help(dtypes, on_gpu=device.kind == "cuda", try_=try_)


@part.check(basis="report")
def scaler_in_order(scaler_calls: Observation) -> Verdict:
    """Each step calls the scaler once and in order: scale, backward, unscale_ where clipping needs it, step, update."""
    try_ = f"scaler.scale(loss).backward(), scaler.step(optimizer), scaler.update(); {WHERE}"
    return precision.scaler_in_order(
        scaler_calls.values["events"], scaler_calls.values["batches"], try_=try_
    )


@part.check(basis="outputs")
def overflow_skips_the_step(overflow: Pair) -> Verdict:
    """A batch whose gradients overflow changes no weight and halves the scale."""
    before, after = overflow.baseline.values["before"], overflow.student.values["after"]
    bad, moved = numerics.not_finite(overflow.student.arrays["weights"]), numerics.update(overflow)
    try_ = (
        f"scaler.step(optimizer), then scaler.update(), with the scaler that was handed in; {WHERE}"
    )
    if bad:
        return Failed(bad, "the optimizer stepped although a gradient was infinite", try_)
    measured = f"update apart by {moved.error:.2%} from the run without that batch, scale {before:g} -> {after or 0:g}"
    if after is not None and 0 < after <= before / 4:
        why = "the scale was halved several times: the infinite gradients stayed for later steps"
        return Failed(
            measured, why, "optimizer.zero_grad() before each backward pass, in AMP as well"
        )
    if not close(after, before / 2, 1e-6):
        return Failed(
            measured,
            "the scale was not halved once: scaler.update() did not see the overflow",
            try_,
        )
    evidence = numerics.shares(update=moved.error / UPDATE)
    why = "other steps than the overflowing one were skipped or changed"
    if numerics.sixteen_bits(overflow.student.arrays["weights"]):
        why, try_ = precision.NARROW, FLOAT32
    elif moved.ratio < SHORT:
        why, try_ = CLIPPED_ALL_THE_SAME
    if not moved.error <= UPDATE:
        return Failed(measured, why, try_, evidence)
    return Passed(measured, evidence)


@part.check(basis="outputs")
def clips_true_gradients(clipping: Pair) -> Verdict:
    """max_grad_norm clips the true gradients, in FP32 and in AMP, with a scaler and without."""
    moved = {
        mode: numerics.update(clipping, f"{mode}_weights", f"{mode}_start") for mode in CLIPPED
    }
    measured = ", ".join(
        f"{CLIPPED[mode]}: update {it.ratio:.3g}x the expected one" for mode, it in moved.items()
    )
    for mode, it in moved.items():
        bad = numerics.not_finite(clipping.student.arrays[f"{mode}_weights"])
        if bad:
            return Failed(
                f"{CLIPPED[mode]}: {bad}",
                "a gradient was NaN or infinite before it was clipped",
                CLIP[mode],
            )
        if not it.error <= UPDATE:
            narrow = numerics.sixteen_bits(clipping.student.arrays[f"{mode}_weights"])
            return Failed(
                measured, *_misclipped(mode, it, narrow), numerics.shares(update=it.error / UPDATE)
            )
    return Passed(measured, numerics.shares(update=max(it.error for it in moved.values()) / UPDATE))


CLIP = {
    "fp32": f"loss.backward(), then clip_grad_norm_(model.parameters(), max_grad_norm), then optimizer.step(); {WRONG}",
    "amp": f"scaler.unscale_(optimizer), then clip_grad_norm_, then scaler.step(optimizer); {WRONG}",
    "bare": f"without a scaler as in FP32: backward(), clip_grad_norm_, optimizer.step(); {WRONG}",
}


def _misclipped(mode: str, moved: numerics.Update, narrow: bool) -> tuple[str, str]:
    if mode == "amp" and moved.ratio < 0.1:
        why = "clipping came before unscale_, or backward ran on the loss itself and not on scaler.scale(loss)"
        return why, CLIP[mode]
    if narrow:
        return precision.NARROW, FLOAT32
    if 1.8 <= moved.ratio <= 2.2 and moved.error <= 1.2:  # in the same direction
        return (
            f"{CLIPPED[mode]} moves twice as far: each step is taken twice",
            "one step(optimizer) for each batch",
        )
    if moved.ratio > 1.5:
        why = f"{CLIPPED[mode]}: gradients were not clipped to max_grad_norm, or not by the norm of all of them"
        return why, CLIP[mode]
    return (
        f"{CLIPPED[mode]} moves in another direction",
        f"the same steps as the plain loop, clipped: {CLIP[mode]}",
    )


@part.check(basis="report")
def no_wait_per_step(waits: Observation) -> Verdict:
    """The host does not wait for the device at every step, and no step's graph is kept."""
    seen, try_ = (
        waits.values,
        "collect loss.detach() in a list, and move it to the host once after the loop",
    )
    return timing.no_wait_per_step(seen["waits"], seen["batches"], seen["kept"], try_=try_)


@part.check(basis="outputs")
def returns_the_metrics(metrics: Pair) -> Verdict:
    """The five results are there, finite, and fit each other."""
    told, expected = metrics.student.values, metrics.baseline.values
    losses = metrics.student.arrays["losses"]
    missing = [f"{name} is no finite number" for name in METRICS if told[name] is None]
    unlike = numerics.misshapen(losses, metrics.baseline.arrays["losses"]) or "".join(missing[:1])
    if unlike:
        return Failed(
            unlike, "that cannot be compared", "return what the docstring names, as floats"
        )
    problem = numerics.metrics_problem(
        told, losses, expected["right"], expected["sizes"], weighted=True
    )
    if problem:
        return Failed(*problem)
    return Passed(
        f"loss {told['loss']:.4g}, accuracy {told['accuracy']:.4g} %, {len(losses)} losses"
    )


@part.check(basis="scripted")
def honest_throughput(scripted_epoch: Pair) -> Verdict:
    """Throughput counts whole iterations, waiting for data included; data_wait is that waiting."""
    known = scripted_epoch.baseline.values
    queued = known["queued"] if scripted_epoch.student.values["queued"] else 0.0
    script = timing.Script(known["waits"], known["work"], known["samples"], BATCH, queued)
    return timing.honest(scripted_epoch.student.values, script)


# --- what is judged: the comparison -----------------------------------------------------------------------------------


def _made_up(comparison: Pair) -> tuple[str, str] | None:
    """Say that the rows cannot have been measured at all; compares_both looks closer."""
    if any(it["steps"] for it in comparison.student.values["trainings"]):
        return None
    return (
        "nothing was trained: the rows are made up",
        "train with what make_training returns, and write what you measured",
    )


def _measured(comparison: Pair, device: Device) -> str | tuple[str, str] | None:
    seen, known = comparison.student.values, comparison.baseline.values
    rows, trainings, right = seen["rows"], seen["trainings"], known["rows"][0]
    return (
        compare.epoch_problem(trainings, known["batches"])
        or compare.time_problem(rows, epochs(known))
        or compare.training_problem(trainings, known["batches"])
        or compare.accuracy_problem(rows, known["samples"], right["accuracy"])
        or compare.RESULTS.machine_problem(rows, right["device"], on_gpu=device.kind == "cuda")
    )


study = Study(part, compare.RESULTS, "compare_precision", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says="compare_precision measures an FP32 and an AMP epoch, each from fresh weights after a warm-up on others.",
    try_="time whole epochs of train_epoch_amp, after a few batches of each precision on a training of its own",
    shows=["throughput", "accuracy"],
    reads=["device"],
)
study.is_written(also=_made_up)
study.is_drawn(
    FIGURE,
    UNITS,
    says="compare_precision draws throughput and speedup of its rows, and writes amp_comparison.png.",
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
    apart="bars",
    also=_made_up,
)
study.is_consistent(
    compare.run_problem,
    says="The amp_results.csv handed in has two rows of numbers that fit each other.",
)
study.is_pictured(FIGURE)

# --- what only a GPU shows --------------------------------------------------------------------------------------------


@part.check(basis="outputs", needs=[follows_fp32])
def amp_is_faster(amp: Timed, bar: Bar) -> Verdict:
    """AMP trains faster than FP32, by at least {bar}."""
    why = "too little of the time is spent in half precision, or the host waits at every step"
    return speedup.at_least(
        amp,
        bar,
        why=why,
        try_=f"look at half_precision_where_it_helps and no_wait_per_step; {WHERE}",
    )


@part.check(basis="outputs", needs=[follows_fp32])
def amp_saves_memory(bar: Bar, device: Device, large_batches: Pair, idle: Pair) -> Verdict:
    """AMP needs less memory than FP32, by at least {bar}."""
    moved = numerics.update(large_batches)
    if not moved.error <= LARGE:
        return Failed(
            f"update apart by {moved.error:.1e} of its norm",
            "larger batches take another step",
            WHERE,
        )
    why, try_ = "activations are kept in FP32, or a graph of an earlier step is kept alive", WRONG
    return memory.at_least_less(large_batches, idle, bar, device, why=why, try_=try_)
