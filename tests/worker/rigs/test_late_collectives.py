"""What a reduction makes is there when somebody has waited for it, and not before."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo  # an optimizer and DDP need it: once, and not in each process
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograder.worker.rigs import group_processes
from autograder.worker.rigs.late_collectives import Late


def waited(tensor):
    work = dist.all_reduce(tensor, async_op=True)
    before = tensor.tolist()
    work.wait()
    work.wait()
    return before, ["call", "wait", "wait"]


def blocking(tensor):
    dist.all_reduce(tensor)
    return [1.0, 1.0], ["blocking call", "wait"]


def never(tensor):
    dist.all_reduce(tensor, async_op=True)
    tensor.add_(1.0)
    return [1.0, 1.0], ["call"]


def by_its_future(tensor):
    future = dist.all_reduce(tensor, async_op=True).get_future()
    future.then(lambda done: done.value()[0]).wait()
    return [1.0, 1.0], ["call", "wait"]


def asked_until_it_is_there(tensor):
    work = dist.all_reduce(tensor, async_op=True)
    while not work.is_completed():
        pass
    return [1.0, 1.0], ["call", "done"]


def coalesced(tensor):
    with dist._coalescing_manager(async_ops=True) as manager:
        dist.all_reduce(tensor)
        dist.all_reduce(torch.ones(1))
    before = tensor.tolist()
    manager.wait()
    return before, ["call", "wait"]


CALLS = {
    "waited for": (waited, [2.0, 2.0]),
    "blocking": (blocking, [2.0, 2.0]),
    "never waited for": (never, [2.0, 2.0]),  # 1 + 1: nothing has arrived
    "by its future": (by_its_future, [2.0, 2.0]),
    "asked until it is there": (asked_until_it_is_there, [2.0, 2.0]),
    "several in one": (coalesced, [2.0, 2.0]),
}


@pytest.mark.parametrize(("call", "after"), CALLS.values(), ids=CALLS)
def test_a_result_arrives_when_it_is_waited_for(tmp_path, call, after):
    def work(_):
        dist.init_process_group("gloo")
        notes, tensor = [], torch.ones(2)
        with Late(notes.append):
            before, expected = call(tensor)
        return {"before": before, "after": tensor.tolist(), "noted": notes == expected}

    for own in group_processes.together(2, lambda _: {}, work, tmp_path, 20.0):
        assert {"before": [1.0, 1.0], "after": after, "noted": True} == own


@pytest.mark.fresh  # autograd of a process that went backward cannot be forked
def test_ddp_trains_on_late_reductions(tmp_path):
    def work(rank):
        dist.init_process_group("gloo")
        model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        with Late():
            model(torch.full((1, 2), 1.0 + 2 * rank)).sum().backward()
        return {"gradient": model.module.weight.grad.tolist()}

    for own in group_processes.together(2, lambda _: {}, work, tmp_path, 20.0):
        assert [[2.0, 2.0]] == own["gradient"]
