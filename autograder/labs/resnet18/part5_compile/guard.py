"""SpikeGuard: the baseline's outputs and gradients, in one graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.checks import outputs
from autograder.checks.graphs import GRAPHS, graph_problem
from autograder.checks.hints import hint_for
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
from autograder.labs.resnet18.part5_compile.part import BATCH, BREAKS, part

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
    drawn = rig.integer(8, 20) / 8  # few bits: sums are exact
    spikes = [2, 0, 1, 3, *(rig.integer(0, 3) for _ in range(5))]
    answers = rig.answers()
    counts = []
    compiler = rig.compiler()
    for eager, limit in ((True, USUAL), (False, drawn)):
        how = (
            f"not compiled, of SpikeGuard().eval(), default limit {USUAL:g}"
            if eager
            else f"compiled, of SpikeGuard({limit})"
        )
        module = student.SpikeGuard().eval() if eager else student.SpikeGuard(limit)
        run = module if eager else rig.compiled(module, compiler)
        for number, spike in enumerate(spikes):
            batch = rig.random.normal(size=(BATCH, 8)) * (limit * (0.5, 1.0, 1.6, 0.0)[spike])
            batch = np.sign(batch) * limit if spike == 1 else batch
            x = rig.tensor(batch).requires_grad_()
            output = run(x)
            output.backward(rig.tensor(rig.random.normal(size=tuple(output.shape))))
            case = f"batch {number + 1} ({SIZES[spike]} the limit), {how}"
            answers.add(f"output of {case}", output)
            answers.add(f"gradient of {case}", x.grad)
            counts.append(rig.number(module.spikes))
    return {**answers.values(), "seen": compiler.values(), "calls": len(spikes), "counts": counts}


FACTOR = "torch.where(size > limit, limit / size, 1.0)"
SCALED = {  # words of a case -> why its numbers are wrong, and what to try
    "zeros": (
        "limit / size is infinite for zeros, and 0 times infinity is NaN",
        f"choose the factor with torch.where, not the product: {FACTOR}",
    ),
    "gradient of batch 1": (
        "size must have no gradient: usually detach() is missing",
        "size = x.detach().abs().mean()",
    ),
    "(above the limit), compiled": (
        "with the default limit it is right: usually the argument limit is not used",
        "keep the limit that is passed, compare size with it, and multiply x by limit / size",
    ),
    "above": (
        (
            f"such a batch must become x * ({USUAL:g} / size): {USUAL:g} is the default limit, "
            "and size the mean of |x| over the whole batch"
        ),
        f"limit is {USUAL:g} by default, and no call changes limit; x times limit / size, also in eval()",
    ),
    "limit": ("your code changes a batch that is not above the limit", FACTOR),
}


@part.check(basis="outputs", compared="outputs and gradients")
def guard_answers_alike(guard: Pair) -> Verdict:
    """SpikeGuard returns what the baseline's returns, with its gradients, and counts the same batches."""
    verdict = outputs.same(guard, 1e-5, why=SCALED, try_=BREAKS)
    reported, expected = guard.student.values["counts"], guard.baseline.values["counts"]
    if isinstance(verdict, Failed) or reported == expected:
        return verdict
    return _miscounted(reported, expected, [it["case"] for it in guard.baseline.values["cases"]])


MISCOUNTS = {
    True: ("your code does not count this batch", "your code adds more than 1 for this batch"),
    False: (
        "your code forgets what it counted before",
        "your code counts this batch, which is not above the limit",
    ),
}
"""By whether a batch is above the limit: why spikes is less after it, or more."""


def _miscounted(
    reported: Sequence[float | None], expected: Sequence[float], cases: Sequence[str]
) -> Failed:
    """Say after which batch spikes is not the number of batches above the limit; there are two cases of each batch."""
    pairs = zip(reported, expected, strict=False)
    at = next((at for at, (count, right) in enumerate(pairs) if count != right), 0)
    count, right = (each[at] if at < len(each) else None for each in (reported, expected))
    batch = cases[2 * at].removeprefix("output of ") if 2 * at < len(cases) else "the last batch"
    spikes = "no number" if count is None else shown(count)
    measured = f"after {batch}: spikes is {spikes}, and {shown(right)} is right"
    trained = reported[len(reported) // 2 :] == expected[len(expected) // 2 :]
    measured += "" if trained else "; in train() it is wrong, too"
    less, more = MISCOUNTS["(above" in batch]
    why, try_ = less, "self.spikes += size > limit"
    if count is None:
        why = "spikes must be a number"
    elif count > (right or 0):
        why = more
        if batch.startswith("batch 1 "):
            why += ", or spikes is not 0 in a new SpikeGuard"
    elif trained:
        why, try_ = (
            "usually your code does not count in eval()",
            f"{try_}, in train() and in eval()",
        )
    return Failed(measured, why, try_)


OF_THE_GUARD = {
    "Python has to look": "no .item(), float(), print or `if` on a tensor: torch.where chooses",
    "built again": "count in a tensor, and not in a Python number",
}


@part.check(basis="report", needs=[guard_answers_alike])
def guard_is_one_graph(guard: Pair) -> Verdict:
    """Compiled, SpikeGuard is one graph, which stays the same for any data."""
    noted, calls = guard.student.values["seen"], guard.baseline.values["calls"]
    runs = {"forward": noted["runs"].get("forward", 0)}
    built = sum(graph["kind"] == "forward" for graph in noted["built"])
    measured, why = graph_problem(noted, runs, calls, built=built, builds=1)
    try_ = hint_for(why, {**OF_THE_GUARD, **GRAPHS}) or BREAKS
    return Failed(measured, why, try_) if why else Passed(f"one graph in {calls} calls")
