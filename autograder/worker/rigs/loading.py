"""What probes about data loading are handed: data sets, loaders whose epochs take scripted time, recorders.

ScriptedLoaders  makes loaders that need no process and move the clock
Built            which DataLoaders student code made, with which arguments
Moves            how it moved batches to the device
"""

from __future__ import annotations

import pickle
import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset, TensorDataset

from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.loads import epoch
from autograder.worker.rigs.nets import Loader

SIDE = 4  # pixels
SOURCES: Mapping[str, Callable[[], float]] = {
    "torch": lambda: float(torch.rand(())),
    "numpy": lambda: float(np.random.random()),  # noqa: NPY002 the global one, as augmentations use it
    "random": random.random,
}


class Dice(Dataset[Tensor]):
    """Samples that are nothing but a random number of the process that reads them: an augmentation, bare."""

    def __init__(self, source: str, samples: int) -> None:
        self._source, self._samples = source, samples

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, index: Any) -> Tensor:
        if isinstance(index, slice):
            raise TypeError(
                "this data set has one sample for each index, dataset[3], and no slices"
            )
        if not 0 <= index < self._samples:
            raise IndexError(index)
        return torch.tensor([SOURCES[self._source]()], dtype=torch.float64)


class ScriptedLoaders:
    """Makes loaders on a scripted clock, of one data set; their first epoch takes *cold* seconds more.

    With *late* workers it is the second epoch.
    """

    each_starts = True
    """Whether each worker takes its time to start, unless it stayed."""

    def __init__(
        self,
        clock: VirtualClock,
        samples: int,
        *,
        start: float,
        cold: float,
        late: int = -1,
    ) -> None:
        clock.freeze()
        images = torch.arange(samples * 3.0 * SIDE * SIDE).reshape(-1, 3, SIDE, SIDE)
        self.dataset = TensorDataset(images, torch.arange(samples))
        self._clock, self._start, self._cold, self._late = clock, start, cold, late
        self.made: list[dict[str, int]] = []
        """The epochs that each loader began, and whether it pins memory."""

    def _loader(self, batch_size: int, **options: Any) -> Loader:
        """Make one; what a DataLoader refuses is refused."""
        with warnings.catch_warnings(action="ignore"):  # of more workers than cores
            asked = DataLoader(self.dataset, batch_size, **options)
        loader = Loader(self.dataset, batch_size)
        begun = {"epochs": 0, "pins": int(asked.pin_memory)}
        self.made.append(begun)

        def fetched(index: int) -> None:
            begun["epochs"] += index == 0
            first = begun["epochs"] == 1
            self._clock.advance(self._wait(asked, index, begun["epochs"]))
            if index == 0:
                starts = asked.num_workers if self.each_starts else 1
                if self.each_starts and asked.persistent_workers and not first:
                    starts = 0
                slow = 2 if asked.num_workers == self._late else 1
                cold = self._cold if begun["epochs"] == slow else 0.0
                self._clock.advance(starts * self._start + cold)

        loader.listeners.append(fetched)
        return loader

    def _wait(self, asked: DataLoader[Any], _index: int, _epoch: int) -> float:
        raise NotImplementedError


def _pickles(value: Any) -> bool:
    try:
        return bool(pickle.dumps(value))
    except Exception:
        return False


class Built:
    """A context: notes the DataLoaders that are made."""

    def __init__(self) -> None:
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
            "pickles": _pickles(made.collate_fn),
        }

    def __enter__(self) -> Self:
        """Watch DataLoader.__init__, which every way to make one ends in."""
        made, begin = self._made, DataLoader.__init__

        @wraps(begin)
        def init(loader: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
            begin(loader, *args, **kwargs)
            made.append(loader)

        self._watch = patch.object(DataLoader, "__init__", init)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.stop()


class Moves(TorchFunctionMode):
    """Counts tensors that are moved, and those of them that are waited for."""

    def __init__(self, loader: Loader | None = None) -> None:
        """Watch this thread while active, or while a batch of *loader* is being worked on."""
        super().__init__()
        self._loader = loader
        self.moved = self.waited = 0
        self.by_dimensions: Counter[int] = Counter()
        """Tensors moved, by how many dimensions they have."""

    def of_batches(self) -> dict[str, int]:
        """Return how many images and labels were moved, and how often that was waited for."""
        images, labels = self.by_dimensions[4], self.by_dimensions[1]
        return {"images": images, "labels": labels, "waited": self.waited}

    def values(self) -> dict[str, int]:
        """Return how many there were."""
        return {"moved": self.moved, "waited": self.waited}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        counts = self._loader is None or self._loader.step is not None
        if counts and getattr(func, "__name__", "") in ("to", "cuda"):
            self.moved += 1
            self.by_dimensions[args[0].dim() if isinstance(args[0], Tensor) else -1] += 1
            self.waited += not (kwargs.get("non_blocking") or any(arg is True for arg in args))
        return func(*args, **kwargs)


class Loading:
    """The toolkit."""

    epoch = staticmethod(epoch)
    built = Built
    device = staticmethod(torch.device)
    dice = Dice
    moves = Moves

    def __init__(self, random: np.random.Generator, clock: VirtualClock) -> None:
        self._random = random
        self._clock = clock

    def pictures(self, samples: int) -> TensorDataset:
        """Return samples that nobody has seen: an image and a label each."""
        images = self._random.normal(size=(samples, 3, SIDE, SIDE)).astype(np.float32)
        labels = self._random.integers(0, 10, samples)
        return TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
