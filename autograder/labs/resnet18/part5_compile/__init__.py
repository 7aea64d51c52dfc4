"""Part 5: torch.compile. One graph, built before the clock runs, that trains as the eager model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs, speedup
from autograder.checks.comparison import EPOCHS as SAMPLES
from autograder.checks.forms import samples_problem
from autograder.checks.graphs import graph_problem
from autograder.checks.numerics import shown
from autograder.checks.slips import epochs
from autograder.claims.epochs import TrainingLoop
from autograder.claims.graphs import NOTED
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Bar,
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
)
from autograder.labs.resnet18.part5_compile import judges

FIGURE = "compile_comparison.png"
part = Part(
    "part5_compile",
    writes=["SpikeGuard", "compile_model", "train_epoch_compiled", "warm_up", "compare_compile"],
    hands_in=[judges.RESULTS.file, FIGURE, "part5_notes.md"],
    tables=[judges.RESULTS],
)

UNITS = {
    "throughput": r"/|per|s⁻¹|\^\{?-1",
    "compile_s": r"\bs\b|sec",
}  # a panel's label must match
BATCH = 16  # samples
MOMENTUM = 0.9  # so that an optimizer has a state to be put back
PRECISIONS = {"fp32": False, "amp": True}
HALVED = 2  # batches
BFLOAT16 = (
    "torch.autocast(device.type, torch.bfloat16, enabled=use_amp) around forward pass and loss"
)
SMOOTHING = 0.5  # of the labels in the scripted epoch
BUILT = 'see "When something is built" in the part 5 handout'
BREAKS = 'see "What breaks a graph" in the part 5 handout'
WRONG = 'see "What usually goes wrong" in the part 5 handout'

# --- what is run: a training, warmed up -------------------------------------------------------------------------------


def train(student: Any, window: Any, model: Any, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (model, window.loader, window.criterion, window.optimizer, window.device)
    return window.returned(
        "train_epoch_compiled", student.train_epoch_compiled(*arguments, **options)
    )


@part.timed("train")
def compiled(student: Any, window: Any) -> Any:
    return train(student, window, student.compile_model(window.model))["losses"]


def one_step(window: Any) -> None:
    """Train for a batch, so that statistics and optimizer have something to lose."""
    images, labels = next(iter(window.loader))
    window.criterion(window.model(images), labels).backward()
    window.optimizer.step()


HELD = {
    "parameters": "weights",
    "buffers": "running statistics",
    "optimizer": "the optimizer's state",
}
LEFT = dict.fromkeys(HELD, ("float64", 1))  # after the warm-up
NOTED = {f"{mode}_{when}": NOTED for mode in PRECISIONS for when in ("warm", "epoch")}
TRAINED = {
    "start": ("float32", 1),
    "losses": ("float64", 1),
    "weights": ("float32", 1),
    "running": ("float64", 1),
}


@part.probe(
    pair=True,
    arrays={
        f"{mode}_{name}": form for mode in PRECISIONS for name, form in {**LEFT, **TRAINED}.items()
    },
    values={"batches": INTEGER, "parameters": INTEGER, "refusal": TEXT, **NOTED},
)
def training(student: Any, rig: Any) -> Any:
    """A warm-up in the midst of a training, then an epoch from what was there before it, whatever the warm-up did."""
    sizes = [BATCH] * rig.integer(4, 6) + [rig.integer(5, 11)]
    seen: dict[str, Any] = {"batches": len(sizes)}
    for mode, use_amp in PRECISIONS.items():
        window = rig.window(sizes, momentum=MOMENTUM)
        compiler = rig.compiler(window)
        one_step(window)
        state = window.state()
        model = student.compile_model(window.model, backend=compiler)
        student.warm_up(
            model, window.loader, window.criterion, window.optimizer, window.device, use_amp=use_amp
        )
        held, warm = window.held(), compiler.values()
        compiler.forget()
        window.restore(state)
        start, losses = (
            window.weights(),
            rig.series(train(student, window, model, use_amp=use_amp)["losses"], "losses"),
        )
        named = {"warm": warm, "epoch": compiler.values(), **dict(zip(HELD, held, strict=True))}
        named |= {"start": start, "losses": losses, "weights": window.weights()}
        named["running"] = rig.flat(dict(window.model.named_buffers()))
        seen |= {f"{mode}_{name}": value for name, value in named.items()}
    refusal = rig.refusal(lambda model: student.compile_model(model, backend=compiler))
    return {**seen, "parameters": len(list(window.model.parameters())), "refusal": refusal}


# --- what is run: the guard -------------------------------------------------------------------------------------------


SIZES = ("below", "exactly at", "above", "all zeros, below")
USUAL = 4.0  # the limit that SpikeGuard takes where none is named


@part.probe(
    pair=True,
    values={**CASES, "seen": NOTED, "calls": INTEGER, "counts": list_of(optional(NUMBER))},
    arrays=NUMBERS,
)
def guard(student: Any, rig: Any) -> Any:
    """Batches above, below and exactly at the limit, in an order that is drawn; in eval() as they are, with the limit
    that goes without saying, then compiled by us.
    """
    drawn, spiky = (
        rig.integer(8, 24) / 8,
        [2, 0, 1, 3, *(rig.integer(0, 3) for _ in range(5))],
    )  # few bits: sums are exact
    answers, counts = rig.answers(), []
    compiler = rig.compiler()
    for how, limit in (("eager, of SpikeGuard().eval()", USUAL), ("compiled", drawn)):
        eager = how != "compiled"
        module = student.SpikeGuard().eval() if eager else student.SpikeGuard(limit)
        run = module if eager else rig.compiled(module, compiler)
        for number, spike in enumerate(spiky):
            batch = rig.random.normal(size=(BATCH, 8)) * (limit * (0.5, 1.0, 3.0, 0.0)[spike])
            batch = np.sign(batch) * limit if spike == 1 else batch
            x = rig.tensor(batch).requires_grad_()
            output = run(x)
            output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
            case = f"batch {number + 1} ({SIZES[spike]} the limit), {how}"
            answers.add(f"output of {case}", output)
            answers.add(f"gradient of {case}", x.grad)
            counts.append(rig.number(module.spikes))
    return {**answers.seen(), "seen": compiler.values(), "calls": len(spiky), "counts": counts}


# --- what is run: the comparison --------------------------------------------------------------------------------------


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={
        **DRAWN,
        **EPOCHS,
        "seen": NOTED,
        "began": list_of(NUMBER),
        "fetch": NUMBER,
        "forward": NUMBER,
        "backward": NUMBER,
    },
)
def comparison(student: Any, rig: Any) -> Any:
    """A build takes many scripted seconds; a pass takes few, fewer when it is compiled; the very first one more."""
    window = rig.window([BATCH] * rig.integer(10, 11) + [rig.integer(5, 11)])
    (eager,), (faster,) = rig.seconds(0.1, 0.2, 1), rig.seconds(1.3, 2.5, 1)
    (forward,), (backward,) = rig.seconds(11.0, 14.0, 1), rig.seconds(5.0, 8.0, 1)
    first, cold = rig.seconds(0.2, 0.3, 1), 3.0  # so that a first fetch left out shows
    waits = [*first, *rig.seconds(0.02, 0.1, len(window.loader) - 1)]
    began: list[float] = []  # of each pass over the loader
    window.loader.listeners.append(
        lambda index: began.append(rig.clock.scripted) if index == 0 else None
    )
    rig.script(window, waits, [])
    builds = {"forward": forward, "backward": backward}
    compiler = rig.compiler(window, builds, step=eager / faster)
    made, folder = rig.eager_trainings(eager, cold), str(rig.made_folder())
    with rig.figures() as figures:
        returned = student.compare_compile(
            made, window.loader, window.device, folder=folder, backend=compiler
        )
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
def comparison_amp(student: Any, rig: Any) -> Any:
    """The same in half precision, of two batches; what it takes is nothing here."""
    window = rig.window([BATCH] * HALVED)
    rig.script(window, [0.05] * HALVED, [])
    compiler, made = rig.compiler(None, {"forward": 1.0}, step=0.1), rig.eager_trainings(0.2, 0.0)
    with rig.figures():
        student.compare_compile(
            made,
            window.loader,
            window.device,
            folder=str(rig.folder),
            backend=compiler,
            use_amp=True,
        )
    return {"seen": compiler.values(), "eager": dict(made.passes)}


# --- what is judged: the training -------------------------------------------------------------------------------------

# Measured in 20 seeds on a CPU with torch 2.15, with momentum: the furthest that right work came (channels_last, a loss
# that is scaled and its gradients scaled back) and the nearest that a mistake came.
#   FP32, right: losses 2.4e-7, weights 3.4e-8. Mistakes: autocast without use_amp 1.8e-4 and 9.2e-5.
#   AMP, right: losses 6.2e-4, weights 1.4e-4. Mistakes: the rate 10 % off 3.7e-3 and 2.9e-3; a loss in 16 bits 2.1e-3.
FOLLOWS = {
    "fp32": Tolerance(losses=5e-6, weights=1e-6),
    "amp": Tolerance(losses=1.6e-3, weights=6e-4),
}
SAME = 1e-6  # of the largest number: what was put back is what was there


@part.check(basis="outputs", compared="losses and weights")
def follows_eager(training: Pair) -> Verdict:
    """An epoch of the compiled model trains the given model as an eager epoch does, in FP32 and under autocast."""
    shares: dict[str, float] = {}
    for mode, within in FOLLOWS.items():
        why, try_ = _why_apart(training, mode)
        found = numerics.same_trajectory(training, within, why=why, try_=try_, of=f"{mode}_")
        if isinstance(found, Failed):
            return replace(found, measured=f"{mode.upper()}: {found.measured}")
        assert isinstance(found, Passed)
        apart = outputs.furthest(
            *(side.arrays[f"{mode}_running"] for side in (training.student, training.baseline))
        )
        if not apart <= within.losses:
            measured = f"{mode.upper()}: running statistics apart by {apart:.1e} (allowed {within.losses:.0e})"
            return Failed(measured, "they are not the given model's, or move otherwise", COPY)
        shares |= {f"{mode}_{name}": it for name, it in found.evidence["shares"].items()}
    return Passed(
        f"{training.baseline.values['batches']} batches in each precision", {"shares": shares}
    )


LOOP = f"for each batch: zero_grad, then forward pass and loss under autocast if asked, backward, step; {WRONG}"
COPY = f"compile the model that is handed in, not a copy; {WRONG}"


def _why_apart(training: Pair, mode: str) -> tuple[str, str]:
    if numerics.update(training, f"{mode}_weights", f"{mode}_start").ratio == 0:
        return "no weight of the given model moved: a copy was compiled, or no step is taken", COPY
    if mode == "amp":  # FP32, which comes first, was right
        return (
            "FP32 is right, so autocast differs: the loss is not under it, or it is not in bfloat16",
            LOOP,
        )
    return (
        "another loop than the plain one: a step left out or taken twice, no zero_grad, eval(), no momentum",
        LOOP,
    )


@part.check(basis="outputs", compared="what model and optimizer hold")
def warm_up_leaves_no_trace(training: Pair) -> Verdict:
    """After the warm-up, weights, running statistics and the optimizer's state are what they were."""
    try_ = f"copy.deepcopy both state_dict() before, load_state_dict after; {WRONG}"
    for mode in PRECISIONS:
        for name, what in HELD.items():
            got, want = (
                side.arrays[f"{mode}_{name}"] for side in (training.student, training.baseline)
            )
            apart = outputs.furthest(got, want)
            if not apart <= SAME:
                far = (
                    "there are more or fewer of them"
                    if np.isinf(apart)
                    else f"apart by {apart:.1e} of the largest number"
                )
                why = f"the warm-up changed {what}, so the epoch after it is another one"
                return Failed(f"{mode.upper()}: {what}: {far}", why, try_)
    return Passed("weights, running statistics and the optimizer's state are as before")


