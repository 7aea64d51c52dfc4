"""Two processes that train as one."""

from __future__ import annotations

from autograder.claims.groups import Group, answered
from autograder.lab import BOOLEAN, Answer, Student
from autograder.labs.resnet18.bonus.part import Rig, part

DDP = "let DistributedDataParallel average the gradients, and take each step with the optimizer"
SUMS = "add up loss * samples and the samples of all batches, all_reduce both sums, then divide"


@part.probe(pair=True, **answered("losses", left_open=BOOLEAN))
def ranks(student: Student, rig: Rig) -> Answer:
    """Two processes, each alone on its machine; what is expected is one process on the joined batches."""
    training = rig.ranks()
    if rig.side != "student":
        return {**training.alone(), "left_open": False}
    train = student.train_distributed
    return {**training.together(train), "left_open": training.left_open(train)}


group = Group(part, ranks, DDP)
group.trains_as_one("trains_as_one_process")
group.same(
    "losses",
    "loss_is_of_all",
    "The losses are means over the samples of all processes, the same in each of them.",
    "each loss is that of this process alone",
    SUMS,
    hints={"both ranks:": ("a short batch counts as much as a full one", SUMS)},
)
group.divides_samples(
    "In each epoch every sample goes to one process, "
    "except those that DistributedSampler repeats; the order is new.",
    "DistributedSampler, and sampler.set_epoch(epoch) before each epoch",
    new_order=True,
)
group.one_writes(
    "one_process_writes",
    "Rank 0 writes weights.pt, which fits a model that is not distributed; "
    "the other process writes nothing.",
)
group.leaves_no_group(
    "ends_its_process_group",
    "The process group is gone when train_distributed has returned, or raised.",
)
