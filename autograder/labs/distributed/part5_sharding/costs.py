"""Arithmetic: the bytes that a process holds, and those that it sends in a step."""

from __future__ import annotations

from functools import partial
from typing import Any

from autograder.claims.exercise import Exercise
from autograder.labs.distributed.part5_sharding.part import part

SEE = 'see "What it costs" in the part 5 handout'
FSDP = "7e9 parameters on 8, fsdp"
HELD = ("ddp", "zero1", "zero2", "fsdp")
"""Each shares one thing more than the one before it: the optimizer's state, the gradients, the weights."""
TOO_MUCH = {"one too many": HELD, "one too many, not with ddp": HELD[1:]}
SPLIT = (
    ("optimizer", 8, "zero1, zero2 and fsdp"),
    ("gradients", 4, "zero2 and fsdp"),
    ("weights", 4, "fsdp"),
)
SENT = ("ddp", "fsdp", "fsdp_keep")
holds, sends = Exercise("bytes_per_rank", part), Exercise("traffic", part)


def cases(strategies: tuple[str, ...]) -> dict[str, Any]:
    """Name each strategy in drawn sizes, and in one process."""
    drawn = {f"bytes with {name}, sizes at random": {"strategy": name} for name in strategies}
    alone = {
        f"bytes with {name}, one process": {"strategy": name, "processes": 1} for name in strategies
    }
    return drawn | alone


WHOSE = {
    name: {
        case: (
            f": with {sizes['strategy']} each process holds all of them"
            if sizes["strategy"] not in shared
            else ", divided by the number of processes"
        )
        for case, sizes in {FSDP: {"strategy": "fsdp"}, **cases(HELD)}.items()
    }
    for name, _, shared in SPLIT
}
"""Of what is held, case by case, whether it is a share or all."""
SHARED = "zero1 shares the optimizer's state alone, zero2 the gradients as well, fsdp all three"

# --- what is held ---


@holds.inputs
def parameters(
    random: Any, thousands: Any = (1, 9_000_000), processes: Any = (2, 64), strategy: str = "ddp"
) -> Any:
    return {"parameters": 1000 * thousands, "processes": processes, "strategy": strategy}


def held(slip: str = "", *, parameters: int, processes: int, strategy: str) -> Any:
    """Return what bytes_per_rank has to return, or what somebody returns who makes this *slip*."""
    sizes = {"optimizer": 4 if slip == "one moment" else 8, "gradients": 4, "weights": 4}
    shared = HELD.index(strategy) + (strategy in TOO_MUCH.get(slip, ()))
    here = {
        name: size * parameters / (processes if place < shared else 1)
        for place, (name, size) in enumerate(sizes.items())
    }
    here["total"] = sum(here.values())
    return here


holds.same(
    {
        FSDP: {"thousands": 7_000_000, "processes": 8, "strategy": "fsdp"},
        "1000 parameters on 7, fsdp": {"thousands": 1, "processes": 7, "strategy": "fsdp"},
        **cases(HELD),
    },
    oracle=held,
    slips={
        ("your optimizer has one moment; Adam keeps two moments", "8 bytes a parameter"): partial(
            held, "one moment"
        ),
        **{
            (f"your code splits one thing too many with {strategies}", SHARED): partial(held, slip)
            for slip, strategies in zip(TOO_MUCH, ("each strategy", "zero1 and zero2"), strict=True)
        },
    },
    name="bytes_are_right",
    says="bytes_per_rank says what a process holds with DDP, ZeRO-1, ZeRO-2 and FSDP, in 1 to 64 processes.",
    why={
        "1000 parameters": (
            "your code rounds shares that the processes do not divide",
            "divide by /, and not by //",
        ),
        **{
            f"{case}, {name}": (
                f"{name} must be {size} bytes a parameter{share}",
                f"{size} * parameters, divided by the number of processes with {shared}",
            )
            for name, size, shared in SPLIT
            for case, share in WHOSE[name].items()
        },
        "": ("total must be the sum of the three", "add up weights, gradients and optimizer"),
    },
    try_=SEE,
)

# --- what is sent ---


@sends.inputs
def model(
    random: Any,
    blocks: Any = (1, 10**9),
    root: Any = (0, 10**7),
    processes: Any = (2, 64),
    strategy: str = "ddp",
) -> Any:
    sizes = {"block_bytes": 4 * blocks, "root_bytes": 4 * root}
    return {**sizes, "processes": processes, "strategy": strategy}


def sent(
    slip: str = "", *, block_bytes: int, root_bytes: int, processes: int, strategy: str
) -> float:
    """Return what traffic has to return, or what somebody returns who makes this *slip*."""
    whole = block_bytes + root_bytes
    again = whole if slip == "all twice" else block_bytes
    share = 1.0 if slip == "all of it" else (processes - 1) / processes
    return share * (2 * whole + again * (strategy == "fsdp"))


sends.same(
    cases(SENT),
    oracle=sent,
    slips={
        (
            "your code also counts its own share, which a process does not send",
            "multiply by (processes - 1) / processes",
        ): partial(sent, "all of it"),
        (
            "your code gathers root_bytes twice with fsdp, as the blocks",
            "count root_bytes once, and block_bytes twice, in what fsdp gathers",
        ): partial(sent, "all twice"),
    },
    name="traffic_is_right",
    says="traffic says what a process sends in a step with DDP, FSDP, and FSDP that keeps blocks whole.",
    why={
        "ddp": (
            "all bytes must count twice: an all_reduce scatters and gathers them",
            "count all bytes twice: scattered, then gathered",
        ),
        "fsdp_keep": (
            "blocks and the rest must be gathered once, and all gradients scattered once",
            "count all bytes twice: gathered, then scattered",
        ),
        "": (
            "fsdp must gather blocks twice and the rest once, and scatter all gradients once",
            "add up what is gathered and scattered, then multiply by (processes - 1) / processes",
        ),
    },
    try_=SEE,
)
