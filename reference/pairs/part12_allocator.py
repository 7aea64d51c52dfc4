# %% [markdown]
# # Part 12: memory that is used again
#
# Asking a device for memory is slow: it may even wait for all work that is queued. So PyTorch asks rarely. It keeps
# what a program gives back and hands it out again: a caching allocator. You write the core of one, on an arena that
# only counts.

# %%
from __future__ import annotations

import random

from given import Arena

# %% [markdown]
# ## 12.1 A pool


# %%
class PoolAllocator:
    """Hands out blocks of memory, and keeps those that come back for the next request of their size class.

    A block is what one call of the slow `allocate` returned: it is never divided, and never joined with another one.
    """

    def __init__(self, allocate, free, limit=None):
        """allocate(size) -> address and free(address) are the slow allocator's; *limit* is the most bytes to hold."""
        # TODO: remember which blocks are in use, which are free, and how large each block is.
        ### BEGIN SOLUTION
        self._allocate = allocate
        self._free = free
        self._limit = limit
        self._sizes = {}  # address -> bytes of the block, for all blocks that are held
        self._used = set()
        self._cached = {}  # bytes -> addresses of free blocks
        ### END SOLUTION

    @property
    def held(self):
        """Return the bytes of all blocks that the pool holds, in use or free."""
        # TODO: a plain attribute is right as well.
        ### BEGIN SOLUTION
        return sum(self._sizes.values())
        ### END SOLUTION

    def allocate(self, size):
        """Return the address of a block of at least *size* bytes; 0 for size 0, ValueError for a negative size.

        Above 4096 bytes a block has at most 1.25 times *size*. If a raw allocation would go above the limit, the pool
        trims first; MemoryError if that does not make enough room.
        """
        # TODO: a free block of the size class, or else a raw allocation.
        ### BEGIN SOLUTION
        if size < 0:
            raise ValueError(f"{size} bytes were asked for")
        if size == 0:
            return 0
        rounded = size_class(size)
        if not self._cached.get(rounded):
            self._make_room(rounded)
            address = self._allocate(rounded)
            self._sizes[address] = rounded
        else:
            address = self._cached[rounded].pop()
        self._used.add(address)
        return address
        ### END SOLUTION

    def _make_room(self, size):
        """Trim if held + *size* is above the limit; MemoryError if there is still too little room.

        *size* is the size of the new block: already rounded up to its class.
        """
        # TODO: allocate may use it, or do without.
        ### BEGIN SOLUTION
        if self._limit is None or self.held + size <= self._limit:
            return
        self.trim()
        if self.held + size > self._limit:
            raise MemoryError(f"{self.held} bytes are in use, and {size} more are above the limit of {self._limit}")
        ### END SOLUTION

    def free(self, address):
        """Keep a block for later; nothing happens for 0. ValueError for an address that is unknown or already free."""
        # TODO: a block that is freed twice would serve two requests.
        ### BEGIN SOLUTION
        if address == 0:
            return
        if address not in self._used:
            raise ValueError(f"address {address} is not in use")
        self._used.remove(address)
        self._cached.setdefault(self._sizes[address], []).append(address)
        ### END SOLUTION

    def trim(self):
        """Give all free blocks back; return how many bytes that were."""
        # TODO: blocks in use stay.
        ### BEGIN SOLUTION
        before = self.held
        for address in [address for addresses in self._cached.values() for address in addresses]:
            self._free(address)
            del self._sizes[address]
        self._cached.clear()
        return before - self.held
        ### END SOLUTION


def size_class(size):
    """Return how many bytes a block for *size* bytes has: requests that are nearly alike share one class."""
    # TODO: up to 512 bytes, the class is 512. Round a larger size up to a multiple of p / 8, where p is the largest
    #       power of two that is not above size.
    ### BEGIN SOLUTION
    power = 1 << (size.bit_length() - 1)
    step = max(64, power // 8)
    return max(512, -(-size // step) * step)
    ### END SOLUTION


# %%
if __name__ == "__main__":
    drawn = random.Random(0)
    sizes = [drawn.randint(10_000, 4_000_000) for _ in range(12)]
    arena = Arena()
    pool = PoolAllocator(arena.allocate, arena.free)
    for _ in range(200):
        addresses = [pool.allocate(int(size * drawn.uniform(0.97, 1))) for size in sizes]
        for address in addresses:
            pool.free(address)
    print(f"{200 * len(sizes)} requests, {arena.calls} raw allocations, {pool.held / 1e6:.1f} MB held")
    print(f"trim gives back {pool.trim() / 1e6:.1f} MB; the arena now holds {arena.held} bytes")
