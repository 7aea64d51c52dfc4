"""Judges whether calls of what torch.compile made ran one graph each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.checks.hints import Hints
from autograder.traces.words import many

GRAPHS: Hints = {
    "Python has to look": "leave the value in a tensor: no .item(), float() or `if` on it",
    "its default backend": "torch.compile(model, backend=backend, ...)",
    "no graph of the given backend ran": "use the model that torch.compile(..., backend=backend) returns, in each call",
    "built again": "put a number that changes into a tensor",
    "in pieces": "torch.compile(model, ..., fullgraph=True) of the whole model, and not of its layers",
    "some batches ran no": "call the compiled model for every batch, the first and the last too",
    "not the whole model": "pass the model itself to torch.compile, and use what torch.compile returns",
    "serves several sizes": "dynamic=False: each size gets a graph of its own",
    "a break goes unnoticed": "fullgraph=True: a break is then an error",
}
"""What to try, by what is said of the graphs."""

Seen = Mapping[str, Any]
"""What a recording backend noted: `built`, a list of {kind, batch, half}; `runs` by kind; `parameters`; `breaks`.

`defaults` counts the graphs that the default backend got instead.
"""


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
    batches = many(calls, "batch", "batches")
    measured = f"{ran} graphs ran for {batches}"
    if builds and built != builds:
        measured = f"{many(built, 'graph')} built for {batches}, and {builds} is right"
    taken = f"a graph has {noted['parameters']} parameters; the model has {parameters}"
    usual = "usually the model that is called is not what torch.compile returned"
    if not noted["built"]:
        usual = "the given backend built nothing"
    default = "torch.compile got its default backend, and not the given one"
    eager = f"no graph of the given backend ran: {default if noted.get('defaults') else usual}"
    look = f"Python has to look at the data: {''.join(noted['breaks'][:1])}"
    again = "it is built again: a Python number that changes from call to call is in the graph"
    shared = "one graph serves several sizes, as by default from the second size on"
    pieces = "the model is compiled in pieces: several graphs ran in a call"
    problems = (
        (noted["breaks"], measured, look),
        (not sum(runs.values()), measured, eager),
        (built > builds, measured, again),
        (max(runs.values()) > calls, measured, pieces),
        (set(runs.values()) != {calls}, measured, "some batches ran no compiled graph"),
        (noted["parameters"] < parameters, taken, "what is compiled is not the whole model"),
        (built < builds, measured, shared),
    )
    return next(((seen, why) for wrong, seen, why in problems if wrong), ("", ""))
