"""Made steps of a training, event by event: one cause of idleness takes far longer than the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.worker.rigs.recordings import BACK, TO_GPU, Recording

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEPS = 5
# Microseconds before the first step and after the last, in which something happens too.
MARGIN = 20_000
INSIDE = "Memcpy DtoD (Device -> Device)"
# Microseconds that the first batch takes longer; halved by an operator it is still two long gaps.
FIRST = 2_200
CAUSES = {
    True: (
        "between queued work",
        "data loading",
        "synchronising",
        "launching",
        "Python and other",
    ),
    False: ("data loading", "Python and other"),
}
LAUNCHED = ("cuda_runtime", "cudaLaunchKernel")
TRITON = 0  # which kernel of a step is launched by the driver, and from Python, as Triton's are
ALLOCATING = ("cudaMalloc", "cudaFree", "cudaHostAlloc")


class Steps(Recording):
    """A file as torch.profiler writes it."""

    def __init__(
        self,
        random: np.random.Generator,
        *,
        gpu: bool,
        loads: bool | None,
        to_gpu: bool,
    ) -> None:
        """Draw the cause; *loads*: whether it is to be data loading. *to_gpu*: whether copies are from the host."""
        super().__init__(random)
        self.gpu = gpu
        self._copy = TO_GPU if to_gpu else INSIDE
        causes = [cause for cause in CAUSES[gpu] if loads in (None, cause == "data loading")]
        # Times: more of the steps is work than any cause of idleness.
        self._work_more = 40 if loads is False else 1
        # So that copies in the GPU are longer than any cause, where the loader is one.
        self._copy_more = 24 if loads else 1
        # Drawn once: what is not clear is so more often for some causes.
        self.cause = str(random.choice(causes))

    def _draw_all(self) -> None:
        self.events.clear()
        self.add("cpu_op", "aten::zeros", 2_000, 900)  # before the steps: not in the window
        self.add("user_annotation", LOADER, 4_000, 9_000)
        now = MARGIN
        for number in range(STEPS):
            began = now
            now = self._on_gpu(now) if self.gpu else self._on_cpu(now)
            self.add(
                "user_annotation",
                f"ProfilerStep#{number + 3}",
                began,
                now - began,
            )
        self.window = slice(MARGIN, now)
        self.length = now + MARGIN
        longest = self._draw(8_400, 8_800)
        self.add("user_annotation", LOADER, now - self._draw(10, 19), longest)
        self.add("cpu_op", "aten::empty", now + 50, 6)
        if self.gpu:
            self.add("gpu_memcpy", self._copy, now + 300, 400)  # of no step
            self.add("kernel", "late", now + 500, 3_000)
            self.add(
                "gpu_user_annotation",
                "ProfilerStep#3",
                MARGIN,
                self.length - MARGIN,
            )

    def _long(self, cause: str, low: int, high: int) -> int:
        """Draw a duration; what the drawn cause takes is far longer."""
        return self._draw(low, high) * (8 if cause == self.cause else 1)

    def _load(self, now: int) -> Any:
        wait = self._long("data loading", 250, 700) + FIRST * (now < MARGIN + FIRST)
        if self.gpu:
            # A late result: a gap of kernels that no gap of the GPU is. Of causes, loading comes first.
            self.add("gpu_memcpy", BACK, now + wait // 2 + 100, 20)
            self.add(
                "cuda_runtime",
                "cudaEventSynchronize",
                now + wait // 5,
                3 * wait // 5,
            )
        self.add("cpu_op", "aten::div", now + wait // 2, self._draw(20, 60))  # a part of loading
        return self.add("user_annotation", LOADER, now, wait)

    def _on_cpu(self, now: int) -> int:
        now = self._load(now)
        for name in (
            "aten::convolution",
            "aten::relu",
            "aten::add_",
            "aten::mm",
        ):
            own = self._draw(30, 900)
            self.add("cpu_op", f"{name}_out", now + 5, own - 15)
            now = self.add("cpu_op", name, now, own)
            now = self.add("cpu_op", "aten::t", now, self._draw(2, 19)) + self._long(
                "Python and other", 20, 90
            )
        return now

    def _on_gpu(self, now: int) -> Any:
        """A step: load, copy and wait, launch long and short kernels, wait again; the loader may overlap kernels."""
        self.add("kernel", "tail", now - 200, 400)  # of the step before
        now = self._begin(now) if now == MARGIN else now
        now = self._load(now) + self._long("Python and other", 60, 200)
        copy = self._draw(200, 400) * self._copy_more
        self.add("gpu_memcpy", self._copy, now + 30, copy)
        self.add("gpu_user_annotation", LOADER, now + 40, min(copy - 60, 300))
        self.add(
            "kernel",
            "gemm",
            now + 30 + copy - self._draw(50, 150),
            160,
            tid=20,
        )
        now = self.add("cuda_runtime", "cudaMemcpyAsync", now, 30)
        now = self.add(
            "cuda_runtime",
            "cudaStreamSynchronize",
            now,
            copy + self._long("synchronising", 100, 250),
        )
        end = now
        for number in range(6):
            launch = self._long("launching", 15, 50)
            by = ("cuda_driver", "cuLaunchKernelEx") if number == TRITON else LAUNCHED
            launched = len(self.events)
            self.add(*by, now + 4, launch, correlation=launched)
            if number != TRITON:
                self.add("cpu_op", "aten::op", now, launch + 10)
            now += launch + 10
            long = self._draw(20, 120) if self._draw(0, 2) else self._draw(2, 8)
            at = max(now, end - self._draw(0, 3))
            end = self.add(
                "kernel",
                f"kernel_{number}",
                at,
                long,
                correlation=launched,
            )
        now, end = self._queue(now, end)
        self.add("gpu_memcpy", BACK, end + 2, 6)
        now = self.add("cuda_runtime", "cudaMalloc", now, self._draw(10, 30))
        rest = max(end + 8 - now, 20) + self._long("synchronising", 100, 250)
        # What overlaps counts once.
        self.add("cuda_runtime", "cudaEventSynchronize", now + 5, rest // 2)
        return self.add("cuda_runtime", "cudaDeviceSynchronize", now, rest) + self._long(
            "Python and other", 60, 200
        )

    def _begin(self, now: int) -> int:
        """Allocate and clear memory in Python before the first batch: a memset between two long gaps."""
        for number, name in enumerate(ALLOCATING):
            self.add(
                "cuda_runtime",
                name,
                now + 300 * (number + 1),
                self._draw(40, 90),
            )
        self.add("gpu_memset", "Memset (Device)", now + 1_300, 20)
        return now + 1_400

    def _queue(self, now: int, end: int) -> tuple[int, int]:
        """Launch kernels while a long one runs: each is ready when the one before it ends, and begins later."""
        end = self.add(
            "kernel",
            "long",
            max(now, end),
            self._draw(60, 90) * self._work_more,
        )
        for number in range(4):
            launched = len(self.events)
            now = self.add(*LAUNCHED, now, 4, correlation=launched)
            at = end + self._long("between queued work", 20, 60)
            end = self.add(
                "kernel",
                f"queued_{number}",
                at,
                self._draw(20, 40),
                correlation=launched,
            )
        return self.add(
            "cpu_op", "aten::op", now, self._draw(150, 250)
        ), end  # not what the GPU waits for
