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
from autograder.worker.rigs.product_precision import Precision
from autograder.worker.rigs.returned import BadReturn

BLOCK = 128
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

    return create_block_mask(sees, B=None, H=None, Q_LEN=length, KV_LEN=length, device=device)


@cache
def compiled(function: Any) -> Any:
    """Compile it once."""
    return torch.compile(function)


def attended_by_hand(
    q: Tensor, k: Tensor, v: Tensor, window: int, slopes: Tensor | None, slip: str
) -> Tensor:
    """Return attention in the window by a whole matrix of scores, with this *slip* about slopes."""
    places = torch.arange(q.shape[-2])
    back = places[:, None] - places
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if slopes is not None and slip != "left out":
        of_batch, of_head = slopes[: len(q), None, None, None], slopes[:, None, None]
        scores = scores - (of_batch if slip == "of the batch" else -of_head) * back
    shown = scores.masked_fill((back < 0) | (back >= window), -torch.inf)
    result: Tensor = shown.softmax(-1) @ v
    return result


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


def mask_read(mask: Any, rows: list[int]) -> dict[str, Any]:
    """Return what a kernel makes of a mask: the blocks that it computes, and the keys that some rows see."""
    if not isinstance(mask, BlockMask):
        raise BadReturn(f"{type(mask).__name__} was returned, and a BlockMask is expected")
    length = mask.shape[-1]
    some, full = _listed(mask.kv_num_blocks, mask.kv_indices), None
    if mask.full_kv_num_blocks is not None and mask.full_kv_indices is not None:
        full = _listed(mask.full_kv_num_blocks, mask.full_kv_indices)
    pairs = create_mask(mask.mask_mod, 1, 1, length, length, "cpu")[0, 0]
    pairs &= _spread(some, mask.BLOCK_SIZE, length)
    if full is not None:
        pairs |= _spread(full, mask.BLOCK_SIZE, length)
        some |= full
    return _said(some, pairs, rows)


def pairs_read(sees: Callable[[Any, Any], Tensor], length: int, rows: list[int]) -> dict[str, Any]:
    """Return the same of a mask in which these pairs count."""
    places = torch.arange(length)
    pairs = sees(places[:, None], places)
    room = -length % BLOCK
    blocks = torch.nn.functional.pad(pairs, (0, room, 0, room)).unfold(0, BLOCK, BLOCK)
    return _said(blocks.unfold(1, BLOCK, BLOCK).flatten(2).any(-1), pairs, rows)


def _listed(counts: Tensor, places: Tensor) -> Tensor:
    """Return which blocks are listed: of each row of blocks the first so many places count."""
    blocks = torch.zeros(places.shape[-2:], dtype=torch.bool)
    for row, count in enumerate(counts[0, 0].tolist()):
        blocks[row, places[0, 0, row, :count].long()] = True
    return blocks


def _spread(blocks: Tensor, size: Sequence[int], length: int) -> Tensor:
    """Return for each pair whether its block is among these."""
    rows, columns = (torch.arange(length) // each for each in size)
    return blocks[rows][:, columns]


def _said(blocks: Tensor, pairs: Tensor, rows: list[int]) -> dict[str, Any]:
    empty = 100 * (1 - blocks.double().mean().item())
    return {"empty blocks in percent": empty, "blocks": blocks, "pairs": pairs[rows]}


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    made_mask = staticmethod(made_mask)

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
