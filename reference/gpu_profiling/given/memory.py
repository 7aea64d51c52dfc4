"""How much a forward pass keeps in memory for the backward pass: a figure that needs no GPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def saved_mb(model: nn.Module, images: Tensor) -> float:
    """Return the MB (1e6 bytes) that autograd keeps for the backward pass of model(images), weights not counted.

    It runs the model once, so running statistics move as in training: measure on a training that you throw away.
    """
    there = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    sizes: dict[int, int] = {}
    kept: list[Tensor] = []  # so that no storage is freed and its address used again

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in there:
            sizes[storage.data_ptr()] = storage.nbytes()  # a storage that several tensors share counts once
            kept.append(tensor.detach())
        return tensor.detach()  # the tensor itself would form a cycle that nothing frees

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(images)
    del output
    return sum(sizes.values()) / 1e6
