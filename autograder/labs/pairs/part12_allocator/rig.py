"""What the probes of part 12 work with: an arena, and a pool on it whose addresses are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.worker import rig as worker

RIGHT = "right"
"""An answer; any other says what is wrong."""


class Watched:
    """A pool, and what its answers mean. Blocks have numbers, so that a script can name them."""

    def __init__(self, written: Any, arena: Any, limit: int | None) -> None:
        """Make a pool whose raw allocations are noted."""
        self.arena, self._limit, self._written = arena, limit, written
        self._raw: dict[int, int] = {}
        self._given: dict[int, Any] = {}
        self._used: dict[int, tuple[int, int]] = {}
        self._gone: set[int] = set()
        self._new: set[int] = set()  # what the last request took from the arena
        self._went_back = 0
        self._spare: list[int] = []  # sizes that were requested for what is free
        options = {} if limit is None else {"limit": limit}
        self._pool = written(self._allocate, self._release, **options)

    def _allocate(self, size: int) -> int:
        address: int = self.arena.allocate(size)
        self._raw[address] = size
        self._new.add(address)
        return address

    def _release(self, address: int) -> None:
        if address in self._gone and address not in self._raw:
            raise ValueError(f"address {address} went back to the arena before")
        self.arena.free(address)
        del self._raw[address]
        self._gone.add(address)
        self._went_back += 1
        self._spare.clear()

    def allocate(self, block: int, size: int) -> str:
        """Ask for a block; say whether it lies in memory that nothing else uses."""
        held, before, fits = self.arena.held, self._went_back, size in self._spare
        self._new.clear()
        address = self._given[block] = self._pool.allocate(size)
        if size <= 0:
            return RIGHT if repr(address) == "0" else f"it returned {address!r}"[:40]
        if type(address) is not int:
            return f"it returned {address!r}"[:40]
        shared = [it for it, own in self._used.items() if own[0] == address]
        self._used[block] = address, size
        if problem := self._limit_problem(held + 2 * size * (not fits), before):
            return problem
        return (
            f"it returned the memory of block {shared[0]}, in use"
            if shared
            else self._lost() or RIGHT
        )

    def _limit_problem(self, most: int, before: int) -> str:
        """Say whether more than the limit is held, or blocks went back where the most that is needed had room."""
        if self._limit is None:
            return ""
        if self.arena.held > self._limit:
            return f"{self.arena.held} bytes held, above the limit of {self._limit}"
        early = self._went_back > before and most <= self._limit
        return f"free blocks went back, though limit={self._limit} has room for this" * early

    def allocate_the_rest(self, block: int) -> str:
        """Ask for all the bytes that the limit leaves; whoever rounds up has to refuse."""
        try:
            return self.allocate(block, self._limit - self.arena.held)
        except MemoryError:
            return RIGHT

    def allocate_with_exact_limit(self, *sizes: int) -> str:
        """Make a pool whose limit is just what blocks of these sizes take, and ask for them."""
        limit = None
        for _ in range(2):
            pool = Watched(self._written, type(self.arena)(), limit)
            try:
                answers = [pool.allocate(block, size) for block, size in enumerate(sizes)]
            except MemoryError:
                return f"MemoryError with limit={limit}"
            limit = pool.arena.held
        return ", ".join(dict.fromkeys(answers))

    def _lost(self) -> str:
        """Name a block in use that is none of the arena's, or larger than that."""
        for block, (address, size) in self._used.items():
            if (held := self._raw.get(address)) is None:
                if address in self._gone:
                    return f"block {block} is at an address that went back to the arena before"
                return f"block {block} is at an address that was never taken from the arena"
            if held < size:
                kind = "new" if address in self._new else "free"
                return f"the {kind} block {block} has {held} bytes, and {size} were requested"
        return ""

    def free(self, block: int, beside: int = 0) -> str:
        """Free a block, or what lies so many bytes *beside* it."""
        self._pool.free(self._given[block] + beside)
        self._spare += self._used.pop(block, (0, 0))[1:]
        return self._lost() or RIGHT

    def trim(self) -> str:
        """Trim; say whether the arena holds what is in use, and nothing else."""
        before = self.arena.held
        returned = self._pool.trim()
        spare = len(self._raw) - len(self._used)
        if problem := self._lost() or (spare and f"free blocks that are still held: {spare}"):
            return problem
        back = before - self.arena.held
        return (
            RIGHT if returned == back else f"it returned {returned!r}, and {back} bytes came back"
        )

    def held(self) -> str:
        """Say whether the pool knows what it holds."""
        held, right, used = self._pool.held, self.arena.held, self._used.values()
        if callable(held):
            return "it is a method"
        if held == right:
            return RIGHT
        requested = sum(size for _, size in used) + sum(self._spare)
        slips = ((sum(self._raw[at] for at, _ in used), "in use"), (requested, "requested"))
        said = next((f", the bytes {slip}" for size, slip in slips if held == size), "")
        return f"it is {held!r}{said}; the arena holds {right}"

    def shares(self) -> list[float]:
        """Return for each block in use how many times its bytes are held for it."""
        return [self._raw.get(address, 0) / size for address, size in self._used.values()]


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def watched(self, written: Any, inputs: Mapping[str, Any]) -> Watched:
        """Return what was written, on an arena."""
        return Watched(written, self.given("Arena")(inputs["gap"]), inputs.get("limit"))
