"""What is claimed of evaluate: no graph, and a model that is left as it came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograder.checks import outputs
from autograder.lab import (
    BOOLEAN,
    CASES,
    NUMBERS,
    TEXT,
    Failed,
    Pair,
    Passed,
    Student,
    Verdict,
    list_of,
)
from autograder.labs.pairs.part03_lifetimes import judges
from autograder.labs.pairs.part03_lifetimes.part import SEE, part

if TYPE_CHECKING:
    from autograder.labs.pairs.part03_lifetimes.rig import Rig
else:
    Rig = Any


@part.probe(
    pair=True,
    values={**CASES, "left": list_of(TEXT), "graphs": list_of(BOOLEAN)},
    arrays=NUMBERS,
)
def evaluated(student: Student, rig: Rig) -> Any:
    """A model that comes in train mode, and one in eval mode; the batches come once."""
    answers, left, graphs = rig.answers(student), list[str](), list[bool]()
    for mode in ("train", "eval"):
        net = rig.net(norm=True, dropout=0.3)
        batches = rig.clear_batches(net, (9, 2, 14, 6))
        before = rig.kept(net.train(mode == "train"))
        returned = answers.tried(student.evaluate, net, rig.criterion, iter(batches))
        answers.add(f"a model in {mode} mode", returned)
        left += rig.left(net, before, returned)
        graphs += net.graphs
    return {**answers.values(), "left": left, "graphs": graphs}


NO_GRAPH = "with torch.no_grad(): around the loop"


@part.check(basis="outputs")
def evaluate_is_right(evaluated: Pair) -> Verdict:
    """evaluate returns losses and classes of eval mode, and leaves the model in the mode it was in, train or eval."""
    why = "dropout and BatchNorm act otherwise in train mode; there is one loss a batch and one class a row"
    try_ = f"model.eval(), criterion(outputs, labels), outputs.argmax(dim=1); {SEE}"
    verdict = outputs.same(evaluated, judges.NEAR, why=why, try_=try_)
    left = evaluated.student.values["left"]
    if isinstance(verdict, Failed) or not left:
        return verdict
    return Failed(left[0], *judges.LEFT.get(left[0], ("the model is to stay as it was", try_)))


@part.outputs
def many_batches(student: Student, rig: Rig) -> Any:
    """Without the classes: among so many rows, two outputs may be equal but for rounding."""
    answers, net = rig.answers(), rig.net(features=64, width=256, classes=64)
    batches = rig.repeated(net, 2048, 60)
    rig.return_memory_at_once()
    losses, _ = student.evaluate(net, rig.criterion, batches)
    answers.add("losses of 60 batches", losses)
    return answers.values()


@part.probe(pair=True)
def few_batches(student: Student, rig: Rig) -> Any:
    net = rig.net()
    student.evaluate(net, rig.criterion, rig.repeated(net, 4, 2))
    return {}


@part.check(basis="outputs", needs=[evaluate_is_right])
def evaluate_keeps_no_graph(many_batches: Pair, few_batches: Pair, evaluated: Pair) -> Verdict:
    """evaluate of 60 batches needs at most 10% of the slow version's memory, measured from outside."""
    why, try_ = (
        "each loss keeps the graph of its batch alive: eval() changes layers, not autograd",
        NO_GRAPH,
    )
    if not any(evaluated.student.values["graphs"]):
        why, try_ = "batches or outputs are kept until the end", "keep losses and classes alone"
    return judges.needs_less(many_batches, few_batches, 0.1, why, try_)


@part.check(basis="report", needs=[evaluate_is_right])
def evaluate_builds_no_graph(evaluated: Pair) -> Verdict:
    """evaluate computes without autograd: no output of the model has a graph."""
    graphs = evaluated.student.values["graphs"]
    measured = f"{sum(graphs)} of {len(graphs)} outputs of the model have a graph"
    why = "the graph is built for each batch and thrown away: detach() comes too late"
    return Failed(measured, why, NO_GRAPH) if any(graphs) else Passed(measured)
