# %% [markdown]
# # Part 10: what is compiled
#
# `torch.compile` splits a function into graphs, and builds each graph for the inputs that it meets. The baseline
# compiles a whole model, a large graph, and builds all of it again for each new length. An MLP is a small graph that
# looks the same in every block, so one build serves all blocks.
#
# A backward pass is not Python code, so `torch.compile(model)` alone compiles only a part of it: autograd runs the
# other nodes one by one. Compiled autograd records them as a graph when `backward()` is called inside of a compiled
# function.

# %%
from __future__ import annotations

import time
from functools import partial

import torch
from torch import nn

from given import LookingNet, cold_start

# %% [markdown]
# ## 10.1 A region of each block


# %%
def compile_regions(model, backend="inductor"):
    """Compile the MLP (block.mlp) of each block of a given.TinyLM, and nothing else; return the model itself.

    The names in model.state_dict() stay. For batches of four lengths, at most two forward graphs are built.
    """
    # TODO: a module can compile itself, in place.
    ### BEGIN SOLUTION
    for block in model.blocks:
        block.mlp.compile(backend=backend)
    return model
    ### END SOLUTION


# %% [markdown]
# ## 10.2 The backward pass


# %%
def make_step(model, optimizer, criterion, backend="inductor"):
    """Return step(x, y), which trains on a batch and returns the loss as a detached tensor.

    A step sets gradients to zero, computes criterion(model(x), y), goes backward and steps. The backward pass runs as
    compiled graphs, although the model looks at its data three times. After the second step nothing is built,
    for batches of one shape that take the same branches. All settings of torch._dynamo.config stay as they were.
    """
    # TODO: one compiled function holds the forward pass and the call of backward().
    # TODO: torch._dynamo.config.compiled_autograd is read when torch.compile is called; put it back afterwards.
    ### BEGIN SOLUTION
    from torch._dynamo import config

    def forward_backward(x, y):
        loss = criterion(model(x), y)
        loss.backward()
        return loss.detach()

    with config.patch(compiled_autograd=True):
        compiled = torch.compile(forward_backward, backend=backend)

    def step(x, y):
        optimizer.zero_grad()
        loss = compiled(x, y)
        optimizer.step()
        return loss

    return step
    ### END SOLUTION


# %%
if __name__ == "__main__":
    print("Builds the whole model for four lengths, then its MLPs. This takes minutes.", flush=True)
    ids = torch.randint(0, 97, (2, 64))
    for name, compile_model in (("whole model", partial(torch.compile, dynamic=False)), ("regions", compile_regions)):
        began = time.perf_counter()
        cold_start(compile_model, ids)
        print(f"{name}: {time.perf_counter() - began:.1f} s for four lengths, builds included")
    net = LookingNet()
    step = make_step(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
    x, y = torch.randn(32, 16), torch.randint(0, 4, (32,))
    for number in range(1, 5):
        began = time.perf_counter()
        loss = step(x, y).item()
        print(f"step {number}: loss {loss:.4f}, {time.perf_counter() - began:.2f} s, builds included")
