"""A recorder of collective calls: of torch.distributed, of DistributedDataParallel's reducer and of FSDP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NAMESPACES = ("c10d", "_c10d_functional")
KINDS = (
    "all_reduce",
    "all_gather",
    "all_to_all",
    "reduce_scatter",
    "reduce",
    "broadcast",
    "gather",
    "scatter",
    "send",
    "recv",
    "barrier",
)  # c10d::_allgather_base_ is an all_gather


class _Recorder(TorchDispatchMode):
    """Notes the operators of process groups."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[dict[str, Any]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch imports its compiler first

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace in NAMESPACES:
            name = func.name().partition("::")[2].replace("_", "")
            kind = next((it for it in KINDS if name.startswith(it.replace("_", ""))), "")
            if kind:
                self.calls.append({"kind": kind, "bytes": 0 if kind == "barrier" else _bytes((*args, result))})
        return result


def _bytes(values: Any) -> int:
    """Return the bytes of the whole tensor, also where each process has a share of it."""
    each = [[it for it in tree_leaves(value) if isinstance(it, Tensor)] for value in values]
    return max(sum(it.numel() * it.element_size() for it in own) for own in each)


@contextmanager
def watch_collectives() -> Iterator[list[dict[str, Any]]]:
    """Give a list that grows by {"kind": "all_reduce", "bytes": 66560} at each collective call of this process.

    It was tried with gloo on CPUs. If a GPU's backward pass leaves nothing in it, count in a profile instead.
    """
    recorder = _Recorder()
    with recorder:
        yield recorder.calls
