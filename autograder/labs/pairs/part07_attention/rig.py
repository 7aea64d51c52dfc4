"""What the probes of part 7 work with: what a block mask says, and what torch.compile captures of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.flex_attention import flex_attention
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask

from autograder.worker import rig as worker
from autograder.worker.rigs.precision import Precision
from autograder.worker.rigs.returned import flat, text

HIDDEN, SOME, ALL = 0, 1, 2
"""What a mask says of a block: none of its pairs counts, its function decides, all count."""
UNMASKED = 1 << 30  # a block as large as this is what flex_attention makes up without a mask


@flex_attention.py_impl(Precision)
def look_and_compute(mode: Precision, *args: Any, **kwargs: Any) -> Any:
    """Let the precision be looked at here: torch asks a mode for a rule of its own for this operator."""
    mode.values()
    return flex_attention(*args, **kwargs)


@cache
def made_mask(length: int, window: int, device: str) -> Any:
    """Make the lab's own mask once: a mistake in window_mask is judged there alone."""

    def sees(batch: Any, head: Any, i: Any, j: Any) -> Any:
        return (i >= j) & (i - j < window)

    return create_block_mask(sees, None, None, length, length, device=device)


@cache
def compiled(function: Any) -> Any:
    """Compile it once."""
    return torch.compile(function)


def with_gradients(run: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for q, k and v, and their gradients."""
    leaves = [inputs[name].detach().requires_grad_() for name in "qkv"]
    result = run(*leaves)
    passed: Sequence[Any] = [None] * len(leaves)
    upstream = inputs["upstream"]
    fits = getattr(result, "shape", None) == upstream.shape  # if not, that is what is said
    if fits and result.requires_grad:
        passed = torch.autograd.grad(result, leaves, upstream, allow_unused=True)
    gradients = {
        f"gradient of {name}": leaf.detach() if it is None and not leaf.numel() else it
        for name, leaf, it in zip("qkv", leaves, passed, strict=True)
    }
    return {"attention": result, **gradients}


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    made_mask = staticmethod(made_mask)

    def masks(self, make: Callable[..., Any], cases: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Make a mask of each (length, window), and say which pairs and which blocks count."""
        noted, visible, blocks = [], [Tensor()], [Tensor()]
        for length, window in cases:
            mask = make(length, window, self.device)
            note = {"length": length, "window": window, "kind": text(type(mask).__name__)}
            block, shape = [0, 0], [0, 0]
            if isinstance(mask, BlockMask):
                block, shape = list(mask.BLOCK_SIZE), list(mask.shape)
                visible.append(create_mask(mask.mask_mod, 1, 1, length, length, self.device))
                blocks.append(_blocks(mask))
            noted.append({**note, "block": block, "shape": shape})
        numbers = {"visible": visible, "blocks": blocks}
        flats = {
            name: torch.cat([it.flatten().cpu() for it in own]) for name, own in numbers.items()
        }
        return {"masks": noted, **{name: flat(it).astype("uint8") for name, it in flats.items()}}

    def captured(self, function: Callable[..., Any], *inputs: Any) -> dict[str, int]:
        """Compile a call; count its graphs, the calls of flex_attention in them, and those that get a mask."""
        graphs: list[Any] = []

        def note(graph: Any, _: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        torch._dynamo.reset()
        torch.compile(function, backend=note)(*inputs)
        nodes = [node for graph in graphs for node in graph.graph.nodes]
        flex = [node for node in nodes if node.target is flex_attention]
        masked = [node for node in flex if node.args[4][-2] < UNMASKED]
        return {"graphs": len(graphs), "calls": len(flex), "masked": len(masked)}


def _blocks(mask: BlockMask) -> Tensor:
    """Return what the mask says of each block: rows of blocks, columns of blocks."""
    rows, columns = (
        -(-length // size) for length, size in zip(mask.shape[-2:], mask.BLOCK_SIZE, strict=True)
    )
    said = torch.full((rows, columns), HIDDEN)
    kinds = [(SOME, mask.kv_num_blocks, mask.kv_indices)]
    if mask.full_kv_num_blocks is not None and mask.full_kv_indices is not None:
        kinds.append((ALL, mask.full_kv_num_blocks, mask.full_kv_indices))
    for kind, counts, places in kinds:
        for row, count in enumerate(counts[0, 0].tolist()):
            said[row, places[0, 0, row, :count].long().cpu()] = kind
    return said
