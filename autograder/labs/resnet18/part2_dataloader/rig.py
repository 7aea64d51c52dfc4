"""What probes of part 2 work with: loaders whose epochs take scripted seconds, and the step that trains on a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader

from autograder.worker import rig as worker
from autograder.worker.rigs import loading
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.loading import ScriptedLoaders
from autograder.worker.rigs.nets import Loader

AHEAD = 2  # batches that a worker keeps ready if nobody says how many
FURTHER = 0.8  # of the wait, with more of them
LATER = 0.9  # of the wait, in the epochs after the second


class Scripted(ScriptedLoaders):
    """make_loader(**options): batches of the given sizes, whose epochs take scripted seconds by the options.

    An epoch of n workers takes n times *start*, unless they stayed from the last one, and *pace[n]* for each batch.
    Those after the second are faster.
    """

    def __init__(
        self, clock: VirtualClock, sizes: Sequence[int], pace: Mapping[int, float], **more: Any
    ) -> None:
        super().__init__(clock, sum(sizes), **more)
        self._batch, self._pace = sizes[0], pace

    def __call__(self, num_workers: int = 0, **options: Any) -> Loader:
        return self._loader(self._batch, num_workers=num_workers, **options)

    def _wait(self, asked: DataLoader[Any], _index: int, epoch: int) -> float:
        wait = self._pace.get(asked.num_workers, max(self._pace.values()))
        wait *= FURTHER if (asked.prefetch_factor or 0) > AHEAD else 1.0
        return wait * (LATER if epoch > 2 else 1.0)


class Step:
    """step(images, labels): takes scripted seconds, and notes what it was given."""

    def __init__(self, clock: VirtualClock, seconds: Sequence[float]) -> None:
        """One after the other, over and over."""
        self.devices: list[str] = []
        """Of each batch: where its images and its labels were."""
        self._clock, self._seconds = clock, cycle(seconds)

    def __call__(self, images: Tensor, labels: Tensor) -> None:
        self._clock.advance(next(self._seconds), busy=True)
        self.devices += [images.device.type, labels.device.type]


class Loading(loading.Loading):
    """`rig.loading`, and what this part loads."""

    def scripted(self, sizes: Sequence[int], pace: Mapping[int, float], **more: Any) -> Scripted:
        """Return a make_loader."""
        return Scripted(self._clock, sizes, pace, **more)

    def step(self, seconds: Sequence[float]) -> Step:
        """Return what trains on a batch."""
        return Step(self._clock, seconds)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    loading: Loading

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.loading = Loading(self._random, self.clock)
