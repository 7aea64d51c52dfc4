"""Part 4, the plain way: every batch sends its gradients, batches are loaded one by one, and padding counts."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler


def train_epoch(model, loader, criterion, optimizer, device, accumulation=1, amp=None, scaler=None, clip=None):
    """Train for an epoch; each batch has the weight 1 / accumulation, also in a short group."""
    model.train()
    loss_sum = 0.0
    steps = 0
    for number, (inputs, labels) in enumerate(loader, 1):
        with torch.autocast(device.type, dtype=amp, enabled=amp is not None):
            loss = criterion(model(inputs.to(device)), labels.to(device))
        loss_sum += loss.item()
        (loss / accumulation).backward()
        if number % accumulation == 0:
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return {"loss": loss_sum / number, "steps": steps, "skipped": 0}


def make_loader(dataset, batch_size, rank, world, workers=2, seed=0):
    """Return a loader that reads one sample after the other, and its sampler."""
    sampler = DistributedSampler(dataset, world, rank, shuffle=True, seed=seed)
    return DataLoader(dataset, batch_size, sampler=sampler), sampler


@torch.no_grad()
def evaluate(model, dataset, batch_size, device):
    """Return the mean of the ranks' accuracies; a sampler makes their shares equal."""
    training = model.training
    model.eval()
    right = samples = 0
    for inputs, labels in DataLoader(dataset, batch_size, sampler=DistributedSampler(dataset)):
        right += (model(inputs.to(device)).argmax(1) == labels.to(device)).sum().item()
        samples += len(labels)
    model.train(training)
    accuracy = torch.tensor(right / samples, device=device)
    dist.all_reduce(accuracy)
    return accuracy.item() / dist.get_world_size()
