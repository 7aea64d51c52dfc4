"""What the probes of the bonus work with: what Triton launches, and whether it is there."""

from __future__ import annotations

from autograder.worker import rig as worker
from autograder.worker.rigs.tiles import Tiles, kinds


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    tiles = Tiles

    @staticmethod
    def tools() -> list[str]:
        """Return what there is here of what a kernel needs."""
        return ["Triton"] * bool(kinds())
