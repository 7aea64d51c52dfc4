"""How batches are made: the options of the loader, and one call of transform for each batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.labs.pairs.part11_loading.part import bent, loader, part

loader.has_options("asks_for_what_helps")


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
    says="Rows.__getitems__ calls transform once for a batch: 64 rows take about as many operations as 8.",
    needs=["every_sample_once"],
    why="transform is called for each row, or with the observer switched off",
    try_="self.transform(self.features[indices]), and a collate_fn that returns what it gets",
)