@part.check(basis="report")
def nothing_is_built_later(training: Pair) -> Verdict:
    """After the warm-up nothing is built any more: not going back, and not at the short last batch."""
    for mode in PRECISIONS:
        batches = training.baseline.values["batches"]
        measured, why = judges.late_build(training.student.values[f"{mode}_epoch"], batches)
        if why:
            try_ = f"complete steps in train(), under autocast if use_amp, for each size of a batch; {BUILT}"
            return Failed(f"{mode.upper()}: {measured}", why, try_)
    built = [len(training.student.values[f"{mode}_warm"]["built"]) for mode in PRECISIONS]
    if not all(built):
        why = "nothing was built at all: the warm-up does not run the compiled model, or the model is not compiled"
        return Failed(
            f"{min(built)} graphs built", why, f"torch.compile(model, backend=backend); {BUILT}"
        )
    return Passed(
        f"{' and '.join(map(str, built))} graphs built in the warm-ups, none in the epochs"
    )


@part.check(basis="report")
def one_graph_a_batch(training: Pair) -> Verdict:
    """Each batch runs one forward and one backward graph, of the whole model, in the precision asked for."""
    known = training.baseline.values
    for mode, half in PRECISIONS.items():
        seen = dict(training.student.values[f"{mode}_epoch"])
        seen["built"] = [*seen["built"], *training.student.values[f"{mode}_warm"]["built"]]
        seen["parameters"] = max(
            seen["parameters"], training.student.values[f"{mode}_warm"]["parameters"]
        )
        measured, why = judges.whole_problem(seen, known["batches"], known["parameters"], half=half)
        if why:
            try_ = (
                f"torch.compile(model, backend=backend, fullgraph=True) on the whole model; {BUILT}"
            )
            try_ = BFLOAT16 if "autocast" in why else try_
            return Failed(f"{mode.upper()}: {measured}", why, try_)
    return Passed(
        f"{known['batches']} forward and backward graphs for as many batches, in each precision"
    )


