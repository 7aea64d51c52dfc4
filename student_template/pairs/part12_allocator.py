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
        # YOUR CODE HERE
        raise NotImplementedError()

    @property
    def held(self):
        """Return the bytes of all blocks that the pool holds, in use or free."""
        # TODO: a plain attribute is right as well.
        # YOUR CODE HERE
        raise NotImplementedError()

    def allocate(self, size):
        """Return the address of a block of at least *size* bytes; 0 for size 0, ValueError for a negative size.

        Above 4096 bytes a block has at most 1.25 times *size*. If a raw allocation would go above the limit, the pool
        trims first; MemoryError if that does not make enough room.
        """
        # TODO: a free block of the size class, or else a raw allocation.
        # YOUR CODE HERE
        raise NotImplementedError()

    def _make_room(self, size):
        """Trim if held + *size* is above the limit; MemoryError if there is still too little room.

        *size* is the size of the new block: already rounded up to its class.
        """
        # TODO: allocate may use it, or do without.
        # YOUR CODE HERE
        raise NotImplementedError()

    def free(self, address):
        """Keep a block for later; nothing happens for 0. ValueError for an address that is unknown or already free."""
        # TODO: a block that is freed twice would serve two requests.
        # YOUR CODE HERE
        raise NotImplementedError()

    def trim(self):
        """Give all free blocks back; return how many bytes that were."""
        # TODO: blocks in use stay.
        # YOUR CODE HERE
        raise NotImplementedError()


def size_class(size):
    """Return how many bytes a block for *size* bytes has: requests that are nearly alike share one class."""
    # TODO: up to 512 bytes, the class is 512. Round a larger size up to a multiple of p / 8, where p is the largest
    #       power of two that is not above size.
    # YOUR CODE HERE
    raise NotImplementedError()


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
