"""What a probe needs around kernels: made traces and made reports of ncu, of which everything is known.

made = rig.launches.on_gpu(rig.random)             made.data(), the file; made.counts, what it launched, by name
made = rig.launches.eager(...), .compiled(...)     the same without a GPU
report = rig.launches.report(rig.random)           report.text(), what ncu printed; report.rows, what is true of it
"""

from __future__ import annotations

from collections import Counter
from typing import Any

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


# --- reports of ncu ---------------------------------------------------------------------------------------------------

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"'
)
UNITS = {
    "ns": 1e3,
    "us": 1.0,
    "ms": 1e-3,
    "nsecond": 1e3,
    "usecond": 1.0,
    "msecond": 1e-3,
}  # of one microsecond
LIMIT = 60.0  # percent: below it in both, a kernel waits
NAMES = {
    "sm_percent": ("GPU Speed Of Light Throughput", "Compute (SM) Throughput"),
    "memory_percent": ("GPU Speed Of Light Throughput", "Memory Throughput"),
    "occupancy_percent": ("Occupancy", "Achieved Occupancy"),
}
OTHERS = (("Memory Workload Analysis", "Memory Throughput", "byte/second", 181_734_200_113.0),)
TALK = (
    "Epoch 1: loss 2.31\n==PROF== Connected to process 4711 (/usr/bin/python3.11)\n"
    "==PROF== Profiling: 50%, 38 passes"
)


class Report:
    """What `ncu --csv --page details` prints, of launches that were drawn."""

    def __init__(self, random: np.random.Generator, unit: str) -> None:
        """Draw some launches, two of them of one kernel; one for each bound at least."""
        kinds = [(82.0, 35.0), (30.0, 85.0), (20.0, 31.0), (71.0, 66.0), (64.0, 77.0), (68.0, 68.0)]
        kinds.append((LIMIT, 35.0))
        self.rows: list[dict[str, Any]] = []
        self._random, self._unit = random, unit
        for sm, memory in (kinds[int(i)] for i in random.permutation(len(kinds))):
            name = f"{random.choice(KERNELS[:2])}_{random.integers(2)}(float *, const float *, int)"
            figures = {
                "sm_percent": sm,
                "memory_percent": memory,
                "occupancy_percent": float(random.uniform(20, 95)),
            }
            drawn = {
                key: value if value == LIMIT else round(value + float(random.uniform(0, 4)), 2)
                for key, value in figures.items()
            }
            drawn["memory_percent"] = (
                drawn["sm_percent"] if sm == memory else drawn["memory_percent"]
            )  # a tie
            self.rows.append(
                {
                    "kernel": name,
                    "duration_us": round(float(random.uniform(1500, 90_000)), 2),
                    **drawn,
                }
            )

    def text(self) -> str:
        """Return what was printed: the program's own lines first, numbers with thousands separators, rules between."""
        lines = [TALK, HEADER]
        for number, row in enumerate(self.rows):
            duration = row["duration_us"] * UNITS[self._unit]
            lines.append(
                _line(
                    number,
                    row["kernel"],
                    "GPU Speed Of Light Throughput",
                    "Duration",
                    self._unit,
                    duration,
                )
            )
            for name, (section, metric) in NAMES.items():
                lines.append(_line(number, row["kernel"], section, metric, "%", row[name]))
            lines += [_line(number, row["kernel"], *other) for other in OTHERS]
            lines.append(
                f'{_place(number, row["kernel"])},"SpeedOfLight","","","","SOLBottleneck","INF","Look here."'
            )
        return "\n".join(lines) + "\n"


def _place(number: int, kernel: str) -> str:
    return f'"{number}","4711","python3","127.0.0.1","{kernel}","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0"'


def _line(number: int, kernel: str, section: str, metric: str, unit: str, value: float) -> str:
    shown = f"{value:,.6f}" if unit in UNITS else f"{value:,.2f}"
    return f'{_place(number, kernel)},"{section}","{metric}","{unit}","{shown}"'


class Launches:
    """`rig.launches`."""

    eager, compiled, on_gpu = staticmethod(eager), staticmethod(compiled), staticmethod(on_gpu)
    report = staticmethod(Report)
    UNITS, OLD_UNITS = tuple(UNITS)[1:3], tuple(UNITS)[3:]
