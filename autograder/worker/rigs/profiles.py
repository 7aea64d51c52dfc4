"""What a probe needs around a profiler: the ranges that work runs in, and made traces whose figures are known.

with rig.profiles.ranges(window) as seen: ...      which named range was open when forward, backward, step ran
rig.profiles.made(rig.random, busy=0.7)            a trace of which four answers are known; .timeline: eleven
rig.profiles.training(window)                      a train(on_step, batches) with named ranges, that counts its calls
rig.profiles.lines("given.script", {...})          the lines of a module in which something stands
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.autograd.profiler import record_function
from torch.profiler import ProfilerAction, profile

from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.recordings import BACK, TO_GPU, Recording
from autograder.worker.rigs.timelines import Timeline

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
EARLY, WARM_UP = "prof.step before a batch", "warm-up"
OUTSIDE = TOP + 1  # which operator is the first of all by what runs before the steps
BETWEEN = 300  # microseconds from the end of a step to the next one
ENDING = 90  # microseconds in the last step, of a wait that goes on after it
LAUNCH = 900  # microseconds of a call in the next operator, which would make it the first of all


class Ranges:
    """Counts, for each kind of work, the ranges that it ran in."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.running: set[int] = set()
        """Profilers that were started and not stopped."""

    def note(self, work: str) -> None:
        """Count one piece of work in the ranges that are open."""
        self._seen[work, tuple(name[:60] for name in self._open[:8])] += 1

    def stepped(self, action: ProfilerAction) -> None:
        """Note a step of the profiler: at the end of a batch, of warm-up or not, or before there was any."""
        if action == ProfilerAction.WARMUP:
            self.note(WARM_UP)
        self.note("prof.step" if any(work == "forward" for work, _ in self._seen) else EARLY)

    def values(self) -> list[dict[str, Any]]:
        """Return what ran where how often."""
        return [
            {"work": work, "ranges": list(names), "count": n}
            for (work, names), n in sorted(self._seen.items())[:60]
        ]


@contextmanager
def ranges(window: Any) -> Iterator[Ranges]:
    """Watch the work of *window* and each record_function; the profiler's own steps are ranges as well."""
    seen, start, step, stop = Ranges(), profile.start, profile.step, profile.stop
    entered: Any = record_function.__enter__
    left: Any = record_function.__exit__

    @wraps(entered)
    def enter(self: Any) -> Any:
        if not self.name.startswith(("ProfilerStep", "Optimizer.", "enumerate(DataLoader)")):
            seen._open.append(self.name)
            self.watched = True
        return entered(self)

    @wraps(left)
    def leave(self: Any, *error: Any) -> Any:
        if getattr(self, "watched", False):
            seen._open.remove(self.name)
        return left(self, *error)

    def passed(_: Any, __: Any, output: Any) -> None:
        seen.note("forward")
        if isinstance(output, torch.Tensor) and output.requires_grad:
            output.register_hook(lambda _: seen.note("backward"))

    @wraps(start)
    def started(self: Any) -> None:
        seen.running.add(id(self))
        start(self)

    @wraps(step)
    def stepped(self: Any) -> None:
        seen.stepped(self.current_action)
        step(self)

    @wraps(stop)
    def stopped(self: Any) -> None:
        seen.running.discard(id(self))
        stop(self)

    window.model.register_forward_hook(Hook(passed))
    window.criterion.register_forward_hook(Hook(lambda *_: seen.note("loss")))
    window.optimizer.register_step_pre_hook(lambda *_: seen.note("step"))
    scopes = patch.multiple(record_function, __enter__=enter, __exit__=leave)
    with scopes, patch.multiple(profile, start=started, step=stepped, stop=stopped):
        yield seen


def profiling() -> bool:
    """Whether a profiler is still recording."""
    return bool(torch._C._autograd._profiler_enabled())


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
        """Add a copy to the device, two kernels that overlap on two streams, and a copy back."""
        both, first = self._draw(busy // 10, busy // 5), self._draw(busy // 3, busy // 2)
        end = self.add("gpu_memcpy", TO_GPU, at, self._draw(busy // 20, busy // 10))
        end = self.add("kernel", "gemm_7", end, first)
        end = self.add("kernel", "gemm_20", end - both, busy + both - first, 20)
        self.add("gpu_memcpy", BACK, end, self._draw(10, 90))
        self.add("gpu_user_annotation", f"ProfilerStep#{number}", at, end - at + 90_000)

    def known(self) -> dict[str, Any]:
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
            "busy_of_sum": self.share(kernels) * length / steps,
            "busy_of_all": self.share(kernels, self.whole),
            "busy_of_gpu": self.share(kernels, gpu),
            "copied": self.milliseconds(copies) if self.gpu else None,
            "copied_inside": self.milliseconds(copies[self.window]),
            "copied_both": self.milliseconds(self.counted("gpu_memcpy")),
            "top": [self.names[OUTSIDE], *self.names[: TOP - 1]],
        }


class Training:
    """What a profiler is put around: it trains on the first batches, in named ranges, and notes how it was called."""

    def __init__(self, window: Any) -> None:
        self._window = window
        self.asked: list[int] = []
        self.stepped = 0
        self.losses: list[float] = []

    def __call__(self, on_step: Callable[[], Any] | None = None, batches: int = 20) -> list[float]:
        """Train, and call *on_step* at the end of each batch."""
        self.asked.append(int(batches))
        window, ranged = self._window, record_function
        for images, labels in islice(window.loader, int(batches)):
            with ranged("copy"):
                images, labels = images.to(window.device), labels.to(window.device)  # noqa: PLW2901
            with ranged("forward"):
                loss = window.criterion(window.model(images), labels)
            with ranged("backward"):
                window.optimizer.zero_grad()
                loss.backward()
            with ranged("optimizer_step"):
                window.optimizer.step()
            self.losses.append(float(loss.detach()))
            if on_step is not None:
                self.stepped += 1
                on_step()
        return self.losses


def lines(module: str, patterns: Mapping[str, str]) -> dict[str, list[int]]:
    """Return the numbers of the lines in which each pattern is found."""
    found = find_spec(module)
    text = Path(str(found and found.origin)).read_text(encoding="utf-8").splitlines()
    return {
        name: [n for n, line in enumerate(text, 1) if re.search(pattern, line)]
        for name, pattern in patterns.items()
    }


class Profiles:
    """`rig.profiles`."""

    ranges = staticmethod(ranges)
    profiling = staticmethod(profiling)
    made = staticmethod(Made)
    timeline = staticmethod(Timeline)
    training = staticmethod(Training)
    lines = staticmethod(lines)
