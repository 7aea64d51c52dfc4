"""Part 4: memory. Accumulation takes the step of a large batch, checkpointing changes nothing but time and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from autograder.checks import memory, numerics, outputs
from autograder.checks.comparison import run_problem
from autograder.checks.slips import epochs
from autograder.claims.epochs import TrainingLoop
from autograder.claims.studies import DRAWN, EPOCHS, PICTURE, Study, written
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Part,
    Passed,
    Verdict,
    list_of,
    record,
)
from autograder.labs.resnet18.part4_memory import judges
from autograder.traces.words import many

FIGURE = "checkpointing_comparison.png"
part = Part(
    "part4_memory",
    writes=[
        "train_epoch_with_accumulation",
        "run_checkpointed",
        "ResNet18Checkpointed",
        "compare_checkpointing",
    ],
    hands_in=[judges.RESULTS.file, FIGURE, "part4_notes.md"],
    tables=[judges.RESULTS],
)

UNITS = {
    "throughput": r"/|per|s⁻¹|\^\{?-1",
    "saved_mb": r"MB|[Mm]egabyte",
}  # a panel's label must match
BATCH = 8  # samples
MOMENTUM = 0.9  # so that a step too many moves the weights, even one whose gradient is 0
STEPS = 3  # batches of a group in the scripted epoch
SMOOTHING = 0.5  # of the labels there
GROUP = 'see "What a group is" in the part 4 handout'
TWICE = 'see "What runs twice" in the part 4 handout'
WRONG = 'see "What usually goes wrong" in the part 4 handout'

GROUPS = ("even", "tail", "short")
LEFT = {"start": ("float32", 1), "weights": ("float32", 1)}


# --- what is run: accumulation ----------------------------------------------------------------------------------------


def train(student: Any, window: Any, steps: int) -> Any:
    """Call the student's training loop and return its dict."""
    arguments = (window.model, window.loader, window.criterion, window.optimizer, window.device)
    seen = student.train_epoch_with_accumulation(*arguments, accumulation_steps=steps)
    return window.returned("train_epoch_with_accumulation", seen)


def cut(rig: Any, sizes: Sequence[int], steps: int) -> Sequence[int]:
    """Return the batches of one side: on the baseline's, each group is one batch."""
    return (
        sizes
        if rig.side == "student"
        else [sum(sizes[at : at + steps]) for at in range(0, len(sizes), steps)]
    )


def note_mode(modes: list[bool], model: Any, _: Any, output: Any) -> None:
    """Note in which mode a pass ran whose gradients may be wanted: others may run in any."""
    if output.requires_grad:
        modes.append(model.training)


def drawn_groups(rig: Any) -> dict[str, tuple[list[int], int]]:
    """Draw the sizes of batches, and how many are a group: whole groups, one that lacks a batch, a short batch."""
    most = {name: rig.integer(3, 4) for name in GROUPS}
    return {
        "even": ([BATCH] * (most["even"] * 3), most["even"]),
        "tail": ([BATCH] * (most["tail"] * 2 + rig.integer(1, most["tail"] - 1)), most["tail"]),
        "short": ([BATCH] * (most["short"] * 2 - 1) + [rig.integer(1, 3)], most["short"]),
    }


@part.probe(
    pair=True,
    values={
        "groups": list_of(
            record(sizes=list_of(INTEGER), steps=INTEGER, taken=INTEGER, trained=BOOLEAN)
        )
    },
    arrays={f"{group}_{name}": form for group in GROUPS for name, form in LEFT.items()},
)
def groups(student: Any, rig: Any) -> Any:
    """Without BatchNorm the step of a group is that of one large batch, which is what the baseline takes."""
    arrays, told = {}, []
    for name, (sizes, steps) in drawn_groups(rig).items():
        window = rig.window(
            cut(rig, sizes, steps), model=rig.nets.small("group"), momentum=MOMENTUM
        )
        taken, modes = list[int](), list[bool]()
        window.optimizer.register_step_post_hook(lambda *_, taken=taken: taken.append(1))
        window.model.eval().register_forward_hook(partial(note_mode, modes))
        for parameter in window.model.parameters() if name == "even" else ():
            parameter.grad = parameter.detach() + 1  # from before the epoch
        arrays[f"{name}_start"] = window.weights()
        train(student, window, steps)
        arrays[f"{name}_weights"] = window.weights()
        told.append({"sizes": sizes, "steps": steps, "taken": len(taken), "trained": all(modes)})
    return {"groups": told, **arrays}


