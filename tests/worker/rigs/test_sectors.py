"""Sectors that a strided tensor touches, beside a count by its addresses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.worker.rigs.sectors import SECTOR, layout, touched

ROWS = torch.zeros(100, 8)


def by_addresses(tensor):
    """Count sectors number by number."""
    size = tensor.element_size()
    places = torch.arange(tensor.untyped_storage().nbytes() // size)
    places = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).flatten()
    return SECTOR * len(np.unique(places.numpy() * size // SECTOR))


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(ROWS, id="rows"),
        pytest.param(ROWS.t(), id="transposed"),
        pytest.param(ROWS[:, 2], id="a column"),
        pytest.param(ROWS[:, 3:6], id="three columns"),
        pytest.param(ROWS[::3, 5:], id="every third row"),
        pytest.param(ROWS.double()[:, :3], id="float64"),
        pytest.param(ROWS.bfloat16()[:, 1:3], id="bfloat16"),
        pytest.param(ROWS[0].expand(50, 8), id="broadcast"),
        pytest.param(ROWS[:0], id="nothing"),
        pytest.param(ROWS[3, 3], id="one number"),
        pytest.param(torch.zeros(5, 7, 9).permute(2, 0, 1)[1:, :, ::2], id="three dimensions"),
        pytest.param(torch.zeros(96).as_strided((40, 6), (2, 3), 1), id="overlapping"),
        pytest.param(torch.zeros(30)[1:2].expand(3), id="one number, three times"),
    ],
)
def test_each_sector_counts_once(tensor):
    assert by_addresses(tensor) == touched(*layout(tensor))


def test_a_column_touches_as_much_as_all_of_its_rows():
    assert touched(*layout(ROWS)) == touched(*layout(ROWS[:, 0])) == 3200
