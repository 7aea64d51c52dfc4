"""Made outputs of `nsys stats --format csv`, of which everything is known.

made = Sums(rig.random)     made.text(), what was printed; made.known, what is true of it
"""

from __future__ import annotations

import numpy as np

HEAD = "Time (%),Total Time (ns),{count},Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),{name}"
TALK = "Processing [report.sqlite] with [/opt/nvidia/nsight-systems/2024.6.2/reports/{}.py]...\n"
KERNELS = (
    "sm90_xmma_fprop_implicit_gemm_tf32f32",
    '"void at::native::max_pool_forward_nchw<float, float>(int, const float *, long)"',
    '"triton_poi_fused_convolution_relu_1, with a comma"',
)
COPIES = {
    True: ("[CUDA memcpy Host-to-Device]", "[CUDA memcpy Device-to-Host]"),
    False: ("[CUDA memcpy HtoD]", "[CUDA memcpy DtoH]"),
}
CALLS = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMemcpyAsync")
RANGES = ("PushPop,:ProfilerStep#0", "PushPop,:copy")


class Sums:
    """Four tables: kernels, copies, calls, and ranges, which are none of them."""

    def __init__(self, random: np.random.Generator, *, new: bool) -> None:
        """Draw them; *new* ones name copies as nsys has since 2023."""
        self._random, self._new = random, new
        kernels, copies, calls = (
            [self._drawn() for _ in names] for names in (KERNELS, COPIES[new], CALLS)
        )
        self._drawn_all = kernels, copies, calls
        self.expected = {
            "launches": sum(count for count, _ in kernels),
            "kernel_ms": sum(total for _, total in kernels) / 1e6,
            "copy_to_gpu_ms": copies[0][1] / 1e6,
            "waiting_calls": calls[1][0] + calls[2][0],
        }

    def _drawn(self) -> tuple[int, int]:
        count = int(self._random.integers(2, 900))
        return count, count * int(self._random.integers(2_000, 90_000))

    def text(self) -> str:
        """Return what was printed; the ranges stand last and have Instances, too."""
        kernels, copies, calls = self._drawn_all
        ranges = [self._drawn() for _ in RANGES]
        return "\n".join(
            [
                TALK.format("cuda_gpu_kern_sum") + _table("Instances", "Name", KERNELS, kernels),
                TALK.format("cuda_gpu_mem_time_sum")
                + _table("Count", "Operation", COPIES[self._new], copies),
                TALK.format("cuda_api_sum") + _table("Num Calls", "Name", CALLS, calls),
                TALK.format("nvtx_sum") + _table("Instances", "Style,Range", RANGES, ranges),
            ]
        )


def _table(count: str, name: str, names: tuple[str, ...], drawn: list[tuple[int, int]]) -> str:
    whole = sum(total for _, total in drawn)
    rows = [
        f"{100 * total / whole:.1f},{total},{number},{total / number:.1f},{total // number}.0,1,{total},0.0,{row}"
        for row, (number, total) in zip(names, drawn, strict=True)
    ]
    return "\n".join([HEAD.format(count=count, name=name), *rows, ""])
