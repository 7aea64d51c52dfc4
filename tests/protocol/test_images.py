"""Pictures that are drawn: the same for the same random numbers, others for others."""

from __future__ import annotations

import numpy as np

from autograder.protocol.images import Samples, augmented


def test_a_picture_is_augmented_by_its_random_numbers():
    first, again, other = (
        augmented(np.random.default_rng(seed), stored=32, side=20) for seed in (1, 1, 2)
    )

    assert ((3, 20, 20), np.dtype("float32")) == (first.shape, first.dtype)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert -2 <= first.min() < 0 < first.max() <= 2


def test_a_sample_follows_from_its_key():
    samples = Samples([13, 7, 13])

    (first, label), (other, _), (again, _) = samples[0], samples[1], samples[2]

    assert (3, 3, (3, 8, 8), "float32") == (len(samples), label, first.shape, first.dtype)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