# --- what is run: checkpointing ---------------------------------------------------------------------------------------

SEGMENTS = ("a stem", "a residual block", "a dropout", "a cumulative BatchNorm", "a BatchNorm1d")
PASSES = 2  # so that whatever the first one leaves behind is seen
# Forward passes, and then backward passes through the graph of them all.
TURNS = {"pass 1": (1, 1), "pass 2": (1, 1), "pass 3": (1, 2), "pass 4": (2, 1)}


def segment_cases(rig: Any) -> Any:
    """Yield (case, segment, input): each segment in train() and eval(), from images and from what wants a gradient."""
    for kind in SEGMENTS:
        for wants in (False, True):
            for mode in ("train", "eval"):
                segment = rig.nets.segment(kind).train(mode == "train")
                x = rig.tensor(rig.random.normal(size=(BATCH, 3, 8, 8))).requires_grad_(wants)
                yield (
                    f"{kind} in {mode}(), input {'with' if wants else 'without'} a gradient",
                    segment,
                    x,
                )


def back(student: Any, rig: Any, segment: Any, x: Any, times: int = 1, inputs: int = 1) -> Any:
    """Run a segment on inputs and, if its output hangs on a graph, backward so many times; return the output."""
    first, *others = (student.run_checkpointed(segment, it) for it in (x, 2 * x)[:inputs])
    output = sum(others, first)
    towards = rig.tensor(rig.random.normal(size=tuple(output.shape)))
    for left in reversed(range(times if output.requires_grad else 0)):
        output.backward(towards, retain_graph=left > 0)
    return output


@part.outputs
def gradients(student: Any, rig: Any) -> Any:
    seen = rig.answers()
    for case, segment, x in segment_cases(rig):
        first, _ = (back(student, rig, segment, x) for _ in range(PASSES))
        seen.add(f"output of {case}", first)
        for name, parameter in segment.named_parameters():
            seen.add(f"gradient of {name}, {case}", parameter.grad)
        seen.add(f"gradient of the input, {case}", x.grad)
    return seen.seen()


SETTINGS = ("momentum", "training", "track_running_stats")


def settings(segment: Any) -> dict[str, Any]:
    """Return what the BatchNorms of a segment are told."""
    norms = [
        (name, it) for name, it in segment.named_modules() if hasattr(it, "track_running_stats")
    ]
    return {
        f"{setting} of {name or 'it'}": getattr(it, setting)
        for name, it in norms
        for setting in SETTINGS
    }


ONCE = "it ran once"  # nothing was checkpointed, which others see


def ended(student: Any, rig: Any) -> str:
    """Name the exception with which a backward pass ends whose second run of a segment raises ArithmeticError."""
    x, segment = (
        rig.tensor(rig.random.normal(size=(BATCH, 4))).requires_grad_(),
        rig.nets.fails_later(),
    )
    output = student.run_checkpointed(segment, x)
    if not output.requires_grad:  # gradients_match says so
        return ONCE
    try:
        output.sum().backward()
    except Exception as error:
        return str(rig.text(type(error).__name__))
    return "none" if segment.runs > 1 else ONCE


