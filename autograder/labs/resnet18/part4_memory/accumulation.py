"""Accumulation: a group of batches takes the step of one large batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.checks import numerics
from autograder.claims.training_loop import TrainingLoop
from autograder.lab import (
    BOOLEAN,
    INTEGER,
    Answer,
    Failed,
    Observation,
    Pair,
    Student,
    Verdict,
    Window,
    exactly,
    list_of,
    record,
)
from autograder.labs.resnet18.part4_memory.part import BATCH, LEFT, MOMENTUM, Rig, part
from autograder.traces.words import many

STEPS = 3  # batches of a group in the scripted epoch
SMOOTHING = 0.5  # of the labels there
GROUPS = ("even", "tail", "short")
ADDED_TO = ("old", "uncleared", "cleared")
"""What `added_to` says."""


def train(student: Student, window: Window, steps: int) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    returned = student.train_epoch_with_accumulation(*arguments, accumulation_steps=steps)
    return window.returned("train_epoch_with_accumulation", returned)


def cut(rig: Rig, sizes: Sequence[int], steps: int) -> Sequence[int]:
    """Return the batches of one side: on the baseline's, each group is one batch."""
    if rig.side == "student":
        return sizes
    return [sum(sizes[at : at + steps]) for at in range(0, len(sizes), steps)]


def drawn_groups(rig: Rig) -> dict[str, tuple[list[int], int]]:
    """Draw the sizes of batches, and how many are a group: whole groups, one that lacks a batch, a short batch."""
    most = {name: rig.integer(3, 4) for name in GROUPS}
    return {
        "even": ([BATCH] * (most["even"] * 3), most["even"]),
        "tail": ([BATCH] * (most["tail"] * 2 + rig.integer(2, most["tail"] - 1)), most["tail"]),
        "short": ([BATCH] * (most["short"] * 2 - 1) + [rig.integer(1, 3)], most["short"]),
    }


def halve(optimizer: Any) -> None:
    """Give the optimizer two groups of parameters with equal options."""
    first = optimizer.param_groups[0]
    first["params"], others = first["params"][::2], first["params"][1::2]
    optimizer.add_param_group({**first, "params": others})


def watched(parameter: Any, taken: Sequence[int]) -> dict[int, list[bool]]:
    """Note of each gradient whether it was added to one that was there, by the steps *taken* before it."""
    added: dict[int, list[bool]] = {}
    came: list[Any] = []

    def note(it: Any) -> None:
        added.setdefault(len(taken), []).append(not it.grad.equal(came.pop()))

    parameter.register_hook(came.append)
    parameter.register_post_accumulate_grad_hook(note)  # autograd.grad adds to nothing
    return added


def added_to(added: Mapping[int, Sequence[bool]]) -> dict[str, bool]:
    """Say whether gradients from before the epoch or of an earlier group were there, or a group's own were cleared."""
    first = {steps: group[0] for steps, group in added.items()}
    later = [it for group in added.values() for it in group[1:]]
    return {
        "old": first.pop(0, False),
        "uncleared": any(first.values()),
        "cleared": bool(later) and not any(later),
    }


@part.probe(
    pair=True,
    values={
        "groups": exactly(
            len(GROUPS),
            record(sizes=list_of(INTEGER), after=list_of(INTEGER), steps=INTEGER, seen=INTEGER),
        ),
        **dict.fromkeys(("trained", *ADDED_TO), BOOLEAN),
    },
    arrays={f"{group}_{name}": form for group in GROUPS for name, form in LEFT.items()},
)
def groups(student: Student, rig: Rig) -> Answer:
    """Without BatchNorm the step of a group is that of one large batch, which is what the baseline takes."""
    arrays: dict[str, Any] = {}
    noted = []
    modes, samples, taken = list[bool](), list[int](), list[int]()
    added: dict[str, bool] = {}

    def note_mode(model: Any, _: Any, output: Any) -> None:
        if output.requires_grad:  # a pass without gradients may run in any mode
            modes.append(model.training)
            samples.append(len(output))

    for name, (sizes, steps) in drawn_groups(rig).items():
        model = rig.nets.small("group")
        window = rig.window(cut(rig, sizes, steps), model=model, momentum=MOMENTUM)
        window.model.eval().register_forward_hook(note_mode)
        window.optimizer.register_step_post_hook(lambda *_: taken.append(sum(samples)))
        if name == "even":
            halve(window.optimizer)
            for parameter in window.model.parameters():
                parameter.grad = parameter.detach() + 1  # from before the epoch
        gradients = watched(next(iter(window.model.parameters())), taken)
        arrays[f"{name}_start"] = window.weights()
        train(student, window, steps)
        arrays[f"{name}_weights"] = window.weights()
        added = added or added_to(gradients)
        noted.append({"sizes": sizes, "steps": steps, "after": taken[:64], "seen": sum(samples)})
        taken.clear()
        samples.clear()
    return {"groups": noted, "trained": all(modes), **added, **arrays}


