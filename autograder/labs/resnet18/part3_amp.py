"""Part 3: mixed precision. The losses follow FP32, half precision where it helps, honest timing, speed on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import memory, numerics, plot, precision, speedup, table, timing
from autograder.checks.numerics import close, explained, shown
from autograder.errors import SubmissionError
from autograder.lab import (
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
    Picture,
    Table,
    Timed,
    Tolerance,
    Verdict,
    list_of,
    map_of,
    optional,
    record,
)

part = Part(
    "part3_amp",
    writes=["train_epoch_amp", "compare_precision"],
    hands_in=["amp_results.csv", "amp_comparison.png", "part3_notes.md"],
)

COLUMNS = ("precision", "throughput", "epoch_time", "peak_memory_mb", "accuracy", "speedup", "device")
METRICS = ("loss", "accuracy", "throughput", "data_wait")
NUMBERS = ("throughput", "epoch_time", "accuracy", "speedup")
UNITS = {"throughput": r"/|per|s⁻¹|\^\{?-1", "speedup": r"\S"}  # a panel's label must match
BATCH = 16  # samples
WHERE = 'see "Where autocast goes" in the part 3 handout'
WRONG = 'see "What usually goes wrong" in the part 3 handout'

# Measured 2026-11-21 on a CPU with torch 2.15, 50 seeds, as (losses apart, weights apart of their norm):
# A, honest: bfloat16 and float16, with scaler or without, channels_last (8.0e-4, 6.1e-5); FP32 channels_last (3.6e-7,
# 2.9e-8). C, mistakes, by the weights: a step skipped, the rate 10 % off, a layer frozen, half a batch, no zero_grad,
# eval(), not unscaled 1.1e-3 and more, so C/A = 18; two decimals and 16-bit losses show in the losses, 2.5e-3 and more;
# float16 where FP32 was asked for (2.0e-5, 4.7e-6), so C/A = 55.
FOLLOWS = Tolerance(losses=1.6e-3, weights=2.6e-4)
UNTOUCHED = Tolerance(losses=3e-6, weights=4e-7)
ROUNDING = 3e-6  # losses of float16 are further from FP32's, those of FP32 in another order of operations nearer
UPDATE = 0.02  # of the update's norm: mixed precision changes it by 0.005 at most, the mistakes above by 0.09 at least

TRAINED = {"start": ("float32", 1), "weights": ("float32", 1)}


# --- what is run ------------------------------------------------------------------------------------------------------


def train(student: Any, window: Any, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    return window.returned("train_epoch_amp", student.train_epoch_amp(*arguments, **options))


@part.timed("train")
def amp(student: Any, window: Any) -> Any:
    return train(student, window, use_amp=True, scaler=window.scaler)["losses"]


@part.probe(pair=True, arrays={"losses": ("float64", 1), "weights": ("float32", 1)})
def fp32(student: Any, rig: Any) -> Any:
    return rig.run(lambda student, window: train(student, window, use_amp=False)["losses"], student)


@part.probe(values={"dtypes": map_of(map_of(INTEGER))})
def op_dtypes(student: Any, rig: Any) -> Any:
    window = rig.window()
    with rig.op_dtypes(window) as seen:
        amp(student, window)
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
    before, start = window.scaler.get_scale(), window.weights()
    amp(student, window)
    return {
        "before": before,
        "after": rig.number(window.scaler.get_scale()),
        "start": start,
        "weights": window.weights(),
    }


@part.probe(pair=True, arrays={f"{mode}_{name}": form for mode in ("fp32", "amp") for name, form in TRAINED.items()})
def clipping(student: Any, rig: Any) -> Any:
    seen = {}
    for mode in ("fp32", "amp"):
        window = rig.window(scale=2.0**8, lr=0.2)
        seen[f"{mode}_start"] = window.weights()
        scaler = window.scaler if mode == "amp" else None
        train(student, window, use_amp=mode == "amp", scaler=scaler, max_grad_norm=0.1)
        seen[f"{mode}_weights"] = window.weights()
    return seen


@part.probe(
    values={"batches": INTEGER, "waits": list_of(record(line=INTEGER, call=TEXT, batches=list_of(INTEGER)))},
)
def waits(student: Any, rig: Any) -> Any:
    window = rig.window([4] * 23 + [3])
    with rig.waits(window, student) as seen:
        amp(student, window)
    return {"batches": len(window.loader), "waits": seen.values()}


@part.probe(
    pair=True,
    arrays={"losses": ("float64", 1)},
    values={"samples": INTEGER, **{name: optional(NUMBER) for name in METRICS}},
)
def metrics(student: Any, rig: Any) -> Any:
    window = rig.window([BATCH] * rig.integer(3, 6) + [rig.integer(3, 11)])
    seen = train(student, window)
    named = {name: rig.number(seen[name]) for name in METRICS}
    return {"losses": rig.series(seen["losses"], "losses"), "samples": len(window.loader.dataset), **named}


@part.probe(
    pair=True,
    values={
        "samples": INTEGER,
        "waits": list_of(NUMBER),
        "work": list_of(NUMBER),
        "throughput": optional(NUMBER),
        "data_wait": optional(NUMBER),
    },
)
def scripted_epoch(student: Any, rig: Any) -> Any:
    """The clock moves only by what is scripted: so long for each batch to arrive, so long for each forward pass."""
    count = rig.integer(5, 8)
    window = rig.window([BATCH] * (count - 1) + [rig.integer(3, 11)])
    waits, work = rig.seconds(0.2, 0.9, count), rig.seconds(0.3, 0.8, count)
    waits[0] += 1.0  # the first batch takes longest, as it does when workers start
    rig.script(window, waits, work)
    seen = train(student, window)
    told = {name: rig.number(seen[name]) for name in ("throughput", "data_wait")}
    return {"samples": len(window.loader.dataset), "waits": waits, "work": work, **told}


CELL = {"anyOf": [NUMBER, TEXT, {"type": "null"}]}


@part.probe(
    pair=True,
    values={
        "rows": list_of(map_of(CELL)),
        "csv": TEXT,
        "picture": INTEGER,
        "panels": list_of(record(label=TEXT, title=TEXT, values=list_of(NUMBER))),
        "trainings": list_of(record(full=INTEGER, half=INTEGER, scaled=INTEGER, alive=list_of(INTEGER))),
        "samples": INTEGER,
        "batches": INTEGER,
        "wait": NUMBER,
        "full": NUMBER,
        "half": NUMBER,
        "cold": NUMBER,
    },
)
def comparison(student: Any, rig: Any) -> Any:
    """A pass takes `full` scripted seconds, `half` under autocast, and `cold` more the first time."""
    window = rig.window([BATCH] * rig.integer(6, 8) + [rig.integer(5, 11)])
    batches, (full,), (faster,) = len(window.loader), rig.seconds(0.3, 0.6, 1), rig.seconds(1.3, 2.5, 1)
    waits, cold = rig.seconds(0.02, 0.1, batches), 3.0
    rig.script(window, waits, [])
    with rig.trainings(full, full / faster, cold) as trainings, rig.figures() as figures:
        returned = student.compare_precision(trainings, window.loader, window.device, folder=str(rig.folder))
    written = {name: rig.folder / name for name in ("amp_results.csv", "amp_comparison.png")}
    return {
        "rows": rig.rows(returned, "compare_precision"),
        "csv": rig.file_text(written["amp_results.csv"]),
        "picture": rig.file_size(written["amp_comparison.png"]),
        "panels": figures.panels[:32],
        "trainings": trainings.values(),
        "samples": len(window.loader.dataset),
        "batches": batches,
        "wait": sum(waits),
        "full": full,
        "half": full / faster,
        "cold": cold,
    }


# --- what is judged: the training loop --------------------------------------------------------------------------------


@part.check(basis="outputs")
def follows_fp32(amp: Timed) -> Verdict:
    """Training with AMP follows the FP32 losses."""
    return numerics.same_trajectory(amp, FOLLOWS, why=_why_apart(amp), try_=f"compare your loop step by step; {WHERE}")


def _why_apart(amp: Timed) -> str:
    losses, expected = amp.student.arrays["losses"], amp.baseline.arrays["losses"]
    if numerics.misshapen(losses, expected):
        return "one loss per batch is asked for, each a finite number"
    if numerics.distance(amp.student.arrays["weights"], amp.baseline.arrays["weights"]) <= FOLLOWS.weights:
        return "the weights are right, the losses are not: rounded, scaled, or taken in 16 bits outside autocast"
    if abs(losses[0] - expected[0]) > FOLLOWS.losses:
        return "the first loss differs already: not the criterion's on the whole first batch, in train()"
    return "the first loss is right, later steps are not: one left out, gradients kept or not unscaled, eval()"


@part.check(basis="outputs")
def fp32_is_untouched(fp32: Pair) -> Verdict:
    """Without use_amp the training is plain FP32, to rounding."""
    why = "something of AMP is on without use_amp, or the step differs from the plain loop"
    return numerics.same_trajectory(fp32, UNTOUCHED, why=why, try_="autocast(device.type, enabled=use_amp)")


@part.check(basis="outputs", needs=[follows_fp32])
def computes_in_half_precision(amp: Timed) -> Verdict:
    """With use_amp the losses show the rounding of 16-bit numbers."""
    apart = numerics.furthest(amp.student.arrays["losses"], amp.baseline.arrays["losses"])
    measured = f"losses differ from FP32's by {apart:.1e}"
    if apart > ROUNDING:
        return Passed(measured)
    why = "that is FP32: autocast was not on; torch.cuda.amp.autocast switches itself off without a GPU"
    return Failed(measured, why, f"use torch.autocast(device.type) around forward pass and loss; {WHERE}")


@part.check(basis="report", needs=[follows_fp32])
def half_precision_where_it_helps(op_dtypes: Observation, device: Device) -> Verdict:
    """Convolutions and matrix products run in half precision; softmax, loss and parameters are float32."""
    try_ = f"forward pass and loss belong inside autocast; {WHERE}"
    return precision.dtypes_where_they_help(op_dtypes.values["dtypes"], on_gpu=device.kind == "cuda", try_=try_)


@part.check(basis="report")
def scaler_in_order(scaler_calls: Observation) -> Verdict:
    """Each step calls the scaler once and in order: scale, backward, unscale_ where clipping needs it, step, update."""
    try_ = f"scaler.scale(loss).backward(), scaler.step(optimizer), scaler.update(); {WHERE}"
    return precision.scaler_in_order(scaler_calls.values["events"], scaler_calls.values["batches"], try_=try_)


@part.check(basis="outputs")
def overflow_skips_the_step(overflow: Pair) -> Verdict:
    """A batch whose gradients overflow changes no weight and halves the scale."""
    before, after = overflow.baseline.values["before"], overflow.student.values["after"]
    bad, moved = numerics.not_finite(overflow.student.arrays["weights"]), numerics.update(overflow)
    try_ = f"scaler.step(optimizer), then scaler.update(), with the scaler that was handed in; {WHERE}"
    if bad:
        return Failed(bad, "the optimizer stepped although a gradient was infinite", try_)
    measured = f"update apart by {moved.error:.2%} from the run without that batch, scale {before:g} -> {after or 0:g}"
    if not close(after, before / 2, 1e-6):
        return Failed(measured, "the scale was not halved once: scaler.update() did not see the overflow", try_)
    if not moved.error <= UPDATE:
        return Failed(measured, "other steps than the overflowing one were skipped or changed", try_)
    return Passed(measured)


@part.check(basis="outputs")
def clips_true_gradients(clipping: Pair) -> Verdict:
    """max_grad_norm clips the true gradients, in FP32 and in AMP."""
    moved = {mode: numerics.update(clipping, f"{mode}_weights", f"{mode}_start") for mode in ("fp32", "amp")}
    measured = ", ".join(f"{mode.upper()} update {it.ratio:.3g}x the expected one" for mode, it in moved.items())
    wrong = next((mode for mode in moved if not moved[mode].error <= UPDATE), None)
    if wrong is None:
        return Passed(measured)
    ratio = moved[wrong].ratio
    why = f"{wrong.upper()} moves in another direction"
    if wrong == "amp" and ratio < 0.1:
        why = "gradients were clipped while still multiplied by the scale: clipping came before unscale_"
    elif ratio > 1.5:
        why = f"{wrong.upper()} gradients were not clipped"
    return Failed(measured, why, f"scaler.unscale_(optimizer), then clip_grad_norm_, then scaler.step; {WRONG}")


@part.check(basis="report")
def no_wait_per_step(waits: Observation) -> Verdict:
    """The host does not wait for the device at every step."""
    try_ = "collect loss.detach() in a list, and move it to the host once after the loop"
    return timing.no_wait_per_step(waits.values["waits"], waits.values["batches"], try_=try_)


@part.check(basis="outputs")
def returns_the_metrics(metrics: Pair) -> Verdict:
    """The five results are there, finite, and fit each other."""
    told, expected = metrics.student.values, metrics.baseline.values
    losses, batches = metrics.student.arrays["losses"], len(metrics.baseline.arrays["losses"])
    missing = [f"{name} is no finite number" for name in METRICS if told[name] is None]
    problem = numerics.misshapen(losses, metrics.baseline.arrays["losses"]) or "".join(missing[:1])
    if problem:
        return Failed(problem, "that cannot be compared", "return what the docstring names, as floats")
    sizes = [BATCH] * (batches - 1) + [expected["samples"] - BATCH * (batches - 1)]
    means = [numerics.mean(losses), numerics.mean(losses, sizes)]
    if not any(close(told["loss"], mean, 1e-4) for mean in means):
        return Failed(
            f"loss {told['loss']:.6g}", f"the mean of the losses is {means[0]:.6g}", "sum / number of batches"
        )
    if abs(told["accuracy"] - expected["accuracy"]) > 101 / expected["samples"]:  # one close call may turn
        right = expected["accuracy"] * expected["samples"] / 100
        stories = [(right / expected["samples"], "it is a fraction, and percent is asked for")]
        stories += [(right / batches * factor, "it was divided by the batches") for factor in (1, 100)]
        why = explained(told["accuracy"], stories, 0.02) or f"{expected['accuracy']:.4g} % of the samples were right"
        return Failed(f"accuracy {told['accuracy']:.4g}", why, "100 * correct / samples, over the whole epoch")
    return Passed(f"loss {told['loss']:.4g}, accuracy {told['accuracy']:.4g} %, {batches} losses")


@part.check(basis="outputs")
def honest_throughput(scripted_epoch: Pair) -> Verdict:
    """Throughput counts whole iterations, waiting for data included; data_wait is that waiting."""
    known = scripted_epoch.baseline.values
    script = timing.Script(known["waits"], known["work"], known["samples"], BATCH)
    return timing.honest(scripted_epoch.student.values, script, try_=WRONG)


# --- what is judged: the comparison -----------------------------------------------------------------------------------


@part.check(basis="outputs")
def compares_both(comparison: Pair) -> Verdict:
    """compare_precision measures an FP32 and an AMP epoch, each from fresh weights after a warm-up on others."""
    rows, script = comparison.student.values["rows"], comparison.baseline.values
    try_ = "make_training for the warm-up, and again for the measured epoch, in FP32 and then in AMP"
    measured = "; ".join(
        f"{row.get('precision')}: {shown(row.get('throughput'))} samples/s, accuracy {shown(row.get('accuracy'))} %"
        for row in rows[:4]
    )
    why = (
        _row_problem(rows)
        or _time_problem(rows, script)
        or _training_problem(comparison.student.values["trainings"], script["batches"])
        or _accuracy_problem(rows, script)
    )
    return Failed(measured or "no rows", why, try_) if why else Passed(measured)


def _row_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what is wrong with the form of the two rows, or how they contradict themselves."""
    form = table.form_problem(rows, COLUMNS, NUMBERS, ("FP32", "AMP"))
    if form:
        return form
    for row in rows:
        if not (row["throughput"] > 0 and row["epoch_time"] > 0 and 0 <= row["accuracy"] <= 100):
            return f"throughput, epoch_time or accuracy of {row['precision']} cannot be"
        if not isinstance(row["device"], str) or not row["device"].strip():
            return "the device is not named"
        if row["peak_memory_mb"] not in (None, "") and not isinstance(row["peak_memory_mb"], float | int):
            return f"peak_memory_mb is {row['peak_memory_mb']!r}; a number is asked for, or nothing without a GPU"
        ratio = row["throughput"] / rows[0]["throughput"]
        if not table.alike(row["speedup"], ratio):
            return f"speedup of {row['precision']} is {row['speedup']:.4g}, but throughput / FP32's is {ratio:.4g}"
    return ""


