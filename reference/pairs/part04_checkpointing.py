# %% [markdown]
# # Part 4: compute twice, keep once
#
# Training keeps the results of every layer until the backward pass has used them. Checkpointing keeps the inputs of a
# segment only, and computes the segment again when its gradients are needed. Here you checkpoint a stack of layers, an
# MLP, the blocks of a language model, and at last only what is cheap to compute again.

# %%
from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

# %% [markdown]
# ## 4.1 A stack of layers


# %%
class CheckpointedStack(nn.Module):
    """The layers in their order, in segments that are computed again for the backward pass."""

    def __init__(self, layers: nn.Sequential, segments: int) -> None:
        """Keep the layers as self.layers, so that parameters are called layers.0...

        There are n layers. Only the length is limited: no segment has more than ceil(n / segments) layers. So there may
        be more or fewer than *segments* segments. The last one need not be checkpointed. *segments* may be larger
        than n.
        """
        super().__init__()
        # TODO: how long is a segment? A slice of an nn.Sequential is an nn.Sequential.
        ### BEGIN SOLUTION
        self.layers = layers
        self.length = math.ceil(len(layers) / segments)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Return what self.layers(x) returns, dropout under the same seed included."""
        # TODO: checkpoint each segment, with use_reentrant=False.
        ### BEGIN SOLUTION
        for first in range(0, len(self.layers), self.length):
            segment = self.layers[first : first + self.length]
            x = checkpoint(segment, x, use_reentrant=False)
        return x
        ### END SOLUTION


# %% [markdown]
# ## 4.2 An MLP that keeps its inputs only


# %%
def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """Return linear(relu(linear(x, w1, b1)), w2, b2), and keep nothing but the inputs; x may need no gradient.

    x: (rows, width); w1: (hidden, width); b1: (hidden,); w2: (out, hidden); b2: (out,).
    """
    # TODO: what has to be inside the checkpoint, so that the second layer keeps nothing either?
    ### BEGIN SOLUTION
    return checkpoint(_mlp, x, w1, b1, w2, b2, use_reentrant=False)
    ### END SOLUTION


def _mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """Compute the plain MLP."""
    return functional.linear(functional.relu(functional.linear(x, w1, b1)), w2, b2)


# %% [markdown]
# ## 4.3 Every few blocks of a language model


# %%
def checkpoint_blocks(model: nn.Module, every: int) -> nn.Module:
    """Let blocks 0, every, 2 * every, ... of model.blocks be computed again; return the model itself.

    Names in its state_dict stay, and it still takes caches, as in generation, where there is no backward pass.
    """
    # TODO: you may replace block.forward by a function of your own. In a loop, does each such function call its own
    #       block, or the last block of the loop?
    ### BEGIN SOLUTION
    for block in list(model.blocks)[::every]:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    return model
    ### END SOLUTION


# %% [markdown]
# ## 4.4 Only what is cheap


# %%
def recompute_cheap(layer: nn.Module, x: Tensor) -> Tensor:
    """Return layer(x); keep the results of mm, addmm, bmm and baddbmm, and compute everything else again."""
    # TODO: a policy is a function (ctx, operator, *args, **kwargs) that returns MUST_SAVE or PREFER_RECOMPUTE.
    # operator is an object such as torch.ops.aten.mm.default, which is not equal to torch.mm.
    # context_fn of checkpoint is a function without arguments that returns
    # create_selective_checkpoint_contexts(policy); `partial` makes one.
    ### BEGIN SOLUTION
    aten = torch.ops.aten
    products = (aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default)

    def policy(ctx, operator, *args, **kwargs):
        kept = operator in products
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = partial(create_selective_checkpoint_contexts, policy)
    return checkpoint(layer, x, use_reentrant=False, context_fn=contexts)
    ### END SOLUTION


# %%
if __name__ == "__main__":
    from given import live_peak, make_layers

    def train(function, x):
        """Go forward and backward."""
        function(x).sum().backward()

    def cheaply(x):
        """Go through the layers, each of which keeps its products only."""
        for layer in layers:
            x = recompute_cheap(layer, x)
        return x

    torch.manual_seed(0)
    layers = make_layers(12)
    x = torch.randn(1024, 64, requires_grad=True)
    versions = {
        "plain": layers,
        "1 segment": CheckpointedStack(layers, 1),
        **{f"{count} segments": CheckpointedStack(layers, count) for count in (2, 4, 6, 12)},
        "products kept": cheaply,
    }
    for name, function in versions.items():
        layers.zero_grad()
        print(f"{name}: {live_peak(train, function, x) / 1e6:.1f} MB at the peak of forward and backward")
