from bisect import bisect_left, insort
from dataclasses import dataclass, field


@dataclass(order=True)
class Block:
    size: int
    address: int
    used: bool = field(default=True, compare=False)


class PoolAllocator:
    def __init__(self, allocate, free, limit=None):
        self.raw = allocate, free
        self.limit = float("inf") if limit is None else limit
        self.blocks = {}
        self.spare = []
        self.held = 0

    def allocate(self, size):
        if not isinstance(size, int) or size < 0:
            raise ValueError("a size is a whole number, 0 or more")
        if not size:
            return 0
        at = bisect_left(self.spare, Block(size, 0))
        if at < len(self.spare) and 4 * self.spare[at].size <= 5 * size:
            block = self.spare.pop(at)
            block.used = True
            return block.address
        if self.held + size > self.limit:
            self.trim()
        if self.held + size > self.limit:
            raise MemoryError(size)
        block = Block(size, self.raw[0](size))
        self.blocks[block.address] = block
        self.held += size
        return block.address

    def free(self, address):
        if address:
            block = self.blocks.get(address)
            if block is None or not block.used:
                raise ValueError(f"nothing is in use at {address}")
            block.used = False
            insort(self.spare, block)

    def trim(self):
        back = sum(block.size for block in self.spare)
        while self.spare:
            self.raw[1](self.blocks.pop(self.spare.pop().address).address)
        self.held -= back
        return back
