"""Short claims about long arrays: a worker makes them while the clock runs, the supervisor checks them afterwards.

A commitment binds a worker to the bytes of an output before it knows whether it will have to show them. A projection of
weights under a challenge is exact, free of the order of summation, and cheap to compute where the weights are.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

COMMITMENT_BYTES = 32
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64


def commitment(output: Array) -> bytes:
    """Return what nobody can find other bytes for."""
    return sha256(output.data).digest()


def projection(weights: Array, challenge: int) -> int:
    """Return the sum of mix64(challenge, i) * bits(w_i) mod 2^64 over float32 weights."""
    import numpy as np

    bits = weights.view(np.uint32).astype(np.uint64)
    return int(np.sum(mix64(challenge, len(bits)) * bits, dtype=np.uint64))


def mix64(challenge: int, count: int) -> Array:
    """Return *count* odd-looking 64-bit numbers that follow from a challenge."""
    import numpy as np

    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(STEP) + np.uint64(challenge)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    mixed: Array = x ^ (x >> np.uint64(31))
    return mixed
