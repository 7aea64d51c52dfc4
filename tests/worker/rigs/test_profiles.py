"""Whether a profiler records."""

from __future__ import annotations

from torch.profiler import profile

from autograder.worker.rig import Rig


def test_a_profiler_that_is_on_is_seen(tmp_path):
    rig = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    with profile():
        assert rig.profiles.profiling()

    assert not rig.profiles.profiling()
