"""Short claims about long arrays.

A worker makes them while the clock runs, the supervisor checks them afterwards. A commitment binds
a worker to the bytes of an output before it can tell whether it will have to show them. A
projection of weights under a challenge is exact, free of the order of summation, and cheap to
compute where the weights are. An epoch of a loader is a commitment to each of its samples: two
that hold the same ones, bit by bit, claim the same.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

COMMITMENT_BYTES = 32
MOST_SIZES = 4
"""Of batches, that are named in words."""
# Of splitmix64.
STEP = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB


class Epoch(NamedTuple):
    """What came out of a loader."""

    commitments: Array
    """One after the other, as uint8."""
    sizes: Array
    """Samples of each batch."""

    def samples(self) -> Counter[bytes]:
        """Count each sample; what is no whole commitment counts as one that nobody else has."""
        data = self.commitments.tobytes()
        starts = range(0, len(data), COMMITMENT_BYTES)
        return Counter(data[start : start + COMMITMENT_BYTES] for start in starts)


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


def differing(student: Epoch, baseline: Epoch, part: int = 0) -> str:
    """Return what is wrong with the samples of an epoch.

    It should hold *part* of the baseline's samples, or all of them.
    """
    samples = student.samples()
    expected = baseline.samples()
    count = part or expected.total()
    if samples.total() != count:
        return f"{samples.total()} samples came out of the loader in an epoch of {count}"
    wrong = (samples - expected).total()
    if wrong:
        return f"{wrong} of {count} samples were none of this epoch's, or came a second time"
    own = _largest_first(student)
    right = _largest_first(baseline)
    if part or own == right:
        return ""
    came = f"your loader gives batches of {_listed(own)} samples ({len(own)} in all)"
    return f"{came}; expected: {_listed(right)} ({len(right)} in all)"


def _largest_first(epoch: Epoch) -> list[int]:
    return sorted(epoch.sizes.tolist(), reverse=True)


def _listed(sizes: list[int]) -> str:
    words = [str(size) for size in sizes[:MOST_SIZES]]
    if len(sizes) > MOST_SIZES:
        words.append("...")
    return ", ".join(words)
