"""A recorder of collective calls, whoever makes them: torch.distributed, DistributedDataParallel or FSDP."""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.rigs.counters import tensors_in
from autograder.worker.rigs.returned import dtype_name

KINDS = (
    "all_reduce", "all_gather", "all_to_all", "reduce_scatter", "reduce", "broadcast", "gather", "scatter", "send",
    "recv", "barrier",
)  # fmt: skip
"""An operator is called as its kind, with more behind it: c10d::_allgather_base_, for example."""
c10d: Any = dist.distributed_c10d
NAMESPACES = ("c10d", "_c10d_functional")
MOST = 64  # steps, and calls of one step, that are told


class Watching(TorchDispatchMode):
    """A mode that passes every operator on; a backward pass on a GPU runs on another thread, where it is not active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler first, which takes a second in each process

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the call."""
        return self.called(func, args, kwargs or {})

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Make the call, and whatever a mode does beside it."""
        raise NotImplementedError


class Collectives(Watching):
    """Notes the operators of process groups, step by step of any optimizer."""

    def __init__(self) -> None:
        """Begin the first step."""
        super().__init__()
        self.steps: list[list[dict[str, Any]]] = [[]]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Return the calls of all steps."""
        return [call for step in self.steps for call in step]

    def __enter__(self) -> Self:
        """Watch."""
        self._hook = register_optimizer_step_post_hook(lambda *_: self.steps.append([]))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._hook.remove()

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Make the call, then note it."""
        result = func(*args, **kwargs)
        kind = kind_of(func)
        if kind:
            self.steps[-1].append(said(kind, args, result))
        return result

    def settled(self, first: int = 3) -> list[list[dict[str, Any]]]:
        """Return kind and bytes of the calls of each step from the third one on.

        Before it, DistributedDataParallel sends its weights, and puts its buckets together anew.
        """
        calls = [
            [{"kind": call["kind"], "bytes": call["bytes"]} for call in step[:MOST]]
            for step in self.steps[first - 1 : -1]
        ]
        return calls[:MOST]


def said(kind: str, args: Any, *more: Any) -> dict[str, Any]:
    """Say what a call moves, and between which processes."""
    return {"kind": kind, "ranks": _ranks(kind, args), **_size(kind, (*args, *more))}


def kind_of(func: Any) -> str:
    """Return the kind of a collective operator; of any other nothing."""
    if func.namespace not in NAMESPACES:
        return ""
    name = func._opname.replace("_", "")
    return next(
        (kind for kind in KINDS if name.startswith(kind.replace("_", ""))),
        "",
    )


def _size(kind: str, values: Any) -> dict[str, Any]:
    """Say how much a call moves, and in which dtype: of all processes together, where each has a share."""
    each = [tensors_in(value) for value in values]
    if kind == "barrier":  # it has a tensor that nobody reads
        return {"numbers": 0, "bytes": 0, "dtype": ""}
    numbers = [it.numel() for own in each for it in own if it.is_floating_point()]
    largest = max((it for own in each for it in own), key=lambda it: it.nbytes, default=None)
    return {
        "numbers": max(numbers, default=0),
        "bytes": max(sum(it.nbytes for it in own) for own in each),
        "dtype": "" if largest is None else dtype_name(largest),
    }


def _ranks(kind: str, args: Any) -> list[int]:
    if isinstance(args[-1], str):  # a functional collective names its group
        return dist.get_process_group_ranks(c10d._resolve_process_group(args[-1]))
    place = next(
        (at for at, it in enumerate(args) if isinstance(it, torch.ScriptObject)),
        None,
    )
    if place is None:
        return []
    group = dist.ProcessGroup.unbox(args[place])
    if kind in ("send", "recv") and isinstance(args[place + 1], int):
        return sorted(
            {
                dist.get_rank(),
                dist.get_global_rank(group, args[place + 1]),
            }
        )
    return dist.get_process_group_ranks(group)
