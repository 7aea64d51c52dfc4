"""What probes of part 1 work with: a training in named ranges, and lines of what is handed out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from torch.autograd.profiler import record_function

from autograder.worker import rig as worker
from autograder.worker.rigs import profiles


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
    spec = find_spec(module)
    text = Path(str(spec and spec.origin)).read_text(encoding="utf-8").splitlines()
    return {
        name: [n for n, line in enumerate(text, 1) if re.search(pattern, line)]
        for name, pattern in patterns.items()
    }


class Profiles(profiles.Profiles):
    """`rig.profiles`, and what this part profiles."""

    training = staticmethod(Training)
    lines = staticmethod(lines)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    profiles = Profiles
