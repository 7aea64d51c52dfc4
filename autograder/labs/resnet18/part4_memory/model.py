"""The ResNet that runs its segments under checkpoints, and memory seen from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.checks import memory, numerics, outputs
from autograder.lab import (
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.resnet18.part4_memory.accumulation import UPDATE
from autograder.labs.resnet18.part4_memory.part import (
    BATCH,
    LEFT,
    MOMENTUM,
    Rig,
    part,
)
from autograder.traces.words import many

SEGMENTS = 5  # the stem and the four layers
COMPARED = ("alone", "running", "eval", "untouched")


@part.probe(
    pair=True,
    values={"parameters": INTEGER, **dict.fromkeys(("without", "unrun", "hidden"), list_of(TEXT))},
    arrays={**LEFT, **dict.fromkeys(COMPARED, ("float64", 1))},
)
def training(student: Student, rig: Rig) -> Answer:
    """A few steps of a small ResNet; then the answers, without gradients, of one whose statistics others moved."""
    window = rig.window([BATCH] * 4, model=rig.nets.small(), momentum=MOMENTUM)
    window.loader.images_want_gradients = True  # gradients_match judges what is lost without
    net = window.model
    model = student.ResNet18Checkpointed(net)
    start = window.weights()
    without = set[str]()
    model.train()
    for images, labels in window.loader:
        window.optimizer.zero_grad()
        window.criterion(model(images), labels).backward()
        without |= {name for name, parameter in net.named_parameters() if parameter.grad is None}
        window.optimizer.step()
    ran = {name: buffer.any() for name, buffer in net.named_buffers()}
    stem = rig.nets.segments(rig.nets.small())[0]
    for _ in range(2):  # so that whatever the first pass leaves behind is seen
        output = student.run_checkpointed(stem, images)  # without the model
        if output.requires_grad:
            output.sum().backward()
    return {
        "parameters": len(list(net.parameters())),
        "without": sorted(without),
        "unrun": [name for name, it in ran.items() if name.endswith("_tracked") and not it],
        "start": start,
        "weights": window.weights(),
        "running": rig.flat(dict(net.named_buffers())),
        "alone": rig.flat(dict(stem.named_buffers())),
        **evaluated(student, rig, images),
    }


def evaluated(student: Student, rig: Rig, images: Any) -> dict[str, Any]:
    """Return what a model answers in eval(), its statistics after that, and modules that are still in train()."""
    net = rig.nets.small()
    net(images)
    model = student.ResNet18Checkpointed(net)
    model.eval()
    hidden = [name for name, module in net.named_modules() if name and module.training]
    with rig.no_grad():
        answers = rig.flat(model(images))
    return {"eval": answers, "untouched": rig.flat(dict(net.named_buffers())), "hidden": hidden}


SHARES = {"boundaries": NUMBER, "largest": NUMBER}


def shares(rig: Rig, net: Any, images: Any) -> dict[str, float]:
    """Return, as shares of what the segments keep: their inputs without the images, and the largest of them."""
    x = images
    inputs, kept = [], []
    for segment in rig.nets.segments(net):
        inputs.append(x.nbytes)
        with rig.saved(*net.parameters(), *net.buffers(), x) as saved:
            x = segment(x)
        kept.append(saved.bytes)
    return {"boundaries": sum(inputs[1:]) / sum(kept), "largest": max(kept) / sum(kept)}


@part.probe(pair=True, values={"saved": INTEGER, "segments": INTEGER, "stem": INTEGER, **SHARES})
def kept_for_backward(student: Student, rig: Rig) -> Answer:
    """ResNet-18 itself: 4 images of 64 pixels, which want no gradient, as in any training."""
    images = rig.tensor(rig.random.normal(size=(4, 3, 64, 64)))
    net = rig.nets.resnet18()
    model = student.ResNet18Checkpointed(net)
    ran = rig.nets.numbers(net)
    with rig.saved(*net.parameters(), *net.buffers(), images) as saved:
        logits = model(images)
    logits.sum().backward()
    return {
        "saved": saved.bytes,
        "segments": rig.nets.run_again(ran),
        "stem": ran.count(min(ran, default=0)),
        **shares(rig, rig.nets.resnet18(), images),
    }


@part.probe(pair=True, values=SHARES, arrays=NUMBERS)
def large_step(student: Student, rig: Rig) -> Answer:
    """One forward and backward pass of 8 images, 96 pixels a side."""
    window = rig.window([BATCH], model=rig.nets.small(), enlarged=12)
    window.loader.images_want_gradients = True
    images, labels = next(iter(window.loader))
    expected = shares(rig, rig.nets.small(), images[:1, :, :16, :16].contiguous())
    model = student.ResNet18Checkpointed(window.model)
    rig.return_memory_at_once()
    window.criterion(model(images), labels).backward()
    gradients = [parameter.grad for parameter in window.model.parameters()]
    return {"numbers": rig.flat(gradients), **expected}


APART = 1e-4  # of the norm, after four steps


@part.check(basis="outputs")
def every_parameter_trains(training: Pair) -> Verdict:
    """ResNet18Checkpointed trains all of the given ResNet's own weights, as the ResNet itself would be trained."""
    without = training.student.values["without"]
    if without:
        expected = training.baseline.values["parameters"]
        count = f"{len(without)} of {expected}"
        more = f" and {len(without) - 3} more" * (len(without) > 3)
        measured = f"{count} parameters have no gradient: {', '.join(without[:3])}{more}"
        unrun = training.student.values["unrun"]
        return Failed(measured, *_no_gradient(len(without) == expected, unrun))
    why = "gradients or outputs differ from the ResNet's"
    own, right = (side.arrays["eval"] for side in (training.student, training.baseline))
    if times := outputs.multiple(own, right, APART):
        why = f"the outputs are {times:.3g} times the ResNet's"
    try_ = "fix gradients_match first if it fails; then return what fc returns, unchanged"
    if numerics.update(training).ratio == 0:  # the probe itself takes the steps
        return Failed("no weight moved", "all gradients are 0", try_)
    return numerics.same_update(training, APART, why=why, try_=try_)


