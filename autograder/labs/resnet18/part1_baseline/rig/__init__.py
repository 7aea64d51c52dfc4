"""What probes of part 1 work with: stand-ins for downloads, named ranges of a profile, made traces."""

from __future__ import annotations

from pathlib import Path

from autograder.labs.resnet18.part1_baseline.rig.downloads import (
    SAMPLES,
    Downloads,
    picture,
)
from autograder.labs.resnet18.part1_baseline.rig.ranges import ranges
from autograder.labs.resnet18.part1_baseline.rig.traces import Made
from autograder.worker import rig as worker
from autograder.worker.rigs import profiles

__all__ = ["SAMPLES", "Downloads", "Rig", "picture"]


class Profiles(profiles.Profiles):
    """`rig.profiles`, and what this part profiles."""

    ranges = staticmethod(ranges)
    made = staticmethod(Made)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    picture = staticmethod(picture)
    profiles = Profiles

    def __init__(self, *, seed: int, side: str, device: str, folder: Path) -> None:
        super().__init__(seed=seed, side=side, device=device, folder=folder)
        self.downloads = Downloads(seed)
