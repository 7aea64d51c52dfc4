"""What to try after an end without an answer: what a student can do with what they have."""

from __future__ import annotations

import pytest

from autograder.grading.failures import KINDS, failed_to_run
from autograder.model import Observation


def try_(said, **how):
    return failed_to_run(Observation("probe", "raised", error=said, **how)).try_


@pytest.mark.parametrize(
    ("kind", "words"),
    [("no return", "a function that ends without `return` returns None"), ("missing key", "key")],
)
def test_what_was_not_returned_is_to_be_returned(kind, words):
    assert words in KINDS[kind][1]
    assert KINDS[kind][1] == try_("train returned ...", kind=kind)
