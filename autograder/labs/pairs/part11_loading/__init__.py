"""Part 11: batches, not samples. A data set that is asked for a batch at once, and a loader for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks import loaders, outputs, speedup
from autograder.checks.hints import Causes, hinted
from autograder.claims.exercise import Exercise
from autograder.claims.loaders import LOADED, Loader
from autograder.lab import CASES, NUMBERS, Bar, Close, Failed, Pair, Part, Student, Timed, Verdict

if TYPE_CHECKING:
    from autograder.labs.pairs.part11_loading.rig import Rig
else:
    Rig = Any

WRONG = 'see "What usually goes wrong" in the part 11 handout'
WRITTEN = ("Rows", "make_loader")
part = Part("part11_loading", writes=WRITTEN)


def bent(rows: Any) -> Any:
    """Transform any number of rows."""
    for _ in range(6):
        rows = rows.tanh().sin()
    return rows


def make(student: Student, data: Any, batch: int, device: Any, workers: int, seed: int) -> Any:
    """Make the loader of what has tensors, and perhaps a transform of its own."""
    rows = student.Rows(*data.tensors, getattr(data, "transform", bent))
    return student.make_loader(rows, batch, workers, device, seed)


loader = Loader(part, make, see=WRONG, takes=WRITTEN)

# --- what comes out of the data set and of the loader ---

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
def every_sample_once(
    alone: Pair, one_worker: Pair, two_workers: Pair, rows_one_by_one: Pair
) -> Verdict:
    """With 0, 1 or 2 workers, each epoch holds every sample once, in a new order; loaders of one seed agree."""
    pairs = dict(enumerate((alone, one_worker, two_workers)))
    try_ = "shuffle=True, and no sampler"
    if isinstance(reads_single_rows(rows_one_by_one), Failed):
        try_ = "fix reads_single_rows first: it shows a row or a batch that is wrong"
    for workers, pair in pairs.items():
        verdict = loaders.delivered(pair, try_=try_)
        if isinstance(verdict, Failed):
            return replace(verdict, measured=f"with {workers} workers, {verdict.measured}")
    shuffled = loaders.shuffled(pairs, try_="shuffle=True")
    if isinstance(shuffled, Failed):
        return shuffled
    return loaders.seeded(pairs, try_="generator=torch.Generator().manual_seed(seed)")


@part.probe(pair=True, values=CASES, arrays=NUMBERS, takes=WRITTEN)
def rows_one_by_one(student: Student, rig: Rig) -> Any:
    answers, count = rig.answers(student), 2 * rig.integer(2, 4) + 1
    data = rig.doubles(count)
    rows = student.Rows(*data.tensors, data.transform)
    answers.ask("the length", len, rows)
    for index in (0, count // 2, count - 1):
        answers.ask(f"row {index}", rig.sample, rows, index)
    answers.ask("a batch", rig.whole_batch, rows, student.make_loader)
    data.factor = 3.0
    answers.ask("a row after the transform has changed", rig.sample, rows, 0)
    answers.ask(
        "a batch after the transform has changed", rig.whole_batch, rows, student.make_loader
    )
    return answers.values()


ROW_HINTS: Causes = {
    "float32": "keep the dtype of the features",
    "changed": "call self.transform in __getitem__ and in __getitems__, and keep no result",
    "a batch, result[1]": (
        "rows of a batch come with the labels of other rows",
        "take both by the same list: self.features[indices] and self.labels[indices]",
    ),
    "a batch, result[": (
        (
            "a batch must have row and label of each index, in their "
            "order, and twice if it comes twice"
        ),
        "self.transform(self.features[indices]), self.labels[indices]",
    ),
    'result[1]": int64 (1,)': (
        "the label is a tensor of one number",
        "self.labels[index]",
    ),
    'result[0]": float64 (1,': (
        "one row is returned as a batch of one",
        "self.transform(self.features[index : index + 1])[0]",
    ),
    'result[0]": furthest off': (
        "usually the row is not transformed",
        "self.transform(self.features[index : index + 1])[0]",
    ),
    "the length": "return len(self.labels)",
}


@part.check(basis="outputs")
def reads_single_rows(rows_one_by_one: Pair) -> Verdict:
    """len(Rows) counts rows. Rows[i] is row i, transformed, and its label. A batch holds the same rows and labels."""
    why = {
        "length": "the length must be the number of rows",
        "changed": "your code keeps what an earlier transform returned",
        "": "one row must go through transform as a batch of one, and come back alone",
    }
    try_ = "self.transform(self.features[index : index + 1])[0], self.labels[index]"
    return hinted(outputs.same(rows_one_by_one, 1e-6, why=why, try_=try_), ROW_HINTS)


# --- how batches are made ---

loader.has_options(
    "asks_for_what_helps",
    "num_workers as given; pin_memory for a GPU only; persistent_workers where there are workers; "
    "a collate_fn that can be pickled.",
    spawned=True,
)


def fetch(written: Any, inputs: Mapping[str, Any]) -> Any:
    features, labels = inputs["features"], inputs["labels"]
    rows = written(features, labels, bent)
    return rows.__getitems__(list(range(len(labels)))[::-1])


rows = Exercise("Rows", part, call=fetch)


@rows.inputs
def draw(random: np.random.Generator, batch: Any = (1, 64)) -> dict[str, Any]:
    return {"features": random.normal(size=(batch, 5)), "labels": random.integers(0, 9, batch)}


SMALL, LARGE = 8, 64
rows.operations_do_not_grow(
    {"batch": SMALL},
    {"batch": LARGE},
    more=4 * (LARGE - SMALL),  # to take a batch apart is one or two for each row, bent is twelve
    name="fetches_a_batch_at_once",
    says="Rows.__getitems__ calls transform once for a batch, and not once for each row.",
    needs=["every_sample_once"],
    why="usually transform is called for each row",
    try_="self.transform(self.features[indices]), and a collate_fn that returns what it gets",
)

# --- what the clock decides ---

ROWS, BATCH, FEATURES = 4000, 64, 64
CLOSE = Close(rtol=1e-4, atol=1e-6)


def table(random: np.random.Generator) -> dict[str, Any]:
    features = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
    return {"features": features, "labels": random.permutation(ROWS)}


@part.timed("call", inputs=table, within=CLOSE)
def epoch(student: Student, inputs: Mapping[str, Any]) -> Any:
    """Go through the table once; the samples are put into the order of their labels."""
    from autograder.labs.pairs.part11_loading import rig

    features, labels = inputs["features"].cpu(), inputs["labels"].cpu()
    data = student.Rows(features, labels, bent)
    return rig.by_label(student.make_loader(data, BATCH, 0, features.device))


@part.check(basis="outputs", needs=[every_sample_once])
def fetch_is_faster(epoch: Timed, bar: Bar) -> Verdict:
    """Without workers, an epoch of 4000 rows in batches of 64 is at least {bar} as fast as one row at a time."""
    other, why = (
        "an epoch holds other numbers",
        "bound by launches: transform is called for each row, or batches are taken apart",
    )
    try_ = "one call of transform in __getitems__"
    same = outputs.same_calls(epoch, CLOSE, why=other, try_=try_)
    return speedup.at_least(epoch, bar, why=why, try_=try_, same=same)


class Stored:
    """A table of numbers of samples; the transform reads each from a store, which takes its time."""

    def __init__(self, store: Sequence[int]) -> None:
        """Read from *store*."""
        from autograder.labs.pairs.part11_loading import rig

        self.tensors = rig.numbered(len(store))
        self._store = store

    def transform(self, rows: Any) -> Any:
        """Read them one after the other; the same key makes the same sample."""
        from autograder.labs.pairs.part11_loading import rig

        keys = [self._store[int(number)] for number in rows[:, 0]]
        drawn = [np.random.default_rng(key).random(FEATURES, dtype=np.float32) for key in keys]
        return rig.tensor_of(np.stack(drawn))


loader.is_faster(
    dataset=Stored,
    says="With a slow transform, which the grader brings, an epoch with 4 workers is at least {bar} "
    "as fast as with none.",
)
