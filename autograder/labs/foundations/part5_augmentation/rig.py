"""What the probes of part 5 work with: generators with a seed, and the global one."""

from __future__ import annotations

import torch

from autograder.worker import rig as worker


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    seed_globally = staticmethod(torch.manual_seed)

    @staticmethod
    def generator(seed: int) -> torch.Generator:
        """Return a generator on the CPU."""
        return torch.Generator().manual_seed(seed)

    @staticmethod
    def global_draws() -> torch.Tensor:
        """Draw from the global generator."""
        return torch.rand(4)
