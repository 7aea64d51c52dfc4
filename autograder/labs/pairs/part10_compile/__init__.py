"""Part 10: what is compiled. A region of each block, and a backward pass that is a graph."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograder.checks import outputs, speedup
from autograder.checks.hints import Causes
from autograder.claims.steps import CompiledStep
from autograder.lab import (
    BOOLEAN,
    CASES,
    INTEGER,
    NUMBERS,
    TEXT,
    Answer,
    Bar,
    Close,
    Failed,
    Pair,
    Part,
    Passed,
    Student,
    Timed,
    Tolerance,
    Verdict,
    Window,
    list_of,
)

if TYPE_CHECKING:
    from autograder.labs.pairs.part10_compile.rig import Rig
else:
    Rig = Any

part = Part("part10_compile", writes=["compile_regions", "make_step"])
SEE = 'see "What usually goes wrong" in the part 10 handout'
REGION = "compile block.mlp in place, for each block, with this backend"
NOTHING = (
    "no graph of the given backend ran",
    "block.mlp.compile(backend=...), for each block, with the given backend",
)

# --- regions ---

BLOCKS, LENGTHS, ROWS = 2, 4, 2
BUILDS = 2  # the second length makes a graph for any length
SHARE = 0.1  # of what the slow version captures; the reference captures 2 %, attention 19 %
ATTENTION, SMALLEST = "scaled_dot_product_attention", "block.attention"


@part.probe(
    pair=True,
    values={
        **CASES,
        "names": list_of(TEXT),
        "itself": BOOLEAN,
        "nothing": BOOLEAN,
        "operations": INTEGER,
        "calls": list_of(TEXT),
        "built": INTEGER,
        "flops": INTEGER,
        "needed": INTEGER,
    },
    arrays=NUMBERS,
    takes=["compile_regions"],
)
def regions(student: Student, rig: Rig) -> Answer:
    """Training batches of four lengths, then one in eval mode, on the recording backend."""
    model, compiler, answers = rig.language(BLOCKS), rig.capturing(), rig.answers()
    plain = list(model.state_dict())
    lengths = (8 * rig.random.permutation(range(2, 9))[:LENGTHS]).tolist()
    needed = rig.flops_of_mlps(model, ROWS * sum(lengths))
    returned = student.compile_regions(model, backend=compiler)
    run = returned if hasattr(returned, "named_parameters") else model
    for length in lengths:
        ids = rig.tokens(ROWS, length)
        run.zero_grad()
        rig.drop_alike(length)
        output = run(ids, labels=ids)
        output.loss.backward()
        answers.add(f"logits of {length} tokens", output.logits)
        answers.add(f"gradients of {length} tokens", rig.gradients(run))
    noted = {
        "operations": compiler.operations,
        "calls": sorted(compiler.names),
        "built": sum(graph["kind"] == "forward" for graph in compiler.values()["built"]),
        "flops": compiler.flops,
        "needed": needed,
    }
    run.eval()
    with rig.no_grad():
        answers.add("logits in eval mode", run(rig.tokens(3, 11)).logits)
    names = list(run.state_dict()) if rig.side == "student" else plain
    kind = {"itself": returned is model, "nothing": returned is None}
    return {**answers.values(), **noted, **kind, "names": names}


@part.check(basis="outputs", compared="logits and gradients")
def regions_answer_alike(regions: Pair) -> Verdict:
    """The model returns the same logits and gradients as before, for each length, in train and eval mode."""
    why: Causes = {
        "eval mode": (
            "the results of train mode are right, and those of eval mode are not",
            "compile the module in place, so that model.eval() reaches it",
        ),
        "logits": (
            "the compiled model returns other results, usually because its mode was changed",
            "call neither model.eval() nor model.train(), and compile block.mlp itself",
        ),
        "": (
            "the logits are right, and gradients are not",
            "compile block.mlp itself, without no_grad() or detach()",
        ),
    }
    return outputs.same(regions, 1e-4, why=why, try_=SEE)


@part.check(basis="outputs", compared="names")
def regions_keep_names(regions: Pair) -> Verdict:
    """compile_regions returns the model itself, and the names in its state_dict stay."""
    names, expected = (side.values["names"] for side in (regions.student, regions.baseline))
    wrong = next((name for name in names if name not in expected), "")
    try_ = f"{REGION}: a module compiles itself in place"
    if wrong or names != expected:
        measured = f"state_dict has {wrong}" if wrong else f"{len(names)} names in state_dict"
        why = "torch.compile(module) wraps the module, so names of weights change"
        return Failed(measured, why, try_)
    if regions.student.values["nothing"]:
        why = "the model was compiled in place, and the function has no return"
        return Failed("nothing was returned", why, "return model at the end")
    if not regions.student.values["itself"]:
        why = "compile_regions must return the model that it was given"
        return Failed("a different model is returned", why, "compile in place, and make no copy")
    return Passed(f"{len(names)} names")


def _compiled(calls: Sequence[str]) -> str:
    """Name the smallest module that makes all of these calls; attention is among them."""
    holds = {"embedding": "the whole model", "norm": "a whole block"}
    return next((it for word, it in holds.items() if any(word in name for name in calls)), SMALLEST)


@part.check(basis="report")
def captures_little(regions: Pair) -> Verdict:
    """Graphs compute each block's MLP and no attention; they have at most 10 % of the slow version's operations."""
    mine, plain = (side.values["operations"] for side in (regions.student, regions.baseline))
    measured = f"{mine} operations captured; a compiled model has {plain} ({SHARE:.0%} allowed)"
    why, try_ = "", REGION
    if mine > SHARE * plain:
        why = "more than the MLP of each block is compiled"
    calls = regions.student.values["calls"]
    if any(ATTENTION in name for name in calls):
        why = f"attention is in the graph: {_compiled(calls)} is compiled"
        try_ = "compile block.mlp, and neither block nor block.attention nor the model"
    elif not mine:
        why, try_ = NOTHING
    elif (flops := regions.student.values["flops"]) < (needed := regions.baseline.values["needed"]):
        measured = f"graphs compute {flops} FLOP; the MLPs of all blocks compute {needed}"
        why = "only a piece of an MLP is in a graph"
        if flops * BLOCKS == needed:
            why = f"the MLP of one of {BLOCKS} blocks is in a graph; no other MLP is"
        if not flops:
            why = (
                "no product of an MLP is in a graph: something else is compiled, and MLPs run eager"
            )
        try_ = "for block in model.blocks: block.mlp.compile(backend=...)"
    return Failed(measured, why, try_) if why else Passed(measured)


@part.check(basis="report")
def builds_few(regions: Pair) -> Verdict:
    """For batches of four lengths at most two forward graphs are built, for all blocks together."""
    own = regions.student.values
    built, names, needed = own["built"], own["calls"], regions.baseline.values["needed"]
    measured = f"{built} forward graphs were built for {LENGTHS} lengths ({BUILDS} allowed)"
    if 1 <= built <= BUILDS:
        return Passed(measured)
    if not built:
        return Failed(measured, *NOTHING)
    if own["flops"] > needed or any(ATTENTION in it or "norm" in it for it in names):
        return Failed(measured, "more than the MLPs is compiled", REGION)
    if not any("silu" in it for it in names):
        return Failed(measured, "an MLP is compiled in pieces, each with graphs of its own", REGION)
    return Failed(
        measured, "each length builds a new graph", "leave dynamic out or use dynamic=True"
    )


# --- a step ---

STEPS = 4


def made(student: Student, rig: Any, compiler: Any) -> Any:
    """A LookingNet that a step trains, and new batches of one size."""
    return rig.stepping(student, compiler, STEPS)


steps = CompiledStep(part, made, STEPS, takes=["make_step"])
trains = steps.trains_alike(
    "step_trains_alike",
    1e-4,
    "Four steps train the model as the plain loop does, and "
    "return the loss of each batch, detached.",
    why="a step must be zero_grad, forward pass, backward pass and optimizer.step(), in this order and nothing else",
    try_="optimizer.zero_grad() before the compiled function, optimizer.step() after it",
)
captured = steps.runs_no_nodes(
    "backward_is_captured",
    "The backward pass runs in compiled graphs, not node by node; "
    "torch._dynamo.config stays as it was.",
    try_="with compiled_autograd on, torch.compile a function that computes the loss and calls loss.backward()",
    needs=["step_trains_alike"],
)
steps.builds_nothing_later(
    "nothing_built_later",
    "After the second step nothing is built.",
    why="something that changes is part of the graph, such as a list's length or a Python number",
    try_="keep lists and counters out of the compiled function",
    after=2,
    needs=["backward_is_captured"],
)

# --- the clock, on a GPU ---


def draw(random: Any) -> Any:
    return {"ids": random.integers(0, 97, (4, 64))}


@part.timed("call", inputs=draw, within=Close(rtol=1e-3, atol=1e-4))
def cold(student: Student, inputs: Any) -> Any:
    """Four lengths with gradients, builds included: nothing is remembered from call to call."""
    return importlib.import_module("given").cold_start(student.compile_regions, inputs["ids"])


@part.timed("train", within=Tolerance(losses=1e-3, weights=1e-3))
def trained(student: Student, window: Window) -> Any:
    step = student.make_step(window.model, window.optimizer, window.criterion)
    device = window.device
    return [step(images.to(device), labels.to(device)) for images, labels in window.loader]


@part.check(basis="outputs", needs=[regions_answer_alike, captures_little])
def regions_are_faster(bar: Bar, cold: Timed) -> Verdict:
    """Builds included, training on four lengths is at least {bar} as fast as with the whole model compiled."""
    why = "bound by the compiler: more than the MLP is built, or it is built too often"
    return speedup.at_least(
        cold, bar, why=why, try_="fix builds_few first if it fails; else compile the MLPs alone"
    )


@part.check(basis="outputs", needs=[trains, captured])
def backward_is_faster(bar: Bar, trained: Timed) -> Verdict:
    """Steps with a compiled backward pass are faster than eager ones, by at least {bar}."""
    why = (
        "bound by launches: the backward pass runs node by node, or something is built in each step"
    )
    return speedup.at_least(trained, bar, why=why, try_="fix nothing_built_later first if it fails")
