"""Part 7: fusion. Norms folded into convolutions, modes of torch.compile, and what compiled code launches.

Above 60 lines an exercise: fold_model is tried with fourteen networks, and compile_for is judged by rules for five
purposes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks.table_form import Form, count, words
from autograder.claims.exercise import Exercise
from autograder.claims.families import Case
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import (
    BOOLEAN,
    TEXT,
    Failed,
    Observation,
    Part,
    Passed,
    Student,
    Verdict,
    list_of,
    map_of,
    record,
)
from autograder.labs.foundations.part7_fusion import judges

if TYPE_CHECKING:
    from autograder.labs.foundations.part7_fusion.rig import Rig
else:
    Rig = Any

LAUNCHES = Form(
    "fusion_launches.csv",
    (
        words("version", "its name in `versions`"),
        count("operators", "of eager code, without views and `aten.empty`", 0),
        count("launches", "of compiled code: `extern + fused`", 0),
        count("extern", "launches of a library's kernels", 0),
        count("fused", "launches of kernels that the compiler writes", 0),
        count("graphs", "into how many graphs the version is cut", 0),
    ),
)
part = Part(
    "part7_fusion",
    writes=["compile_for"],
    hands_in=[LAUNCHES.file, "part7_notes.md"],
    tables=[LAUNCHES],
)
DOCSTRING = "compare with the docstring of"
FIRST, NESTED = "a convolution, a norm, a ReLU", "blocks in blocks"
"""Kinds of networks that students are given."""
ALL, ONE = "all of it in train()", "one norm in train()"

# --- a norm that becomes part of the convolution before it ---

HOLES = dict.fromkeys(
    (
        *("no_tensor", "zeros", "a_constant", "first_half_only", "every_second_row"),
        *("read_as_contiguous", "half_precision_and_back", "finished_by_a_thread"),
        *("writes_into_its_inputs", "hides_from_the_compiler"),
    ),
    "fold_model gets and returns modules, and this entry changes tensors or a call that is compiled",
)


def network(given: Mapping[str, Any]) -> Any:
    """Make the network of the inputs, on their device and in their dtype."""
    made = import_module("given").make_folding(given["kind"], given["seed"])
    if mode := given["mode"]:
        norms = [it for it in made.modules() if type(it).__name__ == "BatchNorm2d"]
        (made if mode == ALL else norms[-1]).train()
    return made.to(given["images"])


def folded(written: Callable[..., Any], given: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    return written(network(given)), [given["images"]]


def computed(written: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    module, images = folded(written, given)
    return module(*images).detach()


fold = Exercise("fold_model", part, call=computed, holes=HOLES)


@fold.inputs
def draw_images(
    random: np.random.Generator,
    batch: Any = (1, 3),
    height: Any = (5, 9),
    width: Any = (5, 9),
    kind: Any = FIRST,
    mode: Any = "",
) -> dict[str, Any]:
    images = random.normal(size=(batch, 3, height, width))
    return {"images": images, "seed": int(random.integers(1 << 30)), "kind": kind, "mode": mode}


def of_kinds(*kinds: str, **sizes: int) -> dict[str, dict[str, Any]]:
    """Return a case for each kind of network."""
    return {kind: {"kind": kind, **sizes} for kind in kinds}


def mistaken(change: Callable[[Any], None]) -> Callable[..., Any]:
    """Return what a folded network computes where *change* is made to each layer."""

    def slipped(**given: Any) -> Any:
        module = network(given)
        for layer in module.modules():
            change(layer)
        return module(given["images"]).detach()

    return slipped


fold.same(
    of_kinds(
        "a convolution without a bias",
        "groups, stride and dilation",
        "a norm without weights",
        "layers registered in another order",
        "a norm behind two convolutions",
        NESTED,
    ),
    within=1e-4,
    gradients=(),
    dtypes=(),
    name="folds_right",
    says="fold_model returns a module that computes what the model computes, for the kinds in given.CAN_BE_FOLDED.",
    why={
        "without a bias": (
            "the new convolution must have a bias, even if the old one has none",
            "take 0 for a bias that is None, and give the new convolution a Parameter",
        ),
        "groups": (
            "the new convolution must have the groups, stride and dilation of the old one",
            "copy.deepcopy(convolution), and change its weight and bias alone",
        ),
        "norm without weights": (
            "a norm with affine=False has no weight and bias, which must count as 1 and 0",
            "take 1 for a weight and 0 for a bias that is None",
        ),
        "registered": (
            "the order of calls must decide: that of modules() may be another one",
            "go through the nodes of torch.fx.symbolic_trace(model).graph",
        ),
        "two convolutions": (
            "a norm must be folded into the convolution whose result it gets, and not into one called before it",
            "node.args[0], in place of node.prev",
        ),
        NESTED: (
            "other networks are right: usually layers inside of a block are not found by their names",
            "get_submodule(node.target) takes names with dots",
        ),
        "": (
            "usually the convolution's own bias is not multiplied by the norm's factor",
            judges.FOLDED,
        ),
    },
    slips={(why, judges.FOLDED): mistaken(change) for why, change in judges.MISTAKES.items()},
    try_=f"{DOCSTRING} fold_model",
)
fold.same(
    of_kinds(
        "a result that is used twice",
        "a convolution that two norms share",
        "a convolution that is also called without a norm",
        "a norm before the convolution",
        "a ReLU between",
        "a norm with the statistics of the batch",
        batch=2,
    ),
    families=(),
    within=1e-4,
    gradients=(),
    needs=[],
    name="keeps_what_cannot_be_folded",
    says="fold_model keeps each norm whose folding would make a result wrong.",
    why={
        "used twice": (
            "your code folds a norm, though another layer needs the result without it",
            "fold only if the norm is the one user of the convolution's node: len(node.users) == 1",
        ),
        "a convolution that": (
            "this convolution is called twice, so no norm must be folded into it",
            "count the nodes that call each convolution, and fold only where there is one such node",
        ),
        "of the batch": (
            "this norm takes its statistics from each batch, and must be kept",
            "keep a norm whose running_mean is None",
        ),
        "": (
            "a norm must be kept unless its input is the result of a convolution, unchanged",
            "fold only if the module of node.args[0] is a Conv2d",
        ),
    },
    try_=f"{DOCSTRING} fold_model",
)
fold.would_launch(
    4,
    ["convolution"],
    {"kind": "four pairs and nothing else"},
    of=folded,
    name="folds_every_pair",
    says="Compiled, a folded network of four pairs launches four kernels: no norm is left.",
    why="more than the four convolutions is launched: usually a norm became another layer",
    try_="change the convolution's weight and bias, and add no layer",
    hints=judges.LEFT,
    needs=["folds_right"],
)
fold.refuses(
    {
        ALL: {"mode": ALL, "batch": 2},
        ONE: {"mode": ONE, "batch": 2},
        f"{ONE}, in a block of the model": {"mode": ONE, "batch": 2, "kind": NESTED},
    },
    takes={"all norms in eval()": {"mode": ""}},
    name="refuses_training_mode",
    says="fold_model raises ValueError if any BatchNorm2d is in train().",
    why="fold_model must raise ValueError for any norm in train(), also for one inside a block",
    try_="raise ValueError if .training of any BatchNorm2d in model.modules() is True",
    needs=[],
)


@part.probe(values={"moved": list_of(TEXT)}, takes=["fold_model"])
def original(student: Student, rig: Rig) -> Any:
    """A module before and after it was folded, and after the folded one was called."""
    moved = list[str]()
    for kind in ("blocks in blocks", "a norm behind two convolutions"):
        module = network(given := fold.given(rig, Case("original", {"kind": kind})))
        for layer in module.modules():  # in train(), but for what can be folded
            layer.training = type(layer).__name__ not in ("Conv2d", "BatchNorm2d")
        before = judges.state(module)
        with suppress(ValueError):  # of train(); another check has norms alone there
            student.fold_model(module)(given["images"])
        after = judges.state(module)
        moved += [it for it in before | after if before.get(it) != after.get(it)]
    return {"moved": moved}


@part.check(basis="report")
def original_is_untouched(original: Observation) -> Verdict:
    """The model handed over has the same layers, numbers and train() or eval() modes as before."""
    if moved := original.values["moved"]:
        why, try_ = "the caller's model was changed", "work on a copy.deepcopy(model)"
        if all(it.startswith("mode of") for it in moved):
            why = "train() or eval() was called on the caller's model, and not on a copy"
            try_ = "call train() and eval() on the copy alone, never on model"
        return Failed(f"changed: {', '.join(moved[:4])}", why, try_)
    return Passed("layers, numbers and modes are as before")


# --- what torch.compile is asked for, by what it is for ---

ASKED = {
    "calls": list_of(
        record(backend=TEXT, mode=TEXT, dynamic=TEXT, fullgraph=TEXT, options=map_of(TEXT))
    ),
    "is_made": BOOLEAN,
    "raised": TEXT,
}


@part.probe(
    values={"asked": list_of(record(**ASKED))},
    takes=["compile_for"],
)
def purposes(student: Student, rig: Rig) -> Any:
    """What torch.compile is asked for; nothing is called, so nothing is compiled."""
    answers, asked = rig.answers(student), []
    for purpose in judges.PURPOSES:
        model = rig.given("make_folding")(FIRST)
        returned = answers.tried(student.compile_for, purpose, model)
        raised = answers.named(returned) if isinstance(returned, Exception) else ""
        asked.append({**rig.asked_of_compile(returned), "raised": raised})
    return {"asked": asked}


@part.check(basis="report")
def options_fit_the_purpose(purposes: Observation) -> Verdict:
    """compile_for asks torch.compile for what each of the five purposes needs."""
    pairs = zip(judges.PURPOSES, purposes.values["asked"], strict=False)
    problems = [judges.purpose_problem(purpose, asked) for purpose, asked in pairs]
    if wrong := next(filter(None, problems), None):
        return Failed(*wrong)
    return Passed(f"{len(problems)} purposes")


# --- operators of eager code, and launches of compiled code ---


def pointwise(length: int) -> Callable[[Any], Any]:
    """Return a chain of so many operators that look at each number alone, with views between them.

    Called with gradients, it has one more.
    """

    def run(x: Any) -> Any:
        for at in range(length):
            x = (x.sin() if at % 2 else x * 0.5).transpose(0, 1)
        return -x if x.requires_grad else x

    return run


def cut(length: int) -> Callable[[Any], Any]:
    """Return two chains with a look at a value between them."""
    chain = pointwise(length)

    def run(x: Any) -> Any:
        x = chain(x)
        return chain(x) if x.mean().item() < 9 else x

    return run


def versions(length: int, seed: int) -> tuple[dict[str, Callable[[Any], Any]], Any]:
    """Return versions by name, and their images."""
    block = import_module("given").make_folding(FIRST, seed)
    chains = {"a chain": pointwise(length), "two chains": cut(length)}
    images = block.conv.weight[:2].detach().requires_grad_()
    return {
        "a block": block,
        **chains,
        "twice a block": lambda x: block(x) + block(x * 0.5),
    }, images


def counted(written: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    from autograder.labs.foundations.part7_fusion.rig import with_compiler

    tried, images = versions(**given)
    with with_compiler():
        return written(tried, (images,))


def expected(length: int, seed: int) -> list[dict[str, Any]]:
    """Count launches anew; how many operators there are is known."""
    from autograder.labs.foundations.part7_fusion.rig import with_compiler

    tried, images = versions(length, seed)
    rows = []
    calls = {"a block": 3, "a chain": length, "two chains": 2 * length + 2, "twice a block": 8}
    for name, operators in calls.items():
        with with_compiler():
            launched = import_module("given").launches(tried[name], images)
        kinds = {
            "extern": len(launched.extern),
            "fused": len(launched.fused),
            "graphs": launched.graphs,
        }
        rows.append({"version": name, "operators": operators, "launches": launched.count, **kinds})
    return rows


counts = Exercise("count_launches", part, call=counted)


@counts.inputs
def draw_length(random: np.random.Generator, length: Any = (4, 20)) -> dict[str, Any]:
    return {"length": length, "seed": int(random.integers(1 << 30))}


counts.same(
    {"chains of three": {"length": 3}},
    families=("sizes drawn at random",),
    oracle=expected,
    name="launches_are_counted",
    says="count_launches counts the operators of eager code, and the launches and graphs of compiled code.",
    why=judges.COUNTED,
    try_=f"{DOCSTRING} count_launches",
)


@part.probe(values=WRITTEN, takes=["count_launches"])
def table(student: Student, rig: Rig) -> Any:
    tried, images = versions(rig.integer(3, 9), rig.integer(0, 999))
    folder = str(rig.made_folder())
    returned = student.count_launches(tried, (images,), folder=folder)
    return written(rig, LAUNCHES, "count_launches", returned)


study = Study(part, LAUNCHES, "count_launches", by=table)
study.is_written()
study.is_consistent(
    judges.row_problem,
    says="In each row of the submitted fusion_launches.csv, launches is extern + fused, and not larger than operators.",
)
