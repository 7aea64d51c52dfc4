"""Made outputs of `nsys stats --format csv`, of which everything is known.

made = Sums(rig.random)     made.text(), what was printed; made.known, what is true of it
"""

from __future__ import annotations

import numpy as np

NANOSECONDS = "that is in nanoseconds: divide by 1e6"
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
        self._ranges = [self._drawn() for _ in RANGES]
        self.expected = {
            "launches": sum(count for count, _ in kernels),
            "kernel_ms": sum(total for _, total in kernels) / 1e6,
            "copy_to_gpu_ms": copies[0][1] / 1e6,
            "waiting_calls": calls[1][0] + calls[2][0],
        }

    def _drawn(self) -> tuple[int, int]:
        count = int(self._random.integers(2, 900))
        return count, count * int(self._random.integers(2_000, 90_000))

    def slips(self) -> dict[str, dict[str, float]]:
        """Return, by the name of a sum, what usual mistakes give."""
        kernels, copies, calls = self._drawn_all
        with_comma = [name.count(",") > 0 for name in KERNELS]
        plain = [it for it, comma in zip(kernels, with_comma, strict=True) if not comma]
        ranges = "the ranges are in the sum: they have Instances, too"
        lost = "kernels whose names hold commas are left out"
        launches, ms = self.expected["launches"], self.expected["kernel_ms"]
        return {
            "launches": {
                ranges: launches + sum(count for count, _ in self._ranges),
                lost: sum(count for count, _ in plain),
                "your code counts rows, and not Instances": len(kernels),
            },
            "kernel_ms": {
                ranges: ms + sum(total for _, total in self._ranges) / 1e6,
                lost: sum(total for _, total in plain) / 1e6,
                NANOSECONDS: 1e6 * ms,
            },
            "copy_to_gpu_ms": {
                "copies back to the host are in the sum": sum(it for _, it in copies) / 1e6,
                "no copy to the GPU is found: its name differs between versions of nsys": 0.0,
                NANOSECONDS: copies[0][1],
            },
            "waiting_calls": {
                "calls that do not wait are in the sum": sum(count for count, _ in calls),
                "calls of cudaDeviceSynchronize are left out": calls[1][0],
                "calls of cudaStreamSynchronize are left out": calls[2][0],
            },
        }

    def text(self) -> str:
        """Return what was printed; the ranges stand last and have Instances, too."""
        kernels, copies, calls = self._drawn_all
        return "\n".join(
            [
                TALK.format("cuda_gpu_kern_sum") + _table("Instances", "Name", KERNELS, kernels),
                TALK.format("cuda_gpu_mem_time_sum")
                + _table("Count", "Operation", COPIES[self._new], copies),
                TALK.format("cuda_api_sum") + _table("Num Calls", "Name", CALLS, calls),
                TALK.format("nvtx_sum") + _table("Instances", "Style,Range", RANGES, self._ranges),
            ]
        )


def _table(count: str, name: str, names: tuple[str, ...], drawn: list[tuple[int, int]]) -> str:
    whole = sum(total for _, total in drawn)
    rows = [
        f"{100 * total / whole:.1f},{total},{number},{total / number:.1f},{total // number}.0,1,{total},0.0,{row}"
        for row, (number, total) in zip(names, drawn, strict=True)
    ]
    return "\n".join([HEAD.format(count=count, name=name), *rows, ""])