@part.probe(pair=True, values={**CASES, "changed": list_of(TEXT), "ended": TEXT}, arrays=NUMBERS)
def statistics(student: Any, rig: Any) -> Any:
    seen, changed = rig.answers(), list[str]()
    for case, segment, x in segment_cases(rig):
        before = settings(segment)
        for turn, (inputs, times) in TURNS.items():
            back(student, rig, segment, x, times, inputs)
            for name, buffer in segment.named_buffers():
                seen.add(f"{name} after {turn}, {case}", buffer.float())
            now = settings(segment)
            changed += [
                rig.text(f"{name} is {now[name]} after {turn} of {case}, and was {was}")
                for name, was in before.items()
                if now[name] != was
            ]
    return {**seen.seen(), "changed": changed[:8], "ended": ended(student, rig)}


@part.probe(
    pair=True,
    values={"parameters": INTEGER, "without": list_of(TEXT), "hidden": list_of(TEXT)},
    arrays={**LEFT, **dict.fromkeys(("alone", "running", "eval", "untouched"), ("float64", 1))},
)
def training(student: Any, rig: Any) -> Any:
    """A few steps of a small ResNet; then the answers, without gradients, of one whose statistics others moved."""
    window = rig.window([BATCH] * 4, model=rig.nets.small(), momentum=MOMENTUM)
    window.loader.images_want_gradients = True  # gradients_match judges what is lost without
    net, model = window.model, student.ResNet18Checkpointed(window.model)
    start, without = window.weights(), set()
    model.train()
    for images, labels in window.loader:
        window.optimizer.zero_grad()
        window.criterion(model(images), labels).backward()
        without |= {name for name, parameter in net.named_parameters() if parameter.grad is None}
        window.optimizer.step()
    named = {"parameters": len(list(net.parameters())), "without": sorted(without)}
    stem = rig.nets.segments(rig.nets.small())[0]
    for _ in range(PASSES):
        back(student, rig, stem, images)  # without the model
    moved = {
        name: rig.flat(dict(it.named_buffers())) for name, it in (("running", net), ("alone", stem))
    }
    trained = {"start": start, "weights": window.weights(), **moved}
    return {**named, **trained, **evaluated(student, rig, images)}


def evaluated(student: Any, rig: Any, images: Any) -> dict[str, Any]:
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


def shares(rig: Any, net: Any, images: Any) -> dict[str, float]:
    """Return, as shares of what the segments keep: their inputs without the images, and the largest of them."""
    x, inputs, kept = images, 0, []
    for segment in rig.nets.segments(net):
        inputs += x.nbytes * (x is not images)
        with rig.saved(*net.parameters(), *net.buffers(), x) as seen:
            x = segment(x)
        kept.append(seen.bytes)
    return {"boundaries": inputs / sum(kept), "largest": max(kept) / sum(kept)}


@part.probe(pair=True, values={"saved": INTEGER, **SHARES})
def kept_for_backward(student: Any, rig: Any) -> Any:
    """ResNet-18 itself: 4 images of 64 pixels, which want no gradient, as in any training."""
    images = rig.tensor(rig.random.normal(size=(4, 3, 64, 64)))
    net = rig.nets.resnet18()
    model = student.ResNet18Checkpointed(net)
    with rig.saved(*net.parameters(), *net.buffers(), images) as seen:
        model(images)
    return {"saved": seen.bytes, **shares(rig, rig.nets.resnet18(), images)}


# --- what is run: memory seen from outside ----------------------------------------------------------------------------


@part.probe(pair=True, arrays=LEFT)
def large_group(student: Any, rig: Any) -> Any:
    """Six batches of 4 images, 64 pixels a side, are a group; the baseline has all 24 images in one batch."""
    sizes = [4] * 6
    window = rig.window(cut(rig, sizes, len(sizes)), model=rig.nets.small("group"), enlarged=8)
    start = window.weights()
    rig.return_memory_at_once()
    train(student, window, len(sizes))
    return {"start": start, "weights": window.weights()}


@part.probe(pair=True, values=SHARES, arrays=NUMBERS)
def large_step(student: Any, rig: Any) -> Any:
    """One forward and backward pass of 8 images, 96 pixels a side."""
    window = rig.window([BATCH], model=rig.nets.small(), enlarged=12)
    window.loader.images_want_gradients = True
    images, labels = next(iter(window.loader))
    known = shares(rig, rig.nets.small(), images[:1, :, :16, :16].contiguous())
    model = student.ResNet18Checkpointed(window.model)
    rig.return_memory_at_once()
    window.criterion(model(images), labels).backward()
    return {
        "numbers": rig.flat([parameter.grad for parameter in window.model.parameters()]),
        **known,
    }


