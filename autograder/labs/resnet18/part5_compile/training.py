"""A training of the compiled model: built in the warm-up, and the same as the eager one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import numerics, outputs
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
from autograder.labs.resnet18.part5_compile import judges
from autograder.labs.resnet18.part5_compile.part import (
    BATCH,
    BREAKS,
    BUILT,
    WRONG,
    part,
)

MOMENTUM = 0.9  # so that an optimizer has a state to be put back
PRECISIONS = {"fp32": False, "amp": True}
BFLOAT16 = (
    "torch.autocast(device.type, torch.bfloat16, enabled=use_amp) around forward pass and loss"
)


def train(student: Student, window: Window, model: Any, **options: Any) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (model, window.loader, window.criterion, window.optimizer, window.device)
    return window.returned(
        "train_epoch_compiled", student.train_epoch_compiled(*arguments, **options)
    )


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
def training(student: Student, rig: Rig) -> Answer:
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
