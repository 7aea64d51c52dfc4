"""kept_bytes: exactly what autograd keeps, with autocast and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.labs.pairs.part05_precision.part import WRONG, part

Net = Callable[[Any, int], Any]
NETS: dict[str, Net] = {
    "linear and ReLU": lambda nn, n: nn.Sequential(
        *(it for _ in range(6) for it in (nn.Linear(n, n), nn.ReLU()))
    ),
    "ReLU in place": lambda nn, n: nn.Sequential(nn.Linear(n, n), nn.ReLU(inplace=True)),
    "norm and GELU": lambda nn, n: nn.Sequential(nn.LayerNorm(n), nn.Linear(n, n), nn.GELU()),
    "batch norm": lambda nn, n: nn.Sequential(nn.Linear(n, n), nn.BatchNorm1d(n), nn.Tanh()),
    "dropout": lambda nn, n: nn.Sequential(nn.Linear(n, n), nn.Dropout(0.3), nn.Linear(n, n)),
    "one layer twice": lambda nn, n: nn.Sequential(*[nn.Linear(n, n)] * 2),
    "a frozen layer": lambda nn, n: nn.Sequential(
        nn.Linear(n, n).requires_grad_(False), nn.Linear(n, n)
    ),
    "views": lambda nn, n: nn.Sequential(
        nn.Linear(n, n), nn.Unflatten(1, (2, n // 2)), nn.Sigmoid(), nn.Flatten(), nn.Linear(n, 3)
    ),
}


def made(kind: str, width: int, rows: int, dtype: str) -> tuple[Any, Any, Any]:
    """Return a net, its inputs, and the dtype of autocast or None."""
    import torch

    inputs = torch.linspace(-1, 1, rows * width).view(rows, width)
    return NETS[kind](torch.nn, width), inputs, getattr(torch, dtype) if dtype else None


def asked(written: Any, given: Mapping[str, Any]) -> Any:
    return written(*made(**given))


def counted(kind: str, width: int, rows: int, dtype: str, slip: str = "") -> int:
    """Return the right number, or that of a usual mistake."""
    import torch

    net, inputs, half = made(kind, width, rows, dtype)
    own = [inputs, *net.parameters(), *net.buffers()]
    before = set() if slip == "parameters" else {it.untyped_storage().data_ptr() for it in own}
    kept: list[tuple[int, int, Any]] = []

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in before:
            kept.append((storage.data_ptr(), storage.nbytes(), tensor.detach()))
        return tensor.detach()

    autocast = torch.autocast("cpu", half, enabled=half is not None)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda it: it), autocast:
        loss = net(inputs).float().square().mean()
    if slip == "weights":
        kept = [it for it in kept if sorted(it[2].shape) != [width, width] or rows == width]
    if slip == "tensors":
        return sum(it[2].nbytes for it in kept)
    del loss
    return sum({place: size for place, size, _ in kept}.values())


counts = Exercise("kept_bytes", part, call=asked)


@counts.inputs
def draw_net(
    random: np.random.Generator,
    kind: Any = "linear and ReLU",
    width: Any = range(32, 80, 2),
    rows: Any = (5, 31),
    dtype: Any = "",
) -> dict[str, Any]:
    return {"kind": kind, "width": width, "rows": rows, "dtype": dtype}


counts.same(
    {
        f"{kind}{' under autocast' * bool(dtype)}": {"kind": kind, "dtype": dtype}
        for dtype in ("", "bfloat16")
        for kind in NETS
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
