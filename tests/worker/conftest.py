"""The worker's toolkit, for one side."""

from __future__ import annotations

import pytest

from autograder.worker.rig import Rig


@pytest.fixture
def rig(tmp_path):
    return Rig(seed=7, side="student", device="cpu", folder=tmp_path)
