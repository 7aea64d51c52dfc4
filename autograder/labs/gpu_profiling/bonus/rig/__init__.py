"""What probes of the bonus work with: kernels, two nodes, inference, profiles of two nights."""

from __future__ import annotations

import shutil
from typing import Any

from torch import Tensor

from autograder.labs.gpu_profiling.bonus.rig.cuda import Threads, compiled
from autograder.labs.gpu_profiling.bonus.rig.inference import Inference
from autograder.labs.gpu_profiling.bonus.rig.nightly import Nightly
from autograder.labs.gpu_profiling.bonus.rig.nodes import Nodes
from autograder.labs.gpu_profiling.bonus.rig.tiles import layers, pooled
from autograder.worker import rig as worker
from autograder.worker.rigs.tiles import Tiles, kinds


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    nightly = Nightly
    tiles = Tiles
    pooled = staticmethod(pooled)

    def exact(self, tensor: Tensor) -> Tensor:
        """Return the same numbers in float64 on the baseline's side, so that what is expected has no rounding."""
        return tensor if self.side == "student" else tensor.double()

    def nodes(self) -> Nodes:
        """Return tensors for the processes of two nodes."""
        return Nodes(self._random, self.folder)

    def inference(self) -> Inference:
        """Return layers, a model and requests to infer with."""
        return Inference(self._random, self.clock)

    def layers(self) -> list[tuple[Any, ...]]:
        """Return (case, images, weight, bias) to convolve, rectify and pool."""
        return [(case, *map(self.tensor, drawn)) for case, drawn in layers(self._random).items()]

    def transposed(self) -> list[Tensor]:
        """Return images that are not contiguous, with weights and a bias for them."""
        _, images, weight, bias = self.layers()[2]
        return [images.transpose(2, 3), weight, bias]

    @staticmethod
    def tools() -> list[str]:
        """Return what there is here of what kernels need."""
        return [name for name in ("g++", "nvcc") if shutil.which(name)] + ["Triton"] * bool(kinds())

    def nvcc(self, source: str) -> dict[str, Any]:
        """Say what nvcc makes of a source."""
        return compiled(source, self.folder)

    def threads(self, source: str) -> Threads:
        """Return a kernel whose threads run one after another, on the CPU."""
        return Threads(source, self.folder)
