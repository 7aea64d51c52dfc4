"""Part 6 before the work: each value on its own, and a training in float32.

Yours is compared with it: the same facts, and nearly the same training, computed in float16.
"""

from __future__ import annotations

import torch

FACTS = {
    torch.float32: ((2 - 2**-23) * 2.0**127, 2.0**-126, 2.0**-149, 2.0**-23),
    torch.float16: (65504.0, 2.0**-14, 2.0**-24, 2.0**-10),
    torch.bfloat16: ((2 - 2**-7) * 2.0**127, 2.0**-126, 2.0**-133, 2.0**-7),
    torch.float8_e5m2: (57344.0, 2.0**-14, 2.0**-16, 2.0**-2),
    torch.float8_e4m3fn: (448.0, 2.0**-6, 2.0**-9, 2.0**-3),
}


def describe(dtype):
    """Look the numbers up."""
    return dict(zip(("max", "smallest_normal", "smallest", "eps"), FACTS[dtype], strict=True))


def lost_share(values, dtype, scale=1.0):
    """Convert one value after the other."""
    count = lost = infinite = 0
    for value in values.tolist():
        if value != 0:
            rounded = abs(torch.tensor(value * scale).to(dtype).item())
            count, lost, infinite = count + 1, lost + (rounded == 0), infinite + (rounded == float("inf"))
    return {"underflow": lost / max(1, count), "overflow": infinite / max(1, count)}


def largest_scale(values, dtype):
    """Try all powers of two, from far too large downwards."""
    if not values.any():
        return None
    scale = 2.0**300
    while (values.double() * scale).to(dtype).float().isinf().any():
        scale /= 2
    return scale


def next_scale(scale, good_steps, overflow, growth_interval=2000):
    """Ask what torch's GradScaler asks."""
    kept, count = torch.tensor(scale), torch.tensor(good_steps, dtype=torch.int32)
    torch._amp_update_scale_(kept, count, torch.tensor(float(overflow)), 2.0, 0.5, growth_interval)
    return kept.item(), count.item()


def train_half(model, batches, criterion, make_optimizer, scale=1024.0):
    """Train in float32, without a copy and without a scale."""
    optimizer = make_optimizer(model.parameters())
    losses = []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "skipped": 0}
