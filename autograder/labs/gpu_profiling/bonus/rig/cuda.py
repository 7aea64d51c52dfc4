"""CUDA without a GPU: nvcc compiles a source for one, and g++ for the CPU, where its threads run one after another.

The second is possible where each thread works alone, without shared memory and without waiting for others.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from autograder.worker.rigs.returned import text

ARCHITECTURE = "sm_80"  # an A100's; every nvcc from 11 to 13 knows it
THREADS = 256  # of a block
GUARD = 4096  # numbers before and behind a buffer: NaN, and still so afterwards
KERNEL = "conv_relu_pool"
# What a kernel may use of CUDA, in C++; the two lists of arguments are the kernel's.
PRELUDE = """
#include <math.h>
#include <stdint.h>
struct perflab_place { unsigned x, y, z; };
static perflab_place threadIdx, blockIdx, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};
#define __global__
#define __host__
#define __device__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __ldg(address) (*(address))
#define __fmaf_rn fmaf
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
#line 1 "conv_relu_pool.cu"
"""
LOOP = """
extern "C" void perflab_launch(unsigned blocks, unsigned threads, const float *images, const float *weight,
    const float *bias, float *out, int batch, int channels, int filters, int height, int width)
{
    gridDim.x = blocks; blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
            conv_relu_pool(images, weight, bias, out, batch, channels, filters, height, width);
}
"""


def compiled(source: str, folder: Path) -> dict[str, Any]:
    """Compile a source with nvcc, and say how that ended: what ptxas made of it, or the first error."""
    nothing: dict[str, Any] = {"entries": [], "spilled": 0, "error": ""}
    if not source:
        return nothing
    (folder / f"{KERNEL}.cu").write_text(source, encoding="utf-8")
    said = _run(
        ["nvcc", "--cubin", f"-arch={ARCHITECTURE}", "-Xptxas", "-v", f"{KERNEL}.cu"], folder
    )
    if not (folder / f"{KERNEL}.cubin").is_file():
        return {**nothing, "error": _first_error(said)}
    entries = re.findall(r"Compiling entry function '([^']{1,100})'", said)
    return {
        **nothing,
        "entries": entries[:8],
        "spilled": sum(map(int, re.findall(r"(\d{1,9}) bytes spill", said))),
    }


class Threads:
    """A kernel whose threads run one after another."""

    def __init__(self, source: str, folder: Path) -> None:
        self.error = ""
        (folder / "threads.cpp").write_text(f"{PRELUDE}{source}\n{LOOP}", encoding="utf-8")
        library = folder / "threads.so"
        said = _run(
            ["g++", "-O1", "-w", "-shared", "-fPIC", "-o", str(library), "threads.cpp"], folder
        )
        if not library.is_file():
            self.error = _first_error(said)
            return
        self._launch = ctypes.CDLL(str(library)).perflab_launch

    def __call__(self, images: Any, weight: Any, bias: Any) -> tuple[Any, bool]:
        """Return what it computes of float32 arrays, and whether a thread wrote where nothing of its own is."""
        (batch, channels, height, width), filters = images.shape, len(weight)
        shape = (batch, filters, height // 2, width // 2)
        out = np.full(shape, np.nan, dtype=np.float32)
        held = [_guarded(array) for array in (images, weight, bias, out)]
        addresses = [ctypes.c_void_p(it.ctypes.data + 4 * GUARD) for it in held]
        blocks = -(-out.size // THREADS)
        self._launch(blocks, THREADS, *addresses, batch, channels, filters, height, width)
        strayed = not np.isnan([*held[3][:GUARD], *held[3][-GUARD:]]).all()
        return held[3][GUARD:-GUARD].reshape(shape), strayed


def _guarded(array: Any) -> Any:
    guard = np.full(GUARD, np.nan, dtype=np.float32)
    return np.concatenate([guard, np.ascontiguousarray(array, dtype=np.float32).ravel(), guard])


def _run(words: list[str], folder: Path) -> str:
    ran = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    return ran.stderr + ran.stdout


def _first_error(said: str) -> str:
    lines = (
        [line for line in said.splitlines() if "error" in line]
        or said.splitlines()
        or ["it said nothing"]
    )
    return text(lines[0], 180)
