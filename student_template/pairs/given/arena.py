"""Raw memory that is only counted: addresses are handed out, and nothing is stored behind them."""

from __future__ import annotations


class Arena:
    """Hands out addresses, each *gap* bytes after the end of the one before.

    arena.allocate(size) -> address;  arena.free(address);  arena.calls, arena.held (bytes), arena.peak
    """

    def __init__(self, gap: int = 4096) -> None:
        """Begin with nothing held."""
        self.gap = gap
        self.calls = 0
        self.peak = 0
        self._next = gap
        self._sizes: dict[int, int] = {}

    @property
    def held(self) -> int:
        """Return the bytes that were allocated and not freed."""
        return sum(self._sizes.values())

    def allocate(self, size: int) -> int:
        """Return the address of *size* new bytes."""
        if size <= 0:
            raise ValueError(f"the arena was asked for {size} bytes")
        address, self._next = self._next, self._next + size + self.gap
        self._sizes[address] = size
        self.calls += 1
        self.peak = max(self.peak, self.held)
        return address

    def free(self, address: int) -> None:
        """Give back what was allocated at *address*."""
        if address not in self._sizes:
            raise ValueError(f"the arena has nothing at address {address}")
        del self._sizes[address]