def _time_problem(rows: Sequence[Mapping[str, Any]], script: Mapping[str, Any]) -> str:
    """Say how the figures differ from what the scripted clock showed."""
    samples, wait = script["samples"], script["wait"]
    seconds = {mode: wait + script["batches"] * script[pace] for mode, pace in (("FP32", "full"), ("AMP", "half"))}
    for row, other in zip(rows, ("AMP", "FP32"), strict=True):
        mode = row["precision"]
        stories = [
            (samples / (seconds[mode] + script["cold"]), "includes the slow first step: warm up before"),
            (samples / (seconds[mode] - wait), "leaves out the wait for data"),
            (samples / seconds[other], f"is that of {other}: autocast was {'not ' * (mode == 'AMP')}on"),
        ]
        if not close(row["throughput"], samples / seconds[mode], 0.02):
            passed = f"is not the {samples / seconds[mode]:.4g} samples/s that passed"
            return f"throughput of {mode} {explained(row['throughput'], stories, 0.02) or passed}"
        if not close(row["epoch_time"], seconds[mode], 0.05):
            took = f"{samples} samples took {seconds[mode]:.4g} s"
            return f"epoch_time of {mode} is {row['epoch_time']:.4g} s, but {took}"
    return ""


def _training_problem(trainings: Sequence[Mapping[str, Any]], batches: int) -> str:
    """Say how trainings were mixed up; each is one call of make_training. A report, which can only take away."""
    warm = {i for i, it in enumerate(trainings) if it["full"] + it["half"] < batches}
    for it in trainings:
        if it["full"] + it["half"] > batches or (it["full"] and it["half"]):
            return "the measured model had been trained before: by the warm-up, or in the other precision"
        if it["half"] >= batches and not it["scaled"]:
            return "the AMP epoch ran without a GradScaler"
        if it["full"] + it["half"] >= batches and warm & set(it["alive"]):
            return "a warm-up model was still in memory during the measured epoch"
    return ""


