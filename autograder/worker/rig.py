"""What a probe is handed: fresh trainings from the seed, a clock it can move, recorders, readers of returned values.

    window = rig.window()                       a model, data, criterion, optimizer, device, scaler; alike at each call
    with rig.op_dtypes(window) as dtypes: ...   recorders say what student code did; they never judge
    rig.number(x), rig.series(x, "losses")      any object of a student's in, plain values out

Nothing here knows a lab.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from autograder.worker import allocator
from autograder.worker.rigs import returned
from autograder.worker.rigs.case_results import Answers, changed, copies, told_to_ask
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.compilers import (
    Compiler,
    EagerTrainings,
    refusal,
    register,
)
from autograder.worker.rigs.counters import Saved
from autograder.worker.rigs.crossings import on_meta
from autograder.worker.rigs.fetches import GPU, Always, Queue, Waits, played
from autograder.worker.rigs.figures import Figures
from autograder.worker.rigs.function_calls import Calls
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.loading import Loading
from autograder.worker.rigs.matched import Matched
from autograder.worker.rigs.metered import Metered
from autograder.worker.rigs.nets import make_loader, make_net
from autograder.worker.rigs.profiles import Profiles
from autograder.worker.rigs.programs import Program, made_program
from autograder.worker.rigs.ranks import Ranks
from autograder.worker.rigs.recorders import BackwardNodes, Dtypes, Graphs, ScalerCalls
from autograder.worker.rigs.resnets import ResNets, scripted, smaller_loss
from autograder.worker.rigs.returned import BadReturn, Returned
from autograder.worker.rigs.scripted import NEXT, ScriptedCall
from autograder.worker.rigs.trainings import Made, Trainings
from autograder.worker.rigs.window import Window
from autograder.worker.rigs.would_launch import launches

__all__ = ["BadReturn", "Returned", "Rig", "Window"]
T = TypeVar("T")

LEARNING_RATE = 0.02  # small, so that rounding stays far below one skipped step; the tolerances were measured with it
ROOM = 64  # times smaller is a loss whose updates are still seen in float32
SCALE = 4.0  # so small that gradients of the last step, left there unscaled, still count; float16 does well with it
WALL = 1.25  # times as far goes time.time, which others may set
# Samples of each batch; the last one is shorter.
BATCHES = (*(16,) * 7, 11)


class Rig:
    """The toolkit of one probe in one worker."""

    number = staticmethod(returned.number)
    series = staticmethod(returned.series)
    rows = staticmethod(returned.rows)
    text = staticmethod(returned.text)
    word = staticmethod(returned.word)
    flat = staticmethod(returned.flat)
    file_bytes = staticmethod(returned.file_bytes)
    file_text = staticmethod(returned.file_text)
    no_grad = staticmethod(torch.no_grad)
    copies = staticmethod(copies)
    refusal = staticmethod(refusal)
    told_to_ask = staticmethod(told_to_ask)
    changed = staticmethod(changed)
    returned = Returned
    backend = staticmethod(register)
    profiles = Profiles
    figures = Figures

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        """Keep a private *folder* to write in; *side* says whose code is observed."""
        self.seed, self.side, self.folder = seed, side, folder
        self.device = torch.device(device)
        self.nets = ResNets(seed, self.device)
        self.clock = VirtualClock()
        self._random = np.random.default_rng(seed)
        self.loading = Loading(self._random, self.clock)
        self.calls = Calls(self.device, exact=side != "student")
        self.matched = Matched(self)

    def install(self) -> None:
        """Prepare the process, before the student's file is imported."""
        os.environ["MPLBACKEND"] = "Agg"
        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.clock.install()
        GPU.install()

    def uninstall(self) -> None:
        """Put back what other work in this process would notice."""
        self.clock.uninstall()
        GPU.uninstall()

    def ranks(
        self,
        figures: Sequence[str] = ("losses",),
        seconds: float | None = None,
    ) -> Ranks:
        """Return a training for several processes, which have so many *seconds* for it; see `worker/rigs/ranks.py`."""
        return Ranks(self._random, self.seed, self.folder, figures, seconds)

    def integer(self, low: int, high: int) -> int:
        """Draw a secret whole number, both ends included; both sides draw the same ones."""
        return int(self._random.integers(low, high + 1))

    def seconds(self, low: float, high: float, count: int) -> list[float]:
        """Draw *count* secret durations."""
        return [float(x) for x in self._random.uniform(low, high, count)]

    @property
    def random(self) -> np.random.Generator:
        """The source of everything secret; both sides draw the same from it."""
        return self._random

    def tensor(self, array: npt.ArrayLike, dtype: str = "float32") -> Tensor:
        """Return a tensor on the device."""
        return torch.from_numpy(np.asarray(array)).to(self.device, getattr(torch, dtype))

    def answers(self, student: ModuleType | None = None) -> Answers:
        """Collect what a function returns for a list of cases; of the *student's* file, what it raises and where."""
        return Answers(
            exact=self.side != "student",
            staged=Path(getattr(student, "__file__", "")).parent,
        )

    def window(
        self,
        batches: Sequence[int] = BATCHES,
        *,
        scale: float = SCALE,
        lr: float = LEARNING_RATE,
        momentum: float = 0.0,
        poison: int | None = None,
        model: Any = None,
        enlarged: int = 1,
    ) -> Window:
        """Build a training: the same weights and data at each call. Images have 8 pixels a side, *enlarged* each.

        One batch may be *poison*: its gradients are not finite. The baseline's side runs without that batch.
        """
        model = make_net(self.seed, self.device) if model is None else model
        loader = make_loader(
            self.seed + 1,
            batches,
            poison=poison,
            keep=self.side == "student",
            enlarged=enlarged,
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
        scaler = torch.amp.GradScaler(self.device.type, init_scale=scale)
        return Window(
            model,
            loader,
            nn.CrossEntropyLoss(),
            optimizer,
            self.device,
            scaler,
        )

    def script(
        self,
        window: Window,
        waits: Sequence[float],
        work: Sequence[float],
        uneven: float = 0.0,
        start: float = 0.0,
    ) -> None:
        """Stop real time and let each fetch and each forward pass of *window* take scripted seconds.

        Whole passes over the loader wait by that share more and less, in turns: any two of them as long as two others.
        So much of the first wait as *start* passes in iter(loader), where workers start.
        """
        self.clock.freeze(WALL)
        steps, shares = iter(work), [1 + uneven, 1 - uneven]

        def fetch(index: int) -> None:
            self.clock.advance(waits[index] * shares[0] - start * (index == 0))
            if index == len(window.loader) - 1:
                shares.reverse()

        window.loader.starters.append(lambda: self.clock.advance(start))
        window.loader.listeners.append(fetch)
        window.model.register_forward_hook(
            Hook(lambda *_: self.clock.advance(next(steps, 0.0), busy=True))
        )

    def _work(self, seconds: float) -> None:
        """Let time pass in which the process computes."""
        self.clock.advance(seconds, busy=True)

    def queue(self, window: Window, seconds: float, copying: float = 0.0) -> Queue:
        """Let each forward pass of *window* leave *seconds* of work that the first fetch after it waits for.

        A copy of images takes *copying* seconds of the host, as from memory that is not pinned.
        """
        return Queue(window.model, window.loader, seconds, self._work, copying)

    def on_a_gpu(self, run: Callable[[torch.device], T]) -> T:
        """Call *run* with a GPU; where there is none with one that is played, or with the CPU if that is not enough.

        What is played can be waited for by `synchronize` alone: code that asks for streams or events is run again.
        """
        if self.device.type == "cpu":
            with contextlib.suppress(Exception), played() as device:
                return run(device)
        return run(self.device)

    def trainings(self, full: float, half: float, cold: float, smaller: int = 1) -> Trainings:
        """Return a maker of trainings whose forward pass takes *full* seconds, or *half* in half precision.

        For *smaller*, see resnet_trainings; one that is much smaller is learnt from at a higher rate.
        """
        rate = LEARNING_RATE * max(1, smaller / ROOM)
        make = _maker(lambda: self.window(lr=rate), smaller)
        return Trainings(make, self._work, {False: full, True: half}, cold)

    def resnet_trainings(
        self,
        seconds: float,
        cold: float,
        norm: str = "batch",
        smaller: int = 1,
        half: float = 1.0,
        momentum: float = 0.0,
        passes: collections.Counter[nn.Module] | None = None,
        ran: list[int] | None = None,
    ) -> Callable[[Any], Any]:
        """Return a maker of trainings of small ResNets, each convolution of which takes *seconds*; *half*: of them.

        A loss that is so many times *smaller* leaves a scaler's float16 room. It is learnt from at the same rate, so
        more slowly: what half precision rounds is then not amplified from step to step.
        """

        def window() -> Window:
            return self.window(model=self.nets.small(norm), momentum=momentum)

        passes = collections.Counter() if passes is None else passes
        ran = [] if ran is None else ran
        make = _maker(window, smaller)
        return scripted(make, self.clock, seconds, cold, half, passes, ran)

    def compiler(
        self,
        window: Window | None = None,
        seconds: Mapping[str, float] | None = None,
        step: float = 0.0,
    ) -> Compiler:
        """Return a backend for torch.compile that notes what it builds; that takes scripted *seconds* by its kind."""
        return Compiler(
            self.clock,
            None if window is None else window.loader,
            seconds or {},
            step,
        )

    def compiled(self, module: Any, compiler: Compiler, *, both: bool = False) -> Any:
        """Compile a module of the student's, or of *both* sides, in as many graphs as it takes."""
        mine = both or self.side == "student"
        return torch.compile(module, backend=compiler) if mine else module

    def eager_trainings(self, seconds: float, cold: float) -> EagerTrainings:
        """Return a maker of trainings whose forward pass takes *seconds* where it is not compiled."""
        return EagerTrainings(_maker(self.window), self._work, seconds, cold)

    def program(self, student: ModuleType, name: str) -> Program:
        """Return a program that was handed in beside the student's file."""
        return Program(Path(str(student.__file__)).parent / name, self.folder)

    def made_program(self, figures: Mapping[str, Mapping[str, Any] | None]) -> Path:
        """Write a program whose last line of output are the *figures* of its options; see `worker/rigs/programs.py`."""
        return made_program(self.folder, figures)

    def made_folder(self) -> Path:
        """Make a folder for results: not the one that student code runs in, so that who writes there is noticed."""
        made = self.folder / "results"
        made.mkdir(exist_ok=True)
        return made

    def autocast(self, dtype: str, run: Callable[[], Any]) -> Any:
        """Call *run* in half precision: what rounding makes of code that is trusted."""
        with torch.autocast(self.device.type, dtype=getattr(torch, dtype)):
            return run()

    def op_dtypes(self, window: Window) -> Dtypes:
        """Record in which precision the model and the criterion compute."""
        return Dtypes(window.model, window.criterion)

    def waits(self, window: Window, student: ModuleType) -> Waits:
        """Record where the student's file makes the host wait for the device between batches."""
        return Waits(window.loader, str(student.__file__))

    def graphs(self, window: Window) -> Graphs:
        """Record how many earlier steps' graphs are kept."""
        return Graphs(window.model)

    @staticmethod
    def backward_nodes() -> BackwardNodes:
        """Count the autograd nodes that run one by one, and not in a compiled graph."""
        return BackwardNodes()

    def scaler_calls(self, window: Window) -> ScalerCalls:
        """Record the calls on the window's scaler, with the backward passes and steps among them."""
        return ScalerCalls(window.scaler, window.model, window.optimizer)

    def fetches(self, student: ModuleType) -> Waits:
        """Record where the student's file brings a value to the host."""
        return Waits(Always(), str(student.__file__))

    def on_meta(self, student: ModuleType, call: Callable[[torch.device], Any]) -> dict[str, Any]:
        """Call with device `meta` in place of a GPU, and note what came of it."""
        staged = Path(str(student.__file__)).parent
        return on_meta(partial(self.answers(student).tried, call), staged)

    @staticmethod
    def would_launch(function: Callable[..., Any], *inputs: Any) -> dict[str, Any]:
        """Call once, and say what compiled code would launch; see `worker/rigs/would_launch.py`."""
        launched = launches(function, *inputs)
        lists = {name: getattr(launched, name)[:64] for name in ("extern", "fused", "breaks")}
        texts = {name: [returned.text(it) for it in some] for name, some in lists.items()}
        return {**texts, "graphs": launched.graphs}

    def saved(self, *inputs: Tensor) -> Saved:
        """Add up what autograd keeps for the backward pass."""
        return Saved(inputs)

    def scripted_call(
        self,
        seconds: Mapping[int, float],
        size: Mapping[int, int],
        repeats: int,
    ) -> ScriptedCall:
        """Return a function that takes these seconds and bytes by length, in the median of *repeats* calls (odd).

        One is far too slow. The first is fast: where a cold call takes its place, the median is NEXT times as long. The
        last after a warm-up but one is the median: fewer calls, if an odd number, have another.
        """
        self.clock.freeze(WALL)
        later = self._random.permutation([5.0, *[2 - NEXT, NEXT] * (repeats // 2 - 1)]).tolist()
        return ScriptedCall(
            self.clock,
            seconds,
            size,
            pattern=[0.8, *later, 1.0],
            cold=3.0,
        )

    def metered(self, **script: Any) -> Metered:
        """Return a meter of a device that is scripted; real time stops."""
        self.clock.freeze(WALL)
        return Metered(self.clock, self.device, **script)

    @staticmethod
    def given(name: str) -> Any:
        """Return what the lab hands out under this name."""
        return getattr(importlib.import_module("given"), name)

    def return_memory_at_once(self) -> None:
        """Let memory that is freed be gone, so that what the process holds is what it uses."""
        allocator.return_at_once()


def _maker(window: Callable[[], Window], smaller: int = 1) -> Callable[[], Made]:
    """Return what makes a training, whose loss is so many times *smaller*, of a new window each time."""

    def make() -> Made:
        own = window()
        return (
            own.model,
            smaller_loss(own.criterion, smaller),
            own.optimizer,
        )

    return make
