"""A float32 precision that is lowered is seen while an operator runs, whatever it is afterwards."""

from __future__ import annotations

import os

import pytest
import torch

from autograder.worker.rigs.product_precision import MODES, Precision


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Each test leaves torch's settings, and the environment, as they were."""
    for name in MODES:
        monkeypatch.setenv(name, "")  # so that it is unset again afterwards, if a test sets it
        monkeypatch.delenv(name)
    yield
    torch.set_float32_matmul_precision("highest")


def product():
    return torch.ones(2, 2) @ torch.ones(2, 2)


def lowered_for_the_call():
    torch.set_float32_matmul_precision("high")
    product()
    torch.set_float32_matmul_precision("highest")


def lowered_by_the_environment():
    os.environ["DNNL_DEFAULT_FPMATH_MODE"] = "BF16"
    product()


def lowered_for_recurrent_layers():
    torch.backends.mkldnn.rnn.fp32_precision = "bf16"
    product()
    torch.backends.mkldnn.rnn.fp32_precision = "none"


def asked_for_in_full():
    torch.set_float32_matmul_precision("highest")
    product()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (product, ""),
        (asked_for_in_full, ""),
        (lowered_for_the_call, "torch.get_float32_matmul_precision() is high"),
        (lowered_by_the_environment, "DNNL_DEFAULT_FPMATH_MODE is bf16"),
        (lowered_for_recurrent_layers, "torch.backends.mkldnn.rnn.fp32_precision is bf16"),
    ],
)
def test_what_was_lowered_while_an_operator_ran_is_said(call, said):
    with Precision() as seen:
        call()

    assert said == next(iter(seen.values()), "")
