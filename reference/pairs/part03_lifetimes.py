# %% [markdown]
# # Part 3: what a loop keeps alive
#
# Memory is free again when nothing refers to it. A list of results, or of losses with their graphs, can keep all
# batches alive. Here you write four loops that need the memory of one step, whatever the number of steps is, and
# still return the same results.

# %%
from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from given import live_peak

# %% [markdown]
# ## 3.1 One chunk after the other


# %%
def summarize(chunks: Iterable[Tensor], transform: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """Return (mean, maximum) of each column over all rows of transform(chunk), both (d,), in the chunks' dtype.

    chunks: an iterator of (n_i, d) tensors. The n_i differ, and some are 0, but there is at least one row in total.
    Sums are in float64. NaN in a column makes its mean and its maximum NaN. transform(chunk) has the shape and dtype
    of the chunk.
    """
    # TODO: keep sums and maxima. Do not collect chunks. The first chunk may have no rows.
    ### BEGIN SOLUTION
    count, total, maximum = 0, 0.0, None
    for chunk in chunks:
        values = transform(chunk)
        if len(values):
            highest = values.amax(dim=0)
            maximum = highest if maximum is None else torch.maximum(maximum, highest)
            total = total + values.sum(dim=0, dtype=torch.float64)
            count += len(values)
    return (total / count).to(maximum.dtype), maximum
    ### END SOLUTION


# %% [markdown]
# ## 3.2 No graph


# %%
def evaluate(model: nn.Module, criterion, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return (losses, classes): criterion(outputs, labels) of each batch, and the argmax of each row of all batches.

    batches: an iterator of (inputs, labels). The model computes in eval mode. Afterwards it is back in its earlier
    mode, and autograd is on. The results have no graph and are not inference tensors.
    """
    # TODO: model.eval() and torch.no_grad() are two different things, and you need both.
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    losses, classes = [], []
    with torch.no_grad():
        for inputs, labels in batches:
            outputs = model(inputs)
            losses.append(criterion(outputs, labels))
            classes.append(outputs.argmax(dim=1))
    model.train(was_training)
    return torch.stack(losses), torch.cat(classes)
    ### END SOLUTION


# %% [markdown]
# ## 3.3 Nothing kept, nothing fetched


# %%
def train(model: nn.Module, optimizer, criterion, batches: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    """Take one step for each batch, by the gradient of that batch alone; return the losses before the steps, (n,).

    The losses have no graph. Parameters may have gradients from before the call: ignore those. Copy no tensor's value
    to the host. Call backward() for each batch before you compute the next one.
    """
    # TODO: loss.item() would wait for the device in each step. loss.detach() does not.
    ### BEGIN SOLUTION
    losses = []
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)
    ### END SOLUTION


# %% [markdown]
# ## 3.4 One graph at a time


# %%
def accumulate(model: nn.Module, optimizer, inputs: Tensor, labels: Tensor, parts: int) -> Tensor:
    """Take one step by the gradient of the whole batch's mean cross-entropy, and return that mean as a tensor.

    Labels of -100 do not count; at least one label does. Cut the batch into at most *parts* parts, and call the model
    once for each. Call backward() before you call the model again. Ignore gradients from before the call. The model has
    no BatchNorm and no dropout.
    """
    # TODO: in the whole batch, count the labels that are not -100. Divide each part's sum of losses by it.
    ### BEGIN SOLUTION
    counted = (labels != -100).sum()
    optimizer.zero_grad()
    mean = torch.zeros((), device=inputs.device)
    for x, y in zip(inputs.chunk(parts), labels.chunk(parts), strict=True):
        loss = functional.cross_entropy(model(x), y, reduction="sum") / counted
        loss.backward()
        mean += loss.detach()
    optimizer.step()
    return mean
    ### END SOLUTION


# %% [markdown]
# ## 3.5 What it saves


# %%
if __name__ == "__main__":
    from baseline import part03_lifetimes as plain

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 10))
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(4096, 64), torch.randint(10, (4096,))

    def batches():
        return ((x * (1 + at / 20), y) for at in range(20))

    print("most bytes alive (MB)   plain   yours")
    for mine, inputs in (
        (summarize, lambda: ((x * at for at in range(20)), torch.tanh)),
        (evaluate, lambda: (net, functional.cross_entropy, batches())),
        (train, lambda: (net, sgd, functional.cross_entropy, batches())),
        (accumulate, lambda: (net, sgd, x, y, 16)),
    ):
        slow, lean = (live_peak(each, *inputs()) for each in (getattr(plain, mine.__name__), mine))
        print(f"{mine.__name__:21} {slow / 1e6:7.1f} {lean / 1e6:7.1f}")
