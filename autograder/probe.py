"""Something to run in a worker, and the exact form of what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from autograder.model import Observation

if TYPE_CHECKING:
    import numpy as np

Schema = Mapping[str, Any]
Answer = Mapping[str, Any]
"""What a probe returns: its values and arrays, by name."""

BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string", "maxLength": 4000}
TIMED_ARRAYS: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "train": {"losses": ("float64", 1), "weights": ("float32", 1)},
    "call": {"outputs": ("float64", 1)},
    "load": {"commitments": ("uint8", 1), "sizes": ("int64", 1)},
}
Kind = Literal["train", "call", "load"]
Inputs = Callable[["np.random.Generator"], Mapping[str, "np.ndarray[Any, Any]"]]
"""Draws what one call of a student's function is given, as arrays by the names of its parameters."""
Dataset = Callable[[Sequence[int]], Any]
"""Makes the data set that a student's loader is given, in the worker, of a store: `len(store)` samples; `store[index]`
is the seed of one, and takes its time to come. The same seed has to make the same sample, bit by bit."""


def list_of(item: Schema) -> Schema:
    """Declare a list of at most 4,096 items."""
    return {"type": "array", "items": item, "maxItems": 4096}


def exactly(count: int, item: Schema) -> Schema:
    """Declare a list of so many items."""
    return {**list_of(item), "minItems": count, "maxItems": count}


def map_of(item: Schema) -> Schema:
    """Declare an object whose values are all alike."""
    return {"type": "object", "additionalProperties": item, "maxProperties": 256}


def optional(item: Schema) -> Schema:
    """Declare a value that may be null: what a student's code returned and no JSON number can say."""
    return {"anyOf": [item, {"type": "null"}]}


def record(**fields: Schema) -> Schema:
    """Declare an object with exactly these names."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


# What `rig.answers()` answers with: the form of what a function returned for each case, and all numbers in one array.
CASES = {"cases": list_of(record(case=TEXT, shape=list_of(INTEGER), dtype=TEXT))}
NUMBERS = {"numbers": ("float64", 1)}


CELL: Schema = {"anyOf": [NUMBER, TEXT, {"type": "null"}]}
"""Of a table that a student's function returned."""
DRAWN: Schema = list_of(record(value=NUMBER, name=TEXT))
PANELS: Schema = list_of(
    record(label=TEXT, title=TEXT, place=INTEGER, bars=INTEGER, cut=NUMBER, values=DRAWN)
)
"""What a saved figure shows, as `rig.figures` noted it."""


@dataclass(frozen=True)
class Tolerance:
    """How far losses (absolutely) and weights (relative to their norm) of a training may be from the trusted run's."""

    losses: float
    weights: float


@dataclass(frozen=True)
class Close:
    """How far outputs of a call may be from the trusted run's: atol + rtol * |expected|, each of them."""

    rtol: float = 1e-3
    atol: float = 1e-4


@dataclass(frozen=True)
class Probe:
    """Something to run in a worker, and the exact form of what it may answer."""

    name: str
    run: Callable[..., Any]
    pair: bool = False
    timed: Literal["", Kind] = ""
    values: Schema = field(default_factory=record)
    arrays: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Name -> dtype and number of dimensions."""
    inputs: Inputs | None = None
    """Of timed calls."""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Of those inputs that arrive in another dtype than they are sent in."""
    dataset: Dataset | None = None
    """Of timed loading."""
    within: Close | Tolerance | None = None
    """Of timed work: how far from the baseline's its answers may be; None: it cannot be timed."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """How the student's side may end, such as memory -> what to try then; else something general is said."""
    takes: frozenset[str] | None = None
    """The names of the student's module that it is handed, and no others; None: all, and its text tells."""


def conform(probe: Probe, observation: Observation) -> Observation:
    """Refuse an answer that does not have exactly the form that the probe declared."""
    if observation.ended != "ok":
        return observation
    problem = _values_problem(probe.values, observation.values) or _arrays_problem(
        probe.arrays, observation.arrays
    )
    return (
        replace(observation, ended="refused", error=f"the worker's answer was refused: {problem}")
        if problem
        else observation
    )


def _values_problem(schema: Schema, values: Mapping[str, Any]) -> str:
    from autograder.json_schema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(values)
    first = next(iter(errors), None)
    return f"{first.json_path} does not have its declared form" if first else ""


def _arrays_problem(
    declared: Mapping[str, tuple[str, int]], arrays: Mapping[str, np.ndarray[Any, Any]]
) -> str:
    if set(declared) != set(arrays):
        return f"arrays {sorted(arrays)} instead of {sorted(declared)}"
    for name, (dtype, ndim) in declared.items():
        if (str(arrays[name].dtype), arrays[name].ndim) != (dtype, ndim):
            return f"array {name} is not {dtype} with {ndim} dimension{'s' if ndim != 1 else ''}"
    return ""