@part.probe(pair=True)
def idle(student: Any, rig: Any) -> Any:
    """Small work: what a worker holds before anything is large."""
    window = rig.window([2, 2], model=rig.nets.small("group"))
    train(student, window, 2)
    return {}


# --- what is run: the comparison --------------------------------------------------------------------------------------


@part.probe(pair=True, arrays=PICTURE, values={**DRAWN, **EPOCHS, "passes": list_of(INTEGER)})
def comparison(student: Any, rig: Any) -> Any:
    """Each convolution takes scripted seconds, in the second run of a segment as in the first; the first one longer."""
    window = rig.window(
        [BATCH] * rig.integer(11, 12)
    )  # more than the ten of a loop that is cut short
    window.loader.images_want_gradients = True
    batches, (each,), cold = len(window.loader), rig.seconds(0.02, 0.05, 1), 3.0
    waits = rig.seconds(
        0.02, 0.05, batches
    )  # so short that the first one alone changes no figure by 2 %
    rig.script(window, waits, [])
    passes: Counter[Any] = Counter()
    trainings, folder = rig.resnet_trainings(each, cold, passes=passes), str(rig.made_folder())
    with rig.figures() as figures:
        returned = student.compare_checkpointing(
            trainings, window.loader, window.device, folder=folder
        )
    forward = each * sum(parameter.dim() == 4 for parameter in rig.nets.small().parameters())
    results = judges.RESULTS
    return {
        **written(rig, results, "compare_checkpointing", returned, FIGURE, figures),
        "samples": len(window.loader.dataset),
        "wait": sum(waits),
        "batches": batches,
        "work": [forward, 2 * forward],
        "cold": cold,
        "passes": list(passes.values())[:64],
    }


# --- what is judged: accumulation -------------------------------------------------------------------------------------

# Measured on 2026-11-21 on a CPU with torch 2.15, relative to the update's norm.
#   A, the furthest that right work came in 165 seeds: weighted before or after the backward pass, channels_last or not:
#   1.4e-3, where a ReLU turned; mostly 2e-6.
#   C, the nearest that a mistake came in 6 seeds: 7.8e-2 (the rate 10 % off, batches weighted alike).
UPDATE = 0.01
LOSSES = 2e-5  # relative: no step moves the weights there


@part.check(basis="outputs", compared="weights")
def equals_a_large_batch(groups: Pair) -> Verdict:
    """Without BatchNorm, a group of equal batches takes the step of one large batch."""
    why = (
        "gradients are not averaged over the group, old ones are left, something changes them before the step, "
        "or a group has more or fewer batches"
    )
    try_ = f"optimizer.zero_grad() first, the mean over the samples, and no clipping; {GROUP}"
    return _same_group(groups, "even", why, try_)


@part.check(basis="outputs", compared="weights")
def steps_on_the_tail(groups: Pair) -> Verdict:
    """A last group with fewer batches takes a step too, with the mean over its own samples."""
    why = "the last group is dropped, or divided by accumulation_steps though it has fewer batches"
    return _same_group(
        groups, "tail", why, f"step once more after the loop, if batches are left; {GROUP}"
    )


@part.check(basis="outputs", compared="weights")
def weighs_by_samples(groups: Pair) -> Verdict:
    """A last batch with fewer samples counts by its samples."""
    why = "every batch counts the same, whether it has many samples or few"
    return _same_group(
        groups, "short", why, f"loss * len(labels), and divide by the samples of the group; {GROUP}"
    )


