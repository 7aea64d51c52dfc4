"""What probes of the bonus work with: plans of memory, programs to profile, decorated functions."""

from __future__ import annotations

from pathlib import Path

from autograder.labs.resnet18.bonus.rig.decorated import Decorated
from autograder.labs.resnet18.bonus.rig.plans import Plans
from autograder.labs.resnet18.bonus.rig.programs import Programs
from autograder.worker import rig as worker


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.plans = Plans(self._random)
        self.programs = Programs(self._random, self.clock)

    def decorated(self) -> Decorated:
        """Return what looks at functions before and after a decorator."""
        return Decorated(self.clock, lambda count: self.seconds(0.1, 0.9, count))
