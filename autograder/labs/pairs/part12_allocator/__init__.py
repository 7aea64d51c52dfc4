"""Part 12: memory that is used again. A pool of blocks between a program and a slow allocator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.checks.hints import Causes
from autograder.claims.exercise import Exercise
from autograder.claims.object_calls import Drawn, refused
from autograder.lab import BOOLEAN, NUMBER, Failed, Observation, Passed, Student, Verdict, exactly

if TYPE_CHECKING:
    from autograder.labs.pairs.part12_allocator.rig import Rig
else:
    Rig = Any

pool = Exercise("PoolAllocator", "part12_allocator")
part = pool.part
Drawing = tuple[dict[str, Any], list[Drawn]]
ROUNDS, KINDS, MIB = 200, 12, 1 << 20
SEE = 'see "What usually goes wrong" in the part 12 handout'
OWN_LISTS = "make the lists of free blocks in __init__, so that each pool has its own"
RETURNED = "allocate must return an address that a raw allocation returned"
IN_USE = "raise ValueError if the address is not among the blocks in use, before anything changes"
WITHIN = (
    "before a raw allocation: if held + block > limit, trim, compare again, "
    "and raise if it is still above"
)
HINTS: Causes = {
    "held, above the limit of": (
        "usually held + block is not compared with the limit before a raw allocation",
        WITHIN,
    ),
    "the new block": (
        "a raw allocation for fewer bytes than were requested: usually the size is rounded down",
        "round up to the size of the class",
    ),
    "the free block": (
        "a free block that is smaller than the request was handed out",
        "round each size up to the size of its class, and take a free block of this class alone",
    ),
    'trim()": block': (
        "trim gave a block in use back",
        "give back only what is in the lists of free blocks",
    ),
    "that went back to": (
        "after trim the blocks that went back must not serve a request",
        "clear the lists of free blocks when their blocks go back",
    ),
    "was never taken": (
        (
            "no raw allocation of this pool returned that address: "
            "usually two pools share their free blocks"
        ),
        OWN_LISTS,
    ),
    "the memory of block": (
        "a block in use was handed out again: it was still in a list of free blocks",
        "pop a block from its list when you hand it out",
    ),
    "went back to the arena before (": (
        "trim gives an address to the raw free twice: the block was still in a list of free blocks",
        "fix follows_the_script first if it fails; else clear the lists in trim",
    ),
    "nothing at address": (
        "a block goes back that this pool never took: usually two pools share their free blocks",
        OWN_LISTS,
    ),
    "raised KeyError": IN_USE,
    "a limit, call 10: allocate(4, ": (
        "an earlier request for half as many bytes took the free block that this one needs",
        "hand out a free block of the request's own class, not any that is large enough",
    ),
    "raised MemoryError": (
        "this block fits once the free blocks go back",
        "call trim() and compare again before you raise MemoryError",
    ),
    "is a method": (
        "held is called like an attribute, without ()",
        "write @property above def held",
    ),
    ", the bytes ": (
        "held must count free blocks as well, and each with its rounded size",
        "add up the rounded sizes of all blocks, in use and free",
    ),
    "still held": "call the raw free for each address in each list, then clear the lists",
    "came back": (
        "trim must return the bytes of the blocks that go back",
        "add up the sizes of these blocks, and return the sum",
    ),
}
"""Words of an answer -> what to try, and perhaps why."""
ZERO = "size 0 must have the address 0, and take no memory", "if size == 0: return 0"

# --- what the addresses show ---


def on_an_arena(written: Any, inputs: Mapping[str, Any], rig: Rig) -> Any:
    return rig.watched(written, inputs)


def traffic(random: np.random.Generator, count: int = 200) -> Drawing:
    """Requests of 12 kinds of sizes and of 0 bytes, at the latest at the end; half of the time a block is freed."""
    kinds, used, calls = 2 ** random.uniform(1, 22, KINDS), list[int](), list[Drawn]()
    for block in range(count):
        if used and random.random() < 0.5:
            calls.append(("free", used.pop(random.integers(len(used)))))
            continue
        size = random.choice(kinds) * random.uniform(0.5, 1) * (random.random() > 0.03)
        calls.append(("allocate", block, int(size)))
        used.append(block)
    return {"gap": int(random.integers(1, 9000))}, [*calls, ("allocate", count, 0)]


pool.calls(
    traffic,
    make=on_an_arena,
    says="In 400 random calls, blocks never overlap and are large enough; size 0 has address 0.",
    why={
        ", 0)": ZERO,
        "allocate": (
            RETURNED,
            "return that address, or one from the list of free blocks of this size class",
        ),
        "": (
            "free must keep the block for later, and do nothing for address 0",
            "move the address from the blocks in use to the list of free blocks of its size class",
        ),
    },
    hints=HINTS,
    try_=SEE,
)


def misuse(random: np.random.Generator, size: Any = (1000, 100_000)) -> Drawing:
    two: list[Drawn] = [("allocate", block, size) for block in (1, 2)]
    twice: list[Drawn] = [("free", 1), refused("free", 1)]
    again: list[Drawn] = [("allocate", block, size) for block in (3, 4)]
    unknown: list[Drawn] = [refused("free", 2, 8), refused("allocate", 5, -size), ("free", 2)]
    return {"gap": 4096}, [*two, *twice, *again, *unknown, ("allocate", 6, 0), ("free", 6)]


pool.calls(
    misuse,
    make=on_an_arena,
    name="refuses_misuse",
    says="A block that is freed twice, an unknown address and a negative size raise ValueError; the pool stays usable.",
    why={
        "free(2, 8)": ("the pool never returned this address, 8 bytes beside a block", IN_USE),
        "free(1)": (
            "the block is free already, and would serve two requests",
            IN_USE,
        ),
        ", 0)": ZERO,
        "-": (
            "your code must refuse a negative size",
            "if size < 0: raise ValueError, and then look for size 0",
        ),
        "": (
            "the pool must stay usable after an error",
            "raise the error before you change a list or a dict of the pool",
        ),
    },
    hints=HINTS,
    try_=SEE,
)

# --- what the pool asks for ---


@part.probe(values={"asked": NUMBER})
def rounds(student: Student, rig: Rig) -> Any:
    """The sizes of the first round, then sizes that are up to 3 % smaller."""
    watched = rig.watched(student.PoolAllocator, {"gap": 4096})
    sizes = 2 ** (9.5 + np.arange(KINDS) + rig.random.uniform(0, 0.9, KINDS))
    for turn in range(ROUNDS):
        shares = rig.random.uniform(0.97, 1, KINDS) if turn else 1.0
        for block, size in enumerate(sizes * shares):
            watched.allocate(block, int(size))
        for block in rig.random.permutation(KINDS).tolist():
            watched.free(block)
    return {"asked": watched.arena.calls}


@part.check(basis="report")
def asks_rarely(rounds: Observation) -> Verdict:
    """200 passes over 12 sizes, each size times a random factor from 0.97 to 1, take at most 24 raw allocations."""
    measured = (
        f"{rounds.values['asked']} raw allocations for {ROUNDS * KINDS} requests; 24 are allowed"
    )
    if rounds.values["asked"] <= 2 * KINDS:
        return Passed(measured)
    if rounds.values["asked"] >= ROUNDS * KINDS:
        why = "no free block was used again: usually free gives each block back at once"
        return Failed(measured, why, "let free keep the block, and allocate look for it first")
    why = "free blocks were used again too rarely: usually each size is a class of its own"
    return Failed(measured, why, "round sizes up, so that sizes nearly alike share a class")


@part.probe(values={"shares": exactly(23, NUMBER), "new": exactly(23, BOOLEAN)})
def blocks(student: Student, rig: Rig) -> Any:
    """Large blocks are free; then a size for which one is a third too large, one just above a power of two, others."""
    watched = rig.watched(student.PoolAllocator, {"gap": 4096})
    for block, size in enumerate((64 * MIB, 3 * MIB // 2, 8192, 6000, 65_000)):
        watched.allocate(block, size)
    for block in range(5):
        watched.free(block)
    drawn = rig.random.integers(4097, 40_000, 9).tolist()
    huge = [(256 * MIB) + 1, int(rig.random.integers(16, 512) * MIB)]
    new = list[bool]()
    for block, size in enumerate([50_000, *[MIB + 1] * 10, 4097, *drawn, *huge]):
        before = watched.arena.calls
        watched.allocate(block, size)
        new.append(watched.arena.calls > before)
    return {"shares": watched.shares(), "new": new}


@part.check(basis="report", needs=[asks_rarely])
def wastes_little(blocks: Observation) -> Verdict:
    """A request for more than 4096 bytes gets a block of at most 1.25 times its size."""
    worst = max(blocks.values["shares"])
    measured = f"the largest block has {worst:.3f}x the requested bytes; 1.25x is allowed"
    if worst <= 1.25:
        return Passed(measured)
    both = zip(blocks.values["shares"], blocks.values["new"], strict=True)
    if any(new for share, new in both if share > 1.25):
        why = "sizes are rounded up too far: powers of two double some sizes"
        try_ = "round up to a multiple of an eighth of the largest power of two below the size"
        return Failed(measured, why, try_)
    why = "a free block of a larger class served the request, and it is too large for it"
    return Failed(measured, why, "take a free block of the request's own class, or a new one")


def trimmed(random: np.random.Generator) -> Drawing:
    """Half of the blocks are free, two of one size; they are used again after a trim."""
    sizes = (random.uniform(1, 9, 5) * 50_000).astype(int).tolist()
    sizes.insert(2, sizes[0])
    new: list[Drawn] = [("allocate", block, size) for block, size in enumerate(sizes)]
    freed: list[Drawn] = [("free", block) for block in (0, 2, 4)]
    trims: list[Drawn] = [("held",), ("trim",), ("held",)]
    gone = [refused("free", block) for block in (0, 2, 4)]
    return {"gap": 64}, [*new, *freed, *trims, *gone, *new[::2], ("free", 1), *trims]


def limited(random: np.random.Generator) -> Drawing:
    """Of 15 units 8 are free and 4 in use; 4 more fit after a trim, and then 8 do not."""
    unit = 2 ** int(random.integers(13, 18))  # for which nobody has to round up
    fits: list[Drawn] = [("allocate", 0, 8 * unit), ("allocate", 1, 4 * unit), ("free", 0)]
    fits += [("allocate", 5, 8 * unit), ("free", 5)]
    full = refused("allocate", 3, 8 * unit, error=MemoryError)
    later: list[Drawn] = [("held",), ("free", 1), ("allocate", 4, 8 * unit), ("held",), ("trim",)]
    return {"gap": 64, "limit": 15 * unit}, [*fits, ("allocate", 2, 4 * unit), full, *later]


def filled(random: np.random.Generator) -> Drawing:
    """There is room beside a free block; then a request takes the rest, and a limit is just enough."""
    sizes = (random.uniform(1, 9, 3) * 50_000).astype(int).tolist()
    room: list[Drawn] = [("allocate", 0, sizes[0]), ("free", 0), ("allocate", 1, 7 * sizes[0])]
    return {"gap": 64, "limit": 40 * sizes[0] + 1}, [*room, (EXACT, *sizes), ("trim",), (REST, 2)]


EXACT, REST = "allocate_with_exact_limit", "allocate_the_rest"
LIMITS = {"no limit": trimmed, "a limit": limited, "a full pool": filled}


def trimmed_or_limited(random: np.random.Generator, script: Any = "no limit") -> Drawing:
    return LIMITS[script](random)


pool.calls(
    trimmed_or_limited,
    {name: {"script": name} for name in LIMITS},
    make=on_an_arena,
    name="trims",
    needs=["asks_rarely"],
    says="After trim the arena holds what is in use and nothing else; with a limit the pool trims by itself.",
    why={
        "free(": (
            "the pool still knows a block that trim gave back",
            "fix refuses_misuse first if it fails; else forget the addresses that go back",
        ),
        EXACT: (
            "this pool's limit is just what the blocks of the three sizes take, and all three fit",
            "refuse only if held + the rounded size > limit",
        ),
        REST: (
            "just the bytes left (limit minus held) were requested: their block, rounded up, does not fit",
            "compare held + block, not held + size, with the limit",
        ),
        "allocate(5": (
            "a free block of this class is there, and the pool must look for it first",
            "compare with the limit only before a raw allocation",
        ),
        "a full pool": (
            "the pool must trim only where a raw allocation would go above the limit",
            "trim if held + block > limit, and not before each raw allocation",
        ),
        "trim": "trim must give back each free block and no block in use, and return their bytes",
        "held": (
            "held must be the bytes of all blocks, in use and free: a refused request adds nothing",
            "add a block only after its raw allocation",
        ),
        "a limit": (
            "the pool must trim before it goes above the limit, and else raise MemoryError",
            WITHIN,
        ),
        "": RETURNED,
    },
    hints=HINTS,
    try_='see "What to write" in the part 12 handout',
)
