import math
from collections import defaultdict, deque


class PoolAllocator(dict):
    """Address -> bytes of each block."""

    def __init__(self, allocate, free, limit=None):
        super().__init__()
        self._get, self._give, self._limit = allocate, free, limit
        self._spare = defaultdict(deque)
        self._where = {}

    held = property(lambda self: sum(self.values()))

    def allocate(self, size):
        if size <= 0:
            if size:
                raise ValueError(size)
            return 0
        kind = math.ceil(math.log(size, 1.2) - 1e-9)
        try:
            address = self._spare[kind].popleft()
        except IndexError:
            room = max(size, math.floor(1.2**kind))
            while self._limit is not None and self.held + room > self._limit:
                if not self._drop():
                    raise MemoryError(f"{room} bytes do not fit") from None
            address = self._get(room)
            self[address] = room
        self._where[address] = kind
        return address

    def _drop(self):
        for spare in self._spare.values():
            if spare:
                address = spare.popleft()
                self._give(address)
                return self.pop(address)
        return 0

    def free(self, address):
        if address == 0:
            return
        try:
            kind = self._where.pop(address)
        except KeyError:
            raise ValueError("unknown or free") from None
        self._spare[kind].append(address)

    def trim(self):
        total = 0
        while back := self._drop():
            total += back
        return total
