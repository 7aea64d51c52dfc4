"""What probes of part 6 work with: trainings that do the same work, batches that do not fit, sums of nsys."""

from __future__ import annotations

from pathlib import Path

from autograder.labs.gpu_profiling.part6_final.rig.matched import Matched
from autograder.labs.gpu_profiling.part6_final.rig.sizes import Sizes
from autograder.labs.gpu_profiling.part6_final.rig.sums import Sums
from autograder.worker import rig as worker


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    matched: Matched
    sums = Sums

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.matched = Matched(self)
        self.sizes = Sizes(self.clock)
