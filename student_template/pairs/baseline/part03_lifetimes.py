"""Part 3 before the work: everything is kept until the end, and the host waits in each step.

Yours is compared with it: the same results, with the memory of one step.
"""

from __future__ import annotations

import torch
from torch.nn import functional


def summarize(chunks, transform):
    """Put all transformed chunks into one tensor."""
    values = torch.cat([transform(chunk) for chunk in chunks])
    return values.mean(dim=0, dtype=torch.float64).to(values.dtype), values.amax(dim=0)


def evaluate(model, criterion, batches):
    """Keep each loss with the graph of its batch."""
    was_training = model.training
    model.eval()
    losses, classes = [], []
    for inputs, labels in batches:
        outputs = model(inputs)
        losses.append(criterion(outputs, labels))
        classes.append(outputs.argmax(dim=1))
    model.train(was_training)
    return torch.stack(losses).detach(), torch.cat(classes)


def train(model, optimizer, criterion, batches):
    """Bring each loss to the host, which waits for the device."""
    losses = []
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def accumulate(model, optimizer, inputs, labels, parts):
    """Compute the whole batch at once."""
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
