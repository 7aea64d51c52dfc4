"""A training of the compiled model: built in the warm-up, and the same as the eager one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
from autograder.checks.graphs import GRAPHS, Seen, graph_problem
from autograder.checks.hints import hint_for
from autograder.claims.graphs import NOTED
from autograder.lab import (
    INTEGER,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Rig,
    Student,
    Tolerance,
    Verdict,
    Window,
)
from autograder.labs.resnet18.part5_compile.part import BATCH, part
from autograder.traces.words import many

MOMENTUM = 0.9  # so that an optimizer has a state to be put back
PRECISIONS = {"fp32": False, "amp": True}
BFLOAT16 = (
    "torch.autocast(device.type, torch.bfloat16, enabled=use_amp) around forward pass and loss"
)


def train(student: Student, window: Window, model: Any, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    returned = student.train_epoch_compiled(*arguments(window, model), **options)
    return window.returned("train_epoch_compiled", returned)


def arguments(window: Window, model: Any) -> tuple[Any, ...]:
    """Return what the training loop and the warm-up are called with."""
    return model, window.loader, window.criterion, window.optimizer, window.device


@part.timed("train")
def compiled(student: Student, window: Window) -> Any:
    return train(student, window, student.compile_model(window.model))["losses"]


def one_step(window: Window) -> None:
    """Train for a batch, so that statistics and optimizer have something to lose."""
    images, labels = next(iter(window.loader))
    window.criterion(window.model(images), labels).backward()
    window.optimizer.step()


HELD = {
    "parameters": "weights",
    "buffers": "running statistics",
    "optimizer": "the optimizer's state",
}
ARRAYS = {
    **dict.fromkeys((*HELD, "losses", "running"), ("float64", 1)),
    **dict.fromkeys(("start", "weights"), ("float32", 1)),
}


def in_one(mode: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what belongs to one precision under the names that it has there."""
    return {f"{mode}_{name}": item for name, item in named.items()}