@part.probe(pair=True, arrays=LEFT)
def large_group(student: Student, rig: Rig) -> Answer:
    """Six batches of 4 images, 64 pixels a side, are a group; the baseline has all 24 images in one batch."""
    sizes = [4] * 6
    window = rig.window(cut(rig, sizes, len(sizes)), model=rig.nets.small("group"), enlarged=8)
    start = window.weights()
    rig.return_memory_at_once()
    train(student, window, len(sizes))
    return {"start": start, "weights": window.weights()}


@part.probe(pair=True)
def idle(student: Student, rig: Rig) -> Answer:
    """Small work: what a worker holds before anything is large."""
    window = rig.window([2, 2], model=rig.nets.small("group"))
    train(student, window, 2)
    return {}


# Measured on 2026-11-21 on a CPU with torch 2.15, relative to the update's norm.
#   A, the furthest that right work came in 165 seeds: weighted before or after the backward pass, channels_last or not:
#   1.4e-3, where a ReLU turned; mostly 2e-6.
#   C, the nearest that a mistake came in 6 seeds: 7.8e-2 (the rate 10 % off, batches weighted alike).
UPDATE = 0.01
LOSSES = 2e-5  # relative: no step moves the weights there


@part.check(basis="outputs", compared="weights")
def equals_a_large_batch(groups: Pair) -> Verdict:
    """In train() and without BatchNorm, a group of batches of the same size takes the step of one large batch."""
    if not groups.student.values["trained"]:
        why = "the model came in eval(), where BatchNorm and dropout do not train"
        return Failed("it trained in eval()", why, "model.train() before the first batch")
    ratio = numerics.update(groups, "even_weights", "even_start").ratio
    why = "the gradient of a step is not the mean over the samples of its group"
    try_ = 'see "What a group is" in the part 4 handout'
    if said := _added_to(groups.student.values):
        why, try_ = said
    elif numerics.update(groups, "short_weights", "short_start").error <= UPDATE:
        why = (
            "one parameter group comes out right: usually the second of this optimizer is left out"
        )
        try_ = "average the gradients of model.parameters(), not those of param_groups[0]"
    elif ratio > 2:
        why = "usually gradients are added up, and not averaged over the group"
        try_ = "divide each loss by the batches of its group, or by its samples"
    elif ratio < 0.5:
        steps = _of(groups.baseline, "even")["steps"]
        twice = any(numerics.close(ratio * it, 1.0, 0.05) for it in (steps, steps * BATCH))
        why = f"gradients are too small: usually they are {'divided twice' if twice else 'clipped'}"
        try_ = "divide by the samples of the group, once, and do not clip"
    if counted := _not_by_groups(groups):
        why, try_ = counted
    return _same_group(groups, "even", why, try_)


def _not_by_groups(groups: Pair) -> tuple[str, str] | None:
    """Say why the steps do not come after each group of whole batches."""
    own, right = _after(groups, "even")
    if len(own) > len(right):
        if own[:-1] == right and own[-1:] == right[-1:]:
            why = "there is one more step after the last group, where no batch is left"
            return why, "after the last batch, take a step only if batches are left"
        try_ = "a step after each accumulation_steps batches, counted from 1, and no other step"
        return "there are too many steps", try_
    seen, batches = (
        _batches(_of(side, "even")["seen"]) for side in (groups.student, groups.baseline)
    )
    if seen < batches:
        why = f"your code trains on {seen} of the {batches} batches"
        return why, "go through the whole loader: no return and no break in the loop"
    if len(own) < len(right):
        why = "a step does not come after each accumulation_steps batches"
        return why, "a step as soon as accumulation_steps batches have come since the last one"
    return None


