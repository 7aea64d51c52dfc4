"""Part 3 before the work: gradients are averaged after backward, one by one, and each call blocks.

Yours sends them in buckets, while backward goes on.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


class BucketedDDP(nn.Module):
    """Averages gradients in finish()."""

    def __init__(self, module, bucket_bytes):
        """Send parameters and buffers of rank 0 to all."""
        super().__init__()
        self.module = module
        self.bucket_bytes = bucket_bytes
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), 0)

    def forward(self, *inputs, **options):
        """Call the module."""
        return self.module(*inputs, **options)

    def finish(self):
        """Average each gradient."""
        for parameter in self.module.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()


def compressing(dtype):
    """Send float32, and block; *dtype* is not used."""

    def hook(state, bucket):
        dist.all_reduce(bucket.buffer().div_(dist.get_world_size()))
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    return hook
