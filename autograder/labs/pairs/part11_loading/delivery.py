"""What comes out of the data set and of the loader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from autograder.checks import loaders, outputs
from autograder.claims.loaders import LOADED
from autograder.lab import CASES, NUMBERS, Failed, Pair, Student, Verdict
from autograder.labs.pairs.part11_loading.part import WRITTEN, WRONG, make, part

if TYPE_CHECKING:
    from autograder.labs.pairs.part11_loading.rig import Rig
else:
    Rig = Any

BATCHES = (5, 11)
EPOCHS = {f"{epoch}_{name}": LOADED[name] for epoch in loaders.EPOCHS for name in LOADED}


def declare_epochs(name: str, workers: int) -> None:
    def epochs(student: Student, rig: Rig) -> Any:
        batch = rig.integer(*BATCHES)
        data = rig.table(5 * batch + rig.integer(1, batch - 1))
        made: Callable[[int], Any] = partial(make, student, data, batch, rig.device, workers)
        return rig.epochs(made, data, batch)

    epochs.__name__ = name
    part.probe(pair=True, arrays=EPOCHS, takes=WRITTEN)(epochs)


for workers, name in enumerate(("alone", "one_worker", "two_workers")):
    declare_epochs(name, workers)


@part.check(basis="outputs")
def every_sample_once(alone: Pair, one_worker: Pair, two_workers: Pair) -> Verdict:
    """With 0, 1 and 2 workers each epoch holds every sample once, in a new order that follows from the seed."""
    pairs = dict(enumerate((alone, one_worker, two_workers)))
    for workers, pair in pairs.items():
        verdict = loaders.delivered(pair, try_=f"shuffle=True, and no sampler; {WRONG}")
        if isinstance(verdict, Failed):
            return replace(verdict, measured=f"with {workers} workers, {verdict.measured}")
    shuffled = loaders.shuffled(pairs, try_="shuffle=True")
    if isinstance(shuffled, Failed):
        return shuffled
    return loaders.seeded(pairs, try_="generator=torch.Generator().manual_seed(seed)")


@part.probe(pair=True, values=CASES, arrays=NUMBERS, takes=["Rows"])
def rows_one_by_one(student: Student, rig: Rig) -> Any:
    answers, count = rig.answers(student), rig.integer(5, 9)
    data = rig.table(count)
    rows = student.Rows(*data.tensors, data.transform)
    answers.ask("the length", len, rows)
    for index in (0, count // 2, count - 1):
        answers.ask(f"row {index}", rig.sample, rows, index)
    data.factor = 3.0
    answers.ask("a row after the transform has changed", rig.sample, rows, 1)
    return answers.values()


@part.check(basis="outputs")
def reads_single_rows(rows_one_by_one: Pair) -> Verdict:
    """Rows has a length, and Rows[i] is row i, transformed, and its label."""
    why = {
        "length": "the length is the number of rows",
        "changed": "call the transform when a row is fetched, and not before",
        "": "transform takes rows, so one row is a batch of one, of which the first is returned",
    }
    try_ = "self.transform(self.features[index : index + 1])[0], self.labels[index]"
    return outputs.same(rows_one_by_one, 1e-6, why=why, try_=try_)
