"""Part 4: checkpointing. A stack, an MLP, every few blocks of a language model, and what is cheap: computed twice."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import outputs
from autograder.checks.hints import Causes
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBERS,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Verdict,
    list_of,
)

if TYPE_CHECKING:
    from autograder.labs.pairs.part04_checkpointing.rig import Rig
else:
    Rig = Any

part = Part("part04_checkpointing", warm=["torch._dynamo"])
MB = 1e6
NEAR = 1e-5  # of a row's largest number; right work computes the same numbers again
SEE = 'see "What usually goes wrong" in the part 4 handout'

# --- a stack of layers, all or only what is cheap ---


def of_layers(use: Callable[[Any, Any, Mapping[str, Any]], Any]) -> Any:
    """Build the same layers for both sides, and call what was written with them."""

    def call(written: Any, given: Mapping[str, Any]) -> Any:
        from autograder.labs.pairs.part04_checkpointing import rig

        make_layers = importlib.import_module("given").make_layers
        make = rig.layers_of_products if given["products"] else make_layers
        return use(written, make(given["layers"], seed=given["seed"]), given)

    return call


def through_stack(written: Any, layers: Any, given: Mapping[str, Any]) -> Any:
    return written(layers, given["segments"])(given["x"])


def through_each(written: Any, layers: Any, given: Mapping[str, Any]) -> Any:
    x = given["x"]
    for layer in layers:
        x = written(layer, x)
    return x


stack = Exercise("CheckpointedStack", part, call=of_layers(through_stack))
cheap = Exercise("recompute_cheap", part, call=of_layers(through_each))


def draw_rows(
    random: np.random.Generator,
    rows: Any = (1, 9),
    layers: Any = 12,
    segments: Any = 6,
    products: Any = False,
) -> dict[str, Any]:
    return {
        "x": random.normal(size=(rows, 64)),
        "layers": layers,
        "segments": segments,
        "seed": int(random.integers(1 << 30)),
        "products": products,
    }


stack.inputs(draw_rows)
cheap.inputs(draw_rows)
LARGE: Sizes = {"rows": 8192}
TINY: Sizes = {"rows": 2, "layers": 2, "segments": 1}

DROPOUT, FROZEN, NO_GRAD = "with dropout", "where x needs no gradient", "under no_grad"
TOLD = "x.requires_grad"
# Layers, segments, dropout, and what else there is to a case.
STACKS = [
    (6, 3, 0.0, ""),
    (7, 3, 0.0, ""),
    (3, 5, 0.0, ""),
    (4, 2, 0.0, FROZEN),
    (6, 3, 0.25, DROPOUT),
    (4, 2, 0.25, "in eval mode"),
    (4, 2, 0.0, NO_GRAD),
]


def compared(
    rig: Rig, answers: Any, wrap: Callable[[Any, int], tuple[Any, Any]], name: str
) -> None:
    """Go forward and backward through each stack; *wrap* returns what has the parameters, and what is called."""
    for count, segments, dropout, kind in STACKS:
        layers = rig.layers(count, dropout).train(kind != "in eval mode")
        x = rig.rows_of(rig.integer(2, 9)).requires_grad_(kind != FROZEN)
        net, run = wrap(layers, segments)
        case = f"{name.format(count, segments)} {kind}".strip()
        if kind == NO_GRAD:
            with rig.no_grad():
                answers.ask(case, run, x)
        else:
            rig.pass_through(answers, case, net, run, x)
        answers.add(f"{case}, {TOLD} afterwards", x.requires_grad)


@part.probe(pair=True, values=CASES, arrays=NUMBERS, takes=["CheckpointedStack"])
def stacks(student: Student, rig: Rig) -> Any:
    answers = rig.answers(student)
    names = student.CheckpointedStack(rig.layers(2, 0.0), 2).named_parameters()
    answers.add("names of parameters", [name for name, _ in names])

    def wrap(layers: Any, segments: int) -> tuple[Any, Any]:
        made = student.CheckpointedStack(layers, segments)
        return made, made

    compared(rig, answers, wrap, "{} layers in {} segments")
    return answers.values()


@part.probe(pair=True, values=CASES, arrays=NUMBERS, takes=["recompute_cheap"])
def cheap_passes(student: Student, rig: Rig) -> Any:
    answers = rig.answers(student)

    def wrap(layers: Any, _: int) -> tuple[Any, Any]:
        return layers, partial(student.recompute_cheap, layers)

    compared(rig, answers, wrap, "{} layers")
    return answers.values()


WHY: Causes = {
    TOLD: (
        "requires_grad_() changes the caller's tensor",
        "leave out requires_grad_(), and give checkpoint use_reentrant=False",
    ),
    FROZEN: (
        (
            "a layer has no gradient, so it never trains: use_reentrant=True "
            "makes none where x needs none"
        ),
        "use_reentrant=False",
    ),
    DROPOUT: (
        "dropout drew again when the layers were computed again",
        "leave preserve_rng_state at True",
    ),
    "names": (
        "parameters must be called layers.0...",
        "self.layers = layers, and slices of self.layers in forward",
    ),
}


@part.check(basis="outputs")
def stack_answers_alike(stacks: Pair) -> Verdict:
    """CheckpointedStack and its gradients match the plain layers: dropout, eval mode, more segments than layers."""
    why: Causes = {
        **WHY,
        "gradient": (
            "usually the wrong layers are computed again: a lambda in a loop calls the last",
            "checkpoint(self.layers[first:last], x, use_reentrant=False), without a lambda",
        ),
        "": (
            "usually a layer is left out or runs twice",
            "n = ceil(layers / segments): self.layers[i : i + n] for i in range(0, layers, n)",
        ),
    }
    return outputs.same(stacks, NEAR, why=why, try_=SEE)


stack.needs_less_memory(
    0.45,  # with a last segment that is not checkpointed 38 %, with segments of two layers 57 %
    {"rows": 24_576, "layers": 4, "segments": 4},
    TINY,
    backward=True,
    name="stack_needs_less",
    says="4 layers in 4 segments need at most 45% of the plain layers' memory, measured from outside.",
    needs=["stack_answers_alike"],
    why="a segment has more than ceil(4 / 4) = 1 layer, and the longest segment decides the peak",
    try_="a checkpoint around each segment of ceil(n / segments) layers",
)
stack.needs_less_memory(
    0.45,  # segments of two layers 33 %, and with the four layers that checkpoint_sequential puts at the end 62 %
    {"rows": 12_288, "layers": 7, "segments": 4},
    TINY,
    backward=True,
    name="uneven_stack_needs_less",
    says="7 layers in 4 segments need at most 45% of the plain layers' memory, measured from outside.",
    needs=["stack_needs_less"],
    why="a segment has more than ceil(n / segments) layers: usually the last, as by checkpoint_sequential",
    try_="checkpoint slices of ceil(n / segments) layers",
)

# --- an MLP ---

mlp = Exercise("mlp", part)
WEIGHTS = ["w1", "b1", "w2", "b2"]


@mlp.inputs
def draw_mlp(
    random: np.random.Generator,
    rows: Any = (0, 9),
    width: Any = (1, 12),
    hidden: Any = (1, 30),
    out: Any = (1, 9),
) -> dict[str, Any]:
    # Sums of whole numbers and halves are exact: rounding turns no ReLU.
    return {
        "x": random.integers(-3, 4, (rows, width)).astype(float),
        "w1": random.integers(-3, 4, (hidden, width)).astype(float),
        "b1": random.integers(-3, 4, hidden) + 0.5,
        "w2": random.normal(size=(out, hidden)),
        "b2": random.normal(size=out),
    }


mlp.same(
    {
        "x needs no gradient": {"rows": 5, "gradients": WEIGHTS},
        "w1 is frozen": {"gradients": ["x", "b1", "w2"]},
    },
    as_one=True,
    within=1e-4,  # gradients of equal rows add up to what is left of large sums: 1.5e-5 was seen
    name="mlp_gradients_match",
    says="mlp and all its gradients match the plain MLP, also where x needs no gradient.",
    why={
        "x needs no gradient: gradient": (
            (
                "w1 and b1 have no gradient, so they never train: "
                "use_reentrant=True makes none where x needs none"
            ),
            "checkpoint(function, x, w1, b1, w2, b2, use_reentrant=False)",
        ),
        "gradient": (
            "a gradient is lost or changed on the way; all five inputs must get theirs",
            "hand all five to checkpoint() as they came, without detach()",
        ),
        "": (
            "the result must be that of a linear layer, ReLU and a linear layer",
            "compare with the slow version on one row",
        ),
    },
    try_=SEE,
)
mlp.keeps_less(
    0.05,
    {"rows": 64, "width": 64, "hidden": 1024, "out": 64},
    name="mlp_holds_nothing",
    says="mlp keeps nothing for the backward pass but its inputs.",
    why="the second layer keeps its input: it is outside of the checkpoint, or there is none",
    try_="put both layers into one checkpoint",
)

# --- the blocks of a language model ---

blocks = Exercise("checkpoint_blocks", part)
BLOCKS = 8
EVERY = (1, 2, 3)


def make_training(written: Any, rig: Any) -> Any:
    """Train a model of which every second block is checkpointed, and which takes caches."""
    model, ids = rig.language_model(4), rig.tokens(3, 12)
    names = list(model.state_dict())
    rig.unchanged(model, names, written(model, 2))
    rig.generates(model, ids)
    return rig.training(model, ids)


blocks.trains_alike(
    make_training,
    5,
    1e-3,
    name="blocks_train_alike",
    says="After 5 AdamW steps with dropout the weights are those of the plain model, under the same names; "
    "the model still takes caches.",
    why="usually a block is computed again with different random numbers",
    unusable="return the model that you get, and set only block.forward, which hands all arguments on",
    hints={
        "did not move": "give each chosen block functools.partial(checkpoint, block.forward, "
        "use_reentrant=False) as its forward: a lambda in a loop calls the last block",
    },
    try_="leave preserve_rng_state at True",
)


def loss_of(model: Any, given: Mapping[str, Any]) -> Any:
    return model(**given).loss


@part.probe(pair=True, values={"kept": list_of(INTEGER)}, takes=["checkpoint_blocks"])
def kept_by_blocks(student: Student, rig: Rig) -> Any:
    """The bytes that are there after a forward pass, for each `every`."""
    kept = []
    ids = rig.tokens(8, 64)
    for every in EVERY:
        model = student.checkpoint_blocks(rig.language_model(BLOCKS), every)
        cost = rig.calls.cost(partial(loss_of, model), {"input_ids": ids, "labels": ids})
        kept.append(cost["held"])
    return {"kept": kept}


@part.check(basis="report")
def blocks_hold_less(kept_by_blocks: Pair) -> Verdict:
    """Blocks 0, every, 2 * every, ... keep nothing but their inputs, and the others are as they were."""
    kept, plain = (
        side.values["kept"] for side in (kept_by_blocks.student, kept_by_blocks.baseline)
    )
    if len(kept) != len(EVERY):
        return Failed(f"{len(kept)} models were counted", f"{len(EVERY)} were run", SEE)
    for every, mine, whole in zip(EVERY, kept, plain, strict=True):
        others = 1 - ceil(BLOCKS / every) / BLOCKS
        measured = f"every={every}: {mine / MB:.1f} of {whole / MB:.1f} MB are kept, "
        measured += f"and about {others * whole / MB:.1f} are right"
        if mine > (others + 0.1) * whole:
            chosen = ", ".join(map(str, range(0, BLOCKS, every)))
            why = f"usually too little is computed again: blocks {chosen} must be, each as a whole"
            try_ = "checkpoint the whole forward of each block in list(model.blocks)[::every]"
            return Failed(measured, why, try_)
        if mine < (others - 0.05) * whole:
            why = "usually more blocks are computed again than `every` says"
            return Failed(measured, why, "leave the blocks between 0, every, 2 * every, ... alone")
    return Passed(measured)


# --- only what is cheap ---


POLICY = (
    "give checkpoint() a context_fn whose policy returns MUST_SAVE for aten.mm.default, "
    "aten.addmm.default, aten.bmm.default and aten.baddbmm.default, and PREFER_RECOMPUTE for all else"
)


@part.check(basis="outputs")
def cheap_answers_alike(cheap_passes: Pair) -> Verdict:
    """recompute_cheap and its gradients match the plain layers, with dropout and in eval mode."""
    why = {**WHY, "": "recompute_cheap must return layer(x), with its gradients"}
    try_ = "checkpoint(layer, x, use_reentrant=False, context_fn=...)"
    verdict = outputs.same(cheap_passes, NEAR, why=why, try_=try_)
    if isinstance(verdict, Failed) and "cached" in verdict.why:
        cause = "dropout changes a tensor in place that your policy saved"
        return replace(verdict, why=cause, try_=POLICY)
    return verdict


cheap.needs_less_memory(
    0.6,
    LARGE,
    TINY,
    backward=True,
    name="cheap_needs_less",
    says="12 layers, each by recompute_cheap, need at most 60% of the plain layers' memory, measured from outside.",
    needs=["cheap_answers_alike"],
    why="more than the results of matrix products is kept",
    try_=POLICY,
)
cheap.computes_less(
    1.05,
    {"rows": 64, "layers": 2, "products": True},
    name="cheap_recomputes_no_product",
    says="recompute_cheap computes no matrix product a second time.",
    needs=["cheap_needs_less"],
    why="matrix products are computed again: they are what takes the time",
    try_=POLICY,
)