def _no_gradient(nowhere: bool, unrun: Sequence[str]) -> tuple[str, str]:
    """Say why parameters have no gradient: all of them, or some; *unrun* are counters of BatchNorms that never ran."""
    if nowhere:
        why = "the parameters that ran are not the ResNet's own: usually a copy's"
        return why, "run the modules of the resnet argument itself, and no copy of them"
    if unrun:
        layer = unrun[0].rpartition(".")[0]
        return (
            f"{layer} never ran in train()",
            "run all segments in order, then avgpool, flatten, fc",
        )
    why = "the gradient is cut off: usually by detach() or no_grad"
    try_ = "pass on each segment's output as it is, and leave gradients on"
    return why, f"fix gradients_match first if it fails; then {try_}"


@part.check(basis="outputs", needs=[every_parameter_trains])
def answers_alike_in_eval(training: Pair) -> Verdict:
    """A step of ResNet18Checkpointed moves statistics once; in eval() it answers as the ResNet and changes nothing."""
    observed, expected = training.student.arrays, training.baseline.arrays
    apart = {name: outputs.furthest(observed[name], expected[name]) for name in COMPARED}
    once = apart["alone"] <= APART  # if run_checkpointed does not, statistics_move_once says so
    if once and not apart["running"] <= APART:
        measured = f"running statistics are {numerics.off(apart['running'], APART)}"
        why = (
            "run_checkpointed moves statistics once, but the model does not: "
            "usually its forward does not call run_checkpointed"
        )
        return Failed(measured, why, "run_checkpointed(segment, x) for each of the five")
    measured = f"answers in eval() are {numerics.off(apart['eval'], APART)}"
    if not apart["eval"] <= APART:
        moved = not apart["untouched"] <= APART
        return Failed(measured, *_not_in_eval(training.student.values["hidden"], moved=moved))
    if apart["untouched"] <= APART:
        return Passed(measured)
    measured = "a forward pass in eval() moved the running statistics"
    why = "the model's forward writes to running statistics in eval() too"
    return Failed(measured, why, "in eval(), write to no running_mean and no running_var")


