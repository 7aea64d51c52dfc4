# %% [markdown]
# # Part 9: bytes and products
#
# A device has two limits: how many bytes it reads and writes in a second, and how many operations it computes. The
# *intensity* of a function, FLOP per byte, says which one holds it back. Compare it with the device's ratio
# peak_flops / bandwidth. If the intensity is below this ratio, the function waits for memory, and only fewer bytes
# make it faster. If it is above, only fewer or cheaper operations do. The *roofline* of a device is the most FLOP/s
# that it reaches at each intensity: the smaller of peak_flops and intensity * bandwidth.
#
# Memory comes in pieces: a GPU reads at least 32 bytes, a CPU 64. Four bytes out of every 32 cost as much as all 32.

# %%
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

# %% [markdown]
# ## 9.1 Use every byte that is read


# %%
def advance(particles: Tensor, dt: float, steps: int) -> Tensor:
    """Return the particles after so many steps, in a new tensor. The result may have any strides.

    particles: (n, 8), rows of x y z vx vy vz mass charge. One step: position += dt * velocity, then
    velocity -= dt * position ** 3, with the new position.
    """
    # TODO: a column of such rows uses 4 of every 32 bytes. Change the layout once, not in every step.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 9.2 Which limit?


# %%
def roofline(
    function: Callable[..., Any], inputs: tuple[Any, ...], peak_flops: float, bandwidth: float
) -> dict[str, Any]:
    """Call function(*inputs) once and return where it lies under the roofline of a device.

    flops: as FlopCounterMode counts them; bytes: of all storages behind tensors in inputs and results.
    A storage counts once, and whole, even if several tensors share it or a tensor is a slice of it. intensity:
    flops / bytes; bound: "compute" if intensity is above peak_flops / bandwidth, else "memory"; seconds: the larger
    of the time to compute and the time to move the bytes.

    *function* returns a tensor or a tuple of tensors. There is at least one byte. peak_flops is in FLOP/s,
    bandwidth in bytes/s.
    """
    # TODO: call the function once under FlopCounterMode, then add up the storages of inputs and results. Tensors in
    #       between may stay in a cache, so they do not count.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 9.3 One product, one pass


# %%
def product(a: Tensor, b: Tensor, tile: int = 16) -> Tensor:
    """Return a @ b for a (m, k) and b (k, n), in their dtype; *tile* is for the slow version and may be ignored."""
    # TODO: the library has tiles of its own, which fit the caches.
    # YOUR CODE HERE
    raise NotImplementedError()


def epilogue(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor, scale: float) -> Tensor:
    """Return (relu(x @ weight.T + bias) + residual) * scale; no gradients are needed.

    x: (n, k), weight: (m, k), bias: (m,), residual: (n, m).
    """
    # TODO: one new tensor is enough: what follows the product may be done in place.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
def seconds(function: Callable[..., Any], *arguments: Any, repeats: int = 5) -> float:
    """Return the fastest of some calls: enough to print an order of magnitude."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return min(times[1:])


if __name__ == "__main__":
    from baseline import part09_roofline as slow

    torch.manual_seed(0)
    torch.set_num_threads(1)
    calls = {
        "advance": (torch.randn(20_000, 8), 0.01, 32),
        "product": (torch.randn(64, 2048), torch.randn(2048, 64), 16),
        "epilogue": (
            torch.randn(8192, 32),
            torch.randn(32, 32),
            torch.randn(32),
            torch.randn(8192, 32),
            0.5,
        ),
    }
    for name, arguments in calls.items():
        before = seconds(getattr(slow, name), *arguments)
        after = seconds(globals()[name], *arguments)
        print(f"{name}: {1e3 * before:.2f} ms before, {1e3 * after:.2f} ms after, {before / after:.1f}x")
    for name, arguments in {
        "a product": (torch.mm, (torch.randn(64, 128), torch.randn(128, 32))),
        "an addition": (torch.add, (torch.randn(64, 128), torch.randn(64, 128))),
    }.items():
        print(name, roofline(*arguments, peak_flops=1e11, bandwidth=2e10))