def _accuracy_problem(rows: Sequence[Mapping[str, Any]], script: Mapping[str, Any]) -> str:
    one = 100 / script["samples"]
    for row, allowed in zip(rows, (1.01 * one, max(3.01 * one, 5.0)), strict=True):  # rounding may turn a close call
        expected = script["rows"][0]["accuracy"]
        if abs(row["accuracy"] - expected) > allowed:
            return f"accuracy of {row['precision']} is {row['accuracy']:.4g} %; fresh weights give {expected:.4g} %"
    return ""


@part.check(basis="outputs")
def csv_says_what_was_measured(comparison: Pair) -> Verdict:
    """compare_precision writes amp_results.csv with the rows that it returns."""
    seen = comparison.student.values
    try_ = "pd.DataFrame(rows).to_csv(Path(folder) / 'amp_results.csv', index=False)"
    if not seen["csv"]:
        return Failed("no amp_results.csv in folder", "nothing was written there, or elsewhere", try_)
    try:
        written = table.read(seen["csv"].encode(), "amp_results.csv")
    except SubmissionError as problem:
        return Failed("amp_results.csv cannot be read", str(problem), try_)
    rows = table.as_numbers(written.rows, (*NUMBERS, "peak_memory_mb"))
    why = _row_problem(rows) or table.differ(rows, seen["rows"], NUMBERS)
    return Failed(f"{len(rows)} rows of {len(written.columns)} columns", why, try_) if why else Passed("the same rows")


