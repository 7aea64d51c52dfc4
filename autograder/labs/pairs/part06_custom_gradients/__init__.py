"""Part 6: your own backward pass. A gated activation that keeps its inputs alone, a loss that never has all logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.lab import Part

part = Part("part06_custom_gradients", warm=["torch._dynamo"])
SEE = 'see "What usually goes wrong" in the part 6 handout'
LATER = "the error comes in the backward pass, not in the call"
INPUTS = ("gate", "up")
WIDE = "gates from -30 to 30"


def use(written: Any, given: Mapping[str, Any]) -> Any:
    """Call; a case may also want a backward pass, after a change in place or without one."""
    then = given["then"]
    if not then:
        return written(given["gate"], given["up"])
    leaves = {name: given[name].detach().requires_grad_() for name in INPUTS}
    computed = {name: leaf.clone() for name, leaf in leaves.items()}
    result = written(**computed)
    if then in INPUTS:
        computed[then].add_(1)
    result.sum().backward()
    return {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}


swiglu = Exercise(
    "swiglu",
    part,
    call=use,
    holes={"refuses_nothing": LATER, "refuses_by_another_error": LATER},
)
LARGE: Sizes = {"rows": 40, "columns": 30, "size": 30}
SMALL: Sizes = {"rows": (2, 9), "columns": (2, 33)}


@swiglu.inputs
def draw_gates(
    random: np.random.Generator,
    rows: Any = (0, 9),
    columns: Any = (0, 33),
    size: Any = 1,
    then: Any = "",
) -> dict[str, Any]:
    shape = (rows, columns)
    gate = random.normal(size=shape) if size == 1 else random.uniform(-size, size, shape)
    return {"gate": gate, "up": random.normal(size=shape), "then": then}


def differentiate(written: Any, given: Mapping[str, Any]) -> Any:
    """Return the gradients of a result, whose own gradient depends on the inputs."""
    gate, up = inputs = [given[name].clone() for name in INPUTS]
    written(gate, up).backward(gate * up, create_graph=True, inputs=inputs)
    return [each.grad for each in inputs]


swiglu.same(
    {
        WIDE: LARGE,
        "gate is frozen": {**SMALL, "gradients": ["up"]},
        "up is frozen": {**SMALL, "gradients": ["gate"]},
    },
    dtypes=["float64", "bfloat16"],
    as_one=True,
    name="swiglu_matches",
    says="swiglu and its gradients match the slow version: contiguous or not, float64, bfloat16, "
    "values of gate from -30 to 30 and of several thousand.",
    why={
        "is frozen": (
            "an input that needs a gradient must get one, also where the other input needs none",
            "ask ctx.needs_input_grad for each input by itself",
        ),
        "times 1000": (
            "exp of some hundreds is infinite, and infinity / infinity is NaN",
            "take torch.sigmoid(gate), which is right for large gates as well",
        ),
        "gradient of up": (
            "the gradient of up must be the gradient of the result times silu(gate)",
            "multiply silu(gate) by the gradient that backward gets",
        ),
        "gradient of gate": (
            (
                "the gradient of gate must be s * (1 + gate * (1 - s)), s = sigmoid(gate), times "
                "up, times the gradient of the result"
            ),
            "multiply both gradients, of gate and of up, by the one that backward gets",
        ),
        "": (
            "the result must be silu(gate) * up, in the dtype of the inputs",
            "compare with torch.nn.functional.silu(gate) * up",
        ),
    },
    try_=SEE,
)


twice = Exercise("swiglu", part, call=differentiate, holes={"detached": "swiglu_matches fails it"})
twice.inputs(draw_gates)
twice.same_gradients(
    {"gates around 0": {"rows": 5, "columns": 7}, WIDE: LARGE},
    name="swiglu_twice",
    says="The gradients of swiglu have the right gradients themselves.",
    needs=["swiglu_matches"],
    why="backward uses tensors that are cut off from gate and up",
    hints={
        "nothing instead of": (
            "the backward pass has no graph of its own",
            "compute without torch.no_grad() in backward, by mul, sigmoid and silu",
        ),
        "once_differentiable": "leave out @once_differentiable",
    },
    try_="in backward, use ctx.saved_tensors without detach(), and no tensor that forward computed",
)
swiglu.keeps_less(
    0.05,
    {"rows": 256, "columns": 512, "view": "transposed"},
    name="swiglu_holds_nothing",
    says="swiglu keeps nothing for the backward pass but its two inputs.",
    why="more is kept than gate and up as they came",
    try_="save gate and up alone, without contiguous(), and compute all else again in backward",
)
swiglu.refuses(
    {f"{name} is changed before the backward pass": {"then": name} for name in INPUTS},
    RuntimeError,
    takes={"nothing is changed": {"then": "nothing"}},
    name="notices_changes",
    says="The backward pass raises RuntimeError if gate or up was changed in place after the call.",
    why="backward uses other tensors than those of save_for_backward, which alone notices changes",
    try_="save_for_backward with both inputs, and ctx.saved_tensors in backward",
)


def go_back(written: Any, given: Mapping[str, Any]) -> Any:
    """Call; a case may also want the gradients of a second backward pass."""
    inputs = {name: it for name, it in given.items() if name != "passes"}
    if given["passes"] == 1:
        return written(**inputs)
    leaves = {name: given[name].detach().requires_grad_() for name in ("hidden", "weight")}
    loss = written(**{**inputs, **leaves})
    for retains in (True, False):
        for leaf in leaves.values():
            leaf.grad = None
        loss.backward(retain_graph=retains)
    return {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}


head = Exercise("head_loss", part, call=go_back)
SOME, NONE = "a third of the labels is -100", "no label counts"
CHUNK, HUNDREDS = "the first chunk has no labels", "logits of some hundreds"
SECOND = "a second backward pass"
ANEW = "multiply into a new tensor, without mul_ or *="
TOO_LARGE = "rounding decides about softmax there"


@head.inputs
def draw_head(
    random: np.random.Generator,
    n: Any = (1, 40),
    d: Any = (1, 24),
    v: Any = (2, 60),
    rows: Any = (1, 9),
    kind: Any = "",
    passes: Any = 1,
) -> dict[str, Any]:
    hidden: Any = random.normal(size=(n, d))
    weight: Any = 0.3 * random.normal(size=(v, d))
    if kind == HUNDREDS:  # whole numbers, so that no logit is rounded
        hidden = random.integers(-4, 5, (n, d)).astype(float)
        weight = 8.0 * random.integers(-4, 5, (v, d))
    labels = random.integers(0, v, n)
    ignored = {SOME: slice(1, None, 3), NONE: slice(None), CHUNK: slice(rows)}
    labels[ignored.get(kind, slice(0))] = -100
    return {"hidden": hidden, "weight": weight, "labels": labels, "rows": rows, "passes": passes}


MANY: Sizes = {"n": (20, 40)}
FEW = 4  # rows, where memory is measured: not 128, which are taken by default, nor n / rows
MEAN = "the loss must be the mean of logsumexp(logits) - logits[label] over the labels that count"
head.same(
    {
        SOME: {**MANY, "rows": 6, "kind": SOME},  # no chunk is without a label then
        CHUNK: {**MANY, "kind": CHUNK},
        HUNDREDS: {**MANY, "d": 16, "v": (20, 60), "kind": HUNDREDS},
        "weight is frozen": {**MANY, "gradients": ["hidden"]},
        "hidden is frozen": {**MANY, "gradients": ["weight"]},
        NONE: {"kind": NONE, "gradients": []},
        SECOND: {**MANY, "passes": 2, "gradients": []},
    },
    skip_families={
        "times 1000": TOO_LARGE,
        "one row times 10000": TOO_LARGE,
        "equal rows": "with all rows of weight alike, hidden has the gradient 0",
    },
    as_one=True,
    within=1e-4,  # exp(logits - logsumexp), or chunks that autograd adds up: 1.7e-5 was seen
    name="head_matches",
    says="head_loss and its gradients match the slow version, also with -100 labels, large logits or one frozen input.",
    why={
        f"{SOME}: gradient": (
            "rows with a label of -100 must have the gradient 0",
            "set their rows of the gradient to 0, and divide by the number of the others",
        ),
        SOME: (
            "labels of -100 must not count for the mean",
            "divide by the number of the other labels, not by n",
        ),
        CHUNK: (
            "no label of this chunk counts, so the mean of the chunk is 0 / 0",
            "add up the sums of all chunks, and divide once at the end",
        ),
        HUNDREDS: (
            "exp of some hundreds is infinite",
            "take the largest logit of each row off first",
        ),
        SECOND: (
            "the first backward pass changed in place what forward had saved",
            ANEW,
        ),
        NONE: (
            "where no label counts the loss must be 0 / 0, NaN, without an error",
            "divide by the number of labels that count, also where it is 0",
        ),
        "float64": (
            "in float64 every step must be computed in float64: one was not, usually 1 / count",
            "make each new tensor with dtype=hidden.dtype, and convert nothing to float32",
        ),
        "gradient": (
            (
                "the gradient of the logits must be softmax(logits) - onehot, over the number of "
                "labels that count, times the gradient of the loss"
            ),
            (
                "multiply by the gradient that backward gets: 3 times "
                "the loss has 3 times the gradient"
            ),
        ),
        "": (MEAN, "compare with F.cross_entropy(hidden @ weight.T, labels)"),
    },
    hints={
        "modified by an inplace": (
            "backward changes a saved tensor in place, so a second backward pass cannot use it",
            ANEW,
        ),
    },
    try_=SEE,
)
head.needs_less_memory(
    0.2,
    {"n": 128, "d": 4, "v": 262_144, "rows": FEW},
    {"n": 8, "d": 4, "v": 8, "rows": 4},
    backward=True,
    name="head_needs_little",
    says=f"head_loss with rows={FEW} needs at most 20% of the slow version's memory, forward and backward, "
    "measured from outside.",
    why="logits, or what is made of them, are in memory for more than `rows` rows at a time "
    f"(rows is {FEW} here)",
    try_="for each chunk of hidden.split(rows), compute the gradients while its logits are there",
)
FROZEN: Sizes = {"n": 256, "d": 64, "v": 512, "rows": 64, "gradients": ["hidden"]}
head.computes_less(
    0.85,
    FROZEN,
    than={"when weight needs a gradient as well": {**FROZEN, "gradients": ["hidden", "weight"]}},
    name="head_skips_frozen",
    says="head_loss computes no product for the gradient of a weight that needs none.",
    needs=["head_needs_little"],
    why="your code computes the gradient of a weight that needs none",
    try_="compute it only if ctx.needs_input_grad[1]",
)