def _same_group(groups: Pair, name: str, why: str, try_: str) -> Verdict:
    known = groups.baseline.values["groups"][GROUPS.index(name)]
    sizes, first = known["sizes"], numerics.update(groups, "even_weights", "even_start")
    if name != GROUPS[0] and not first.error <= UPDATE:
        why = "whole groups of equal batches take another step already"
        try_ = "look at equals_a_large_batch first"
    found = numerics.same_update(groups, UPDATE, why=why, try_=try_, of=f"{name}_")
    case = f"{len(sizes)} batches, the last of {sizes[-1]} samples, in groups of {known['steps']}"
    return replace(found, measured=f"{case}: {found.measured}")


@part.check(basis="report")
def one_step_a_group(groups: Pair) -> Verdict:
    """The model trains in train(), and the optimizer steps ceil(batches / accumulation_steps) times."""
    told = [
        (-(-len(it["sizes"]) // it["steps"]), len(it["sizes"]), it["steps"])
        for it in groups.baseline.values["groups"]
    ]
    taken = [it["taken"] for it in groups.student.values["groups"]]
    if len(taken) != len(told):
        return Failed(f"{len(taken)} epochs were counted", f"{len(told)} were run", GROUP)
    for (asked, batches, steps), found in zip(told, taken, strict=True):
        if found != asked:
            measured = f"{many(found, 'step')} for {batches} batches in groups of {steps}; it takes {asked}"
            whole = numerics.update(groups, "even_weights", "even_start").error <= UPDATE
            why = (
                "the last group has no step"
                if found == asked - 1 and whole
                else f"a step is taken elsewhere than after a group of {steps} batches"
            )
            return Failed(measured, why, GROUP)
    if not all(it["trained"] for it in groups.student.values["groups"]):
        why = "the model that is handed in was in eval(), and stayed there: BatchNorm and dropout do not train so"
        return Failed("it trained in eval()", why, "model.train() before the first batch")
    return Passed(f"{', '.join(map(str, taken))} steps, in train()")


loop = TrainingLoop(
    part,
    "train_epoch_with_accumulation",
    lambda student, window: train(student, window, STEPS),
)
loop.returns_its_metrics(
    "samples",
    says="losses has each batch's mean, loss is the mean over all samples, accuracy a percentage of them.",
    slips={f"it is a loss that was divided by accumulation_steps, {STEPS}": 1 / STEPS},
    within=LOSSES,
    listed=True,
    smoothing=SMOOTHING,
    norm="group",  # so that who joins the batches of a group sees their losses
)
loop.keeps_an_honest_clock()


# --- what is judged: checkpointing ------------------------------------------------------------------------------------

SAME = 1e-5  # of the largest number: the second run repeats the first
APART = 1e-4  # of the norm, after four steps
ASKED_FOR = "the caller's tensor was told to want one: x.requires_grad_() changes x itself"


def _no_gradient(case: str) -> str:
    if "input with a gradient" not in case and "in train()" in case:
        return "the reentrant variant gives none to a segment whose input needs none, and images need none"
    if "in eval()" in case:
        return "in eval(), too, gradients are wanted: it ran under no_grad, or x was detached"
    return "x was detached on its way into the segment, or the segment ran under no_grad"


@part.check(basis="outputs")
def gradients_match(gradients: Pair) -> Verdict:
    """run_checkpointed returns the segment's output, and every gradient is the segment's own."""
    try_ = (
        f"checkpoint(segment, x, use_reentrant=False), with its other options as they are; {TWICE}"
    )
    told, known = (side.values["cases"] for side in (gradients.student, gradients.baseline))
    for case, expected in zip(told, known, strict=False):
        none, none_expected = (it["dtype"] == "nothing" for it in (case, expected))
        if none_expected and not none:
            return Failed(f"a {expected['case']}", ASKED_FOR, f"leave x as it is; {try_}")
        if none and not none_expected:
            return Failed(f"no {expected['case']}", _no_gradient(expected["case"]), try_)
    why = {
        "gradient of": "the second run is not the first one again: other random numbers, statistics or mode",
        "output of": "the segment gives another output, or runs in another mode",
    }
    return outputs.same(gradients, SAME, why=why, try_=try_)


PUT_BACK = f"put back what was there before, in __exit__ or in a finally: the second run ends by an exception; {TWICE}"


@part.check(basis="outputs")
def statistics_move_once(statistics: Pair) -> Verdict:
    """The running statistics of every BatchNorm move once a forward pass, however often backward() follows."""
    try_ = f"keep each BatchNorm from moving whenever the segment runs again, and put it back afterwards; {TWICE}"
    why = {
        "num_batches_tracked": "the second run counts as another batch",
        "pass 1": "they moved in the second run as well, or not at all",
        "pass 2": "right after one pass and not after two: the second run left the BatchNorm changed",
        "pass 3": "right until backward() went a second time through one graph: then they moved again",
        "pass 4": "right until there were two forward passes before backward(): what it put back was out of date",
    }
    found, changed = (
        outputs.same(statistics, SAME, why=why, try_=try_),
        statistics.student.values["changed"],
    )
    if isinstance(found, Failed) and changed:
        return replace(
            found, why=f"{changed[0]}: it was not put back, or as something else", try_=PUT_BACK
        )
    error = statistics.student.values["ended"]
    if isinstance(found, Passed) and error not in (ArithmeticError.__name__, ONCE):
        measured = f"the second run of a segment raised ArithmeticError, and out of backward() came {error}"
        return Failed(
            measured,
            "an __exit__ that returns True ends the exception",
            f"return nothing there; {TWICE}",
        )
    return found


@part.check(basis="outputs")
def every_parameter_trains(training: Pair) -> Verdict:
    """ResNet18Checkpointed trains all of the given ResNet's own weights, as the ResNet itself would be trained."""
    without, count = training.student.values["without"], training.baseline.values["parameters"]
    if without:
        measured = (
            f"{len(without)} of {count} parameters have no gradient: {', '.join(without[:3])}"
        )
        try_ = f"use the modules of the ResNet that is handed in; {WRONG}"
        return Failed(measured, "they are not the ones that run", try_)
    why = "gradients or outputs differ from the ResNet's"
    try_ = "the segments in their order, then avgpool, flatten and fc"
    return numerics.same_update(training, APART, why=why, try_=try_)


@part.check(basis="outputs", needs=[every_parameter_trains])
def answers_alike_in_eval(training: Pair) -> Verdict:
    """Its training moves the ResNet's statistics once, and in eval() it answers as the ResNet and changes nothing."""
    got, want = training.student.arrays, training.baseline.arrays
    apart = {
        name: outputs.furthest(got[name], want[name])
        for name in ("alone", "running", "eval", "untouched")
    }
    measured = (
        f"answers in eval() apart by {apart['eval']:.1e} of the largest (allowed {APART:.0e})"
    )
    once = apart["alone"] <= APART  # if run_checkpointed does not, statistics_move_once says so
    if once and not apart["running"] <= APART:
        why = "run_checkpointed moves statistics once, and the model does not: it does not run its segments by that"
        measured = f"running statistics apart by {apart['running']:.1e} of the largest (allowed {APART:.0e})"
        return Failed(measured, why, f"run_checkpointed(segment, x) for each of the five; {TWICE}")
    if not apart["eval"] <= APART:
        return Failed(measured, *_not_in_eval(training.student.values["hidden"]))
    if not apart["untouched"] <= APART:
        return Failed(
            measured, "a forward pass in eval() moved them", "hold them in the second run only"
        )
    return Passed(measured)


def _not_in_eval(hidden: Sequence[str]) -> tuple[str, str]:
    if not hidden:
        return (
            "the statistics are right, and eval() does not use them",
            "leave model.eval() its effect",
        )
    names = ", ".join(hidden[:3])
    why = f"model.eval() does not reach {names}: they stay in train(), since a list or a dict hides modules"
    return why, "keep modules as attributes, or in an nn.ModuleList"


@part.check(basis="report", needs=[every_parameter_trains])
def keeps_only_the_boundaries(kept_for_backward: Pair) -> Verdict:
    """Of ResNet-18, little more than the inputs of the segments is kept for the backward pass."""
    known, saved = kept_for_backward.baseline.values, kept_for_backward.student.values["saved"]
    share, least = saved / known["saved"], known["boundaries"]
    allowed = least + (1 - least) / 4
    measured = (
        f"{saved / 1e6:.2f} MB of {known['saved'] / 1e6:.2f} MB, {share:.0%}; at this shape the inputs alone are "
        f"{least:.0%}, allowed {allowed:.0%}"
    )
    why = "a segment keeps what is inside it, or none is checkpointed"
    return (
        Passed(measured)
        if share <= allowed
        else Failed(measured, why, f"the stem and all four layers; {WRONG}")
    )


# --- what is judged: memory seen from outside -------------------------------------------------------------------------


@part.check(basis="outputs")
def keeps_memory_flat(large_group: Pair, idle: Pair) -> Verdict:
    """A group of six batches needs less than half the memory of one large batch, measured from outside."""
    apart = numerics.update(large_group).error
    why = "the batches of a group are in memory at once: joined, or their graphs kept until one backward pass"
    try_ = "backward() for each batch, before the next one's forward pass"
    return memory.leaner(large_group, idle, 0.5, apart, UPDATE, why, try_)


@part.check(basis="outputs", needs=[every_parameter_trains], compared="memory and gradients")
def needs_less_memory(large_step: Pair, idle: Pair) -> Verdict:
    """Checkpointing saves at least half of what this shape lets it save, measured from outside."""
    known = large_step.baseline.values
    apart = outputs.furthest(
        large_step.student.arrays["numbers"], large_step.baseline.arrays["numbers"]
    )
    least = known["boundaries"] + known["largest"]  # all inputs, and one segment that runs again
    why = "segments keep what is inside them, or one of them is most of the network: running it again brings all back"
    try_ = f"five segments: the stem and the four layers; {WRONG}"
    return memory.leaner(large_step, idle, (1 + least) / 2, apart, APART, why, try_)


# --- what is judged: the comparison -----------------------------------------------------------------------------------


COMPARE = (
    "mend honest_throughput first if it fails; a warm-up and saved_mb on a training that is thrown away, then one "
    f"epoch of a fresh one; {WRONG}"
)


def _zeros(comparison: Pair) -> tuple[str, str] | None:
    panels = [panel for panel in comparison.student.values["panels"] if panel["values"]]
    zeros = [panel["label"] for panel in panels if not any(bar["value"] for bar in panel["values"])]
    why = (
        f"the bars of {zeros[0]!r} are 0: nothing was measured; without a GPU there is no peak to show"
        if zeros
        else ""
    )
    return (
        (why, "leave the panel of the peak out without a GPU; the others are above 0 anywhere")
        if why
        else None
    )


def _measured(comparison: Pair) -> str:
    rows, known = comparison.student.values["rows"], comparison.baseline.values
    return (
        judges.row_problem(rows)
        or judges.figure_problem(rows, known["rows"][0])
        or judges.time_problem(rows, epochs(known))
        or judges.reuse_problem(comparison.student.values["passes"], known["batches"])
    )


study = Study(part, judges.RESULTS, "compare_checkpointing", by=comparison)
study.is_measured(
    "compares_both",
    _measured,
    says="compare_checkpointing measures an epoch of each model, from fresh weights after a warm-up on others.",
    try_=COMPARE,
    shows=["throughput", "saved_mb"],
)
study.is_written()
study.is_drawn(
    FIGURE,
    UNITS,
    says="compare_checkpointing draws throughput and memory of its rows, and writes checkpointing_comparison.png.",
    try_="one bar per row, named and as high as the row says, and set_ylabel with the unit",
    also=_zeros,
)

# --- what is judged: the files that are handed in ---------------------------------------------------------------------


study.is_consistent(
    lambda rows: judges.row_problem(rows) or run_problem(rows),
    says="The checkpointing_results.csv handed in has two rows of numbers that fit each other.",
    note=judges.doubt,
)
study.is_pictured(FIGURE)
