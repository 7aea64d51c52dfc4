"""kept_bytes: exactly what autograd keeps, with autocast and without."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.labs.pairs.part05_precision.part import WRONG, part

KINDS = (
    "linear and ReLU",
    "ReLU in place",
    "norm and GELU",
    "batch norm",
    "dropout",
    "one layer twice",
    "a frozen layer",
    "views",
)


def asked(written: Any, given: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part05_precision import rig

    return written(*rig.made(**given))


def counted(slip: str = "", **given: Any) -> int:
    from autograder.labs.pairs.part05_precision import rig

    return rig.counted(**given, slip=slip)


counts = Exercise("kept_bytes", part, call=asked)


@counts.inputs
def draw_net(
    random: np.random.Generator,
    kind: Any = "linear and ReLU",
    width: Any = range(32, 80, 2),
    rows: Any = (5, 31),
    half: Any = "",
) -> dict[str, Any]:
    return {"kind": kind, "width": width, "rows": rows, "half": half}


counts.same(
    {
        f"{kind}{' under autocast' * bool(half)}": {"kind": kind, "half": half}
        for half in ("", "bfloat16")
        for kind in KINDS
    },
    oracle=counted,
    within=0.0,
    name="counts_kept_bytes",
    says="kept_bytes returns exactly the bytes that are kept, with autocast and without.",
    slips={
        "each tensor was counted: several are views of one storage, which is kept once": partial(
            counted, slip="tensors"
        ),
        "parameters, buffers or inputs were counted: they are there anyway": partial(
            counted, slip="parameters"
        ),
        "the 16-bit copies of the weights that autocast makes were left out: they are kept, too": partial(
            counted, slip="weights"
        ),
    },
    why={
        "autocast": "autocast keeps 16-bit copies of inputs and weights, and the float32 copy of the output",
        "": "each storage that is kept counts once and whole; those of parameters, buffers and inputs do not",
    },
    try_=f"saved_tensors_hooks, a dict of storages by data_ptr(), and return tensor.detach(); {WRONG}",
)
