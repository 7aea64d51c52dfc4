"""Made traces of which four answers are known, and the numbers that usual mistakes give."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.worker.rigs.recordings import BACK, TO_GPU, Recording

LOADERS = [
    f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
    for kind in ("SingleProcess", "MultiProcessing")
]
STEPS = 5  # of a made trace
OPERATORS = (
    "aten::convolution",
    "aten::batch_norm",
    "aten::addmm",
    "aten::relu",
    "aten::max_pool2d",
    "aten::add_",
)
OUTER = "aten::conv2d"  # calls the largest operator: the longest of all in all, and little of that is its own
START = 70_000  # of the first step
TOP = 3  # operators that are asked for
OUTSIDE = TOP + 1  # which operator is the first of all by what runs before the steps
BETWEEN = 300  # microseconds from the end of a step to the next one
ENDING = 90  # microseconds in the last step, of a wait that goes on after it
LAUNCH = 900  # microseconds of a call in the next operator, which would make it the first of all


class Made(Recording):
    """A trace in which each step waits for the loader, then computes; on a GPU, kernels overlap."""

    def __init__(self, random: np.random.Generator, *, busy: float) -> None:
        """Draw every duration; a GPU is *busy* for that share of each step, or there is none."""
        super().__init__(random)
        self._busy, self.gpu = busy, busy > 0
        self._loader = LOADERS[not self.gpu]
        self.names = [str(name) for name in random.permutation(OPERATORS)]
        first, now = self._draw(2, 9), START
        self.add("cpu_op", "aten::zeros", 1_000, 200)  # before the steps: not in the window
        self.add("cpu_op", self.names[OUTSIDE], 2_000, self._draw(4_000, 5_000))
        self.add("user_annotation", self._loader, START - 9_000, 8_000)
        for number in range(STEPS):
            now = self._step(first + number, now, last=number == STEPS - 1)
        self.window = slice(START, now)
        self.add("user_annotation", self._loader, now - ENDING, self._draw(900, 2_000))
        if self.gpu:  # before the first step and after the last, all copies count
            self.add("gpu_memcpy", TO_GPU, START - 5_000, self._draw(1_000, 3_000))
            self.add("kernel", "gemm", now + 10, 20_000)

    def _step(self, number: int, at: int, *, last: bool) -> int:
        now: int = self.add("user_annotation", self._loader, at + 10, self._draw(300, 4000))
        for rank, name in enumerate(self.names):  # own times far enough apart to be ranked
            own = 120 * (len(self.names) - rank) + self._draw(0, 30)
            called = LAUNCH if self.gpu and rank == TOP else 0
            if rank == 0:
                self.add("cpu_op", OUTER, now, own + 40)
            self.add("cpu_op", name, now + 20 * (rank == 0), own + called)
            if called:
                self.add("cuda_runtime", "cudaLaunchKernel", now + 5, called)
            now += own + called + 40 + self._draw(0, 9)
        now += self._draw(100, 2000)
        self.add("user_annotation", f"ProfilerStep#{number}", at, now - at)
        now += 0 if last else BETWEEN
        if self.gpu:
            self._on_gpu(number, at + 20, int(self._busy * (now - at)))
        return now

    def _on_gpu(self, number: int, at: int, busy: int) -> None:
        """Add a copy to the device, two kernels that overlap on two streams, one inside the first, and a copy back."""
        both, first = self._draw(busy // 10, busy // 5), self._draw(busy // 3, busy // 2)
        end = self.add("gpu_memcpy", TO_GPU, at, self._draw(busy // 20, busy // 10))
        self.add("kernel", "gemm_13", end + first // 10, first // 10, 13)
        end = self.add("kernel", "gemm_7", end, first)
        end = self.add("kernel", "gemm_20", end - both, busy + both - first, 20)
        self.add("gpu_memcpy", BACK, end, self._draw(10, 90))
        self.add("gpu_user_annotation", f"ProfilerStep#{number}", at, end - at + 90_000)

    def _set_back(self) -> float:
        """Return the share of kernels where the end of each sets how far time was counted, and not the latest end."""
        covered, done, end = 0, START, self.window.stop
        for kernel in sorted(self.of("kernel"), key=lambda event: event["ts"]):
            ends = kernel["ts"] + kernel["dur"]
            covered += max(0, min(ends, end) - max(kernel["ts"], done))
            done = max(START, ends)
        return 100 * covered / (end - START)

    def expected(self) -> dict[str, Any]:
        """Return what is true of it, and the numbers that usual mistakes give."""
        loading, kernels = self.painted("user_annotation", beginning="enum"), self.painted("kernel")
        copies, length = self.painted("gpu_memcpy", holding="HtoD"), self.window.stop - START
        steps = length - BETWEEN * (STEPS - 1)
        # What is taken for the steps by mistake: all, or what a GPU has under their names.
        marks = [event["ts"] + event["dur"] for event in self.of("gpu_user_annotation")]
        gpu = slice(START, max(marks, default=self.window.stop))
        return {
            "loading": self.share(loading),
            "loading_outside": 100 * float(loading.sum()) / length,
            "loading_inside": self.share(loading) - 100 * ENDING / length,
            "loading_of_all": self.share(loading, self.whole),
            "loading_of_gpu": self.share(loading, gpu),
            "loading_of_sum": self.share(loading) * length / steps,
            "busy": self.share(kernels) if self.gpu else None,
            "summed": self.share(self.counted("kernel")),
            "set_back": self._set_back(),
            "busy_of_sum": self.share(kernels) * length / steps,
            "busy_of_all": self.share(kernels, self.whole),
            "busy_of_gpu": self.share(kernels, gpu),
            "copied": self.milliseconds(copies) if self.gpu else None,
            "copied_inside": self.milliseconds(copies[self.window]),
            "copied_both": self.milliseconds(self.counted("gpu_memcpy")),
            "top": [self.names[OUTSIDE], *self.names[: TOP - 1]],
        }