@part.check(basis="report")
def breaks_are_errors(training: Pair) -> Verdict:
    """compile_model refuses a model that breaks the graph, when it is compiled or first called."""
    refusal = training.student.values["refusal"]
    if refusal:
        return Passed(f"refused with {refusal}")
    why = "each break costs at every step, and nobody sees it"
    return Failed(
        "a model with .item() in forward ran", why, f"torch.compile(..., fullgraph=True); {BREAKS}"
    )


# --- what is judged: the guard ----------------------------------------------------------------------------------------


@part.check(basis="outputs", compared="outputs and gradients")
def guard_answers_alike(guard: Pair) -> Verdict:
    """SpikeGuard returns what the baseline's returns, with its gradients, and counts the same batches."""
    why = {
        "zeros": "limit / size is infinite there, and 0 times that is NaN: choose the factor, not the product",
        "above": "such a batch is to be x * (limit / size); size is the mean of |x|, and no gradient goes through it",
        "limit": "such a batch is left as it is, and one exactly at the limit is not above it",
    }
    found = outputs.same(
        guard, 1e-5, why=why, try_=f"torch.where(size > limit, limit / size, 1.0); {BREAKS}"
    )
    told, known = guard.student.values["counts"], guard.baseline.values["counts"]
    if isinstance(found, Failed) or told == known:
        return found
    first = next(
        (i for i, pair in enumerate(zip(told, known, strict=False)) if pair[0] != pair[1]), 0
    )
    measured = f"spikes is {_at(told, first)} where {_at(known, first)} batches were scaled"
    counted = (
        "not every batch above the limit is counted, or others are: "
        "one exactly at it is not above, and eval() counts as train() does"
    )
    return Failed(measured, counted, "self.spikes += size > limit")


