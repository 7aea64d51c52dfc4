# %% [markdown]
# # Part 8: tokens one by one
#
# A language model writes one token after the other. Each new token attends to all positions before it, so their keys
# and values are kept. A cache that calls torch.cat for each token copies everything each time: n tokens cost n * n.
# A buffer with room to spare copies a token once, and everything only when it grows.

# %%
from __future__ import annotations

import time

import torch
from torch import Tensor

from given import TinyLM, device_name

# %% [markdown]
# ## 8.1 The cache


# %%
class KVCache:
    """Keys and values of all positions so far, (batch, heads, n, size); *length* is n."""

    def __init__(
        self, batch: int, heads: int, size: int, capacity: int = 16, dtype=torch.float32, device="cpu"
    ) -> None:
        """Begin with none, and with room for *capacity* positions."""
        self.length = 0
        # TODO: a buffer for keys and one for values, or one for both.
        # YOUR CODE HERE
        raise NotImplementedError()

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Copy (batch, heads, k, size) behind what is there; return keys and values of all positions, as views.

        It grows without limit. What was returned before keeps its values. keys and values never require gradients.
        """
        # TODO: when the new positions do not fit, make a buffer in which they fit, at least twice as large.
        # YOUR CODE HERE
        raise NotImplementedError()

    def keep(self, rows: list[int]) -> None:
        """Keep these sequences of the batch in this order; one may be there several times."""
        # TODO: from here on, the batch has len(rows) sequences.
        # YOUR CODE HERE
        raise NotImplementedError()


# %% [markdown]
# ## 8.2 Text


# %%
def generate(model: TinyLM, prompt: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Continue (batch, p) tokens by *count*, each the most likely one; return (tokens, logits).

    tokens: (batch, p + count); logits: (batch, count, vocabulary), from which each new token was chosen.
    """
    # TODO: a cache for each block, the prompt in one call, then one token at a time: count calls in all. No graph, no
    # wait.
    # Give each KVCache `size` = width / heads, and the dtype and device of the model.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
class Joined:
    """The same cache, joined anew for each token."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.kept: list[Tensor] = []

    def append(self, *latest: Tensor) -> list[Tensor]:
        """Copy everything."""
        pairs = zip(self.kept, latest, strict=True)
        self.kept = [torch.cat(pair, dim=2) for pair in pairs] if self.kept else list(latest)
        return self.kept


def seconds(cache, keys: Tensor) -> float:
    """Return what it takes to append position after position."""
    start = time.perf_counter()
    for one in keys.split(1, dim=2):
        cache.append(one, one)
    return time.perf_counter() - start


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("device:", device_name(torch.device("cpu")))
    for count in (256, 512, 1024):
        keys = torch.randn(8, 4, count, 32)
        joined, buffered = seconds(Joined(), keys), seconds(KVCache(8, 4, 32), keys)
        print(f"{count} positions: joined {1000 * joined:.0f} ms, in a buffer {1000 * buffered:.0f} ms")
    model = TinyLM().eval()
    tokens, _ = generate(model, torch.randint(97, (2, 5)), 20)
    print("tokens:", tokens.tolist())
