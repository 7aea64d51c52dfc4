# %% [markdown]
# # Part 5: augmentation
#
# An image is augmented in small steps: crop, flip, change the brightness, standardise. For one image each step is a
# call, and a loader makes these calls once for each sample, on the CPU, while the GPU waits. A batch needs each call
# only once, and if the GPU augments it, the GPU does not wait for the CPU. Two things make this hard: each sample needs
# draws of its own, and no step may ask for a value of a tensor, because the host would wait for the GPU there.
#
# You draw for each sample, augment a batch with a fixed number of operations, and move bytes to the device, not floats.

# %%
from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor

from given import MEAN, STD, make_images

# %% [markdown]
# ## 5.1 What is drawn
#
# The draws are made on the CPU. They are small, and a generator with a seed makes them repeatable.


# %%
def draw_augmentation(batch: int, generator: torch.Generator, pad: int = 4) -> dict[str, Tensor]:
    """Return flip, top, left and gain, each of shape (batch,), all drawn from *generator* (on the CPU).

    flip: bool, True for half of the samples on average; top, left: int64, 0 ... 2 * pad, all equally likely;
    gain: float32, uniform in 0.8 ... 1.2.
    """
    # TODO: one number for each sample. torch.rand and torch.randint take generator=.
    ### BEGIN SOLUTION
    return {
        "flip": torch.rand(batch, generator=generator) < 0.5,
        "top": torch.randint(2 * pad + 1, (batch,), generator=generator),
        "left": torch.randint(2 * pad + 1, (batch,), generator=generator),
        "gain": 0.8 + 0.4 * torch.rand(batch, generator=generator),
    }
    ### END SOLUTION


# %% [markdown]
# ## 5.2 A batch at once
#
# A crop and a flip only say where each pixel comes from. Together they give two lists for
# each sample: the rows and the columns to read. One indexing operation then reads all samples, each by its own lists.


# %%
def augment(images: Tensor, flip: Tensor, top: Tensor, left: Tensor, gain: Tensor, pad: int = 4) -> Tensor:
    """Return the augmented images: float32, with the shape of *images*, on the device of *images*.

    images: uint8 (n, 3, h, w).
    For each sample i: add *pad* zeros on all sides, crop h x w at (top[i], left[i]), mirror left and right if flip[i],
    divide by 255, multiply by gain[i], clamp to 0 ... 1, subtract MEAN, divide by STD.
    """
    # TODO: make what you need on images.device: torch.arange(h, device=images.device), MEAN.to(images.device).
    # TODO: no loop over samples, no .item(), and no mask as an index.
    ### BEGIN SOLUTION
    n, channels, h, w = images.shape
    device = images.device
    padded = torch.nn.functional.pad(images, (pad, pad, pad, pad))
    columns = torch.arange(w, device=device)
    columns = torch.where(flip[:, None], w - 1 - columns, columns)  # a flip reads them from the right
    rows = top[:, None] + torch.arange(h, device=device)
    columns = left[:, None] + columns
    rows = rows[:, None, :, None].expand(n, channels, h, padded.shape[3])
    columns = columns[:, None, None, :].expand(n, channels, h, w)
    cropped = padded.gather(2, rows).gather(3, columns)
    light = (cropped.float() / 255 * gain[:, None, None, None]).clamp(0, 1)
    return (light - MEAN.to(device)) / STD.to(device)
    ### END SOLUTION


# %% [markdown]
# ## 5.3 From the loader to the device


# %%
def prepare_batch(images: Tensor, device: torch.device, generator: torch.Generator) -> Tensor:
    """Augment *images* on *device*, and return the batch; *images* are uint8 (n, 3, h, w), on the CPU.

    Uses what draw_augmentation(n, generator) returns, with its default pad.
    """
    # TODO: a uint8 has one byte, a float32 has four: as which should the images be moved?
    ### BEGIN SOLUTION
    drawn = draw_augmentation(len(images), generator)
    return augment(images.to(device), **{name: values.to(device) for name, values in drawn.items()})
    ### END SOLUTION


# %% [markdown]
# ## 5.4 What it gains


# %%
def milliseconds(function, *inputs) -> float:
    """Return the CPU time of a call: the median of nine after a warm-up."""
    function(*inputs)
    times = []
    for _ in range(9):
        start = time.process_time()
        function(*inputs)
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


# %%
if __name__ == "__main__":
    from baseline import part5_augmentation as loop

    torch.set_num_threads(1)
    print("256 images of   loop (ms)   yours (ms)   speedup")
    for size in (8, 16, 32, 64):
        images = make_images(256, size)
        drawn = draw_augmentation(len(images), torch.Generator().manual_seed(size)).values()
        slow, fast = (milliseconds(each, images, *drawn) for each in (loop.augment, augment))
        print(f"{size:2} x {size:2}         {slow:9.2f}   {fast:10.2f}   {slow / fast:7.1f}")
