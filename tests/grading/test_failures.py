"""What to try after an end without an answer: what a student can do with what they have."""

from __future__ import annotations

import pytest

from autograder.grading.failures import KINDS, failed_to_run
from autograder.model import Observation


def try_(said, **how):
    return failed_to_run(Observation("probe", "raised", error=said, **how)).try_


CALLS = {
    "f(x=torch.randn((4, 3)), n=3, word='a', none=None)": "make the same call at the end",
    "f(x=torch.zeros((4, 3), dtype=torch.int64), share=nan)": "make the same call at the end",
    "__init__(self=ResNet18Checkpointed)": "make the same call at the end",
    "__init__(self=ResNet18Checkpointed, resnet=SmallResNet)": (
        "call, with resnet of your own, at"
    ),
    "compare(make_training=function, loader=Loader, steps=3)": (
        "call, with make_training and loader of your own, at"
    ),
}


@pytest.mark.parametrize(("call", "words"), CALLS.items(), ids=CALLS)
def test_a_call_with_the_graders_objects_is_to_be_made_with_others(call, words):
    assert words in try_(f"ValueError: no (part.py, line 3), called as {call}")


def test_what_an_exception_says_is_no_call():
    assert "make the same call" in try_("ValueError: f(x=Loader) failed (part.py, line 3)")


def test_a_file_that_cannot_be_imported_was_not_called():
    assert "as soon as the file is imported" in try_(
        "ValueError: no (part.py, line 3), called as f(x=Loader)", imported=False
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [("no return", "a function that ends without `return` returns None"), ("missing key", "key")],
)
def test_what_was_not_returned_is_to_be_returned(kind, words):
    assert words in KINDS[kind][1]
    assert KINDS[kind][1] == try_("train returned ...", kind=kind)
