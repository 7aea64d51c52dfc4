"""What the grader hangs on a model or a data set stays out of a student's way: it can be saved, pickled and copied."""

from __future__ import annotations

import copy
import io
import pickle
import time

import pytest
import torch

from autograder.labs.gpu_profiling.part3_kernels import rig as kernels
from autograder.labs.gpu_profiling.part6_final import rig as final
from autograder.labs.gpu_profiling.part6_final.rig.sizes import Pictures


class Rig(final.Rig, kernels.Rig):
    """What the parts with models of their own have, in one."""


@pytest.fixture
def rig(tmp_path):
    made = Rig(seed=7, side="student", device="cpu", folder=tmp_path)
    made.install()
    yield made
    made.uninstall()


def scripted(rig):
    window = rig.window()
    rig.script(window, [1.0] * 8, [1.0])
    rig.scaler_calls(window), rig.graphs(window), rig.op_dtypes(window), rig.queue(window, 1.0)
    return window.model, torch.ones(2, 3, 8, 8)


def crowded(rig):
    def make():
        window = rig.window()
        return window.model, window.criterion, window.optimizer

    return rig.sizes.trainings(make, limit=8, seconds=1.0, cold=1.0)(rig.device)[0], torch.ones(
        2, 3, 8, 8
    )


MODELS = {
    "a window's, recorded": scripted,
    "of a comparison": lambda rig: (
        rig.trainings(1.0, 0.5, 9.0)(rig.device)[0],
        torch.ones(2, 3, 8, 8),
    ),
    "a small ResNet": lambda rig: (
        rig.resnet_trainings(0.1, 9.0)(rig.device)[0],
        torch.ones(2, 3, 8, 8),
    ),
    "to be compiled": lambda rig: (
        rig.eager_trainings(1.0, 9.0)(rig.device)[0],
        torch.ones(2, 3, 8, 8),
    ),
    "of little memory": crowded,
    "of known operators": lambda rig: (rig.scripted_net(1.0, 4, 3, 5), torch.ones(2, 4, 3)),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_whole_model_can_be_saved_and_loaded(rig, make):
    model, images = make(rig)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded, before = torch.load(file, weights_only=False), rig.clock.scripted

    assert loaded(images).shape == model.eval()(images).shape
    assert rig.clock.scripted > before


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_copy_of_a_model_moves_the_same_clock(rig, make):
    model, images = make(rig)
    copied, before = copy.deepcopy(model), rig.clock.scripted
    copied(images)

    assert rig.clock.scripted > before


def test_a_data_set_that_moves_the_clock_can_go_to_another_process(rig):
    rig.clock.freeze()
    pictures = Pictures(torch.zeros(2, 3, 8, 8), [0, 1], rig.clock, 5.0)

    assert 2 == len(pickle.loads(pickle.dumps(pictures)))
    begun = time.perf_counter()
    for _ in range(3):
        copy.deepcopy(pictures)[0]
        pictures[0]
    assert time.perf_counter() - begun == pytest.approx(2 * 3 * 5.0, abs=0.1)
