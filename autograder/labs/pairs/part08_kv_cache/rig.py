"""What the probes of part 8 work with: a cache of a dtype, and a language model whose parameters are drawn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from autograder.worker import rig as worker

WORDS = 97  # that the model knows


def drawn_model(seed: int, mode: str, device: torch.device) -> Any:
    """Make a model whose parameters are all drawn; dropout would show where it is in another mode."""
    given, random = importlib.import_module("given"), np.random.default_rng(seed)
    model = given.TinyLM(WORDS, dropout=0.0 if mode == "train" else 0.3).to(device)
    with torch.no_grad():
        for weight in model.parameters():
            shape = tuple(weight.shape)
            wide = 1.5 * random.normal(size=shape) / shape[-1] ** 0.5
            drawn = random.uniform(0.5, 1.5, shape) if len(shape) == 1 else wide
            weight.copy_(torch.from_numpy(drawn))
    return model.train(mode == "train")


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def made_cache(self, written: Any, inputs: Mapping[str, Any]) -> Any:
        """Make a cache as the script says."""
        sizes = (inputs[name] for name in ("batch", "heads", "size", "capacity"))
        return written(*sizes, getattr(torch, inputs["precision"]), self.device)
