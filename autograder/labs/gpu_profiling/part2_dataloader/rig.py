"""What probes of part 2 work with: loaders each batch of which has a wait of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from torch.profiler import record_function
from torch.utils.data import DataLoader

from autograder.worker import rig as worker
from autograder.worker.rigs import loading
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.loading import ScriptedLoaders
from autograder.worker.rigs.nets import Loader


class Streams(ScriptedLoaders):
    """make_loader(batch_size, num_workers, pin_memory): each batch comes after a scripted wait, whose pace they decide.

    Batch i is waited for pace x waits[i] seconds, over and over. Whoever begins to iterate waits for the *start* of the
    workers.
    """

    each_starts = False

    def __init__(
        self,
        clock: VirtualClock,
        samples: int,
        waits: Sequence[float],
        pace: Mapping[tuple[int, int, bool], float],
        **more: Any,
    ) -> None:
        super().__init__(clock, samples, **more)
        self._waits, self._pace = waits, pace

    def __call__(
        self, batch_size: int, num_workers: int = 0, pin_memory: bool = False, **options: Any
    ) -> Loader:
        options |= {"num_workers": num_workers, "pin_memory": pin_memory}
        return self._loader(batch_size, **options)

    def _wait(self, asked: DataLoader[Any], index: int, _epoch: int) -> float:
        options = (asked.batch_size or 0, asked.num_workers, bool(asked.pin_memory))
        return self._pace.get(options, 1.0) * self._waits[index % len(self._waits)]


class Loading(loading.Loading):
    """`rig.loading`, and what this part loads."""

    def streams(
        self,
        samples: int,
        waits: Sequence[float],
        pace: Mapping[tuple[int, int, bool], float],
        *,
        start: float,
        cold: float,
    ) -> Streams:
        """Return a make_loader."""
        return Streams(self._clock, samples, waits, pace, start=start, cold=cold)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    loading: Loading

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.loading = Loading(self._random, self.clock)

    @staticmethod
    @contextmanager
    def ranges() -> Iterator[Counter[str]]:
        """Count how often each named range is entered."""
        entered, enter = Counter[str](), record_function.__enter__

        def counted(named: record_function) -> Any:
            entered[named.name] += 1
            return enter(named)  # type: ignore[no-untyped-call]

        with patch.object(record_function, "__enter__", counted):
            yield entered
