"""Claims about what trains: an optimizer, a layer or a step moves the weights as the slow version does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from autograder.checks import numerics, outputs
from autograder.claims.claimed import Claimed, Words
from autograder.lab import (
    CASES,
    INTEGER,
    NUMBERS,
    TEXT,
    Rig,
    Student,
    list_of,
)
from autograder.model import Failed, Pair, Passed, Verdict

Make = Callable[[Any, Rig], tuple[Any, Any, Callable[[], Any]]]
"""Of what was written and the rig: a model, its optimizer, and what takes one step."""
NEAR = 1e-4  # of a row's largest number: running statistics and moments in float32
STILL = 1e-3  # of the baseline's update of a parameter, and of the one that moves most
WEIGHTS = {"start": ("float64", 1), "weights": ("float64", 1)}


class Trains(Claimed):
    """trains_alike."""

    def trains_alike(
        self,
        make: Make,
        steps: int,
        within: float,
        *,
        each_moves: bool = True,
        state: Sequence[str] = (),
        unusable: str = "",
        **words: Unpack[Words],
    ) -> None:
        """Claim the baseline's weights after so many steps, *within* this share of its update, and its buffers.

        Each parameter that the baseline moves has to move; *state* names what the optimizer keeps of each as well.
        *unusable* is what to try where *make* refuses what the student returned.
        """

        def trained(student: Student, rig: Rig) -> dict[str, Any]:
            model, optimizer, step = make(getattr(student, self.function), rig)
            kept = rig.answers()
            parameters = dict(model.named_parameters())
            start = rig.flat(parameters)
            for _ in range(steps):
                step()
            for name, buffer in model.named_buffers():
                kept.add(name, buffer)
            for name, parameter in parameters.items() if state else ():
                for what in state:
                    kept.add(
                        f"{what} of {name}",
                        optimizer.state[parameter].get(what),
                    )
            return {
                **kept.values(),
                "parameters": list(parameters),
                "sizes": [parameter.numel() for parameter in parameters.values()],
                "start": start,
                "weights": rig.flat(parameters),
            }

        def judge(pair: Pair) -> Verdict:
            why, try_ = words["why"], words["try_"]
            moved = numerics.same_update(pair, within, why=why, try_=try_)
            still = _still(pair) if each_moves else []
            if still and isinstance(moved, Failed):
                return Failed(
                    moved.measured,
                    f"{', '.join(still[:4])} did not move",
                    try_,
                )
            if isinstance(moved, Failed):
                return moved
            if not pair.baseline.values["cases"]:
                return moved
            kept = outputs.same(
                pair,
                NEAR,
                why="what is kept beside the weights differs",
                try_=try_,
            )
            return Passed(moved.measured, moved.evidence) if isinstance(kept, Passed) else kept

        values = {
            **CASES,
            "parameters": list_of(TEXT),
            "sizes": list_of(INTEGER),
        }
        probe = self.add_probe(
            self.named("trained"),
            trained,
            pair=True,
            values=values,
            arrays={**NUMBERS, **WEIGHTS},
            hints={"bad return": unusable} if unusable else {},
        )
        said = f"After {steps} steps, {self.function} has moved the weights as the slow version moves them."
        self.add_check("trains_alike", said, "outputs", judge, [probe], words)


def _still(pair: Pair) -> list[str]:
    """Name the parameters that the baseline moves and the student does not."""
    trusted = pair.baseline.values
    start = pair.baseline.arrays["start"]
    if pair.student.arrays["weights"].shape != start.shape:
        return []
    ends = np.cumsum(trusted["sizes"])[:-1]
    own, expected = (
        [numerics.norm(update) for update in np.split(side.arrays["weights"] - start, ends)]
        for side in (pair.student, pair.baseline)
    )
    both = zip(trusted["parameters"], own, expected, strict=True)
    # Less is rounding: a bias that a norm takes off again.
    least = STILL * max(expected, default=0.0)
    return [name for name, mine, right in both if right > least and mine < STILL * right]
