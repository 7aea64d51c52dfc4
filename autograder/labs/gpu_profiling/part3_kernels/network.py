"""The network: the same answers with less to move, in one graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import hinted
from autograder.checks.numerics import Array
from autograder.claims.graphs import Compiled
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    TEXT,
    Answer,
    Failed,
    Observation,
    Pair,
    Student,
    Verdict,
    list_of,
    map_of,
)
from autograder.labs.gpu_profiling.part3_kernels.part import Rig, part
from autograder.model import verdict

WIDTHS = (2, 5)  # channels of the first convolution
WIDE, LARGE = 4, (4, 3, 96, 96)  # channels of a net; images that are large beside its weights
# Of the bytes that SimpleNet's operators move; at this size the reference's move 0.78, those in place only 1.
LESS = 0.95
INPLACE = "run no in-place operation (add_, clamp_, nn.ReLU(inplace=True)) on the images x"
WRONG = 'see "What usually goes wrong" in the part 3 handout'


def mapped(
    student: Student, rig: Rig, width: int, simple: Any = None
) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the student's net with mapped weights, and (SimpleNet's name, parameter) in SimpleNet's order."""
    simple = simple or rig.matched.simple_net(width)
    state = dict(simple.state_dict())
    renamed = student.map_weights(dict(state))
    net = student.OptimizedNet(width).to(rig.device)
    net.load_state_dict(renamed)
    return net, [(name, holder(net, tensor)) for name, tensor in state.items()]


def holder(net: Any, tensor: Any) -> Any:
    """Return the parameter of *net* that holds what *tensor* does."""
    for parameter in net.parameters():
        same_shape = parameter.shape == tensor.shape
        if same_shape and bool((parameter.detach() == tensor).all()):
            return parameter
    return None


@part.probe(
    pair=True,
    values={**CASES, "held": list_of(TEXT), "mistaken": map_of(list_of(NUMBER))},
    arrays=NUMBERS,
)
def network(student: Student, rig: Rig) -> Answer:
    """Outputs and gradients at several sizes, in train() and eval(), on one image and on several."""
    answers, held, mistaken = rig.answers(), list[str](), dict[str, list[float]]()
    for width, batch, side, mode, wanted in (
        (WIDTHS[0], 1, 16, "train", True),
        (WIDTHS[1], 3, 25, "eval", True),
        (2, 5, 16, "eval", False),  # images as a loader gives them
    ):
        simple = rig.matched.simple_net(width)
        net, weights = mapped(student, rig, width, simple)
        held += [name for name, parameter in weights if parameter is not None]
        images = rig.tensor(rig.random.normal(size=(batch, 3, side, side))).requires_grad_(wanted)
        if rig.side != "student" and not mistaken:
            mistaken = rig.without_relus(simple, images)
        before = images.detach().clone()
        output = net.train(mode == "train")(images)
        case = f"images ({batch}, 3, {side}, {side}), width {width}"
        answers.add(f"logits of {case}", output)
        answers.add(f"change of the images, {case}", images.detach() - before)
        output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
        for name, parameter in weights:
            answers.add(f"gradient of {name}, {case}", getattr(parameter, "grad", None))
        if wanted:
            answers.add(f"gradient of the images, {case}", images.grad)
    return {**answers.values(), "held": sorted(set(held)), "mistaken": mistaken}


@part.probe(values={"gone": list_of(TEXT), "changed": list_of(TEXT)})
def state_after(student: Student, rig: Rig) -> Answer:
    """What map_weights left of the state_dict that it was given."""
    state = dict(rig.matched.simple_net(WIDTHS[0]).state_dict())
    held, before = dict(state), rig.copies(state)
    student.map_weights(state)
    return {"gone": sorted(set(before) - set(state)), "changed": rig.changed(held, before)}


@part.probe(pair=True, values={"operators": INTEGER, "bytes": INTEGER}, arrays=NUMBERS)
def traffic(student: Student, rig: Rig) -> Answer:
    """One forward pass without gradients."""
    net, _ = mapped(student, rig, WIDE)
    images = rig.tensor(rig.random.normal(size=LARGE))
    net.eval()
    with rig.no_grad(), rig.traffic() as traffic:
        output = net(images)
    return {"operators": traffic.count, "bytes": traffic.bytes, "numbers": rig.flat(output)}


CONVOLUTIONS = 3
LOST = (
    "no parameter of OptimizedNet holds this weight as it is: map_weights changes it",
    "give each tensor, unchanged, the name of the same layer in OptimizedNet",
)
UNUSED = (
    "OptimizedNet holds this weight, but forward does not use it",
    "let forward use each layer to which map_weights gives a weight",
)
DETACHED = (
    "no convolution gets a gradient: forward cuts the features off from autograd",
    "take detach() and no_grad() out of forward",
)
SAME = 2e-5  # of the largest number; right work in other orders of the same sums was within 1e-6


