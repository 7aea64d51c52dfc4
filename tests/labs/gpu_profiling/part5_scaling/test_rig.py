"""A machine that is not there is seen for as long as it is asked for, and what is joined on it is noted."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from autograder.labs.gpu_profiling.part5_scaling.rig import Machine


def machine(student=None, gpus=4):
    return Machine(student or SimpleNamespace(), gpus=gpus, rank=5, local_rank=1, world=8)


def test_gpus_and_environment_are_those_of_the_machine():
    before = dict(os.environ), torch.cuda.is_available, dist.init_process_group

    with machine():
        assert torch.cuda.is_available()
        assert (4, 0) == (torch.cuda.device_count(), torch.cuda.current_device())
        assert ["5", "1", "8"] == [
            os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")
        ]

    assert before == (dict(os.environ), torch.cuda.is_available, dist.init_process_group)


@pytest.mark.parametrize(
    ("chosen", "device", "words"),
    [
        pytest.param(None, "cuda", "cuda:0", id="the first, where none was chosen"),
        pytest.param(1, "cuda", "cuda:1", id="the current one"),
        pytest.param("cuda:3", torch.device("cuda"), "cuda:3", id="chosen by its name"),
        pytest.param(1, torch.device("cuda", 2), "cuda:2", id="by its number"),
        pytest.param(None, torch.device("cpu"), "cpu", id="none"),
    ],
)
def test_a_gpu_without_a_number_is_the_current_one(chosen, device, words):
    with machine() as seen:
        if chosen is not None:
            torch.cuda.set_device(chosen)

        assert words == seen.named(device)


@pytest.mark.parametrize(
    ("arguments", "options", "noted"),
    [
        pytest.param(
            ("nccl",), {}, {"backend": "nccl", "rank": 5, "world": 8}, id="from the environment"
        ),
        pytest.param(
            (), {"init_method": "env://"}, {"backend": "", "rank": 5, "world": 8}, id="any backend"
        ),
        pytest.param(
            (),
            {"rank": "1", "world_size": 4},
            {"backend": "", "rank": 1, "world": 4},
            id="said outright",
        ),
    ],
)
def test_joining_is_noted_and_nothing_is_joined(arguments, options, noted):
    with machine() as seen:
        assert not dist.is_initialized()
        dist.init_process_group(*arguments, **options)
        dist.barrier()
        assert (True, 5, 8) == (dist.is_initialized(), dist.get_rank(), dist.get_world_size())

    assert [noted] == seen.joined
    assert not dist.is_initialized()


def test_a_name_that_was_imported_from_torch_is_replaced_as_well():
    student = SimpleNamespace(join=dist.init_process_group, other=print)
    real = student.join

    with machine(student, gpus=0) as seen:
        student.join("gloo")
        assert not torch.cuda.is_available()

    assert ["gloo"] == [one["backend"] for one in seen.joined]
    assert student.join is real
