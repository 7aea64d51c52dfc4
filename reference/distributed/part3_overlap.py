# %% [markdown]
# # Part 3: overlap
#
# Processes that train together have to average their gradients. If they begin only after backward, the step gets
# longer by the whole time of the averaging. But the gradients of the last layers are there long before those of the
# first ones: they can travel while backward goes on. DistributedDataParallel does that. Here you build it by hand, and
# then make DistributedDataParallel send half of the bytes.

# %%
from __future__ import annotations

import tempfile

import torch
import torch.distributed as dist
from torch import nn

from given import Branches

# %% [markdown]
# ## 3.1 Buckets that leave early


# %%
class BucketedDDP(nn.Module):
    """A module whose gradients are averaged over all processes, bucket by bucket, while backward goes on.

    A step is optimizer.zero_grad(), criterion(model(inputs), targets).backward(), model.finish(), optimizer.step().
    """

    def __init__(self, module, bucket_bytes):
        """Send parameters and buffers of rank 0 to all, make the buckets, and watch for gradients."""
        super().__init__()
        # TODO: dist.broadcast each parameter and each buffer from rank 0.
        # TODO: trainable parameters fill buckets in reverse order; if the next one does not fit, begin a new bucket.
        # TODO: parameter.register_post_accumulate_grad_hook(f) calls f(parameter) as soon as its gradient is there.
        ### BEGIN SOLUTION
        self.module = module
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), 0)
        self.buckets = []
        self.bucket_of = {}
        room = 0
        for parameter in reversed([each for each in module.parameters() if each.requires_grad]):
            if not self.buckets or parameter.nbytes > room:
                self.buckets.append([])
                room = bucket_bytes
            room -= parameter.nbytes
            self.bucket_of[parameter] = len(self.buckets) - 1
            self.buckets[-1].append(parameter)
            parameter.register_post_accumulate_grad_hook(self._ready)
        self.missing = [len(bucket) for bucket in self.buckets]
        self.sent = []
        ### END SOLUTION

    def _ready(self, parameter):
        """Backward calls this as soon as the gradient of a parameter is there."""
        # TODO: decrease the counter of its bucket. Look at the first bucket that has not left: if it has all
        # its gradients, send it, and look at the next one. Stop at the first bucket that lacks a gradient.
        ### BEGIN SOLUTION
        self.missing[self.bucket_of[parameter]] -= 1
        while len(self.sent) < len(self.buckets) and self.missing[len(self.sent)] == 0:
            self._send()
        ### END SOLUTION

    def _send(self):
        """Start to reduce the next bucket."""
        # TODO: one flat tensor; work = dist.all_reduce(flat, async_op=True) returns at once. Keep flat and work.
        ### BEGIN SOLUTION
        bucket = self.buckets[len(self.sent)]
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in bucket]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        self.sent.append((flat, dist.all_reduce(flat, async_op=True)))
        ### END SOLUTION

    def forward(self, *inputs, **options):
        """Call the module."""
        # TODO: hand everything on.
        ### BEGIN SOLUTION
        return self.module(*inputs, **options)
        ### END SOLUTION

    def finish(self):
        """Wait for all buckets, write the means into .grad, and get ready for the next step."""
        # TODO: send the buckets that have not left, with zeros for parameters that this process did not use.
        # TODO: wait for each call, divide by the number of processes, and write the parts back.
        ### BEGIN SOLUTION
        while len(self.sent) < len(self.buckets):
            self._send()
        for bucket, (flat, work) in zip(self.buckets, self.sent, strict=True):
            work.wait()
            flat /= dist.get_world_size()
            parts = flat.split([parameter.numel() for parameter in bucket])
            for parameter, mean in zip(bucket, parts, strict=True):
                parameter.grad = mean.view_as(parameter)
        self.missing = [len(bucket) for bucket in self.buckets]
        self.sent = []
        ### END SOLUTION


# %% [markdown]
# ## 3.2 Half of the bytes


# %%
def compressing(dtype):
    """Return a communication hook for DistributedDataParallel that sends gradients in float16 or bfloat16.

    hook(state, bucket) starts one call and returns a future of the mean in float32. It waits for nothing.
    """
    # TODO: bucket.buffer() is the flat float32 tensor. Divide first, then convert, then sum:
    # sums may be infinite where means are not.
    # TODO: dist.all_reduce(..., async_op=True).get_future().then(f) returns a future of what f returns. f runs when the
    # transfer is done. It gets a future, whose value() is a list with one tensor, the sum.
    ### BEGIN SOLUTION

    def hook(state, bucket):
        small = bucket.buffer().div(dist.get_world_size()).to(dtype)
        future = dist.all_reduce(small, async_op=True).get_future()
        return future.then(lambda done: bucket.buffer().copy_(done.value()[0]))

    return hook
    ### END SOLUTION


# %%
def train(rank, processes, meeting):
    """Run as one process: take three steps, then print the sum of the absolute values of all weights.

    The processes find each other by the file `meeting`.
    """
    gpu = torch.cuda.device_count() >= processes
    device = torch.device("cuda", rank) if gpu else torch.device("cpu")
    backend = "nccl" if gpu else "gloo"
    dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=processes)
    torch.manual_seed(rank)
    model = BucketedDDP(Branches().to(device), bucket_bytes=500)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 6, device=device), side=step != 1 or rank == 1).square().mean()
        loss.backward()
        model.finish()
        optimizer.step()
    weights = sum(each.double().abs().sum().item() for each in model.parameters())
    print(f"rank {rank}: own loss {loss.item():.4f}, sum of all weights {weights:.6f}", flush=True)
    dist.barrier()  # a process that ends early breaks the connections of the others
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, args=(2, f"{folder}/meeting"), nprocs=2)