@part.check(basis="outputs")
def answers_alike(network: Pair) -> Verdict:
    """OptimizedNet with mapped weights gives SimpleNet's logits and gradients, and leaves the images as they were."""
    why = {
        "logits": "a different function than SimpleNet's",
        "gradient": "the logits are right, but the backward pass is another: usually "
        "a layer or a weight is used twice",
        "change of": "forward changes the caller's images in place",
    }
    try_ = "compare block by block with given.SimpleNet"
    without = [it["case"] for it in network.student.values["cases"] if it["dtype"] == "nothing"]
    if without:
        size = without[0].partition(", ")[2]
        cut = sum(".weight, " in it and "conv" in it and it.endswith(size) for it in without)
        name = without[0].removeprefix("gradient of ").partition(",")[0]
        words = UNUSED if name in network.student.values["held"] else LOST
        words = DETACHED if cut == CONVOLUTIONS else words
        return Failed(f"no {without[0]}", *words)
    hints = {
        "change of": INPLACE,
        "gradient": "give each tensor one new name, and use each layer's result once, as it is",
    }
    judged = hinted(outputs.same(network, SAME, why=why, try_=try_), hints)
    if isinstance(judged, Failed) and "logits of" in judged.measured:
        mistake = _misplaced(network)
        return replace(judged, why=mistake[0], try_=mistake[1]) if mistake else judged
    return judged


def _misplaced(network: Pair) -> tuple[str, str] | None:
    """Say which usual mistake gives the logits, and what to try; or nothing."""
    own = dict[str, Array]()
    for _, asked, got, _ in outputs.paired(network):
        own[asked["case"]] = np.zeros(0) if got is None else got
    if any(it.any() for case, it in own.items() if case.startswith("change of")):
        return (
            "forward changes the caller's images in place, and computes from what they became",
            INPLACE,
        )
    first = next(it for case, it in own.items() if case.startswith("logits of"))
    for words, logits in network.baseline.values["mistaken"].items():
        if outputs.furthest(first, np.array(logits)) <= SAME:
            return words, "put a ReLU after conv1, conv2, conv3 and fc1, before any average"
    return None


@part.check(basis="report")
def leaves_the_state_alone(state_after: Observation) -> Verdict:
    """map_weights does not change the state_dict that it is given."""
    gone = state_after.values["gone"]
    try_ = "fill a new dict instead of pop and item assignment"
    if gone:
        measured = f"missing afterwards: {', '.join(gone[:3])}"
        return Failed(measured, "map_weights takes weights out of the caller's dict", try_)
    return outputs.unchanged(state_after.values["changed"], try_=try_)


@part.check(basis="report", needs=[answers_alike])
def moves_fewer_bytes(traffic: Pair) -> Verdict:
    """The operators of OptimizedNet read and write at most 95 % of the bytes that SimpleNet's do."""
    mine, theirs = traffic.student, traffic.baseline
    operators, moved = mine.values["operators"], mine.values["bytes"]
    apart = outputs.furthest(mine.arrays["numbers"], theirs.arrays["numbers"])
    share = moved / theirs.values["bytes"]
    measured = f"{moved / 1e6:.2f} MB in {operators} operators, {share:.0%} of SimpleNet's"
    if not apart <= SAME:
        apart_too = f"logits of images of 96 x 96 pixels are off by {apart:.1e} (allowed {SAME})"
        why = "OptimizedNet must compute the same as SimpleNet for images of any size"
        return Failed(apart_too, why, "let forward do the same for all sizes of images")
    if not operators:
        why = "forward computes where no operator is seen, in another thread or process"
        return Failed(measured, why, "compute in forward, in the thread that calls it")
    why = "usually a ReLU runs before a pool, and so reads four times as many numbers"
    return verdict(measured, "" if share <= LESS else why, "put nn.MaxPool2d before nn.ReLU")


compiled = Compiled(
    part,
    lambda student, rig: (mapped(student, rig, WIDTHS[0])[0], student.compile_net),
    SAME,
    WRONG,
    takes=["map_weights", "OptimizedNet", "compile_net"],
)
compiled.answers_alike(
    "The compiled net gives what the net gives, for each batch size and in each call.",
    ["answers_alike"],
)
compiled.is_one_graph(
    "compile_net makes one graph of the whole net for each shape, by "
    "the given backend; a break is an error.",
    ["compiled_answers_alike"],
)
