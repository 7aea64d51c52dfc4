"""What probes about data loading are handed: data sets, loaders whose epochs take scripted time, recorders.

Scripted  make_loader(**options), and the step that trains on a batch; neither needs a process, and the clock moves
Streams   make_loader(**options) of loaders each batch of which has a wait of its own, for those who count batches
Built     which DataLoaders student code made, with which arguments
Moves     how it moved batches to the device
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import cycle
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset, TensorDataset

from autograder.worker.clock import VirtualClock
from autograder.worker.loads import epoch
from autograder.worker.nets import Loader

SIDE = 4  # pixels
AHEAD = 2  # batches that a worker keeps ready if nobody says how many
FURTHER = 0.8  # of the wait, with more of them
LATER = 0.9  # of the wait, in the epochs after the second
SOURCES: Mapping[str, Callable[[], float]] = {
    "torch": lambda: float(torch.rand(())),
    "numpy": lambda: float(np.random.random()),  # noqa: NPY002 the global one, as augmentations use it
    "random": random.random,
}


class Dice(Dataset[Tensor]):
    """Samples that are nothing but a random number of the process that reads them: an augmentation, bare."""

    def __init__(self, source: str, samples: int) -> None:
        """Choose whose random numbers."""
        self._source, self._samples = source, samples

    def __len__(self) -> int:
        """Return the number of samples."""
        return self._samples

    def __getitem__(self, index: int) -> Tensor:
        """Roll."""
        if not 0 <= index < self._samples:
            raise IndexError(index)
        return torch.tensor([SOURCES[self._source]()], dtype=torch.float64)


class Scripted:
    """make_loader(**options): batches of the given sizes, whose epochs take scripted seconds by the options.

    An epoch of n workers takes n times *start*, unless they stayed from the last one, and *pace[n]* for each batch. The
    first epoch of each loader takes *cold* more, those after the second are faster.
    """

    def __init__(
        self,
        clock: VirtualClock,
        sizes: Sequence[int],
        pace: Mapping[int, float],
        *,
        start: float,
        cold: float,
    ) -> None:
        """Real time stands still from now on."""
        clock.freeze()
        images = torch.arange(sum(sizes) * 3.0 * SIDE * SIDE).reshape(-1, 3, SIDE, SIDE)
        self.dataset = TensorDataset(images, torch.arange(sum(sizes)))
        self._clock, self._batch, self._pace, self._start, self._cold = (
            clock,
            sizes[0],
            pace,
            start,
            cold,
        )
        self.made: list[dict[str, int]] = []
        """The epochs that each loader began, and whether it pins memory."""

    def __call__(self, num_workers: int = 0, **options: Any) -> Loader:
        """Make one; what a DataLoader refuses is refused."""
        with warnings.catch_warnings(
            action="ignore"
        ):  # it has more workers than this machine has cores
            asked = DataLoader(self.dataset, self._batch, num_workers=num_workers, **options)
        loader, begun = (
            Loader(self.dataset, self._batch),
            {"epochs": 0, "pins": int(asked.pin_memory)},
        )
        self.made.append(begun)
        each = self._pace.get(num_workers, max(self._pace.values()))
        each *= FURTHER if (asked.prefetch_factor or 0) > AHEAD else 1.0

        def fetched(index: int) -> None:
            self._clock.advance(each * (LATER if begun["epochs"] + (index == 0) > 2 else 1.0))
            if index == 0:
                again = begun["epochs"] > 0
                kept = again and asked.persistent_workers
                self._clock.advance(
                    (0.0 if kept else num_workers * self._start) + (0.0 if again else self._cold)
                )
                begun["epochs"] += 1

        loader.listeners.append(fetched)
        return loader


class Streams:
    """make_loader(batch_size, num_workers, pin_memory): each batch comes after a scripted wait, whose pace they decide.

    Batch i is waited for pace x waits[i] seconds, over and over. Whoever begins to iterate waits for the *start* of the
    workers; who does so first, *cold* seconds more.
    """

    def __init__(
        self,
        clock: VirtualClock,
        samples: int,
        waits: Sequence[float],
        pace: Mapping[tuple[int, int, bool], float],
        *,
        start: float,
        cold: float,
    ) -> None:
        """Real time stands still from now on."""
        clock.freeze()
        images = torch.zeros(samples, 3, SIDE, SIDE)
        self.dataset = TensorDataset(images, torch.arange(samples))
        self._clock, self._waits, self._pace, self._start, self._cold = (
            clock,
            waits,
            pace,
            start,
            cold,
        )

    def __call__(
        self, batch_size: int, num_workers: int = 0, pin_memory: bool = False, **options: Any
    ) -> Loader:
        """Make one; what a DataLoader refuses is refused."""
        with warnings.catch_warnings(
            action="ignore"
        ):  # it has more workers than this machine has cores
            DataLoader(
                self.dataset, batch_size, num_workers=num_workers, pin_memory=pin_memory, **options
            )
        loader, begun = Loader(self.dataset, batch_size), [0]
        pace = self._pace.get((batch_size, num_workers, bool(pin_memory)), 1.0)

        def fetched(index: int) -> None:
            self._clock.advance(pace * self._waits[index % len(self._waits)])
            if index == 0:
                self._clock.advance(self._start + (0.0 if begun[0] else self._cold))
                begun[0] += 1

        loader.listeners.append(fetched)
        return loader


class Step:
    """step(images, labels): takes scripted seconds, and notes what it was given."""

    def __init__(self, clock: VirtualClock, seconds: Sequence[float]) -> None:
        """One after the other, over and over."""
        self.devices: list[str] = []
        """Of each batch: where its images and its labels were."""
        self._clock, self._seconds = clock, cycle(seconds)

    def __call__(self, images: Tensor, labels: Tensor) -> None:
        """Let time pass."""
        self._clock.advance(next(self._seconds), busy=True)
        self.devices += [images.device.type, labels.device.type]


class Built:
    """A context: notes the DataLoaders that are made."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: list[DataLoader[Any]] = []

    def last(self) -> dict[str, Any] | None:
        """Return the arguments of the last one, or nothing if there is none."""
        if not self._made:
            return None
        made = self._made[-1]
        return {
            "num_workers": int(made.num_workers),
            "pin_memory": bool(made.pin_memory),
            "persistent_workers": bool(made.persistent_workers),
        }

    def __enter__(self) -> Self:
        """Watch DataLoader.__init__, which every way to make one ends in."""
        self._init = DataLoader.__init__

        @wraps(self._init)
        def init(loader: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
            self._init(loader, *args, **kwargs)
            self._made.append(loader)

        DataLoader.__init__ = init  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        DataLoader.__init__ = self._init  # type: ignore[method-assign]


class Moves(TorchFunctionMode):
    """Counts tensors that are moved, and those of them that are waited for."""

    def __init__(self, loader: Loader | None = None) -> None:
        """Watch this thread while active, or while a batch of *loader* is being worked on."""
        super().__init__()
        self._loader = loader
        self.moved = self.waited = 0
        self.by_dimensions: Counter[int] = Counter()
        """Tensors moved, by how many dimensions they have."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note, then compute."""
        kwargs = kwargs or {}
        counts = self._loader is None or self._loader.step is not None
        if counts and getattr(func, "__name__", "") in ("to", "cuda"):
            self.moved += 1
            self.by_dimensions[args[0].dim() if isinstance(args[0], Tensor) else -1] += 1
            self.waited += not (kwargs.get("non_blocking") or any(one is True for one in args))
        return func(*args, **kwargs)


class Loading:
    """The toolkit."""

    epoch = staticmethod(epoch)
    built = Built
    device = staticmethod(torch.device)
    moves = Moves

    def __init__(self, random: np.random.Generator, clock: VirtualClock) -> None:
        """Draw data from *random*."""
        self._random, self._clock = random, clock

    def pictures(self, samples: int) -> TensorDataset:
        """Return samples that nobody has seen: an image and a label each."""
        images = self._random.normal(size=(samples, 3, SIDE, SIDE)).astype(np.float32)
        labels = self._random.integers(0, 10, samples)
        return TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))

    def dice(self, source: str, samples: int) -> Dice:
        """Return samples that are random numbers: of torch, numpy or random."""
        return Dice(source, samples)

    def scripted(
        self, sizes: Sequence[int], pace: Mapping[int, float], *, start: float, cold: float
    ) -> Scripted:
        """Return a make_loader; *pace* is seconds that a batch is waited for, by the number of workers."""
        return Scripted(self._clock, sizes, pace, start=start, cold=cold)

    def streams(
        self,
        samples: int,
        waits: Sequence[float],
        pace: Mapping[tuple[int, int, bool], float],
        *,
        start: float,
        cold: float,
    ) -> Streams:
        """Return a make_loader; *waits* are seconds, *pace* their factor by (batch_size, num_workers, pin_memory)."""
        return Streams(self._clock, samples, waits, pace, start=start, cold=cold)

    def step(self, seconds: Sequence[float]) -> Step:
        """Return a step that takes these seconds."""
        return Step(self._clock, seconds)
