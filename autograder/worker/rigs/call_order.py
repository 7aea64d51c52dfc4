"""Which collective calls each process of a group has begun: in a file of its own, so that it outlives the process.

A call is written down before it is made. Where two processes make different calls, gloo ends one of them without a
word; what each of them was about to do is still there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch.distributed as dist
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from autograder.worker.rigs.collectives import Watching, kind_of, said

c10d: Any = dist.distributed_c10d
JOINS, RETURNS = "joins", "returned from "
PAIRED = ("send", "recv")
UNEVEN = ("gather", "scatter", "all_to_all", "barrier", *PAIRED)
"""Kinds of calls with another size in each process."""
VERBS = {"all_reduce": "reduces", "broadcast": "broadcasts", "all_gather": "gathers"}
Calls = Sequence[Mapping[str, Any]]


class Order(Watching):
    """Writes down each call of a process, and that it joins a group."""

    def __init__(self, file: Path) -> None:
        """Begin the file."""
        super().__init__()
        self._file = file.open("w", buffering=1)
        self._make = c10d.rendezvous

    def __enter__(self) -> Self:
        """Watch."""
        c10d.rendezvous = self._join
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        c10d.rendezvous = self._make

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Write the call down, then make it."""
        kind = kind_of(func)
        if kind:
            self.write(said(kind, args))
        return func(*args, **kwargs)

    def _join(self, *args: Any, **kwargs: Any) -> Any:
        self.write({"kind": JOINS, "ranks": [], "bytes": 0})
        return self._make(*args, **kwargs)

    def write(self, call: Mapping[str, Any]) -> None:
        """Write a call down."""
        self._file.write(json.dumps(call) + "\n")


def returns(function: str) -> None:
    """Write down that a student's function has returned."""
    ranks = [*range(dist.get_world_size())] if dist.is_initialized() else []
    for mode in _get_current_dispatch_mode_stack():
        if isinstance(mode, Order):
            mode.write({"kind": f"{RETURNS}{function}", "ranks": ranks, "bytes": 0})


def read(file: Path) -> list[dict[str, Any]]:
    """Return what a process has written so far; its last line may be half there."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def mismatch(of_ranks: Sequence[Calls]) -> str:
    """Name the first call in which two processes of a group do different things."""
    for calls in _by_group(of_ranks).values():
        (first, own), *others = calls.items()
        for rank, other in others:
            for call, beside in zip(own, other, strict=False):
                if _differ(call, beside):
                    return f"rank {first} {words(call)} where rank {rank} {words(beside)}"
    return ""


def ahead(of_ranks: Sequence[Calls], behind: int) -> str:
    """Name a call of another process that waits for this one."""
    for calls in _by_group(of_ranks).values():
        made = len(calls.get(behind, []))
        for rank, other in calls.items():
            if behind in calls and len(other) > made and RETURNS not in other[made]["kind"]:
                return f"rank {rank} waits in a collective call, where it {words(other[made])}"
    joined = [any(call["kind"] == JOINS for call in calls) for calls in of_ranks]
    if any(joined) and not joined[behind]:
        return f"rank {joined.index(True)} waits for it in init_process_group"
    return ""


def early(calls: Calls) -> str:
    """Say that a process has made no call."""
    nothing = all(call["kind"] == JOINS or RETURNS in call["kind"] for call in calls)
    return " before it called any collective operation" * nothing


def words(call: Mapping[str, Any]) -> str:
    """Say what a process does in a call."""
    kind, size = call["kind"], call["bytes"]
    if RETURNS in kind:
        return f"has {kind}"
    if kind == "barrier":
        return "calls dist.barrier()"
    return f"{VERBS[kind]} {size} bytes" if kind in VERBS else f"calls {kind} with {size} bytes"


def _by_group(of_ranks: Sequence[Calls]) -> dict[tuple[int, ...], dict[int, list[Any]]]:
    """Return the calls of each group by its processes; what goes from one to another has no order."""
    everybody = [call for calls in of_ranks for call in calls if call["kind"] not in PAIRED]
    groups = dict.fromkeys(tuple(call["ranks"]) for call in everybody if len(call["ranks"]) > 1)
    return {
        group: {
            rank: [
                call
                for call in of_ranks[rank]
                if tuple(call["ranks"]) == group and call["kind"] not in PAIRED
            ]
            for rank in group
            if rank < len(of_ranks)
        }
        for group in groups
    }


def _differ(first: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if first["kind"] != other["kind"]:
        return True
    return first["kind"] not in UNEVEN and first["bytes"] != other["bytes"]
