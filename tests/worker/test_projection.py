"""The projection that a worker computes with torch is the one that the supervisor computes with numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.protocol import digest
from autograder.worker.projection import projection

WEIGHTS = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3e38], dtype=np.float32)


@pytest.mark.parametrize("challenge", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("weights", [WEIGHTS, SPECIAL, SPECIAL[:0]], ids=["any", "special", "none"])
def test_both_are_equal(weights, challenge):
    """Signed numbers that wrap around, shifts that must not copy the sign."""
    assert digest.projection(weights, challenge) == projection(
        torch.from_numpy(weights.copy()), challenge
    )