def _at(counts: Sequence[float | None], index: int) -> str:
    return shown(counts[index]) if index < len(counts) else "nothing"


@part.check(basis="report", needs=[guard_answers_alike])
def guard_is_one_graph(guard: Pair) -> Verdict:
    """Compiled, SpikeGuard is one graph, and the same one whatever the data is."""
    noted, calls = guard.student.values["seen"], guard.baseline.values["calls"]
    runs = {"forward": noted["runs"].get("forward", 0)}
    built = sum(one["kind"] == "forward" for one in noted["built"])
    measured, why = graph_problem(noted, runs, calls, built=built, builds=1)
    try_ = f"count in a tensor; no .item(), float(), print or `if` on a tensor; {BREAKS}"
    return Failed(measured, why, try_) if why else Passed(f"one graph in {calls} calls")


# --- what is judged: time ---------------------------------------------------------------------------------------------


loop = TrainingLoop(part, "train_epoch_compiled")
loop.returns_its_metrics(
    "samples",
    says="loss is the mean over all samples, accuracy a percentage of them.",
    smoothing=SMOOTHING,
)
loop.keeps_an_honest_clock()


COMPARE = (
    "mend honest_throughput first if it fails; time warm_up for compile_s, then one epoch from fresh weights with "
    f"train_epoch_compiled; {WRONG}"
)


def _measured(comparison: Pair, comparison_amp: Observation) -> str:
    seen, known = comparison.student.values, comparison.baseline.values
    rows, script, halved = seen["rows"], epochs(known), comparison_amp.values
    began = max(seen["began"], default=0.0)
    built = seen["seen"]["built"]
    return (
        judges.row_problem(rows)
        or judges.figure_problem(rows, known["rows"][0])
        or judges.time_problem(rows, script, known, bool(built))
        or judges.cold_problem(rows[1]["compile_s"], script[0], known, built, began)
        or judges.mode_problem(halved["eager"], halved["seen"]["built"], HALVED)
    )


study = Study(part, judges.RESULTS, "compare_compile", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says="compare_compile measures an eager and a compiled epoch, each warmed up, and the cold start apart from them.",
    try_=COMPARE,
    shows=["throughput", "compile_s"],
    reads=["comparison_amp"],
)
study.is_written()
study.is_drawn(
    FIGURE,
    UNITS,
    says="compare_compile draws throughput and cold start of its rows, and writes compile_comparison.png.",
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
)
study.is_consistent(
    lambda rows: judges.row_problem(rows) or samples_problem(rows, SAMPLES),
    says="The compile_results.csv handed in has two rows of numbers that fit each other.",
)
study.is_pictured(FIGURE)


# --- what only a GPU shows --------------------------------------------------------------------------------------------


@part.check(basis="outputs", needs=[follows_eager])
def compiled_is_faster(
    bar: Bar, compiled: Timed
) -> Verdict:  # the bar first: without one, nothing is built in vain
    """The compiled model trains faster than the eager one, by at least {bar}."""
    why = "graphs break or are built again, or the host waits at every step"
    return speedup.at_least(compiled, bar, why=why, try_=f"look at one_graph_a_batch; {BUILT}")
