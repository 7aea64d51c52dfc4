"""Arithmetic: the bytes that a process holds, and those that it sends in a step."""

from __future__ import annotations

from typing import Any

from autograder.claims.exercise import Exercise
from autograder.labs.distributed.part5_sharding.part import part

SEE = 'see "What it costs" in the part 5 handout'
SHARED = {
    "ddp": (),
    "zero1": ("optimizer",),
    "zero2": ("optimizer", "gradients"),
    "fsdp": ("optimizer", "gradients", "weights"),
}
SIZES = {"weights": 4, "gradients": 4, "optimizer": 8}
"""Bytes of a parameter in float32, with Adam."""
GATHERED = {"ddp": 1, "fsdp": 2, "fsdp_keep": 1}

holds = Exercise("bytes_per_rank", part)


@holds.inputs
def parameters(
    random: Any, thousands: Any = (1, 9_000_000), processes: Any = (2, 64), strategy: str = "ddp"
) -> Any:
    return {"parameters": 1000 * thousands, "processes": processes, "strategy": strategy}


def held(
    parameters: int, processes: int, strategy: str, sizes: Any = SIZES, shared: Any = SHARED
) -> Any:
    here = {
        name: size * parameters / (processes if name in shared[strategy] else 1)
        for name, size in sizes.items()
    }
    here["total"] = sum(here.values())
    return here


def one_moment(**inputs: Any) -> Any:
    return held(**inputs, sizes={**SIZES, "optimizer": 4})


def one_too_many(**inputs: Any) -> Any:
    names = list(SHARED)
    later = dict(zip(names, [*list(SHARED.values())[1:], SHARED["fsdp"]], strict=True))
    return held(**inputs, shared=later)


holds.same(
    {
        "7e9 parameters on 8, fsdp": {"thousands": 7_000_000, "processes": 8, "strategy": "fsdp"},
        "1000 parameters on 7, fsdp": {"thousands": 1, "processes": 7, "strategy": "fsdp"},
        **{f"{strategy}, drawn": {"strategy": strategy} for strategy in SHARED},
        **{
            f"{strategy}, one process": {"strategy": strategy, "processes": 1}
            for strategy in SHARED
        },
    },
    oracle=held,
    slips={
        "Adam keeps two moments for each parameter": one_moment,
        "each strategy shares one thing too many": one_too_many,
    },
    name="bytes_are_right",
    says="bytes_per_rank says what a process holds with DDP, ZeRO-1, ZeRO-2 and FSDP, in 1 to 64 processes.",
    why="a share is wrong: 4 bytes for weights, 4 for gradients, 8 for Adam, divided where they are shared",
    try_=SEE,
)

sends = Exercise("traffic", part)


@sends.inputs
def model(
    random: Any,
    blocks: Any = (1, 10**9),
    root: Any = (0, 10**7),
    processes: Any = (2, 64),
    strategy: str = "ddp",
) -> Any:
    return {
        "block_bytes": 4 * blocks,
        "root_bytes": 4 * root,
        "processes": processes,
        "strategy": strategy,
    }


def sent(block_bytes: int, root_bytes: int, processes: int, strategy: str) -> float:
    gathered = GATHERED[strategy] * block_bytes + root_bytes
    return (processes - 1) / processes * (gathered + block_bytes + root_bytes)


def whole_ring(processes: int, **inputs: Any) -> float:
    return sent(processes=2, **inputs) * 2


def all_twice(root_bytes: int, block_bytes: int, **inputs: Any) -> float:
    return sent(block_bytes=block_bytes + root_bytes, root_bytes=0, **inputs)


sends.same(
    {
        **{f"{strategy}, drawn": {"strategy": strategy} for strategy in GATHERED},
        **{
            f"{strategy}, one process": {"strategy": strategy, "processes": 1}
            for strategy in GATHERED
        },
        "Blocks in two processes": {
            "blocks": 132_352,
            "root": 1_738,
            "processes": 2,
            "strategy": "fsdp",
        },
    },
    oracle=sent,
    slips={
        "a process does not send its own share to itself: (n - 1) / n": whole_ring,
        "what is outside of the blocks is gathered once": all_twice,
    },
    name="traffic_is_right",
    says="traffic says what a process sends in a step with DDP, FSDP, and FSDP that keeps blocks whole.",
    why="fsdp gathers blocks twice, fsdp_keep once; both scatter all once, and an all_reduce is a scatter and a gather",
    try_=SEE,
)
