"""The memory of one GPU as NVML shows it from outside.

Of a worker's processes, or of the whole card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograder.errors import OwedError

DIVIDED = (
    "the GPU is divided (MIG), and the memory of one of its instances is not measured from outside"
)


@dataclass
class Card:
    """One GPU. Whatever NVML refuses is an `OwedError`."""

    uuid: str
    """NVML's numbers need not be CUDA's."""
    _handle: Any = None

    def memory(self) -> Any:
        """Return bytes `used` and `free`, whoever uses them."""
        with self._asked() as nvml:
            return nvml.nvmlDeviceGetMemoryInfo(self._handle)

    def held_by(self, pids: Sequence[int]) -> int:
        """Return bytes of these processes.

        0 where NVML names none of them, as in a PID namespace it may.
        """
        with self._asked() as nvml:
            processes = nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle)
            return sum(process.usedGpuMemory or 0 for process in processes if process.pid in pids)

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        import pynvml

        try:
            if self._handle is None:
                pynvml.nvmlInit()
                self._handle = _whole(pynvml, pynvml.nvmlDeviceGetHandleByUUID(self.uuid))
            yield pynvml
        except pynvml.NVMLError as error:
            raise OwedError(f"memory of the GPU cannot be seen: NVML says '{error}'") from None


def _whole(nvml: Any, handle: Any) -> Any:
    try:
        if nvml.nvmlDeviceGetMigMode(handle)[0]:
            raise OwedError(DIVIDED)
    except nvml.NVMLError_NotSupported:
        pass
    return handle


@dataclass
class Gauge:
    """The most memory of a card that one worker held at any look, against what was in use
    before it started.
    """

    card: Card
    unseen: str = ""
    _before: int | None = None
    _named: int = 0
    _grown: int = 0

    def look(self, pids: Sequence[int] = ()) -> None:
        """Note what these processes hold now; the first look is at a card without them."""
        try:
            used = self.card.memory().used
            self._before = used if self._before is None else self._before
            self._grown = max(self._grown, used - self._before)
            self._named = max(self._named, self.card.held_by(pids))
        except OwedError as why:
            self.unseen = str(why)

    @property
    def peak_bytes(self) -> int | None:
        """By process where NVML named one of ours at any look, else by how much more of the
        card was in use.
        """
        return None if self.unseen else self._named or self._grown
