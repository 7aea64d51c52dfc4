"""Commitments bind; projections are exact and free of order."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.protocol.digest import (
    COMMITMENT_BYTES,
    Epoch,
    commitment,
    differing,
    mix64,
    projection,
)

WEIGHTS = np.array([0.0, 1.0, -2.5, np.nan, 3e-40], dtype=np.float32)
MASK = (1 << 64) - 1


def slowly(weights, challenge):
    """The definition, in whole numbers of Python."""
    total = 0
    for i, bits in enumerate(weights.view(np.uint32).tolist(), start=1):
        x = (challenge + i * 0x9E3779B97F4A7C15) & MASK
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        total += (x ^ (x >> 31)) * bits
    return total & MASK


@pytest.mark.parametrize("challenge", [0, 1, 12345678901234567890, MASK])
def test_a_projection_is_what_it_is_defined_to_be(challenge):
    assert slowly(WEIGHTS, challenge) == projection(WEIGHTS, challenge)


def test_a_projection_changes_with_every_bit_and_with_the_challenge():
    changed = WEIGHTS.copy()
    changed.view(np.uint32)[4] ^= 1

    assert 3 == len({projection(WEIGHTS, 7), projection(changed, 7), projection(WEIGHTS, 8)})


def test_mixed_numbers_do_not_repeat():
    assert 10_000 == len(set(mix64(3, 10_000).tolist()))


def test_a_commitment_is_to_the_bytes():
    """Minus zero is another output than zero."""
    zero = np.zeros(3, dtype=np.float32)

    assert COMMITMENT_BYTES == len(commitment(zero))
    assert commitment(zero) == commitment(zero.copy())
    assert commitment(zero) != commitment(-zero)


def epoch(samples: str, sizes=(2, 1)) -> Epoch:
    data = b"".join(commitment(np.array([ord(sample)])) for sample in samples)
    return Epoch(np.frombuffer(data, np.uint8), np.array(sizes))


EPOCHS = {
    "the same": (epoch("abc"), 0, ""),
    "in another order": (epoch("cab", (1, 2)), 0, ""),
    "one less": (epoch("ab", (2,)), 0, "2 samples came out of the loader in an epoch of 3"),
    "one more": (epoch("abca"), 0, "4 samples came out of the loader in an epoch of 3"),
    "one twice": (
        epoch("aba"),
        0,
        "1 of 3 samples were none of this epoch's, or came a second time",
    ),
    "others": (epoch("xyc"), 0, "2 of 3 samples were none of this epoch's, or came a second time"),
    "no whole one": (
        Epoch(epoch("abc").commitments[:-1], np.array([2, 1])),
        0,
        "1 of 3 samples were none of this epoch's, or came a second time",
    ),
    "other batches": (
        epoch("abc", (1,) * 5),
        0,
        "your loader gives batches of 1, 1, 1, 1, ... samples (5 in all); expected: 2, 1 (2 in all)",
    ),
    "two of them, as asked": (epoch("cb", (2,)), 2, ""),
    "two of them, one another": (
        epoch("cx", (2,)),
        2,
        "1 of 2 samples were none of this epoch's, or came a second time",
    ),
}


@pytest.mark.parametrize(("student", "part", "words"), EPOCHS.values(), ids=EPOCHS)
def test_an_epoch_has_the_baselines_samples_in_any_order(student, part, words):
    assert words == differing(student, epoch("abc"), part)