def _not_in_eval(hidden: Sequence[str], *, moved: bool) -> tuple[str, str]:
    """Say why a model answers otherwise in eval(), where modules are *hidden* from it or statistics *moved*."""
    if not hidden and moved:
        why = "your code changes the running statistics in eval(): usually it calls train()"
        return (
            why,
            "in eval(), only run the segments: no train() in forward, and no change of running statistics",
        )
    if not hidden:
        why = "eval() does not use the running statistics"
        return why, "do not override eval(), and run segments as they are"
    names = ", ".join(hidden[:3]) + f" and {len(hidden) - 3} more" * (len(hidden) > 3)
    why = f"model.eval() does not reach {names}: usually a list or a dict hides these modules"
    return why, "keep modules as attributes, or in an nn.ModuleList"


@part.check(basis="report", needs=[every_parameter_trains])
def keeps_only_the_boundaries(kept_for_backward: Pair) -> Verdict:
    """For ResNet-18, little more than the inputs of the five segments is kept; the segments run again one at a time."""
    saved = kept_for_backward.student.values["saved"]
    whole = kept_for_backward.baseline.values["saved"]
    least = kept_for_backward.baseline.values["boundaries"]
    share = saved / whole
    allowed = least + (1 - least) / 4
    measured = (
        f"{share:.0%} of the ResNet's {whole / 1e6:.2f} MB are kept; {allowed:.0%} are allowed "
        f"(the five inputs are {least:.0%})"
    )
    try_ = (
        "let run_checkpointed call checkpoint, and forward call run_checkpointed for each segment"
    )
    count = kept_for_backward.student.values["segments"]
    if share > allowed and count and kept_for_backward.student.values["stem"] == 1:
        why = "the stem keeps what is inside it: it did not run again in the backward pass"
        try_ = "run_checkpointed for all five segments, the stem too, also where x.requires_grad is False"
        return Failed(measured, why, try_)
    if share > allowed:
        why = "a segment keeps what is inside it" if count else "no segment is checkpointed"
        return Failed(measured, why, try_)
    if 0 < count < SEGMENTS:
        why = "your code puts several layers under one checkpoint"
        measured = many(count, "segment") + " ran again in the backward pass"
        return Failed(f"{measured}, and {SEGMENTS} are right", why, try_)
    if not count and kept_for_backward.student.values["stem"] > 1:
        why = "one checkpoint is around all five segments, so all that they keep is back at once"
        measured = f"all ran again as 1 piece in the backward pass, and {SEGMENTS} are right"
        return Failed(measured, why, "call run_checkpointed(segment, x) for each of the five")
    return Passed(measured)


@part.check(basis="outputs")
def keeps_memory_flat(large_group: Pair, idle: Pair) -> Verdict:
    """A group of six batches needs less than half the memory of one large batch, measured from outside."""
    apart = numerics.update(large_group).error
    why = "several batches of a group are in memory at once"
    try_ = "for each batch: model(images), then backward(), and only then the next batch"
    first = "fix equals_a_large_batch first if it fails"
    return memory.leaner(large_group, idle, 0.5, apart, UPDATE, why, try_, first)


@part.check(basis="outputs", needs=[every_parameter_trains], compared="memory and gradients")
def needs_less_memory(large_step: Pair, idle: Pair) -> Verdict:
    """For this check's batch, checkpointing saves at least half of K - C - L (see "What to expect")."""
    gradients = (side.arrays["numbers"] for side in (large_step.student, large_step.baseline))
    apart = outputs.furthest(*gradients)
    kept = large_step.baseline.values
    least = kept["boundaries"] + kept["largest"]  # all inputs, and one segment that runs again
    why = "more is in memory at once than the inputs of the segments and one segment's activations"
    try_ = "a checkpoint for each of five segments: the stem and the four layers"
    first = "fix gradients_match first if it fails"
    return memory.leaner(large_step, idle, (1 + least) / 2, apart, APART, why, try_, first)
