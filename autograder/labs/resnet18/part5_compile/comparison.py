"""An honest clock, and a table of an eager and a compiled epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import plot, slips, speedup
from autograder.checks.comparison import EPOCHS as SAMPLES
from autograder.checks.hints import USUAL, hint_for
from autograder.checks.numerics import close
from autograder.checks.slips import PACE, Epoch, epochs
from autograder.checks.table_form import Row, Slip, parted, samples_problem
from autograder.claims.graphs import NOTED
from autograder.claims.studies import DEVICE, DRAWN, EPOCHS, MISSHAPEN, PICTURE, Study, drawn
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    INTEGER,
    NUMBER,
    Answer,
    Bar,
    Observation,
    Pair,
    Rig,
    Student,
    Timed,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.resnet18.part5_compile.part import BATCH, FIGURE, RESULTS, part
from autograder.labs.resnet18.part5_compile.training import follows_eager

HALVED = 2  # batches


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={
        **DRAWN,
        **EPOCHS,
        "seen": NOTED,
        "began": list_of(NUMBER),
        "parameters": INTEGER,
        **dict.fromkeys(("fetch", "forward", "backward"), NUMBER),
    },
)
def comparison(student: Student, rig: Rig) -> Answer:
    """A build takes many scripted seconds; a pass takes few, fewer when it is compiled; the very first one more."""
    window = rig.window([BATCH] * rig.integer(10, 11) + [rig.integer(5, 7)])
    (eager,) = rig.seconds(0.1, 0.2, 1)
    (faster,) = rig.seconds(1.3, 2.5, 1)
    (forward,) = rig.seconds(11.0, 14.0, 1)
    (backward,) = rig.seconds(5.0, 8.0, 1)
    first = rig.seconds(0.2, 0.3, 1)  # so that a first fetch left out shows
    waits = [*first, *rig.seconds(0.02, 0.1, len(window.loader) - 1)]
    cold = 3.0
    began: list[float] = []  # of each pass over the loader
    window.loader.listeners.append(
        lambda index: began.append(rig.clock.scripted) if index == 0 else None
    )
    rig.script(window, waits, [])
    builds = {"forward": forward, "backward": backward}
    compiler = rig.compiler(window, builds, step=eager / faster)
    trainings = rig.eager_trainings(eager, cold)
    arguments = trainings, window.loader, window.device
    answer = drawn(rig, RESULTS, FIGURE, student.compare_compile, *arguments, backend=compiler)
    return {
        **answer,
        **builds,
        "seen": compiler.values(),
        "began": began[:1] + began[-1:],
        "parameters": len(list(window.model.parameters())),
        "samples": len(window.loader.dataset),
        "batches": len(window.loader),
        "wait": sum(waits),
        "fetch": max(waits),
        "work": [eager, eager / faster],
        "cold": cold,
    }


@part.probe(values={"seen": NOTED, "eager": map_of(INTEGER)})
def comparison_amp(student: Student, rig: Rig) -> Answer:
    """The same in half precision, of two batches; what it takes is nothing here."""
    window = rig.window([BATCH] * HALVED)
    rig.script(window, [0.05] * HALVED, [])
    compiler = rig.compiler(None, {"forward": 1.0}, step=0.1)
    trainings = rig.eager_trainings(0.2, 0.0)
    options = {"folder": str(rig.folder), "backend": compiler, "use_amp": True}
    with rig.figures():
        student.compare_compile(trainings, window.loader, window.device, **options)
    return {"seen": compiler.values(), "eager": dict(trainings.passes)}


EXACT = 1e-4  # relative: of a loss beside the trusted one; right work was within 2e-7, and the rate is small
# Relative, of losses that a student measured. Rounding grows: means of eager epochs of 20 batches that
# differ by nothing else were up to 11 % apart (6 seeds, each with 4 or 5 roundings), and a compiled one was 16 % away.
FAR = 0.3
WARM = 6  # epochs that the steps of a warm-up may take


def row_problem(rows: Sequence[Row]) -> str:
    """Say how two rows in the right form cannot be of an eager and a compiled epoch."""
    if rows[0]["compile_s"] != 0:
        return f"compile_s of Eager is {rows[0]['compile_s']:.4g}, and 0 is right"
    if not rows[1]["compile_s"] > 0:
        return "compile_s of Compiled is not above 0: the cold start is missing"
    eager, compiled = (row["loss"] for row in rows)
    if close(compiled, eager, FAR):
        return ""
    return f"the two losses are far apart, {eager:.4g} and {compiled:.4g}"


TRAINED = "it is not the mean loss of a whole epoch of right training from fresh weights"
UNLIKE = "it must be the loss of Eager, up to rounding"


def figure_problem(rows: Sequence[Row], trusted: Row) -> str:
    """Say where what has nothing to do with time differs from *trusted*, the row of the eager model."""
    loss = trusted["loss"]
    both = zip(rows, (TRAINED, UNLIKE), strict=True)
    losses = (RESULTS.mismatch(row, "loss", loss, EXACT, (), why) for row, why in both)
    if wrong := next(filter(None, losses), ""):
        return wrong
    return RESULTS.machine_problem(rows, trusted["device"], on_gpu=True)


BESIDE = "the epoch built nothing, and took too long: usually something else runs as well"


def time_problem(
    rows: Sequence[Row],
    epochs: Sequence[Epoch],
    script: Mapping[str, Any],
    whole: float = 1.0,
    late: bool = True,
) -> str:
    """Say how throughput or epoch_time differ from what the clock showed; a script says what a build takes.

    *whole* is the share of the model's parameters that the largest graph takes; *late*, whether an epoch built one.
    """
    eager, compiled = epochs
    otherwise = ""
    if rows[1]["throughput"] < compiled.rate / 2:
        otherwise = "it includes builds"
    if not late and rows[1]["epoch_time"] > compiled.seconds * (1 + slips.WHOLE):
        otherwise = BESIDE
    if whole < 1:
        otherwise = f"the largest graph takes {whole:.0%} of the parameters"
    if not whole:
        otherwise = "the backend argument built nothing"
        if rows[1]["throughput"] * rows[1]["epoch_time"] > 1.5 * compiled.samples:
            otherwise = "throughput is not samples / epoch_time of this row"
    alone = close(rows[1]["epoch_time"], compiled.seconds, slips.WHOLE)
    added = "its seconds are epoch_time + compile_s" if alone else "the warm-up is timed as well"
    with_builds = compiled.samples / (compiled.seconds + rows[1]["compile_s"])
    of_eager = [(compiled.rate, "it is the speed of Compiled"), *_builds(eager, script)]
    of_compiled = [
        (eager.rate, "it is the speed of Eager"),
        *(alone or not late) * [(with_builds, added)],
        *_builds(compiled, script),
    ]
    return slips.time_problem(RESULTS, rows[0], eager, of_eager) or slips.time_problem(
        RESULTS, rows[1], compiled, of_compiled, PACE, otherwise
    )


def _builds(epoch: Epoch, script: Mapping[str, Any]) -> list[Slip]:
    """Return the throughput of an epoch with builds in it, and of the other usual mistakes."""
    late = "in the measured epoch: warm up with"
    back = epoch.seconds + script["backward"]
    both = "a forward and a backward graph were built"
    return [
        (
            epoch.samples / (epoch.seconds - script["fetch"]),
            "the wait for the first batch is left out",
        ),
        (epoch.samples / back, f"the backward graph was built {late} complete steps"),
        (
            epoch.samples / (back + script["forward"]),
            f"{both} {late} every shape, in the same modes",
        ),
        *epoch.slips(),
    ]


def cold_problem(
    reported: float,
    eager: Epoch,
    script: Mapping[str, Any],
    built: Sequence[Mapping[str, Any]],
    measured: float,
) -> str:
    """Say how compile_s is not the time of the warm-up, whose builds were seen; the last epoch began at *measured*."""
    cost = {name: script[name] for name in ("forward", "backward")}
    least = max(sum(cost.values()), sum(cost.get(graph["kind"], 0.0) for graph in built))
    most = least + WARM * eager.seconds + eager.cold
    compile_s = f"compile_s of Compiled is {reported:.4g} s, and the builds took {least:.4g} s"
    if least * (1 - PACE) <= reported <= most * (1 + PACE):
        # Before its first build a warm-up looks through the loader at most once.
        first = min((graph["at"] for graph in built), default=-math.inf)
        if reported <= (measured - first + eager.wait + script["fetch"]) * (1 + EXACT):
            return ""
        return f"{compile_s}: it includes the measured epoch"
    units = {"milliseconds": 1e3, "minutes": 1 / 60}
    fits = (unit for unit, times in units.items() if least <= reported / times <= most)
    why = next((f"it is in {unit}" for unit in fits), "")
    why = why or ("it leaves out builds" if reported < least else "it is more than a warm-up")
    return f"{compile_s}: {why}"


def mode_problem(eager: Mapping[str, int], built: Sequence[Mapping[str, Any]], batches: int) -> str:
    """Say which of the two epochs did not follow use_amp; *eager* are passes by their dtype."""
    others = [dtype for dtype, count in eager.items() if count and dtype != "bfloat16"]
    if others:
        return f"with use_amp=True Eager ran in {' and '.join(others)} {INSTEAD}"
    if eager.get("bfloat16", 0) < batches:
        return "with use_amp=True Eager did not run each batch"
    if not (built and all(graph["half"] for graph in built)):
        return "with use_amp=True Compiled did not run in bfloat16, in its warm-up or its epoch"
    return ""


INSTEAD = "instead of bfloat16, in its warm-up or its epoch"
loop = TrainingLoop(part, "train_epoch_compiled")
loop.returns_its_metrics(
    "samples",
    says="loss is the mean over all samples, accuracy a percentage of them.",
    smoothing=0.5,  # of the labels
)
loop.keeps_an_honest_clock()


ROWS = "train both models from fresh weights, and report compile_s for Compiled alone"
LOSSES = (
    "fix returns_the_metrics first if it fails; then fix follows_eager first if it fails; then "
    "fix warm_up_leaves_no_trace first if it fails; then train each new model on the whole loader"
)
TIMED = "fix honest_throughput first if it fails; then time a whole epoch after warm_up"
LATER = "fix nothing_is_built_later first if it fails; then"
TIMES = {
    BESIDE: "fix honest_throughput first if it fails; then train one epoch of what torch.compile returns, no more",
    "of the parameters": "fix one_graph_a_batch first: compile_model must compile the whole model",
    "the backend argument": f"{LATER} train the model that compile_model(model, backend) returns",
    "the slow first pass": f"{LATER} call warm_up for both models before the clock starts",
    "samples / epoch_time": "train the compiled model, and take throughput from train_epoch_compiled",
    "epoch_time + compile_s": "take throughput from train_epoch_compiled, called after warm_up",
    "builds": f"{LATER} call warm_up for the compiled model before its measured epoch",
    "warm up": "take complete steps with a batch of each size in warm_up, in train()",
    "it is the speed of Eager": "train the model that compile_model returns in the second row",
    "it is the speed of Compiled": "leave the model of the first row as make_training returns it",
}
COLD = "read the clock before and after warm_up of the compiled model; in seconds"
FIGURES = {**USUAL, "": LOSSES}
USE_AMP = "use_amp does not reach the warm-up or the epoch of this row"
FLOAT16 = "autocast has another dtype than torch.bfloat16"
MODES = (
    "fix one_graph_a_batch first if it fails in AMP; pass use_amp on to warm_up and to "
    "train_epoch_compiled, for both models"
)


def _cause(figures: str) -> str:
    """Say why what has nothing to do with time is wrong, or leave it to what says so already."""
    if figures.startswith("the device is"):
        return DEVICE
    return figures if parted(figures)[1] else MISSHAPEN


def _mode_cause(mode: str) -> tuple[str, str]:
    """Say why an epoch did not follow use_amp, and what to try."""
    if "each batch" in mode:
        why = "each batch must run through the model that make_training returns, and uncompiled"
        return why, "train this model on the whole loader in the first row, also with use_amp"
    return FLOAT16 if "in float16 instead" in mode else USE_AMP, MODES


def _measured(comparison: Pair, comparison_amp: Observation) -> tuple[str, ...] | None:
    observed, script = comparison.student.values, comparison.baseline.values
    rows, built = observed["rows"], observed["seen"]["built"]
    began = max(observed["began"], default=0.0)
    both, halved = epochs(script), comparison_amp.values
    whole = observed["seen"]["parameters"] / script["parameters"] if built else 0.0
    late = any(graph["at"] >= began for graph in built)
    timed = time_problem(rows, both, script, whole, late=late)
    cold = cold_problem(rows[1]["compile_s"], both[0], script, built, began)
    figures = figure_problem(rows, script["rows"][0])
    cold, _, cause = cold.partition(": ")
    mode = mode_problem(halved["eager"], halved["seen"]["built"], HALVED)
    problems = (
        (row_problem(rows), MISSHAPEN, ROWS),
        (figures, _cause(figures), hint_for(figures, FIGURES)),
        (timed, timed, hint_for(timed, TIMES) or TIMED),
        (cold, cause, COLD),
        (mode, *_mode_cause(mode)),
    )
    return next(((why, try_, wrong) for wrong, why, try_ in problems if wrong), None)


study = Study(part, RESULTS, "compare_compile", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_compile measures an eager and a compiled epoch, "
        "each warmed up, and separately the cold start."
    ),
    try_=TIMED,
    shows=["throughput", "compile_s"],
    reads=["comparison_amp"],
)
study.is_written()
study.is_drawn(FIGURE, {"throughput": plot.RATE, "compile_s": plot.SECONDS})
study.is_consistent(
    lambda rows: row_problem(rows) or samples_problem(rows, SAMPLES),
)
study.is_pictured(FIGURE)


# The bar comes first: without one, nothing is built in vain.
@part.check(basis="outputs", needs=[follows_eager])
def compiled_is_faster(bar: Bar, compiled: Timed) -> Verdict:
    """The compiled model trains at least {bar} as fast as the eager one."""
    why = "usually graphs break or are built again, or the host waits at every step"
    return speedup.at_least(compiled, bar, why=why, try_="fix one_graph_a_batch first")
