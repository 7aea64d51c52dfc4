"""Made profiles of which eleven things are known: painted microsecond by microsecond, and counted there.

made = rig.profiles.timeline(rig.random, gpu=True);  made.data() is the file, made.known() what is true of it
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from autograder.worker.rigs.made_steps import ALLOCATING, LOADER, MARGIN, Steps
from autograder.worker.rigs.recordings import BACK, GPU, Layer

SAME = 1e-3  # nearer to the right number, a mistake cannot be told from it
CALLS = ("cuda_runtime", "cuda_driver")
NEAR = 20  # microseconds around a millisecond in which no gap may end
CLEAR = 1.3  # times the second cause that the first one has to be


class Timeline(Steps):
    """Steps of which one cause of idleness, drawn anew, is clearly the largest."""

    def __init__(
        self,
        random: np.random.Generator,
        *,
        gpu: bool,
        loads: bool | None = None,
        to_gpu: bool = True,
    ) -> None:
        """Draw until nothing is a matter of rounding; see Steps."""
        super().__init__(random, gpu=gpu, loads=loads, to_gpu=to_gpu)
        self._draw_all()
        while not self._clear():
            self._draw_all()

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

    def _queued(self, calls: tuple[str, ...]) -> Layer:
        """Walk back from each piece of work to the one before it: was its launch over by then?"""
        work, line = self._work, np.zeros(self.whole.stop, bool)
        launched = {
            event["args"]["correlation"]: event["ts"] + event["dur"]
            for event in self.of(*calls)
            if "correlation" in event["args"]
        }
        for event in self.of("kernel"):
            ready = launched.get(event["args"].get("correlation"))
            before = np.flatnonzero(work[: event["ts"]])
            if ready is not None and len(before) and ready <= before[-1] + 1:
                line[before[-1] + 1 : event["ts"]] = True
        return line

    def _idle(
        self, calls: tuple[str, ...] = CALLS, frees: Any = ALLOCATING, *, queued: bool = True
    ) -> dict[str, float]:
        """Divide the idle time of the window: what stands first wins."""
        free = np.ones(self.whole.stop, bool)
        if self.gpu:
            free &= ~self._work
            layers = {
                "between queued work": queued & self._queued(calls),
                "data loading": self._loading,
                "allocating": self.painted(*calls, beginning=frees),
                "synchronising": self.painted(*calls, holding="Synchronize"),
                "launching": self.painted("cpu_op", *calls),
            }
        else:
            layers = {"data loading": self._loading}
            free &= ~self.painted("cpu_op") | self._loading
        parts = {}
        for name, line in layers.items():
            parts[name], free = self.share(free & line), free & ~line
        return {**parts, "Python and other": self.share(free)}

    def expected(self) -> dict[str, Any]:
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
        return {
            **common,
            **(self._of_a_gpu(idle) if self.gpu else self._of_a_cpu(idle)),
        }

    def _of_a_gpu(self, idle: dict[str, float]) -> dict[str, Any]:
        copies = self.painted("gpu_memcpy", holding="HtoD")
        kernels = self.painted("kernel")
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
            "the wait that ends after the steps is not taken whole": max(waits[1:-1]) / 1000,
            "that wait began before the steps": waits[0] / 1000,
        }
        busy = self.share(self._loading | self.painted("cpu_op", *CALLS))
        slips["host_busy_percent"]["a call that waits is no work of the CPU"] = busy
        no_driver = self._loading | self.painted("cpu_op", CALLS[0])
        held = self.painted(*CALLS, holding="Synchronize")
        slips["host_busy_percent"]["calls of cuda_driver are left out"] = self.share(
            no_driver & ~held
        )
        more = self._slips_of_a_gpu() if self.gpu else self._slips_of_a_cpu()
        for name, stories in more.items():
            slips[name] |= stories
        expected = self.expected()
        return {  # a mistake that gives the right number here is left out
            name: {words: n for words, n in stories.items() if abs(n - expected[name]) > SAME}
            for name, stories in slips.items()
            if expected[name] is not None
        }

    def _windows(self) -> dict[str, slice]:
        """Return what is taken for the steps by mistake."""
        words = "that is the share of the whole recording, and the steps are the window"
        repeats = "an event of category gpu_user_annotation has the name of a step, but is no step"
        windows = {words: self.whole}
        return {**windows, repeats: slice(MARGIN, self.length)} if self.gpu else windows

    def _within(self, taken: slice) -> dict[str, Any]:
        """Return what would be known if this were the window."""
        window, self.window = self.window, taken
        try:
            return self.expected()
        finally:
            self.window = window

    def _slips_of_a_cpu(self) -> dict[str, dict[str, float]]:
        filled = self._long_gaps(self._work | self._loading)
        cut = self._long_gaps(self.painted("cpu_op"))
        inside = ", or operators in it," * (filled == cut)
        wait = f"your code takes the wait for the loader{inside} for work"
        return {
            "operator_gaps_over_1ms": {
                wait: filled,
                "your code ends a gap at an operator that began during the wait for the loader": cut,
            }
        }

    def _slips_of_a_gpu(self) -> dict[str, dict[str, float]]:
        kernels = self.counted("kernel")
        added = 100 * float(kernels.sum()) / (self.window.stop - MARGIN)
        twice = "durations were added up, and kernels that overlap counted twice"
        copies = self.painted("gpu_memcpy", holding="HtoD")
        idle = self._idle()
        waits = self.painted("user_annotation", "gpu_user_annotation", beginning=LOADER)
        kernel, copy = (self._long_gaps(self.painted(*GPU[:kinds])) for kinds in (1, 2))
        as_kernel = "ends a gap as a kernel does"
        return {
            "gpu_utilization_percent": {
                twice: self.share(kernels),
                f"{twice}, also those before and after the steps": added,
                "copies and memsets are no kernels": self.share(self._work),
            },
            "gaps_over_1ms": {
                f"a copy{' or a memset' * (kernel == copy)} {as_kernel}": kernel,
                f"a memset {as_kernel}": copy,
            },
            "launching_percent": {
                "allocating is a cause of its own": idle["launching"] + idle["allocating"],
                "cudaFree counts as launching": self._idle(frees="cudaMalloc")["launching"],
                "calls of cuda_driver are left out": self._idle(CALLS[:1])["launching"],
                "gaps between queued work count as launching": self._idle(queued=False)[
                    "launching"
                ],
                "calls during work, or for another cause, count as well": self.share(
                    self.painted("cpu_op", *CALLS)
                ),
            },
            "small_kernels_percent": {"that is the share below 10 ms, not below 10 us": 100.0},
            "data_wait_percent": {
                "a gpu_user_annotation has the name of a wait, but is no wait": self.share(waits)
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
