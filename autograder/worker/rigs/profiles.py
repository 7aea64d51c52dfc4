"""What probes need around a profiler: whether one records, and made profiles of which everything is known."""

from __future__ import annotations

import torch

from autograder.worker.rigs.timelines import Timeline


class Profiles:
    """`rig.profiles`."""

    timeline = staticmethod(Timeline)

    @staticmethod
    def profiling() -> bool:
        """Whether a profiler is still recording."""
        return bool(torch._C._autograd._profiler_enabled())
