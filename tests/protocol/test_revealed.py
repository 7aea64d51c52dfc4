"""Inputs arrive as they were drawn, and nobody can change them on the way."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from autograder.protocol.revealed import ALIGNMENT, seal, unseal

CALLS = [
    {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "labels": np.array([1, -2], dtype=np.int64),
        "mask": np.eye(2) > 0,
    },
    {
        "x": np.zeros((0, 3), dtype=np.float32),
        "labels": np.array(7, dtype=np.int64),
        "mask": np.ones(1) > 0,
    },
]


@pytest.fixture
def revealed():
    found = seal(CALLS)
    yield found
    found.close()


def test_what_is_sealed_comes_out_again(revealed):
    """Names, dtypes, shapes (which may change from call to call) and values."""
    found = unseal(revealed.fd, revealed.form)

    assert [list(call) for call in CALLS] == [list(call) for call in found]
    for drawn, call in zip(CALLS, found, strict=True):
        for name, array in drawn.items():
            assert (array.dtype, array.shape) == (call[name].dtype, call[name].shape)
            assert array.tolist() == call[name].tolist()
            assert call[name].ctypes.data % ALIGNMENT == 0


def test_a_function_may_write_into_its_inputs_and_nobody_else_sees_it(revealed):
    """The second reader, the baseline, gets what was drawn."""
    unseal(revealed.fd, revealed.form)[0]["x"][:] = -1

    assert CALLS[0]["x"].tolist() == unseal(revealed.fd, revealed.form)[0]["x"].tolist()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda fd: os.pwrite(fd, b"x", 0), id="write"),
        pytest.param(lambda fd: os.truncate(fd, 0), id="shrink"),
        pytest.param(lambda fd: os.truncate(fd, 1 << 20), id="grow"),
    ],
)
def test_the_file_is_sealed(revealed, change):
    with pytest.raises(PermissionError):
        change(revealed.fd)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        pytest.param(
            [{"x": np.zeros(1)}, {"y": np.zeros(1)}], "take the same arguments", id="other names"
        ),
        pytest.param(
            [{"x": np.zeros(1)}, {"x": np.zeros(1, "f4")}],
            "take the same arguments",
            id="other dtypes",
        ),
        pytest.param(
            [{"x": np.zeros(1, "f2")}],
            r"inputs of \['float16'\]; use bool, float32",
            id="a dtype that is not sent",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_an_error_of_the_part(calls, words):
    with pytest.raises(AssertionError, match=words):
        seal(calls)


def test_it_cannot_be_mapped_to_be_written_or_opened_again(revealed):
    """Not even by its owner."""
    with pytest.raises(PermissionError):
        mmap.mmap(revealed.fd, 0, access=mmap.ACCESS_WRITE)
    again = os.open(f"/proc/self/fd/{revealed.fd}", os.O_RDWR)
    try:
        with pytest.raises(PermissionError):
            os.pwrite(again, b"x", 0)
    finally:
        os.close(again)
