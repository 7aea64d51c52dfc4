"""One segment under a checkpoint: its gradients, and its statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from autograder.checks import outputs
from autograder.checks.hints import Causes
from autograder.lab import CASES, NUMBERS, TEXT, Answer, Failed, Pair, Student, Verdict, list_of
from autograder.labs.resnet18.part4_memory.part import (
    BATCH,
    TWICE,
    Rig,
    part,
)

SEGMENTS = ("a stem", "a residual block", "a dropout", "a cumulative BatchNorm", "a BatchNorm1d")
PASSES = 2  # so that whatever the first one leaves behind is seen
# Forward passes, and then backward passes through the graph of them all.
TURNS = {
    "the first step": (1, 1),
    "the second step": (1, 1),
    "two backward passes": (1, 2),
    "two forward passes": (2, 1),
}


def segment_cases(rig: Rig) -> Iterator[tuple[str, Any, Any]]:
    """Yield (case, segment, input): each segment in train() and eval(), from images and from what wants a gradient."""
    for kind in SEGMENTS:
        for wants in (False, True):
            for mode in ("train", "eval"):
                segment = rig.nets.segment(kind).train(mode == "train")
                x = rig.tensor(rig.random.normal(size=(BATCH, 3, 8, 8))).requires_grad_(wants)
                needs = "a" if wants else "no"
                yield f"{kind} in {mode}(), input that needs {needs} gradient", segment, x


def back(student: Student, rig: Rig, segment: Any, x: Any, times: int = 1, inputs: int = 1) -> Any:
    """Run a segment on inputs and, if its output hangs on a graph, backward so many times; return the output."""
    first, *others = (student.run_checkpointed(segment, it) for it in (x, 2 * x)[:inputs])
    output = sum(others, first)
    towards = rig.tensor(rig.random.normal(size=tuple(output.shape)))
    for left in reversed(range(times if output.requires_grad else 0)):
        output.backward(towards, retain_graph=left > 0)
    return output


@part.outputs
def gradients(student: Student, rig: Rig) -> Answer:
    answers = rig.answers()
    for case, segment, x in segment_cases(rig):
        first, _ = (back(student, rig, segment, x) for _ in range(PASSES))
        answers.add(f"output of {case}", first)
        for name, parameter in segment.named_parameters():
            answers.add(f"gradient of {name}, {case}", parameter.grad)
        answers.add(f"gradient of the input, {case}", x.grad)
    return answers.values()


SETTINGS = ("momentum", "training", "track_running_stats")


def settings(segment: Any) -> dict[str, Any]:
    """Return what the BatchNorms of a segment are told."""
    return {
        f"the {setting} of BatchNorm '{name}'": getattr(module, setting)
        for name, module in segment.named_modules()
        if hasattr(module, "track_running_stats")
        for setting in SETTINGS
    }


ONCE = "it ran once"  # nothing was checkpointed, which others see


def ended(student: Student, rig: Rig) -> str:
    """Name the exception with which a backward pass ends whose second run of a segment raises ArithmeticError."""
    x = rig.tensor(rig.random.normal(size=(BATCH, 4))).requires_grad_()
    segment = rig.nets.fails_later()
    output = student.run_checkpointed(segment, x)
    if not output.requires_grad:  # gradients_match says so
        return ONCE
    try:
        output.sum().backward()
    except Exception as error:
        return str(rig.text(type(error).__name__))
    return "none" if segment.runs > 1 else ONCE


@part.probe(pair=True, values={**CASES, "changed": list_of(TEXT), "ended": TEXT}, arrays=NUMBERS)
def statistics(student: Student, rig: Rig) -> Answer:
    answers = rig.answers()
    changed = list[str]()
    for case, segment, x in segment_cases(rig):
        before = settings(segment)
        for turn, (inputs, times) in TURNS.items():
            back(student, rig, segment, x, times, inputs)
            for name, buffer in segment.named_buffers():
                norm, _, kind = name.rpartition(".")
                answers.add(f"{kind} of BatchNorm '{norm}' after {turn}, {case}", buffer.float())
            now = settings(segment)
            changed += [
                rig.text(f"{name} was {was}, and is {now[name]} after {turn} of {case}")
                for name, was in before.items()
                if now[name] != was
            ]
    return {**answers.values(), "changed": changed[:8], "ended": ended(student, rig)}


SAME = 1e-5  # of the largest number: the second run repeats the first
ASKED_FOR = "your code calls x.requires_grad_() on the caller's tensor"


def _no_gradient(case: str) -> tuple[str, str]:
    """Say why there is no gradient, by the name of a case: what has none, then where."""
    of_input = case.startswith("gradient of the input")
    if not of_input and "needs a gradient" not in case and "in train()" in case:
        why = "usually use_reentrant=True: no gradients where the input needs none, as images"
        return why, "checkpoint(segment, x, use_reentrant=False)"
    how = "cuts x off from its graph: usually by x.detach()" if of_input else "runs under no_grad"
    if "in eval()" in case:
        return f"in eval() your code {how}", "in eval(), run segment(x) as it is"
    return f"your code {how}", "pass x itself to checkpoint, and leave gradients on"


@part.check(basis="outputs")
def gradients_match(gradients: Pair) -> Verdict:
    """run_checkpointed returns the segment's output, and every gradient is the segment's own."""
    only = "context_fn may hold statistics, and nothing else"
    try_ = f"checkpoint(segment, x, use_reentrant=False, context_fn=...); {only}"
    reported, expected = (side.values["cases"] for side in (gradients.student, gradients.baseline))
    for case, right in zip(reported, expected, strict=False):
        name = right["case"]
        what, _, where = name.partition(", ")
        there, wanted = (gradient["dtype"] != "nothing" for gradient in (case, right))
        if there and not wanted:
            return Failed(
                f'case "{where}": there is a {what}', ASKED_FOR, f"do not change x; {try_}"
            )
        if wanted and not there:
            return Failed(f'case "{where}": there is no {what}', *_no_gradient(name))
    why: Causes = {
        "in eval()": (
            "in eval() run_checkpointed computes other numbers than segment(x)",
            "in eval(), return segment(x) as it is",
        ),
        "output of": "run_checkpointed returns other numbers than segment(x)",
        "a dropout in train()": (
            "the second run differs from the first: dropout drops other values",
            "leave out preserve_rng_state=False",
        ),
        "gradient of": "the output is right: usually backward works with other numbers than forward",
    }
    return outputs.same(gradients, SAME, why=why, try_=try_)


HOLD = "hold each BatchNorm in the second run of the segment, and only there"
MOVED = {  # words of a case -> why its statistics are wrong, and what to try
    "num_batches_tracked": (
        "the second run counts as one more batch",
        "restore num_batches_tracked after each second run",
    ),
    "first step": ("usually the statistics move in the second run too", HOLD),
    "second step": (
        "right after the first step: its second run left the BatchNorm changed",
        "restore all of it when the second run ends",
    ),
    "two backward": (
        "when backward() goes through one graph again, your code does not hold the statistics",
        "hold in each __enter__ of the second context of context_fn, restore in each __exit__",
    ),
    "two forward": (
        "your code notes what to restore in the forward pass, but two came before backward()",
        "note what to restore in __enter__, when the second run begins",
    ),
}

STILL = ("usually the statistics do not move in the first run either", HOLD)


def _left_changed(setting: str) -> dict[str, Any]:
    if "momentum" in setting and "is 0.0 after" not in setting:
        try_ = "in __exit__, put back the value that __enter__ found, and not a constant"
        return {"measured": setting, "why": "your code puts another value back", "try_": try_}
    ended = "PyTorch ends the second run by an exception"
    try_ = f"restore this value also when __exit__ is passed an exception: {ended}"
    return {"measured": setting, "why": "your code does not restore it", "try_": try_}


@part.check(basis="outputs")
def statistics_move_once(statistics: Pair) -> Verdict:
    """The running statistics of every BatchNorm move once per forward pass, however often backward() follows."""
    still = any(
        "num_batches_tracked" in asked["case"] and got is not None and (got < want).any()
        for _, asked, got, want in outputs.paired(statistics)
    )
    causes = {**MOVED, "first step": STILL} if still else MOVED
    verdict = outputs.same(statistics, SAME, why=causes, try_=TWICE)
    observed = statistics.student.values
    changed, error = observed["changed"], observed["ended"]
    if isinstance(verdict, Failed):
        return replace(verdict, **_left_changed(changed[0])) if changed else verdict
    if error in (ArithmeticError.__name__, ONCE):
        return verdict
    measured = f"the second run of a segment raised ArithmeticError, but backward() raised {error}"
    reason = "your __exit__ hides the exception: usually it returns True"
    return Failed(measured, reason, "return nothing from __exit__")
