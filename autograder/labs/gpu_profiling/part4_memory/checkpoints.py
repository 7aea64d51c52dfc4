"""Checkpoints: the same logits and gradients, little that is kept, and a smaller peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autograder.checks import memory, numerics, outputs
from autograder.checks.hints import Causes, hinted
from autograder.lab import (
    INTEGER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Pair,
    Rig,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.gpu_profiling.part4_memory.part import part
from autograder.model import verdict

BATCH, SIDE = 6, 32  # samples, pixels: so many that shrink has something to average
MOMENTUM = 0.9
LARGE = {"width": 8, "batch": 64, "side": 128}  # so large that activations outweigh the process
BLOCKS = 'see "What a checkpoint does" in the part 4 handout'


@part.outputs
def network(student: Student, rig: Rig) -> Answer:
    """Two passes, backward after each, of images that need a gradient and of images that do not."""
    answers = rig.answers()
    for wants, mode in ((False, "train"), (True, "train"), (True, "eval")):
        simple = rig.matched.simple_net(rig.integer(2, 4))
        net = student.MemoryEfficientNet(simple).train(mode == "train")
        for turn in (1, 2):
            images = rig.tensor(rig.random.normal(size=(BATCH, 3, SIDE, SIDE)))
            output = net(images.requires_grad_(wants))
            case = f"forward pass {turn} in {mode}(), images with requires_grad={wants}"
            answers.add(f"logits of {case}", output)
            output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
            for name, parameter in simple.named_parameters():
                answers.add(f"gradient of {name}, {case}", parameter.grad)
            if wants or images.grad is not None:
                answers.add(f"gradient of the images, {case}", images.grad)
    return answers.values()


@part.probe(
    pair=True,
    values={"without": list_of(TEXT), "parameters": INTEGER},
    arrays={"start": ("float32", 1), "weights": ("float32", 1)},
)
def training(student: Student, rig: Rig) -> Answer:
    """Some steps of an optimizer that holds SimpleNet's own parameters."""
    simple = rig.matched.simple_net(3)
    window = rig.window([BATCH] * 4, model=simple, momentum=MOMENTUM, enlarged=4)
    start = window.weights()
    without: set[str] = set()
    net = student.MemoryEfficientNet(simple)
    net.train()
    for images, labels in window.loader:
        window.optimizer.zero_grad()
        window.criterion(net(images), labels).backward()
        without |= {name for name, parameter in simple.named_parameters() if parameter.grad is None}
        window.optimizer.step()
    return {
        "without": sorted(without),
        "parameters": len(list(simple.parameters())),
        "start": start,
        "weights": window.weights(),
    }


