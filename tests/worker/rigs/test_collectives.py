"""Collective calls are seen at the process group, whoever makes them, and counted step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch._dynamo  # an optimizer needs it: once, and not in each process
import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce
from torch.nn.parallel import DistributedDataParallel

from autograder.worker.rigs import group_processes
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.ranks import ALONE, Ranks

NUMBERS = 6 * 8 + 8 + 8 * 4 + 4  # of the model that `rig.ranks` trains


def training_with(wrapped, after_backward=lambda model: None):
    def train(model, dataset, criterion, make_optimizer, batch_size, epochs, seed, folder):
        dist.init_process_group("gloo")
        parallel, optimizer = wrapped(model), make_optimizer(model.parameters())
        for _ in range(epochs):
            for at in range(2):
                images, label = dataset[at]
                optimizer.zero_grad()
                criterion(parallel(images[None]), label[None]).backward()
                after_backward(model)
                optimizer.step()
            dist.barrier()
        dist.destroy_process_group()
        return {"losses": [0.0] * epochs}

    return train


def averaged(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


@pytest.mark.parametrize(
    ("train", "each"),
    [
        pytest.param(
            training_with(DistributedDataParallel), [("all_reduce", 4 * NUMBERS)], id="DDP"
        ),
        pytest.param(
            training_with(lambda model: model, averaged),
            [("all_reduce", 4 * size) for size in (48, 8, 32, 4)],
            id="a call for each parameter",
        ),
        pytest.param(training_with(lambda model: model), [], id="nothing"),
    ],
)
def test_calls_are_told_from_the_third_step_on(tmp_path, train, each):
    told = Ranks(np.random.default_rng(1), 5, tmp_path).together(train)

    for rank in told["ranks"]:
        steps = [[(call["kind"], call["bytes"]) for call in step] for step in rank["steps"]]
        begins_an_epoch = [("barrier", 0), *each]
        assert [begins_an_epoch, each, begins_an_epoch, each] == steps


CALLS = {
    "reduce": (lambda ones, _: dist.reduce(ones, 0), "reduce", 12, [0, 1]),
    "broadcast": (lambda ones, _: dist.broadcast(ones, 0), "broadcast", 12, [0, 1]),
    "all_gather": (lambda ones, others: dist.all_gather(others, ones), "all_gather", 24, [0, 1]),
    "functional": (lambda ones, _: all_reduce(ones, "sum", dist.group.WORLD) + 0, "all_reduce", 12, [0, 1]),
    "alone": (lambda ones, _: dist.all_reduce(ones, group=ALONE_IN[dist.get_rank()]), "all_reduce", 12, None),
    "send": (lambda ones, _: (dist.recv if dist.get_rank() else dist.send)(ones, 1 - dist.get_rank()), "send recv", 12, [0, 1]),
}  # fmt: skip
ALONE_IN: list[dist.ProcessGroup] = []


@pytest.mark.parametrize(("call", "kind", "size", "ranks"), CALLS.values(), ids=CALLS)
def test_a_call_says_its_kind_its_bytes_and_its_processes(tmp_path, call, kind, size, ranks):
    def work(rank):
        dist.init_process_group("gloo")
        ALONE_IN[:] = [dist.new_group([each]) for each in range(2)]
        with Collectives() as seen:
            call(torch.ones(3), [torch.zeros(3), torch.zeros(3)])
        dist.barrier()  # or the first to end takes the others' connection along
        dist.destroy_process_group()
        return {"calls": seen.calls}

    for rank, told in enumerate(group_processes.together(2, lambda _: ALONE, work, tmp_path, 20.0)):
        [one] = told["calls"]
        assert one["kind"] in kind.split()
        assert (size, ranks or [rank]) == (one["bytes"], one["ranks"])
        assert "float32" == one["dtype"]
