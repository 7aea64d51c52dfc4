"""The threads of a kernel run on the CPU, and one that writes where nothing of its own is gets noticed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from autograder.labs.gpu_profiling.bonus.rig.cuda import Threads, _first_error, compiled

NAME = 'extern "C" __global__ void conv_relu_pool('
ARGUMENTS = """const float *images, const float *weight, const float *bias, float *out,
    int batch, int channels, int filters, int height, int width) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;"""
ALL = "batch * filters * (height / 2) * (width / 2)"
IMAGES, WEIGHT, BIAS = np.ones((2, 1, 4, 6)), np.ones((3, 1, 3, 3)), np.array([1.0, 2.0, 3.0])
COMPILES = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


def source(body):
    return f"{NAME}{ARGUMENTS} {body} }}"


@COMPILES
@pytest.mark.parametrize(
    ("body", "strayed"),
    [
        pytest.param(
            f"if (number < {ALL}) out[number] = number + bias[0];", False, id="its own number"
        ),
        pytest.param("out[number] = number + bias[0];", True, id="threads too many"),
    ],
)
def test_each_thread_runs_once(tmp_path, body, strayed):
    numbers, outside = Threads(source(body), tmp_path)(IMAGES, WEIGHT, BIAS)

    assert (2, 3, 2, 3) == numbers.shape
    assert list(numbers.ravel()) == [number + 1 for number in range(36)]
    assert strayed is outside


@COMPILES
def test_a_kernel_may_have_constants(tmp_path):
    numbers, _ = Threads(
        f"__constant__ float one = 1.0f;{source(f'if (number < {ALL}) out[number] = one;')}",
        tmp_path,
    )(IMAGES, WEIGHT, BIAS)

    assert {1.0} == set(numbers.ravel())


@COMPILES
def test_what_does_not_compile_is_said(tmp_path):
    error = Threads(source("out[0] = nothing;"), tmp_path).error

    assert error.startswith("conv_relu_pool.cu:3")


def test_without_a_source_nothing_is_said(tmp_path):
    assert {"entries": [], "spilled": 0, "error": ""} == compiled("", tmp_path)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("a warning\nx.cu(3): error: expected a ;\nmore", "x.cu(3): error: expected a ;"),
        ("killed", "killed"),
        ("", "it said nothing"),
    ],
)
def test_the_first_error_is_what_counts(said, words):
    assert words == _first_error(said)
