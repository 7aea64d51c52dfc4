"""Part 5 before the work: one sample after the other, and floats cross to the device.

Your augment is compared with this one: the same images from the same draws, in a fixed number of operations.
"""

from __future__ import annotations

import torch

from given import MEAN, STD


def draw_augmentation(batch, generator, pad=4):
    """Draw the numbers of one sample after the other."""
    draws = [
        (
            torch.rand(1, generator=generator).item() < 0.5,
            torch.randint(2 * pad + 1, (1,), generator=generator).item(),
            torch.randint(2 * pad + 1, (1,), generator=generator).item(),
            0.8 + 0.4 * torch.rand(1, generator=generator).item(),
        )
        for _ in range(batch)
    ]
    columns = zip(*draws, strict=True) if draws else ((), (), (), ())
    dtypes = (torch.bool, torch.int64, torch.int64, torch.float32)
    names = ("flip", "top", "left", "gain")
    return {name: torch.tensor(column, dtype=dtype) for name, column, dtype in zip(names, columns, dtypes, strict=True)}


def augment(images, flip, top, left, gain, pad=4):
    """Augment one sample after the other: on a GPU, the host waits at each .item() and at each if."""
    mean, std = MEAN.to(images.device), STD.to(images.device)
    n, _, h, w = images.shape
    augmented = []
    for i in range(n):
        image = torch.nn.functional.pad(images[i], (pad, pad, pad, pad))
        y, x = top[i].item(), left[i].item()
        image = image[:, y : y + h, x : x + w]
        if flip[i]:
            image = image.flip(-1)
        light = (image.to(gain.dtype) / 255 * gain[i]).clamp(0, 1)
        augmented.append((light - mean) / std)
    return torch.stack(augmented) if augmented else images.to(gain.dtype)


def prepare_batch(images, device, generator):
    """Move float32, four bytes for each value."""
    drawn = draw_augmentation(len(images), generator)
    moved = images.float().to(device)
    return augment(moved, **{name: values.to(device) for name, values in drawn.items()})
