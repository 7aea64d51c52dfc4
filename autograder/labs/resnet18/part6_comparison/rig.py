"""What probes of part 6 work with: the weights that one saved, its memory and its work."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator

import torch

from autograder.worker import rig as worker
from autograder.worker.rigs.nets import Loader
from autograder.worker.rigs.programs import loader_for, weights_of


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    loader_for = staticmethod(loader_for)
    weights_of = staticmethod(weights_of)

    def busy_since(self, loader: Loader) -> Callable[[], float]:
        """Return what tells the seconds of computing since the last pass over *loader* began."""
        begun = [0.0]
        loader.listeners.append(
            lambda index: begun.__setitem__(0, begun[0] if index else self.clock.worked)
        )
        return lambda: self.clock.worked - begun[0]

    @contextlib.contextmanager
    def half_as_on_a_gpu(self) -> Iterator[None]:
        """Let float16 be what autocast takes where nothing else is asked for."""
        kind, before = self.device.type, torch.get_autocast_dtype(self.device.type)
        torch.set_autocast_dtype(kind, torch.float16)
        try:
            yield
        finally:
            torch.set_autocast_dtype(kind, before)

    def peak_mb(self) -> float:
        """Return the most MB (1e6 bytes) that was ever held: of the GPU's memory, or by this process without one."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device) / 1e6
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
