"""Commitments bind; projections are exact and free of order."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.digest import COMMITMENT_BYTES, commitment, mix64, projection

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