def kept_inputs(width: int, batch: int, side: int) -> int:
    """Return the bytes of the inputs of the second and third block; the images are there anyway."""
    return 4 * batch * (width * (side // 2) ** 2 + 2 * width * (side // 4) ** 2)


@part.probe(pair=True, values={"saved": INTEGER, "inputs": INTEGER, "classified": INTEGER})
def kept(student: Student, rig: Rig) -> Answer:
    """What one forward pass keeps for the backward pass, and how often the classifier runs in both."""
    width, batch, side = 4, 4, 64
    simple = rig.matched.simple_net(width)
    images = rig.tensor(rig.random.normal(size=(batch, 3, side, side)))
    net = student.MemoryEfficientNet(simple)
    classified: list[int] = []
    simple.fc1.register_forward_hook(lambda *_: classified.append(1))
    with rig.saved(*simple.parameters(), images) as saved:
        logits = net(images)
    logits.sum().backward()
    return {
        "saved": saved.bytes,
        "inputs": kept_inputs(width, batch, side),
        "classified": len(classified),
    }


@part.probe(pair=True, arrays=NUMBERS)
def large_step(student: Student, rig: Rig) -> Answer:
    """One forward and backward pass of three equally large blocks, so that no block hides what the others save."""
    width, batch, side = LARGE.values()
    simple = rig.matched.simple_net(width, even=True)
    images = rig.tensor(rig.random.normal(size=(batch, 3, side, side)))
    net = student.MemoryEfficientNet(simple)
    rig.return_memory_at_once()
    net(images).square().mean().backward()
    return {"numbers": rig.flat([it.grad for it in simple.parameters() if it.grad is not None])}


@part.probe(pair=True)
def idle(student: Student, rig: Rig) -> Answer:
    """Small work: what a worker holds before anything is large."""
    net = student.MemoryEfficientNet(rig.matched.simple_net(2))
    net(rig.tensor(rig.random.normal(size=(2, 3, SIDE, SIDE))))
    return {}


SAME = 1e-5  # of the largest number: the second run repeats the first
APART = 1e-4  # of the update's norm, after four steps
LEANER = 0.68  # of the peak. Measured: three blocks or smaller ones 0.58; one or two of them 0.79, one around all 1.03
UNWANTED = (
    "requires_grad_() changes the caller's images, and computes a gradient that is not needed"
)
WITHOUT = "leave out requires_grad_(): checkpoint(..., use_reentrant=False) works without it"


ORDER = (
    "blocks 1 and 2: convolution, ReLU, pool; block 3: convolution, ReLU, shrink; "
    "then fc1, ReLU, fc2"
)


def _unused(without: Sequence[str]) -> tuple[str, str]:
    """Say why these cases have no gradient, and what to try.

    The classifier's never are a checkpoint's doing, nor are those of images that need a gradient.
    """
    if any("of fc2" in name for name in without):
        return (
            "not even the last layer has one: copies run instead of SimpleNet's own layers",
            "call simple.conv1 and the other layers themselves",
        )
    if any("of fc1" in name for name in without):
        why = "fc2 has one and fc1 has none: forward detaches what fc1 returns"
        return why, "take no_grad() and detach() out of forward"
    if any("requires_grad=True" in name for name in without):
        why = "a block runs under no_grad(), or its result is detached"
        return why, "take no_grad() and detach() out of forward"
    why = (
        "your code checkpoints with use_reentrant=True, which gives no gradient to a block "
        "whose input needs none, and images need none"
    )
    return why, "checkpoint(block, x, use_reentrant=False)"


@part.check(basis="outputs")
def gradients_match(network: Pair) -> Verdict:
    """MemoryEfficientNet has the same logits as SimpleNet, and every weight gets the same gradient as in SimpleNet."""
    asked = {case["case"] for case in network.baseline.values["cases"]}
    cases = network.student.values["cases"]
    without = [case["case"] for case in cases if case["dtype"] == "nothing"]
    for case in cases:
        if case["case"] not in asked:
            return Failed(f"there is a {case['case']}", UNWANTED, WITHOUT)
        if case["case"] in without:
            return Failed(f"no {case['case']}", *_unused(without))
    why = {
        "logits": "a different function: usually a layer is missing, too many or out of order",
        "gradient": "usually code beside the layers changes numbers for the backward pass",
    }
    hints: Causes = {
        "all numbers are 0; a different": (
            "the logits are not what fc2 gives",
            "return what fc2 gives, unchanged",
        ),
        "gradient of": "only call checkpoint(block, x, use_reentrant=False) once for each block",
        "logits": ORDER,
    }
    judged = hinted(outputs.same(network, SAME, why=why, try_=BLOCKS), hints)
    if isinstance(judged, Failed) and "times the right ones" in judged.measured:
        return replace(judged, why="usually a block's result is used twice in one pass")
    return judged


FIRST = "fix gradients_match first if it fails"
STILL = {
    "no weight moved": (
        "no weight moved, though the check calls optimizer.step(): all gradients are 0",
        f"{FIRST}; detach nothing",
    )
}


@part.check(basis="outputs")
def every_weight_trains(training: Pair) -> Verdict:
    """Trained as a MemoryEfficientNet, every weight of the SimpleNet moves as it does without checkpoints."""
    without = training.student.values["without"]
    count = training.baseline.values["parameters"]
    if without:
        more = f" and {len(without) - 3} more" * (len(without) > 3)
        listed = ", ".join(without[:3]) + more
        missing = f"{len(without)} of {count} weights have no gradient: {listed}"
        return Failed(missing, "each weight must get one, as in gradients_match", FIRST)
    why = "gradients or logits are not SimpleNet's"
    judged = numerics.same_update(training, APART, why=why, try_=f"{FIRST}; {ORDER}")
    return hinted(judged, STILL)


@part.check(basis="report", needs=[gradients_match])
def keeps_only_the_inputs(kept: Pair) -> Verdict:
    """Not counting the inputs of the three blocks, a step keeps at most 1/4 of the bytes that SimpleNet keeps."""
    saved, classified = (kept.student.values[name] for name in ("saved", "classified"))
    inputs, whole = (kept.baseline.values[name] for name in ("inputs", "saved"))
    if classified > 1:
        why = "your code checkpoints the classifier, too, which keeps little"
        return Failed(
            f"fc1 ran {classified} times in a step, and once is right",
            why,
            "checkpoint the three blocks only",
        )
    allowed = inputs + (whole - inputs) / 4
    measured = (
        "a forward pass keeps {:.3f} MB, SimpleNet's {:.3f} MB; allowed are {:.3f} MB".format(
            *(size / 1e6 for size in (saved, whole, allowed))
        )
    )
    which = "no block" if saved >= whole else "not every block"
    why = f"usually {which} is checkpointed, so blocks keep what is inside them"
    try_ = "call checkpoint(...) for each of the three blocks"
    return verdict(measured, "" if saved <= allowed else why, try_)


@part.check(basis="outputs", needs=[gradients_match])
def needs_less_memory(large_step: Pair, idle: Pair) -> Verdict:
    """The peak of a step with a large batch, as the grader measures it, is at most 68 % of SimpleNet's."""
    both = (large_step.student, large_step.baseline)
    apart = outputs.furthest(*(side.arrays["numbers"] for side in both))
    why = "usually the step holds what is inside of several blocks at once, as without checkpoints"
    return memory.leaner(
        large_step,
        idle,
        LEANER,
        apart,
        APART,
        why,
        "call checkpoint(...) three times, once for each of the three blocks",
    )
