"""Part 11 of pairs: right work passes on any seed; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.pairs.part11_loading import FEATURES, Stored, part
from tests.labs.bench import Bench, failing

bench = Bench("pairs", part)


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_passes(judge, seed):
    assert {} == failing(judge(bench.source, seed))


@pytest.mark.parametrize("number", [float("nan"), 0.0, 1e308])
def test_samples_of_any_numbers_are_judged(number):
    for found in bench.spoilt("reads_single_rows", number):
        assert "Failed" == type(found).__name__


def test_a_stored_sample_follows_from_its_key_alone():
    data = Stored([7, 8, 9])
    numbers, labels = data.tensors
    rows = data.transform(numbers)
    assert [0, 1, 2] == labels.tolist()
    assert (rows[2:] == data.transform(numbers[2:])).all()
    assert (3, FEATURES) == tuple(rows.shape)
