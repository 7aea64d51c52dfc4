"""Made profiles of which eleven things are known: painted microsecond by microsecond, and counted there.

made = rig.profiles.timeline(rig.random, gpu=True);  made.data() is the file, made.known() what is true of it
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from autograder.worker.rigs.recordings import BACK, GPU, TO_GPU, Layer, Recording

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEPS = 5
# Microseconds before the first step and after the last, in which something happens too.
MARGIN = 20_000
INSIDE = "Memcpy DtoD (Device -> Device)"
# Microseconds that the first batch takes longer; halved by an operator it is still two long gaps.
FIRST = 2_200
CAUSES = {
    True: ("between queued work", "data loading", "synchronising", "launching", "Python and other"),
    False: ("data loading", "Python and other"),
}
SAME = 1e-3  # nearer to the right number, a mistake cannot be told from it
CALLS = ("cuda_runtime", "cuda_driver")
LAUNCHED = ("cuda_runtime", "cudaLaunchKernel")
TRITON = 0  # which kernel of a step is launched by the driver, and from Python, as Triton's are
ALLOCATING = ("cudaMalloc", "cudaFree", "cudaHostAlloc")
NEAR = 20  # microseconds around a millisecond in which no gap may end
CLEAR = 1.3  # times the second cause that the first one has to be


class Timeline(Recording):
    """A file as torch.profiler writes it; one cause of idleness, drawn anew, is far the largest."""

    def __init__(
        self,
        random: np.random.Generator,
        *,
        gpu: bool,
        loads: bool | None = None,
        to_gpu: bool = True,
    ) -> None:
        """Draw until nothing is a matter of rounding; *loads*: whether the cause is to be data loading.

        *to_gpu*: whether copies are from the host.
        """
        super().__init__(random)
        self.gpu = gpu
        self._copy = TO_GPU if to_gpu else INSIDE
        causes = [cause for cause in CAUSES[gpu] if loads in (None, cause == "data loading")]
        # Times: more of the steps is work than any cause of idleness.
        self._work_more = 40 if loads is False else 1
        # Drawn once: what is not clear is so more often for some causes.
        self.cause = str(random.choice(causes))
        self._draw_all()
        while not self._clear():
            self._draw_all()

    def _draw_all(self) -> None:
        self.events.clear()
        self.add("cpu_op", "aten::zeros", 2_000, 900)  # before the steps: not in the window
        self.add("user_annotation", LOADER, 4_000, 9_000)
        now = MARGIN
        for number in range(STEPS):
            began, now = now, self._on_gpu(now) if self.gpu else self._on_cpu(now)
            self.add("user_annotation", f"ProfilerStep#{number + 3}", began, now - began)
        self.window = slice(MARGIN, now)
        self.length = now + MARGIN
        longest = self._draw(8_400, 8_800)
        self.add("user_annotation", LOADER, now - self._draw(10, 19), longest)
        self.add("cpu_op", "aten::empty", now + 50, 6)
        if self.gpu:
            self.add("gpu_memcpy", self._copy, now + 300, 400)  # of no step
            self.add("kernel", "late", now + 500, 3_000)
            self.add("gpu_user_annotation", "ProfilerStep#3", MARGIN, self.length - MARGIN)

    def _long(self, cause: str, low: int, high: int) -> int:
        """Draw a duration; what the drawn cause takes is far longer."""
        return self._draw(low, high) * (8 if cause == self.cause else 1)

    def _load(self, now: int) -> Any:
        wait = self._long("data loading", 250, 700) + FIRST * (now < MARGIN + FIRST)
        if self.gpu:
            # A late result: a gap of kernels that no gap of the GPU is. Of causes, loading comes first.
            self.add("gpu_memcpy", BACK, now + wait // 2 + 100, 20)
            self.add("cuda_runtime", "cudaEventSynchronize", now + wait // 5, 3 * wait // 5)
        self.add("cpu_op", "aten::div", now + wait // 2, self._draw(20, 60))  # a part of loading
        return self.add("user_annotation", LOADER, now, wait)

    def _on_cpu(self, now: int) -> int:
        now = self._load(now)
        for name in ("aten::convolution", "aten::relu", "aten::add_", "aten::mm"):
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
        copy = self._draw(200, 400)
        self.add("gpu_memcpy", self._copy, now + 30, copy)
        self.add("gpu_user_annotation", LOADER, now + 40, copy - 60)
        self.add("kernel", "gemm", now + 30 + copy - self._draw(50, 150), 160, tid=20)
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
            end = self.add("kernel", f"kernel_{number}", at, long, correlation=launched)
        now, end = self._queue(now, end)
        self.add("gpu_memcpy", BACK, end + 2, 6)
        now = self.add("cuda_runtime", "cudaMalloc", now, self._draw(10, 30))
        rest = max(end + 8 - now, 20) + self._long("synchronising", 100, 250)
        self.add(
            "cuda_runtime", "cudaEventSynchronize", now + 5, rest // 2
        )  # what overlaps counts once
        return self.add("cuda_runtime", "cudaDeviceSynchronize", now, rest) + self._long(
            "Python and other", 60, 200
        )

    def _begin(self, now: int) -> int:
        """Allocate and clear memory in Python before the first batch: a memset between two long gaps."""
        for number, name in enumerate(ALLOCATING):
            self.add("cuda_runtime", name, now + 300 * (number + 1), self._draw(40, 90))
        self.add("gpu_memset", "Memset (Device)", now + 1_300, 20)
        return now + 1_400

    def _queue(self, now: int, end: int) -> tuple[int, int]:
        """Launch kernels while a long one runs: each is ready when the one before it ends, and begins later."""
        end = self.add("kernel", "long", max(now, end), self._draw(60, 90) * self._work_more)
        for number in range(4):
            launched = len(self.events)
            now = self.add(*LAUNCHED, now, 4, correlation=launched)
            at = end + self._long("between queued work", 20, 60)
            end = self.add(
                "kernel", f"queued_{number}", at, self._draw(20, 40), correlation=launched
            )
        return self.add(
            "cpu_op", "aten::op", now, self._draw(150, 250)
        ), end  # not what the GPU waits for

    # --- what is true of it ---------------------------------------------------------------------------------------

    @property
    def _work(self) -> Layer:
        return self.painted(*GPU) if self.gpu else self.painted("cpu_op") & ~self._loading

    def _gaps(self, work: Layer) -> list[int]:
        """Return the lengths of what work leaves uncovered of the window."""
        edges = np.flatnonzero(np.diff(np.concatenate([[1], work[self.window], [1]]).astype(int)))
        return [int(length) for length in np.diff(edges)[::2]]

    def _clear(self) -> bool:
        first, second = sorted(self._idle().values())[:-3:-1]
        mistaken = (GPU[:2], GPU[:1]) if self.gpu else (("cpu_op",),)
        gaps = [self._long_gaps(self.painted(*categories)) for categories in mistaken]
        return (
            self._long_gaps(self._work) not in gaps
            and first > CLEAR * second
            and all(abs(gap - 1000) > NEAR for gap in self._gaps(self._work))
        )

    def _long_gaps(self, work: Layer) -> int:
        return sum(gap > 1000 for gap in self._gaps(work))

    @property
    def _loading(self) -> Layer:
        return self.painted("user_annotation", beginning=LOADER)

    @property
    def _queued(self) -> Layer:
        """Walk back from each piece of work to the one before it: was its launch over by then?"""
        work, line = self._work, np.zeros(self.whole.stop, bool)
        launched = {
            event["args"]["correlation"]: event["ts"] + event["dur"]
            for event in self.of(*CALLS)
            if "correlation" in event["args"]
        }
        for event in self.of("kernel"):
            ready = launched.get(event["args"].get("correlation"))
            before = np.flatnonzero(work[: event["ts"]])
            if ready is not None and len(before) and ready <= before[-1] + 1:
                line[before[-1] + 1 : event["ts"]] = True
        return line

    def _idle(self) -> dict[str, float]:
        """Divide the idle time of the window: what stands first wins."""
        free = np.ones(self.whole.stop, bool)
        if self.gpu:
            free &= ~self._work
            layers = {
                "between queued work": self._queued,
                "data loading": self._loading,
                "allocating": self.painted(*CALLS, beginning=ALLOCATING),
                "synchronising": self.painted(*CALLS, holding="Synchronize"),
                "launching": self.painted("cpu_op", *CALLS),
            }
        else:
            layers = {"data loading": self._loading}
            free &= ~self.painted("cpu_op") | self._loading
        parts = {}
        for name, line in layers.items():
            parts[name], free = self.share(free & line), free & ~line
        return {**parts, "Python and other": self.share(free)}

    def known(self) -> dict[str, Any]:
        """Return the answers by their names, and numbers that usual mistakes give."""
        waits = [event["dur"] for event in self.of("user_annotation", beginning=LOADER)[1:]]
        held = self.painted(*CALLS, holding="Synchronize")
        busy = self._loading | self.painted("cpu_op", *CALLS)
        common = {
            "data_wait_percent": self.share(self._loading),
            "host_busy_percent": self.share(busy & ~held),
            "longest_wait_ms": max(waits) / 1000,
            "gap_cause": max(idle := self._idle(), key=idle.__getitem__),
        }
        return {**common, **(self._of_a_gpu(idle) if self.gpu else self._of_a_cpu(idle))}

    def _of_a_gpu(self, idle: dict[str, float]) -> dict[str, Any]:
        copies, kernels = self.painted("gpu_memcpy", holding="HtoD"), self.painted("kernel")
        return {
            "gpu_utilization_percent": self.share(kernels),
            "gaps_over_1ms": self._long_gaps(self._work),
            "host_to_device_ms": self.milliseconds(copies) if copies.any() else None,
            "copy_overlap_percent": 100.0 * float((copies & kernels).sum() / copies.sum())
            if copies.any()
            else None,
            "launching_percent": idle["launching"],
            **_small("kernel", [event["dur"] for event in self.of("kernel")]),
        }

    def _of_a_cpu(self, idle: dict[str, float]) -> dict[str, Any]:
        return {
            "operators_percent": self.share(self.painted("cpu_op") & ~self._loading),
            "operator_gaps_over_1ms": self._long_gaps(self._work),
            "host_to_device_ms": None,
            "copy_overlap_percent": None,
            "python_percent": idle["Python and other"],
            **_small("operator", [event["dur"] for event in self.of("cpu_op")]),
        }

    def slips(self) -> dict[str, dict[str, float]]:
        """Return, by answer, what a usual mistake gives, by what it is called in words."""
        slips: dict[str, dict[str, float]] = defaultdict(dict)
        for words, window in self._windows().items():
            for name, number in self._within(window).items():
                if name.endswith("_percent"):
                    slips[name][words] = number
        waits = [event["dur"] for event in self.of("user_annotation", beginning=LOADER)]
        slips["longest_wait_ms"] = {
            "a wait that goes on after the steps is taken whole": max(waits[1:-1]) / 1000,
            "that wait began before the steps": waits[0] / 1000,
        }
        busy = self.share(self._loading | self.painted("cpu_op", *CALLS))
        slips["host_busy_percent"]["a call that waits is no work of the CPU"] = busy
        more = self._slips_of_a_gpu() if self.gpu else self._slips_of_a_cpu()
        for name, stories in more.items():
            slips[name] |= stories
        known = self.known()
        return {  # a mistake that gives the right number here is left out
            name: {words: n for words, n in stories.items() if abs(n - known[name]) > SAME}
            for name, stories in slips.items()
            if known[name] is not None
        }

    def _windows(self) -> dict[str, slice]:
        """Return what is taken for the steps by mistake."""
        words = "that is the share of the whole recording, and the steps are the window"
        repeats = "a gpu_user_annotation only repeats the name of a step, and is none"
        windows = {words: self.whole}
        return {**windows, repeats: slice(MARGIN, self.length)} if self.gpu else windows

    def _within(self, taken: slice) -> dict[str, Any]:
        """Return what would be known if this were the window."""
        window, self.window = self.window, taken
        try:
            return self.known()
        finally:
            self.window = window

    def _slips_of_a_cpu(self) -> dict[str, dict[str, float]]:
        filled = self._long_gaps(self._work | self._loading)
        cut = self._long_gaps(self.painted("cpu_op"))
        wait = "a wait for the loader is a gap, whatever runs in it"
        return {
            "operator_gaps_over_1ms": {wait: filled, f"{wait}: its operators do not end it": cut}
        }

    def _slips_of_a_gpu(self) -> dict[str, dict[str, float]]:
        kernels = self.counted("kernel")
        added = 100 * float(kernels.sum()) / (self.window.stop - MARGIN)
        twice = "durations were added up, and kernels that overlap counted twice"
        copies, idle = self.painted("gpu_memcpy", holding="HtoD"), self._idle()
        waits = self.painted("user_annotation", "gpu_user_annotation", beginning=LOADER)
        return {
            "gpu_utilization_percent": {
                twice: self.share(kernels),
                f"{twice}, also those before and after the steps": added,
                "copies and memsets are no kernels": self.share(self._work),
            },
            "gaps_over_1ms": {
                f"a {name} ends a gap as a kernel does": self._long_gaps(self.painted(*kinds))
                for name, kinds in (("copy", GPU[:1]), ("memset", GPU[:2]))
            },
            "launching_percent": {
                "allocating is a cause of its own": idle["launching"] + idle["allocating"]
            },
            "data_wait_percent": {
                "a gpu_user_annotation only repeats the name of a wait": self.share(waits)
            },
            "host_to_device_ms": {
                "those of the steps alone, and the whole file counts": self.milliseconds(
                    copies[self.window]
                ),
                "copies back to the host are counted as well": self.milliseconds(
                    self.painted("gpu_memcpy")
                ),
            },
        }

    def data(self, *, copies: bool = False) -> bytes:
        """Return the file; *copies*: with one back from a GPU, after the steps.

        Without a kernel that does not make the file one of a GPU.
        """
        if copies:
            self.add("gpu_memcpy", BACK, self.length - 900, 20)
        return super().data()


def _small(kind: str, times: list[int]) -> dict[str, float]:
    return {
        f"small_{kind}s_percent": 100.0 * sum(time < 10 for time in times) / len(times),
        f"{kind}_mean_us": sum(times) / len(times),
    }
