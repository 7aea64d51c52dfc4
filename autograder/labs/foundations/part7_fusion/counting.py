"""Operators of eager code, and launches of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.studies import WRITTEN, Study, written
from autograder.lab import Rig, Student
from autograder.labs.foundations.part7_fusion import judges
from autograder.labs.foundations.part7_fusion.part import FIRST, LAUNCHES, SEE, part


def pointwise(length: int) -> Callable[[Any], Any]:
    """Return a chain of so many operators that look at each number alone, with views between them."""

    def run(x: Any) -> Any:
        for at in range(length):
            x = (x.sin() if at % 2 else x * 0.5).transpose(0, 1)
        return x

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
    return {"a block": block, **chains}, block.conv.weight.detach()[:2]


def counted(written: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    tried, images = versions(**given)
    return written(tried, (images,))


def expected(length: int, seed: int) -> list[dict[str, Any]]:
    """Count launches anew; how many operators there are is known."""
    tried, images = versions(length, seed)
    rows = []
    for name, operators in {"a block": 3, "a chain": length, "two chains": 2 * length + 2}.items():
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
    families=("drawn sizes",),
    oracle=expected,
    name="launches_are_counted",
    says="count_launches counts the operators of eager code, and the launches and graphs of compiled code.",
    why={
        "operators": "every operator of eager code counts once, but views and aten.empty do not count",
        "graphs": "Python looks at a value, which cuts the function in two",
        "names": "a row needs the six names in COLUMNS",
        "": "the lists extern and fused of given.launches hold the names of the launches",
    },
    try_=f"func.is_view, and given.launches; {SEE}",
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
    says="In the submitted fusion_launches.csv, launches are extern + fused, and no more than operators.",
)
