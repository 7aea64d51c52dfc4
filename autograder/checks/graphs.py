"""Judges whether calls of what torch.compile made ran one graph each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Seen = Mapping[str, Any]
"""What a recording backend noted: `built`, a list of {kind, batch, half}; `runs` by kind; `parameters`; `breaks`."""


def graph_problem(
    noted: Seen,
    runs: Mapping[str, int],
    calls: int,
    *,
    built: int = 0,
    builds: int = 0,
    parameters: int = 0,
) -> tuple[str, str]:
    """Say how calls did not run one graph each, of all *parameters*, and why; or nothing.

    *runs* counts the graphs of each kind that ran. *built* were made, and *builds* are enough, where they are counted.
    """
    ran = " and ".join(f"{count} {kind}" for kind, count in runs.items())
    measured = f"{ran} graphs ran in {calls} calls" + f", {built} were built" * (builds > 0)
    took = f"; a graph takes {noted['parameters']} of {parameters} parameters"
    eager = "no compiled graph ran: the model is used uncompiled, or with a different backend"
    pieces = "the model is compiled in pieces, or a part of the batches is not"
    problems = (
        (
            noted["breaks"],
            f"Python has to look at the data: {''.join(noted['breaks'][:1])}",
        ),
        (not sum(runs.values()), eager),
        (
            built > builds,
            "it is built again: a number of Python's that changes is in the graph",
        ),
        (set(runs.values()) != {calls}, pieces),
        (
            noted["parameters"] < parameters,
            f"only a part of the model is compiled{took}",
        ),
        (
            built < builds,
            "one graph serves several sizes, as by default from the second size on",
        ),
    )
    return next(((measured, why) for wrong, why in problems if wrong), ("", ""))
