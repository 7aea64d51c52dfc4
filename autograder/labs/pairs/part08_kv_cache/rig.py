"""What the probes of part 8 work with: a cache of a dtype, and a language model whose parameters are drawn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from autograder.worker import rig as worker
from autograder.worker.rigs.returned import BadReturn

WORDS = 97  # that the model knows


def drawn_model(seed: int, mode: str, precision: str, device: torch.device) -> Any:
    """Make a model whose parameters are all drawn; its blocks have 4 and 2 heads.

    Dropout would show where it is in another mode.
    """
    given, random = importlib.import_module("given"), np.random.default_rng(seed)
    model = given.TinyLM(WORDS, dropout=0.0 if mode == "train" else 0.3).to(device)
    with torch.no_grad():
        for weight in model.parameters():
            shape = tuple(weight.shape)
            wide = 1.5 * random.normal(size=shape) / shape[-1] ** 0.5
            drawn = random.uniform(0.5, 1.5, shape) if len(shape) == 1 else wide
            weight.copy_(torch.from_numpy(drawn))
    model.blocks[-1].attention.heads = 2
    return model.to(getattr(torch, precision)).train(mode == "train")


def lengths_of_calls(model: Any) -> list[int]:
    """Return a list that gets, of each call of the model, how many tokens it was given."""
    lengths, forward = list[int](), model.forward

    def noted(input_ids: torch.Tensor, *rest: Any, **named: Any) -> Any:
        lengths.append(input_ids.shape[1])
        return forward(input_ids, *rest, **named)

    model.forward = noted
    return lengths


def called(
    generate: Any, model: Any, prompt: torch.Tensor, count: int, *, grad: bool
) -> tuple[Any, Any, str]:
    """Call it; return tokens, logits and the modes that are left: of the model, its parameters and torch."""
    with torch.set_grad_enabled(grad):
        tokens, logits = generate(model, prompt, count)
        mode = "train" if model.training else "eval"
        frozen = not all(weight.requires_grad for weight in model.parameters())
        mode += ", parameters are frozen" * frozen
        mode += ", gradients are off" * (not torch.is_grad_enabled())
    return tokens, logits, mode


def continued(model: Any, tokens: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Continue a prompt the plain way: all tokens are given to the model again for each new one."""
    logits = []
    with torch.no_grad():
        for _ in range(count):
            logits.append(model(tokens).logits[:, -1])
            tokens = torch.cat([tokens, logits[-1].argmax(-1, keepdim=True)], dim=1)
    return tokens, torch.stack(logits, dim=1)


def forgetful(model: Any, prompt: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Continue a prompt with caches that are new in each call."""
    tokens, logits, latest = [prompt], [], prompt
    with torch.no_grad():
        for _ in range(count):
            logits.append(model(latest).logits[:, -1])
            latest = logits[-1].argmax(-1, keepdim=True)
            tokens.append(latest)
    return torch.cat(tokens, dim=1), torch.stack(logits, dim=1)


def as_shares(model: Any, prompt: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Continue a prompt, and return a softmax of the logits."""
    tokens, logits = continued(model, prompt, count)
    return tokens, logits.softmax(-1)


def _require_device(written: Any) -> None:
    """Make a cache on a device without memory, which each machine has."""
    pair = torch.empty(2, 1, 1, 1, 4, device="meta")
    own = written(1, 1, 4, 2, torch.float32, "meta")
    try:
        there = all(it.device == pair.device for it in own.append(*pair))
    except NotImplementedError:  # a copy to another device, which has no numbers to get
        there = False
    if not there:
        raise BadReturn('KVCache(..., device="meta") was returned with a buffer on another device')


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def made_cache(self, written: Any, inputs: Mapping[str, Any]) -> Any:
        """Make a cache as the script says; where it asks for that, after one on another device."""
        if inputs["device"]:
            _require_device(written)
        sizes = (inputs[name] for name in ("batch", "heads", "size", "capacity"))
        return written(*sizes, getattr(torch, inputs["precision"]), self.device)