def _added_to(noted: Mapping[str, bool]) -> tuple[str, str] | None:
    """Say to which gradients others were added that must not be, or why none were added up."""
    if noted["old"] and noted["uncleared"]:
        why = "gradients are cleared neither before the epoch nor after each step"
        return why, "optimizer.zero_grad() before the first batch and after each step"
    if noted["old"]:
        why = "gradients from before the epoch are not cleared, so the first step takes them too"
        return why, "optimizer.zero_grad() before the first batch"
    if noted["uncleared"]:
        why = "gradients are not cleared after each step, so the next step takes them too"
        return why, "optimizer.zero_grad() after each optimizer.step()"
    if noted["cleared"]:
        why = "gradients are cleared in each batch, so a step takes those of the last batch alone"
        return why, "call zero_grad() after each optimizer.step(), and not in each batch"
    return None


@part.check(basis="outputs", compared="weights")
def steps_on_the_tail(groups: Pair) -> Verdict:
    """A last group with fewer batches takes a step too, with the mean over its own samples."""
    why = "the last group takes its step, but is not divided by its own samples"
    group = _of(groups.baseline, "tail")
    left = len(group["sizes"]) % group["steps"]
    try_ = f"divide the last step by the samples of all {left} batches of its group"
    own, right = map(len, _after(groups, "tail"))
    if own < right:
        why = "the last group is dropped"
        try_ = "after the loop, take one more step if batches are left"
    elif own > right:
        why = "there are too many steps"
        try_ = "after the loop, one step for all batches that are left"
    elif numerics.update(groups, "short_weights", "short_start").error > UPDATE:
        why = "the last group is divided by accumulation_steps though it has fewer batches"
        try_ = "divide each step by the samples of its group, not by accumulation_steps"
    return _same_group(groups, "tail", why, try_)


@part.check(basis="outputs", compared="weights")
def weighs_by_samples(groups: Pair) -> Verdict:
    """A short last batch is weighted by its number of samples."""
    why = "usually every batch has the same weight, however many samples it has"
    try_ = "loss * len(labels), and divide by the samples of the group"
    return _same_group(groups, "short", why, try_)


def _of(side: Observation, name: str) -> Mapping[str, Any]:
    """Return what was noted of one kind of groups."""
    noted: Mapping[str, Any] = side.values["groups"][GROUPS.index(name)]
    return noted


def _after(groups: Pair, name: str) -> list[list[int]]:
    """Return, for both sides, after which batches the steps came."""
    sides = (groups.student, groups.baseline)
    return [[_batches(samples) for samples in _of(side, name)["after"]] for side in sides]


def _batches(samples: int) -> int:
    """Return how many batches hold so many samples; the last one may be short."""
    return -(-samples // BATCH)


def _steps(own: Sequence[int], right: Sequence[int]) -> str:
    """Say how many steps there were; where it is another number, after which batches."""
    taken = many(len(own), "step")
    if len(own) == len(right):
        return taken
    if not own:
        return f"{taken}, and {len(right)} are right"
    came, due = (f"after batch {', '.join(map(str, it))}" for it in (own, right))
    return f"{taken} ({came}), and {len(right)} are right ({due})"


def _same_group(groups: Pair, name: str, why: str, try_: str) -> Verdict:
    group = _of(groups.baseline, name)
    whole = numerics.update(groups, "even_weights", "even_start").error <= UPDATE
    if name != GROUPS[0] and not whole:
        why, try_ = (
            "groups of batches of the same size are already wrong",
            "fix equals_a_large_batch first",
        )
    verdict = numerics.same_update(groups, UPDATE, why=why, try_=try_, of=f"{name}_")
    sizes = group["sizes"]
    short = f", and one of {many(sizes[-1], 'sample')}" * (sizes[-1] != sizes[0])
    equal = sizes.count(sizes[0])
    case = f"{equal} batches of {sizes[0]} samples{short}, in groups of {group['steps']}"
    steps = _steps(*_after(groups, name))
    return replace(verdict, measured=f"{case}: {steps}; {verdict.measured}")


loop = TrainingLoop(
    part,
    "train_epoch_with_accumulation",
    lambda student, window: train(student, window, STEPS),
)
loop.returns_its_metrics(
    "samples",
    says=(
        "losses has each batch's mean, "
        "loss is the mean over all samples, accuracy a percentage of them."
    ),
    slips={f"yours was divided by accumulation_steps ({STEPS})": 1 / STEPS},
    within=LOSSES,
    listed=True,
    smoothing=SMOOTHING,
    norm="group",  # so that who joins the batches of a group sees their losses
)
loop.keeps_an_honest_clock()