def in_each(forms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the forms of what is noted in each precision."""
    return {name: form for mode in PRECISIONS for name, form in in_one(mode, forms).items()}


@part.probe(
    pair=True,
    arrays=in_each(ARRAYS),
    values={
        "batches": INTEGER,
        "parameters": INTEGER,
        "refusal": TEXT,
        **in_each({"warm": NOTED, "epoch": NOTED}),
    },
)
def training(student: Student, rig: Rig) -> Answer:
    """A warm-up in the midst of a training, then an epoch from what was there before it, whatever the warm-up did."""
    sizes = [BATCH] * rig.integer(4, 6) + [rig.integer(5, 7)]  # the last one is less than half
    answer: dict[str, Any] = {"batches": len(sizes)}
    for mode, use_amp in PRECISIONS.items():
        window = rig.window(sizes, momentum=MOMENTUM)
        compiler = rig.compiler(window)
        one_step(window)
        state = window.state()
        model = student.compile_model(window.model, backend=compiler)
        student.warm_up(*arguments(window, model), use_amp=use_amp)
        noted = {"warm": compiler.values(), **dict(zip(HELD, window.held(), strict=True))}
        compiler.forget()
        window.restore(state)
        noted["start"] = window.weights()
        returned = train(student, window, model, use_amp=use_amp)
        noted["losses"] = rig.series(returned["losses"], "losses")
        noted["epoch"] = compiler.values()
        noted["weights"] = window.weights()
        noted["running"] = rig.flat(dict(window.model.named_buffers()))
        answer |= in_one(mode, noted)
    refusal = rig.refusal(lambda model: student.compile_model(model, backend=compiler))
    return {**answer, "parameters": len(list(window.model.parameters())), "refusal": refusal}


# Measured in 20 seeds on a CPU with torch 2.15, with momentum: the furthest that right work came (channels_last, a loss
# that is scaled and its gradients scaled back) and the nearest that a mistake came.
#   FP32, right: losses 2.4e-7, weights 3.4e-8. Mistakes: autocast without use_amp 1.8e-4 and 9.2e-5.
#   AMP, right: losses 6.2e-4, weights 1.4e-4. Mistakes: the rate 10 % off 3.7e-3 and 2.9e-3; a loss in 16 bits 2.1e-3.
FOLLOWS = {
    "fp32": Tolerance(losses=5e-6, weights=1e-6),
    "amp": Tolerance(losses=1.6e-3, weights=6e-4),
}
LONGER = 1.3  # times the right update
SAME = 1e-6  # of the largest number: what was put back is what was there


@part.check(basis="outputs", compared="losses and weights")
def follows_eager(training: Pair) -> Verdict:
    """A compiled epoch gives the losses and weights of an eager one, in FP32 and AMP. compile_model copies nothing."""
    shares: dict[str, float] = {}
    for mode, within in FOLLOWS.items():
        why, try_ = _why_apart(training, mode)
        verdict = numerics.same_trajectory(training, within, why=why, try_=try_, of=f"{mode}_")
        if isinstance(verdict, Failed):
            return replace(verdict, measured=f"{mode.upper()}: {verdict.measured}")
        assert isinstance(verdict, Passed)
        apart = _apart(training, f"{mode}_running")
        if not apart <= within.losses:
            off = numerics.off(apart, within.losses)
            measured = f"{mode.upper()}: running statistics are {off}"
            return Failed(measured, *_why_otherwise(training, mode, within.losses))
        shares |= in_one(mode, verdict.evidence["shares"])
    batches = training.baseline.values["batches"]
    return Passed(f"{batches} batches in each precision", {"shares": shares})


def _apart(training: Pair, name: str) -> float:
    return outputs.furthest(training.student.arrays[name], training.baseline.arrays[name])


LOOP = "for each batch: zero_grad, forward pass, loss, backward, step"
FIRST = (
    "the first loss is wrong already: usually autocast is on, or weights, mode or criterion are other ones",
    "model.train(), and no change of weights; autocast with use_amp alone; loss = criterion(model(images), labels)",
)
COPIED = (
    "nothing of the given model moved: usually a copy was compiled",
    "compile the model itself, not a copy",
)
UNSTEPPED = "no weight moved: usually optimizer.step() is missing", LOOP


def _why_apart(training: Pair, mode: str) -> tuple[str, str]:
    ratio = numerics.update(training, f"{mode}_weights", f"{mode}_start").ratio
    if ratio == 0:
        running = training.student.arrays[f"{mode}_running"]
        before = training.baseline.arrays[f"{mode}_buffers"]
        return COPIED if outputs.furthest(running, before) <= SAME else UNSTEPPED
    if mode == "amp":  # FP32, which comes first, was right
        why = "FP32 is right, but not AMP: usually the loss is outside autocast"
        return why, BFLOAT16
    first, right = (
        side.arrays[f"{mode}_losses"][:1] for side in (training.student, training.baseline)
    )
    if not numerics.furthest(first, right) <= FOLLOWS[mode].losses:
        return FIRST
    usual = ": usually zero_grad is missing" if ratio > LONGER else ""
    return f"the first loss is right, so the steps are wrong{usual}", LOOP


def _why_otherwise(training: Pair, mode: str, within: float) -> tuple[str, str]:
    """Say why running statistics are others, where losses and weights are right."""
    own, right = (side.arrays[f"{mode}_running"] for side in (training.student, training.baseline))
    before = training.baseline.arrays[f"{mode}_buffers"]
    if own.shape == right.shape == before.shape:
        others = ~np.isclose(own, right, rtol=0.0, atol=within)
        still = np.allclose(own[others], before[others], rtol=0.0, atol=within)
    else:
        still = False
    if still:
        why = "they did not move in the epoch"
        return why, "leave momentum and track_running_stats of each BatchNorm as they are"
    why = "they did not move as in one forward pass for each batch"
    return why, "call the model once for each batch, in train()"


@part.check(basis="outputs", compared="what model and optimizer hold")
def warm_up_leaves_no_trace(training: Pair) -> Verdict:
    """After the warm-up, weights, running statistics and the optimizer's state are what they were."""
    for mode in PRECISIONS:
        for name, what in HELD.items():
            apart = _apart(training, f"{mode}_{name}")
            if apart <= SAME:
                continue
            difference = numerics.off(apart, SAME)
            if np.isinf(apart):
                difference = "there are more or fewer numbers than before"
            why = f"the warm-up changed {what}, and does not put back what was there before"
            owner = "optimizer" if name == "optimizer" else "model"
            try_ = f"copy.deepcopy({owner}.state_dict()) before, {owner}.load_state_dict after"
            return Failed(f"{mode.upper()}: {what}: {difference}", why, try_)
    return Passed("all is as before")


NO_BACKWARD = (
    "the warm-up had no backward pass in this precision",
    "loss.backward() in each step of the warm-up, under autocast if use_amp",
)
SHORT_BATCH = (
    "the last batch has fewer samples, a shape that the warm-up left out",
    "a step of the warm-up with the size of the last batch too",
)


LATER = "fix nothing_is_built_later first"
COMPLETE = "warm up with complete steps in train(), under autocast if use_amp"


def late_build(builds: Seen, warm: Seen, batches: int, *, half: bool) -> tuple[str, str, str]:
    """Say what was built in an epoch that was warmed up, why, and what to try; or nothing."""
    if not builds["built"]:
        return "", "", ""
    kind, batch = builds["built"][0]["kind"], builds["built"][0]["batch"]
    measured = (
        f"{many(len(builds['built']), 'graph')} built in the epoch, and 0 is right; "
        f"the first is a {kind} graph at batch {batch + 1} of {batches}"
    )
    why = _other_mode(warm, half=half), COMPLETE
    if kind == "backward":
        why = NO_BACKWARD
    elif batch == batches - 1:
        why = SHORT_BATCH
    return measured, *why


def _other_mode(warm: Seen, *, half: bool) -> str:
    """Say why what a warm-up built does not serve an epoch, which is in *half* precision or not."""
    if not warm["built"]:
        return "the warm-up built nothing"
    if half != any(graph["half"] for graph in warm["built"]):
        ran = "without autocast, and the epoch under it" if half else "under autocast"
        return f"the warm-up ran {ran}"
    if not any(graph["kind"] == "backward" for graph in warm["built"]):
        return "the warm-up had no backward pass: usually it is under no_grad()"
    return "what the warm-up built is not what the epoch runs: usually the warm-up is in eval()"


def whole_problem(noted: Seen, batches: int, parameters: int, *, half: bool) -> tuple[str, str]:
    """Say how an epoch was not one forward and one backward graph for each batch, or nothing."""
    runs = {kind: noted["runs"].get(kind, 0) for kind in ("forward", "backward")}
    measured, why = graph_problem(noted, runs, batches, parameters=parameters)
    if not why and half != any(graph["half"] for graph in noted["built"]):
        measured = f"the convolutions are {'not ' * half}in bfloat16, in warm-up or epoch"
        why = "with use_amp autocast is off, or has another dtype"
        if not noted["built"]:
            measured = "the backend noted no graph, in warm-up or epoch"
            why = "graphs ran, but the backend has no note of a build"
        if not half:
            why = "without use_amp autocast is on"
    return measured, why


@part.check(basis="report")
def nothing_is_built_later(training: Pair) -> Verdict:
    """After the warm-up nothing is built: not for the backward pass, and not for the short last batch."""
    observed = training.student.values
    batches = training.baseline.values["batches"]
    for mode, half in PRECISIONS.items():
        epoch, warm = (observed[f"{mode}_{when}"] for when in ("epoch", "warm"))
        measured, why, try_ = late_build(epoch, warm, batches, half=half)
        if why:
            return Failed(f"{mode.upper()}: {measured}", why, try_)
    built = [len(observed[f"{mode}_warm"]["built"]) for mode in PRECISIONS]
    if all(built):
        counts = " and ".join(map(str, built))
        return Passed(f"{counts} graphs built in the warm-ups, none in the epochs")
    why = "usually compile_model does not compile with the backend argument"
    try_ = "torch.compile(model, backend=backend)"
    unnoted = [mode for mode, count in zip(PRECISIONS, built, strict=True) if not count]
    if any(observed[f"{mode}_epoch"]["runs"].get("forward") for mode in unnoted):
        why = "compiled graphs ran, so your code deletes what the backend argument noted"
        try_ = "leave the backend argument as it is, except for the call of torch.compile"
    return Failed("the given backend built nothing, in warm-up and epoch", why, try_)


@part.check(basis="report")
def one_graph_a_batch(training: Pair) -> Verdict:
    """Each batch runs one forward and one backward graph of the whole model, under autocast only with use_amp."""
    batches = training.baseline.values["batches"]
    parameters = training.baseline.values["parameters"]
    for mode, half in PRECISIONS.items():
        epoch, warm = (training.student.values[f"{mode}_{when}"] for when in ("epoch", "warm"))
        noted = {
            **epoch,
            "built": epoch["built"] + warm["built"],
            "parameters": max(epoch["parameters"], warm["parameters"]),
        }
        measured, why = whole_problem(noted, batches, parameters, half=half)
        if why:
            try_ = BFLOAT16 if "autocast" in why else hint_for(why, GRAPHS) or LATER
            count = len(training.student.arrays[f"{mode}_losses"])
            if noted["runs"].get("forward") == count < batches:
                why, try_ = f"your code trains on {count} of {batches} batches", numerics.WHOLE
            return Failed(f"{mode.upper()}: {measured}", why, try_)
    return Passed(f"one graph each way in {batches} batches")


@part.check(basis="report")
def breaks_are_errors(training: Pair) -> Verdict:
    """compile_model makes a graph break an error, when the model is compiled or first called."""
    refusal = training.student.values["refusal"]
    if refusal:
        return Passed(f"refused with {refusal}")
    why = "compile_model does not compile the whole model with fullgraph=True"
    try_ = "torch.compile(..., fullgraph=True)"
    return Failed("a model with .item() in forward ran, and an error is right", why, try_)
