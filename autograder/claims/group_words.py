"""What to try where processes do not train as one, by words of what is wrong."""

from __future__ import annotations

UNCOUNTED = "collectives are counted from the third step on, and optimizer.step() ends a step"
UNSEEN = "your code makes no collective call in a step, or only in another thread"
REASONS = {
    "DistributedSampler with this seed": (
        "DistributedSampler(dataset, shuffle=True, seed=seed), "
        "and sampler.set_epoch(epoch) with 0, 1, 2 before each epoch"
    ),
    "DistributedSampler": "fix divides_the_samples first if it fails; else read all that DistributedSampler gives",
    "as much at the end": "send the weights of rank 0 to all ranks before the first step",
    "ranks end with": "average the gradients of all ranks before each step",
    "did not change": "train the model itself, without a copy, by an optimizer of the model's parameters",
    "steps go twice as far": "let DistributedDataParallel alone average gradients, without a factor or all_reduce",
    "the ranks agree": (
        "in each step: zero_grad(), loss of the given criterion, backward(), mean of the gradients of all ranks, "
        "step() of the given optimizer"
    ),
}
READ = {
    "both processes read the whole set": "give the loader a DistributedSampler as its sampler, and no shuffle",
    "both processes read the same": "give each process the share of dist.get_rank(), not of LOCAL_RANK",
    "must read": "let DistributedSampler divide by dist.get_world_size(), without shuffle or drop_last in the loader",
    "no process reads": "DistributedSampler with dist.get_rank(), not with LOCAL_RANK",
    "every epoch has": "sampler.set_epoch(epoch) before each epoch",
}
WRITES = {
    "both write": "write in rank 0 alone: if dist.get_rank() == 0",
    "its names are": "save the state_dict() of the model itself, not of what wraps it",
    "different weights": "save after the last step, and from the model that was trained",
}
SENDS = {
    UNCOUNTED: "take the steps with the optimizer that is given",
    UNSEEN: "call the collective operation in the thread that trains, in each step",
}
OPEN = (
    "dist.destroy_process_group() in a finally clause, around all that follows init_process_group"
)
