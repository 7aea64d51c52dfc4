"""Made traces of launches, of which everything is known: made.data() is the file, made.counts what it launched."""

from __future__ import annotations

from collections import Counter

import numpy as np

from autograder.worker.rigs.recordings import TO_GPU, Recording

KERNELS = (
    "implicit_convolve_sgemm",
    "ampere_sgemm_128x64_nn",
    "elementwise_kernel<4, ReLU>",
    "max_pool_forward_nchw",
)
OPERATORS = {  # what Python calls -> what it calls in turn
    "aten::conv2d": (
        "aten::convolution",
        "aten::_convolution",
        "aten::mkldnn_convolution",
        "aten::empty",
    ),
    "aten::linear": ("aten::t", "aten::addmm"),
    "aten::relu": ("aten::clamp_min",),
    "aten::max_pool2d": ("aten::max_pool2d_with_indices", "aten::empty"),
    "aten::scaled_dot_product_attention": ("aten::_fused_sdp_choice",),
}
LOOKS = (
    "aten::view",
    "aten::flatten",
    "aten::empty",
    "aten::t",
    "aten::detach",
    "aten::to",
)  # no work in these
IN_NO_WORK = {"aten::to": ("aten::_to_copy", "aten::copy_")}
CALLED = {
    "aten::convolution": OPERATORS["aten::conv2d"][1:],
    "aten::addmm": ("aten::expand", "aten::copy_"),
}
FUSED = ("relu", "max_pool2d_with_indices_relu", "convolution_relu", "mean_relu")
REGION = "Torch-Compiled Region: 0/0"
THREADS = (1, 2)  # a backward pass has one of its own


class Made(Recording):
    """A trace of launches that were drawn."""

    def __init__(self, random: np.random.Generator) -> None:
        super().__init__(random)
        self.counts: Counter[str] = Counter()
        self._now = 0

    def call(self, name: str, inside: tuple[str, ...], thread: int = 1) -> None:
        """Add an operator with a chain of others inside it, each in the one before."""
        length = self._draw(60, 899)
        for depth, operator in enumerate((name, *inside)):
            self.add("cpu_op", operator, self._now + depth, length - 2 * depth, thread)
        self._now += length + self._draw(0, 8)  # 0: the next one begins as this one ends


def eager(random: np.random.Generator) -> Made:
    """Return a trace of operators on a CPU, on two threads, with views and ranges among them."""
    made = Made(random)
    made.add("user_annotation", "forward", -5, 10**6)
    # Both threads work at once: an operator within one of the other thread was not called by it.
    for thread in THREADS:
        made._now = 0
        drawn = random.choice([*OPERATORS, *LOOKS], int(random.integers(15, 30))).tolist()
        for name in (*OPERATORS, *drawn):
            made.call(name, OPERATORS.get(name, IN_NO_WORK.get(name, ())), thread)
            made.counts[name] += name in OPERATORS
    made.counts = +made.counts
    return made


def compiled(random: np.random.Generator) -> Made:
    """Return a trace of a compiled region on a CPU: fused kernels, and operators that no kernel was made for."""
    made = Made(random)
    for number in range(int(random.integers(6, 14))):
        name = f"graph_{number % 2}_cpp_fused_{random.choice(FUSED)}_{number}"
        if number > 1 and random.random() < 0.5:  # two graphs have a kernel at least
            name = str(random.choice([*CALLED]))
        made.call(name, CALLED.get(name, ()))
        made.counts[name] += 1
    for depth, name in enumerate((REGION, "## Call CompiledFxGraph fx ##")):
        made.add("cpu_op", name, depth - 20, made._now + 40 - 2 * depth)
    return made


def on_gpu(random: np.random.Generator) -> Made:
    """Return a trace of a GPU: kernels on two streams, copies and a memset, and the host's calls."""
    made = Made(random)
    for name in random.choice(KERNELS, int(random.integers(20, 40))).tolist():
        made.call("aten::conv2d", OPERATORS["aten::conv2d"])
        made.add("cuda_runtime", "cudaLaunchKernel", made._now, 6)
        stream = int(random.choice((7, 20)))
        made.add("kernel", name, made._now + 9, int(random.integers(3, 400)), stream)
        made.counts[name] += 1
    made.add("gpu_memcpy", TO_GPU, made._now, 30)
    made.add("gpu_memset", "Memset (Device)", made._now, 30)
    made.add("gpu_user_annotation", "forward", made._now, 900)
    return made
