"""What the clock decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks import outputs, speedup
from autograder.lab import Bar, Close, Student, Timed, Verdict
from autograder.labs.pairs.part11_loading.part import WRONG, bent, loader, part

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


@part.check(basis="outputs", needs=[part.checks["every_sample_once"].judge])
def fetch_is_faster(epoch: Timed, bar: Bar) -> Verdict:
    """Without workers, an epoch of 4000 rows in batches of 64 is at least {bar} as fast as one row at a time."""
    other, why = (
        "an epoch holds other numbers",
        "bound by launches: transform is called for each row, or batches are taken apart",
    )
    try_ = f"one call of transform in __getitems__; {WRONG}"
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


loader.is_faster(dataset=Stored)
