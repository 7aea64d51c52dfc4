"""An honest clock, and a table of an eager and a compiled epoch."""

from __future__ import annotations

from autograder.checks import plot, speedup
from autograder.checks.comparison import EPOCHS as SAMPLES
from autograder.checks.slips import epochs
from autograder.checks.table_form import samples_problem
from autograder.claims.graphs import NOTED
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
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
from autograder.labs.resnet18.part5_compile import judges
from autograder.labs.resnet18.part5_compile.part import BATCH, BUILT, FIGURE, WRONG, part
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
        **dict.fromkeys(("fetch", "forward", "backward"), NUMBER),
    },
)
def comparison(student: Student, rig: Rig) -> Answer:
    """A build takes many scripted seconds; a pass takes few, fewer when it is compiled; the very first one more."""
    window = rig.window([BATCH] * rig.integer(10, 11) + [rig.integer(5, 11)])
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
    options = {"folder": str(rig.made_folder()), "backend": compiler}
    with rig.figures() as figures:
        returned = student.compare_compile(trainings, window.loader, window.device, **options)
    return {
        **written(rig, judges.RESULTS, "compare_compile", returned, FIGURE, figures),
        **builds,
        "seen": compiler.values(),
        "began": began[:1] + began[-1:],
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


loop = TrainingLoop(part, "train_epoch_compiled")
loop.returns_its_metrics(
    "samples",
    says="loss is the mean over all samples, accuracy a percentage of them.",
    smoothing=0.5,  # of the labels
)
loop.keeps_an_honest_clock()


ROWS = "train both models from fresh weights, and report compile_s for Compiled only"
LOSSES = "loss of an epoch from fresh weights, by train_epoch_compiled"
TIMED = "fix honest_throughput first if it fails; warm up, then time one whole epoch"
COLD = "read the clock before and after warm_up of the compiled model"
MODES = "pass use_amp on to warm_up and to train_epoch_compiled, for both models"


def _measured(comparison: Pair, comparison_amp: Observation) -> tuple[str, str] | None:
    observed, script = comparison.student.values, comparison.baseline.values
    rows, built = observed["rows"], observed["seen"]["built"]
    began = max(observed["began"], default=0.0)
    both, halved = epochs(script), comparison_amp.values
    problems = (
        (judges.row_problem(rows), ROWS),
        (judges.figure_problem(rows, script["rows"][0]), LOSSES),
        (judges.time_problem(rows, both, script, bool(built)), TIMED),
        (judges.cold_problem(rows[1]["compile_s"], both[0], script, built, began), COLD),
        (judges.mode_problem(halved["eager"], halved["seen"]["built"], HALVED), MODES),
    )
    return next(((why, f"{try_}; {WRONG}") for why, try_ in problems if why), None)


study = Study(part, judges.RESULTS, "compare_compile", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says=(
        "compare_compile measures an eager and a compiled epoch, "
        "each warmed up, and separately the cold start."
    ),
    try_=WRONG,
    shows=["throughput", "compile_s"],
    reads=["comparison_amp"],
)
study.is_written()
study.is_drawn(FIGURE, {"throughput": plot.RATE, "compile_s": plot.SECONDS})
study.is_consistent(
    lambda rows: judges.row_problem(rows) or samples_problem(rows, SAMPLES),
)
study.is_pictured(FIGURE)


# The bar comes first: without one, nothing is built in vain.
@part.check(basis="outputs", needs=[follows_eager])
def compiled_is_faster(bar: Bar, compiled: Timed) -> Verdict:
    """The compiled model trains faster than the eager one, by at least {bar}."""
    why = "bound by launches: graphs break or are built again, or the host waits at every step"
    return speedup.at_least(compiled, bar, why=why, try_=f"look at one_graph_a_batch; {BUILT}")
