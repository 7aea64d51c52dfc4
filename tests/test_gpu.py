"""What only a machine with an NVIDIA GPU can show; elsewhere it is skipped, and points that rest on it stay owed."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.course import Course, find_root
from autograder.course.expectations import full
from autograder.grading.grade import grade
from autograder.grading.session import open_session
from autograder.handed_in.submission import load
from autograder.machine.device import gpu_names
from autograder.protocol.digest import projection as trusted

COURSE = Course(find_root())
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_names(), reason="wants an NVIDIA GPU")]


@pytest.mark.parametrize("name", COURSE.labs)
def test_the_reference_loses_nothing_on_a_gpu(name):
    """The same checks as on a CPU, with the kernels of a GPU; timed ones are left to calibration."""
    kit = COURSE.kit(name)
    with open_session(COURSE.config.tier, "cuda:0") as session:
        result = grade(load(COURSE.reference(name), kit.lab.files), kit, session, seed=7)

    assert [] == [problem for problem in full(result) if "inconclusive" not in problem]


def test_a_gpu_works_in_the_fence():
    """The same, with nothing in sight but one GPU: the fence that a class is graded in."""
    name = COURSE.labs[0]
    kit = COURSE.kit(name)
    with open_session(COURSE.config.tier, "cuda:0", "bubblewrap") as session:
        result = grade(load(COURSE.reference(name), kit.lab.files), kit, session, seed=7)

    assert ("bubblewrap", "cuda") == (result.isolation, result.device.kind)
    assert [] == [problem for problem in full(result) if "inconclusive" not in problem]


def test_weights_on_a_gpu_have_the_same_projection():
    """The worker computes it where the weights are, the supervisor from the bytes that it was shown."""
    import torch

    from autograder.worker.projection import projection

    weights = np.random.default_rng(1).normal(size=100_003).astype("float32")
    assert trusted(weights, 99) == projection(torch.from_numpy(weights).cuda(), 99)
