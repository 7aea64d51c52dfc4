# %% [markdown]
# # Part 6: your own backward pass
#
# Autograd keeps what each operation needs for its gradient. Often that is more than the whole computation needs:
# `silu(gate) * up` keeps `silu(gate)`, which is quickly computed again from `gate`, and a loss over a large vocabulary
# keeps all logits. With an `autograd.Function` you decide what is kept. The price is some time in the backward pass.

# %%
from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

IGNORED = -100  # a label that does not count

# %% [markdown]
# ## 6.1 SwiGLU


# %%
class SwiGLU(Function):
    """silu(gate) * up, where silu(x) = x * sigmoid(x)."""

    @staticmethod
    def forward(ctx, gate: Tensor, up: Tensor) -> Tensor:
        """Compute the result, and save what the backward pass needs."""
        # TODO: ctx.save_for_backward keeps tensors and notices when they are changed in place later.
        ### BEGIN SOLUTION
        ctx.save_for_backward(gate, up)
        return functional.silu(gate) * up
        ### END SOLUTION

    @staticmethod
    def backward(ctx, above: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of gate and up; *above* is the gradient of the result."""
        # TODO: use tensor operations that have gradients themselves, so that a second gradient is right as well.
        # torch.ops.aten.silu_backward, PyTorch's own operator for this gradient, has none.
        ### BEGIN SOLUTION
        gate, up = ctx.saved_tensors
        share = torch.sigmoid(gate)
        slope = share * (1 + gate * (1 - share))  # of silu
        return above * up * slope, above * gate * share
        ### END SOLUTION


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """Return silu(gate) * up for two tensors of one shape.

    Keeps gate and up for the backward pass and nothing else. Can be differentiated twice. The backward pass raises
    RuntimeError if gate or up was changed in place after the call.
    """
    # TODO: a Function is called by SwiGLU.apply(...).
    ### BEGIN SOLUTION
    return SwiGLU.apply(gate, up)
    ### END SOLUTION


# %% [markdown]
# ## 6.2 The loss of a language model's head


# %%
class HeadLoss(Function):
    """Mean cross-entropy of hidden @ weight.T, computed in chunks of rows."""

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, labels: Tensor, rows: int) -> Tensor:
        """Return the loss. The gradients can be computed here, too, while the logits of a chunk are there."""
        # TODO: ctx.needs_input_grad says which gradients are needed.
        ### BEGIN SOLUTION
        count = (labels != IGNORED).sum()
        total = hidden.new_zeros(())
        of_hidden = torch.zeros_like(hidden) if ctx.needs_input_grad[0] else None
        of_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        for start in range(0, len(hidden), rows):
            chunk = slice(start, start + rows)
            logits = hidden[chunk] @ weight.T
            total += functional.cross_entropy(logits, labels[chunk], ignore_index=IGNORED, reduction="sum")
            slope = torch.softmax(logits, dim=1)
            slope.scatter_add_(1, labels[chunk, None].clamp(min=0), slope.new_full((len(slope), 1), -1.0))
            slope[labels[chunk] == IGNORED] = 0
            if of_hidden is not None:
                of_hidden[chunk] = slope @ weight
            if of_weight is not None:
                of_weight += slope.T @ hidden[chunk]
        ctx.save_for_backward(count, of_hidden, of_weight)
        return total / count
        ### END SOLUTION

    @staticmethod
    @once_differentiable  # a gradient of this gradient raises an error; without this line it would be wrong in silence
    def backward(ctx, above: Tensor):
        """Return a gradient, or None, for each argument of forward; *above* is the gradient of the loss."""
        # TODO: the gradient of 3 * loss is 3 times that of the loss.
        ### BEGIN SOLUTION
        count, of_hidden, of_weight = ctx.saved_tensors
        factor = above / count.clamp(min=1)
        return *(None if it is None else factor * it for it in (of_hidden, of_weight)), None, None
        ### END SOLUTION


def head_loss(hidden: Tensor, weight: Tensor, labels: Tensor, rows: int = 128) -> Tensor:
    """Return the mean cross-entropy of hidden @ weight.T.

    hidden: (n, d); weight: (v, d); labels: (n,) whole numbers; labels of -100 do not count. If no label counts, the
    loss is NaN, and the gradients are not judged. Holds the logits of at most *rows* rows at a time, forward and
    backward. If weight needs no gradient, the product for its gradient is not computed.
    """
    # TODO: HeadLoss.apply(...), or another way that keeps the same promises.
    ### BEGIN SOLUTION
    return HeadLoss.apply(hidden, weight, labels, rows)
    ### END SOLUTION


# %%
if __name__ == "__main__":
    import baseline.part06_custom_gradients as plain

    from given import live_peak

    def eight(function, gate, up):
        """Train through eight of them, as a network of eight blocks would."""
        for _ in range(8):
            gate = function(gate, up)
        gate.sum().backward()

    def once(function, *inputs):
        """Go forward and backward."""
        function(*inputs).backward()

    torch.manual_seed(0)
    gates = [torch.randn(256, 512, requires_grad=True) for _ in range(2)]
    hidden = torch.randn(2048, 64, requires_grad=True)
    weight = (0.1 * torch.randn(16_384, 64)).requires_grad_()
    labels = torch.randint(0, 16_384, (2048,))
    for name, step, inputs in (("swiglu", eight, gates), ("head_loss", once, [hidden, weight, labels])):
        for version, function in (("plain", getattr(plain, name)), ("yours", globals()[name])):
            peak = live_peak(step, function, *inputs)
            print(f"{name}, {version}: {peak / 1e6:.1f} MB at the peak of forward and backward")
