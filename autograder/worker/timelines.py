"""Made profiles of which eleven things are known: painted microsecond by microsecond, and counted there.

made = rig.profiles.timeline(rig.random, gpu=True);  made.data() is the file, made.known() what is true of it
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEPS = 5
# Microseconds before the first step and after the last, in which something happens too.
MARGIN = 20_000
FIRST = 1_500  # microseconds that the first batch takes longer, as it does
CAUSES = {
    True: ("between queued work", "data loading", "synchronising", "launching", "Python and other"),
    False: ("data loading", "Python and other"),
}
SAME = 1e-3  # nearer to the right number, a mistake cannot be told from it
CALLS = ("cuda_runtime", "cuda_driver")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
RUNTIME = {"cat": "cuda_runtime", "name": "cudaLaunchKernel"}
TRITON = 0  # which kernel of a step is launched by the driver, and from Python, as Triton's are
ALLOCATING = ("cudaMalloc", "cudaFree", "cudaHostAlloc")
NEAR = 20  # microseconds around a millisecond in which no gap may end
CLEAR = 1.3  # times the second cause that the first one has to be
Layer = np.ndarray[Any, Any]


class Timeline:
    """A file as torch.profiler writes it; one cause of idleness, drawn anew, is far the largest."""

    def __init__(
        self, random: np.random.Generator, *, gpu: bool, loads: bool | None = None
    ) -> None:
        """Draw until nothing is a matter of rounding; *loads*: whether the cause is to be data loading."""
        self._random, self.gpu = random, gpu
        causes = [cause for cause in CAUSES[gpu] if loads in (None, cause == "data loading")]
        self._work_more = (
            40 if loads is False else 1
        )  # times: more of the steps is work than any cause of idleness
        self.cause = str(
            random.choice(causes)
        )  # drawn once: what is not clear is so more often for some
        self._draw_all()
        while not self._clear():
            self._draw_all()

    def _draw_all(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.base = self._draw(10**8, 10**9)
        self._add(
            "cpu_op", "aten::zeros", 2_000, 900
        )  # before the first step: none of the window's business
        self._add("user_annotation", LOADER, 4_000, 9_000)
        now = MARGIN
        for number in range(STEPS):
            began, now = now, self._on_gpu(now) if self.gpu else self._on_cpu(now)
            self._add("user_annotation", f"ProfilerStep#{number + 3}", began, now - began)
        self.window = slice(MARGIN, now)
        self.length = now + MARGIN
        self._add(
            "user_annotation", LOADER, now - self._draw(10, 19), self._draw(8_400, 8_800)
        )  # the longest
        self._add("cpu_op", "aten::empty", now + 50, 6)
        if self.gpu:
            self._add(
                "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", now + 300, 400, bytes=4096
            )  # of no step
            self._add("kernel", "late", now + 500, 3_000)
            self._add("gpu_user_annotation", "ProfilerStep#3", MARGIN, self.length - MARGIN)

    def _draw(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high + 1))

    def _long(self, cause: str, low: int, high: int) -> int:
        """Draw a duration; what the drawn cause takes is far longer."""
        return self._draw(low, high) * (8 if cause == self.cause else 1)

    def _add(self, cat: str, name: str, at: int, dur: int, **args: Any) -> int:
        thread = {"pid": 0, "tid": 7} if cat.startswith(("kernel", "gpu")) else {"pid": 9, "tid": 1}
        args = {"device": 0, "stream": 7, **args} if thread["pid"] == 0 else args
        event = {"ph": "X", "cat": cat, "name": name, "ts": at, "dur": dur, **thread, "args": args}
        self.events.append(event)
        return at + dur

    def _load(self, now: int) -> int:
        wait = self._long("data loading", 250, 700) + (
            0 if self._of("user_annotation", beginning="P") else FIRST
        )
        if self.gpu:  # a late result: a gap of kernels that no gap of the GPU is
            self._add(
                "gpu_memcpy",
                "Memcpy DtoH (Device -> Pageable)",
                now + wait // 2 + 100,
                20,
                bytes=4096,
            )
            self._add(
                "cuda_runtime", "cudaEventSynchronize", now + wait // 5, 3 * wait // 5
            )  # loading comes first
        self._add("cpu_op", "aten::div", now + wait // 3, self._draw(20, 60))  # a part of loading
        return self._add("user_annotation", LOADER, now, wait)

    def _on_cpu(self, now: int) -> int:
        now = self._load(now)
        for name in ("aten::convolution", "aten::relu", "aten::add_", "aten::mm"):
            own = self._draw(30, 900)
            self._add("cpu_op", f"{name}_out", now + 5, own - 15)
            now = self._add("cpu_op", name, now, own)
            now = self._add("cpu_op", "aten::t", now, self._draw(2, 19)) + self._long(
                "Python and other", 20, 90
            )
        return now

    def _on_gpu(self, now: int) -> int:
        """A step: load, copy and wait, launch long and short kernels, wait again; the loader may overlap kernels."""
        self._add("kernel", "tail", now - 200, 400)  # of the step before
        now = self._begin(now) if now == MARGIN else now
        now = self._load(now) + self._long("Python and other", 60, 200)
        copy = self._draw(200, 400)
        self._add(
            "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", now + 30, copy, bytes=copy * 4096
        )
        self._add("gpu_user_annotation", LOADER, now + 40, copy - 60)
        self._add("kernel", "gemm", now + 30 + copy - self._draw(50, 150), 160, stream=20)
        now = self._add("cuda_runtime", "cudaMemcpyAsync", now, 30)
        now = self._add(
            "cuda_runtime",
            "cudaStreamSynchronize",
            now,
            copy + self._long("synchronising", 100, 250),
        )
        end = now
        for number in range(6):
            launch = self._long("launching", 15, 50)
            by = {"cat": "cuda_driver", "name": "cuLaunchKernelEx"} if number == TRITON else RUNTIME
            self._add(**by, at=now + 4, dur=launch, correlation=len(self.events))
            now = (
                now + launch + 10
                if number == TRITON
                else self._add("cpu_op", "aten::op", now, launch + 10)
            )
            long = self._draw(20, 120) if self._draw(0, 2) else self._draw(2, 8)
            at = max(now, end - self._draw(0, 3))
            end = self._add(
                "kernel", f"kernel_{number}", at, long, correlation=len(self.events) - 2
            )
        now, end = self._queue(now, end)
        self._add("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", end + 2, 6, bytes=4)
        now = self._add("cuda_runtime", "cudaMalloc", now, self._draw(10, 30))
        rest = max(end + 8 - now, 20) + self._long("synchronising", 100, 250)
        self._add(
            "cuda_runtime", "cudaEventSynchronize", now + 5, rest // 2
        )  # what overlaps counts once
        return self._add("cuda_runtime", "cudaDeviceSynchronize", now, rest) + self._long(
            "Python and other", 60, 200
        )

    def _begin(self, now: int) -> int:
        """Allocate and clear memory in Python before the first batch: a memset between two long gaps."""
        for number, name in enumerate(ALLOCATING):
            self._add("cuda_runtime", name, now + 300 * (number + 1), self._draw(40, 90))
        self._add("gpu_memset", "Memset (Device)", now + 1_300, 20)
        return now + 1_400

    def _queue(self, now: int, end: int) -> tuple[int, int]:
        """Launch kernels while a long one runs: each is ready when the one before it ends, and begins later."""
        end = self._add("kernel", "long", max(now, end), self._draw(60, 90) * self._work_more)
        for number in range(4):
            launched = len(self.events)
            now = self._add(**RUNTIME, at=now, dur=4, correlation=launched)
            at = end + self._long("between queued work", 20, 60)
            end = self._add(
                "kernel", f"queued_{number}", at, self._draw(20, 40), correlation=launched
            )
        return self._add(
            "cpu_op", "aten::op", now, self._draw(150, 250)
        ), end  # not what the GPU waits for

    # --- what is true of it ---------------------------------------------------------------------------------------

    def _painted(
        self, *categories: str, beginning: str | tuple[str, ...] = "", holding: str = ""
    ) -> Layer:
        """Return for each microsecond whether one of these events ran."""
        line = np.zeros(self.length, bool)
        for one in self._of(*categories, beginning=beginning, holding=holding):
            line[one["ts"] : one["ts"] + one["dur"]] = True
        return line

    def _of(
        self, *categories: str, beginning: str | tuple[str, ...] = "", holding: str = ""
    ) -> list[dict[str, Any]]:
        return [
            one
            for one in self.events
            if one["cat"] in categories
            and one["name"].startswith(beginning)
            and holding in one["name"]
        ]

    def _share(self, line: Layer) -> float:
        return 100.0 * float(line[self.window].mean())

    @property
    def _work(self) -> Layer:
        return self._painted(*GPU) if self.gpu else self._painted("cpu_op") & ~self._loading

    def _gaps(self, work: Layer) -> list[int]:
        """Return the lengths of what work leaves uncovered of the window."""
        edges = np.flatnonzero(np.diff(np.concatenate([[1], work[self.window], [1]]).astype(int)))
        return [int(length) for length in np.diff(edges)[::2]]

    def _clear(self) -> bool:
        first, second = sorted(self._idle().values())[:-3:-1]
        apart = (
            [self._long_gaps(self._painted(*GPU[:kinds])) for kinds in (3, 2, 1)]
            if self.gpu
            else [0]
        )
        return (
            apart[0] not in apart[1:]
            and first > CLEAR * second
            and all(abs(gap - 1000) > NEAR for gap in self._gaps(self._work))
        )

    def _long_gaps(self, work: Layer) -> int:
        return sum(gap > 1000 for gap in self._gaps(work))

    @property
    def _loading(self) -> Layer:
        return self._painted("user_annotation", beginning=LOADER)

    @property
    def _queued(self) -> Layer:
        """Walk back from each piece of work to the one before it: was its launch over by then?"""
        work, line = self._work, np.zeros(self.length, bool)
        launched = {
            one["args"]["correlation"]: one["ts"] + one["dur"]
            for one in self._of(*CALLS)
            if "correlation" in one["args"]
        }
        for one in self._of("kernel", "gpu_memcpy"):
            ready, before = (
                launched.get(one["args"].get("correlation")),
                np.flatnonzero(work[: one["ts"]]),
            )
            if ready is not None and len(before) and ready <= before[-1] + 1:
                line[before[-1] + 1 : one["ts"]] = True
        return line

    def _idle(self) -> dict[str, float]:
        """Divide the idle time of the window: what stands first wins."""
        free = np.ones(self.length, bool)
        if self.gpu:
            free &= ~self._work
            layers = {
                "between queued work": self._queued,
                "data loading": self._loading,
                "allocating": self._painted(*CALLS, beginning=ALLOCATING),
                "synchronising": self._painted(*CALLS, holding="Synchronize"),
                "launching": self._painted("cpu_op", *CALLS),
            }
        else:
            layers = {"data loading": self._loading}
            free &= ~self._painted("cpu_op") | self._loading
        parts = {}
        for name, line in layers.items():
            parts[name], free = self._share(free & line), free & ~line
        return {**parts, "Python and other": self._share(free)}

    def known(self) -> dict[str, Any]:
        """Return the answers by their names, and numbers that usual mistakes give."""
        waits = [one["dur"] for one in self._of("user_annotation", beginning=LOADER)[1:]]
        held = self._painted(*CALLS, holding="Synchronize")
        busy = self._loading | self._painted("cpu_op", *CALLS)
        common = {
            "data_wait_percent": self._share(self._loading),
            "host_busy_percent": self._share(busy & ~held),
            "longest_wait_ms": max(waits) / 1000,
            "gap_cause": max(idle := self._idle(), key=idle.__getitem__),
        }
        return {**common, **(self._of_a_gpu(idle) if self.gpu else self._of_a_cpu(idle))}

    def _of_a_gpu(self, idle: dict[str, float]) -> dict[str, Any]:
        copies, kernels = self._painted("gpu_memcpy", holding="HtoD"), self._painted("kernel")
        return {
            "gpu_utilization_percent": self._share(kernels),
            "gaps_over_1ms": self._long_gaps(self._work),
            "host_to_device_ms": float(copies.sum()) / 1000,
            "copy_overlap_percent": 100.0 * float((copies & kernels).sum() / copies.sum()),
            "launching_percent": idle["launching"],
            **_small("kernel", [one["dur"] for one in self._of("kernel")]),
        }

    def _of_a_cpu(self, idle: dict[str, float]) -> dict[str, Any]:
        return {
            "operators_percent": self._share(self._painted("cpu_op") & ~self._loading),
            "operator_gaps_over_1ms": self._long_gaps(self._work),
            "host_to_device_ms": None,
            "copy_overlap_percent": None,
            "python_percent": idle["Python and other"],
            **_small("operator", [one["dur"] for one in self._of("cpu_op")]),
        }

    def slips(self) -> dict[str, dict[str, float]]:
        """Return, by answer, what a usual mistake gives, by what it is called in words."""
        slips: dict[str, dict[str, float]] = {}
        for words, window in self._windows().items():
            for name, number in self._within(*window).items():
                if name.endswith("_percent") and number != self.known()[name]:
                    slips.setdefault(name, {})[words] = number
        waits = [one["dur"] for one in self._of("user_annotation", beginning=LOADER)]
        slips["longest_wait_ms"] = {
            "a wait that goes on after the steps is taken whole": max(waits[1:-1]) / 1000,
            "that wait began before the steps": waits[0] / 1000,
        }
        busy = self._share(self._loading | self._painted("cpu_op", *CALLS))
        slips.setdefault("host_busy_percent", {})["a call that waits is no work of the CPU"] = busy
        slips |= self._slips_of_a_gpu(slips) if self.gpu else self._slips_of_a_cpu()
        return {name: self._other(name, stories) for name, stories in slips.items()}

    def _other(self, name: str, stories: dict[str, float]) -> dict[str, float]:
        """Leave out a mistake that gives the right number here."""
        right = self.known().get(name)
        return {
            words: number
            for words, number in stories.items()
            if right is None or abs(number - right) > SAME
        }

    def _windows(self) -> dict[str, tuple[int, int]]:
        """Return what is taken for the steps by mistake."""
        first, last = (
            min(one["ts"] for one in self.events),
            max(one["ts"] + one["dur"] for one in self.events),
        )
        windows = {
            "that is the share of the whole recording, and the steps are the window": (first, last)
        }
        repeats = "a gpu_user_annotation only repeats the name of a step, and is none"
        return {**windows, repeats: (self.window.start, self.length)} if self.gpu else windows

    def _within(self, first: int, last: int) -> dict[str, Any]:
        """Return what would be known if this were the window."""
        window, self.window = self.window, slice(first, last)
        try:
            return self.known()
        finally:
            self.window = window

    def _slips_of_a_cpu(self) -> dict[str, dict[str, float]]:
        filled = self._long_gaps(self._work | self._loading)
        cut = self._long_gaps(self._painted("cpu_op"))
        wait = "a wait for the loader is a gap, whatever runs in it"
        return {
            "operator_gaps_over_1ms": {wait: filled, f"{wait}: its operators do not end it": cut}
        }

    def _slips_of_a_gpu(self, slips: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        lasting = [np.arange(one["ts"], one["ts"] + one["dur"]) for one in self._of("kernel")]
        inside = sum(((self.window.start <= at) & (at < self.window.stop)).sum() for at in lasting)
        twice = "durations were added up, and kernels that overlap counted twice"
        length = (self.window.stop - self.window.start) / 100
        return {
            "gpu_utilization_percent": {
                **slips["gpu_utilization_percent"],
                twice: float(inside) / length,
                f"{twice}, also those before and after the steps": sum(map(len, lasting)) / length,
                "copies and memsets are no kernels": self._share(self._work),
            },
            "gaps_over_1ms": {
                "a copy ends a gap as a kernel does": self._long_gaps(self._painted("kernel")),
                "a memset ends a gap as a kernel does": self._long_gaps(
                    self._painted("kernel", "gpu_memcpy")
                ),
            },
            "launching_percent": {
                **slips.get("launching_percent", {}),
                "allocating is a cause of its own": self._idle()["launching"]
                + self._idle()["allocating"],
            },
            "data_wait_percent": {
                **slips.get("data_wait_percent", {}),
                "a gpu_user_annotation only repeats the name of a wait": self._share(
                    self._painted("user_annotation", "gpu_user_annotation", beginning=LOADER)
                ),
            },
            "host_to_device_ms": {
                "those of the steps alone, and the whole file counts": float(
                    self._painted("gpu_memcpy", holding="HtoD")[self.window].sum()
                )
                / 1000,
                "copies back to the host are counted as well": float(
                    self._painted("gpu_memcpy").sum()
                )
                / 1000,
            },
        }

    def data(self, *, copies: bool = False) -> bytes:
        """Return the file, gzipped; events are in no order, as they are in real ones.

        *copies*: with one back from a GPU, after the steps; without a kernel it does not make the file one of a GPU.
        """
        if copies:
            self._add(
                "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", self.length - 900, 20, bytes=4
            )
        events = [{**one, "ts": one["ts"] + self.base} for one in self.events]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events[::2] + events[1::2]})
        return gzip.compress(text.encode(), mtime=0)


def _small(kind: str, times: list[int]) -> dict[str, float]:
    return {
        f"small_{kind}s_percent": 100.0 * sum(time < 10 for time in times) / len(times),
        f"{kind}_mean_us": sum(times) / len(times),
    }
