"""SpikeGuard: the baseline's outputs and gradients, in one graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.checks import outputs
from autograder.checks.graphs import graph_problem
from autograder.checks.numerics import shown
from autograder.claims.graphs import NOTED
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBER,
    NUMBERS,
    Answer,
    Failed,
    Pair,
    Passed,
    Rig,
    Student,
    Verdict,
    list_of,
    optional,
)
from autograder.labs.resnet18.part5_compile.part import (
    BATCH,
    BREAKS,
    part,
)

SIZES = ("below", "exactly at", "above", "all zeros, below")
USUAL = 4.0  # the limit that SpikeGuard takes where none is named


@part.probe(
    pair=True,
    values={**CASES, "seen": NOTED, "calls": INTEGER, "counts": list_of(optional(NUMBER))},
    arrays=NUMBERS,
)
def guard(student: Student, rig: Rig) -> Answer:
    """Batches above, below and exactly at the limit, in an order that is drawn; in eval() as they are, with the limit
    that goes without saying, then compiled by us.
    """
    drawn, spiky = (
        rig.integer(8, 24) / 8,
        [2, 0, 1, 3, *(rig.integer(0, 3) for _ in range(5))],
    )  # few bits: sums are exact
    answers, counts = rig.answers(), []
    compiler = rig.compiler()
    for how, limit in (("eager, of SpikeGuard().eval()", USUAL), ("compiled", drawn)):
        eager = how != "compiled"
        module = student.SpikeGuard().eval() if eager else student.SpikeGuard(limit)
        run = module if eager else rig.compiled(module, compiler)
        for number, spike in enumerate(spiky):
            batch = rig.random.normal(size=(BATCH, 8)) * (limit * (0.5, 1.0, 3.0, 0.0)[spike])
            batch = np.sign(batch) * limit if spike == 1 else batch
            x = rig.tensor(batch).requires_grad_()
            output = run(x)
            output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
            case = f"batch {number + 1} ({SIZES[spike]} the limit), {how}"
            answers.add(f"output of {case}", output)
            answers.add(f"gradient of {case}", x.grad)
            counts.append(rig.number(module.spikes))
    return {**answers.seen(), "seen": compiler.values(), "calls": len(spiky), "counts": counts}


@part.check(basis="outputs", compared="outputs and gradients")
def guard_answers_alike(guard: Pair) -> Verdict:
    """SpikeGuard returns what the baseline's returns, with its gradients, and counts the same batches."""
    why = {
        "zeros": "limit / size is infinite there, and 0 times that is NaN: choose the factor, not the product",
        "above": "such a batch is to be x * (limit / size); size is the mean of |x|, and no gradient goes through it",
        "limit": "such a batch is left as it is, and one exactly at the limit is not above it",
    }
    found = outputs.same(
        guard, 1e-5, why=why, try_=f"torch.where(size > limit, limit / size, 1.0); {BREAKS}"
    )
    told, known = guard.student.values["counts"], guard.baseline.values["counts"]
    if isinstance(found, Failed) or told == known:
        return found
    first = next(
        (i for i, pair in enumerate(zip(told, known, strict=False)) if pair[0] != pair[1]), 0
    )
    measured = f"spikes is {_at(told, first)} where {_at(known, first)} batches were scaled"
    counted = (
        "not every batch above the limit is counted, or others are: "
        "one exactly at it is not above, and eval() counts as train() does"
    )
    return Failed(measured, counted, "self.spikes += size > limit")


def _at(counts: Sequence[float | None], index: int) -> str:
    return shown(counts[index]) if index < len(counts) else "nothing"


@part.check(basis="report", needs=[guard_answers_alike])
def guard_is_one_graph(guard: Pair) -> Verdict:
    """Compiled, SpikeGuard is one graph, and the same one whatever the data is."""
    noted, calls = guard.student.values["seen"], guard.baseline.values["calls"]
    runs = {"forward": noted["runs"].get("forward", 0)}
    built = sum(one["kind"] == "forward" for one in noted["built"])
    measured, why = graph_problem(noted, runs, calls, built=built, builds=1)
    try_ = f"count in a tensor; no .item(), float(), print or `if` on a tensor; {BREAKS}"
    return Failed(measured, why, try_) if why else Passed(f"one graph in {calls} calls")