@part.check(basis="outputs")
def figure_shows_the_rows(comparison: Pair) -> Verdict:
    """compare_precision draws throughput and speedup of its rows, and writes amp_comparison.png."""
    seen = comparison.student.values
    panels, try_ = seen["panels"], "one bar per row, as high as the row says, and set_ylabel with the unit"
    measured = f"{len(panels)} panels: {', '.join(panel['label'] or 'no label' for panel in panels[:4])}"
    if not panels or not seen["picture"]:
        return Failed("no amp_comparison.png in folder", "no figure was saved there", "savefig into folder")
    why = plot.unshown(panels, seen["rows"], UNITS)
    return Failed(measured, why, try_) if why else Passed(measured)


# --- what is judged: the files that are handed in ---------------------------------------------------------------------


@part.check(basis="artefact")
def csv_is_consistent(amp_results: Table) -> Verdict:
    """The amp_results.csv handed in has two rows of numbers that fit each other."""
    rows = table.as_numbers(amp_results.rows, (*NUMBERS, "peak_memory_mb"))
    measured = f"{len(rows)} rows of {len(amp_results.columns)} columns"
    why = _row_problem(rows)
    return (
        Failed(measured, why, "hand in the file that compare_precision wrote, unchanged") if why else Passed(measured)
    )


@part.check(basis="artefact")
def plot_is_a_picture(amp_comparison: Picture) -> Verdict:
    """The amp_comparison.png handed in is a picture with something on it."""
    return plot.is_drawn(amp_comparison, at_least=(400, 200), try_="hand in the file that compare_precision wrote")


# --- what only a GPU shows --------------------------------------------------------------------------------------------


@part.check(basis="outputs", needs=[follows_fp32])
def amp_is_faster(amp: Timed, bar: Bar) -> Verdict:
    """AMP trains at least {bar} as fast as FP32."""
    why = "too little of the time is spent in half precision, or the host waits at every step"
    return speedup.at_least(
        amp, bar, why=why, try_=f"look at half_precision_where_it_helps and no_wait_per_step; {WHERE}"
    )


@part.check(basis="outputs", needs=[follows_fp32])
def amp_saves_memory(bar: Bar) -> Verdict:
    """AMP needs at least {bar} less memory than FP32."""
    unavailable = "needs a GPU: memory is compared with FP32's there"
    why, try_ = "activations are kept in FP32, or a graph of an earlier step is kept alive", WRONG
    return memory.at_least_less(None, bar, unavailable=unavailable, why=why, try_=try_)
