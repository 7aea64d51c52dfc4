"""What is claimed of generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.labs.pairs.part08_kv_cache.part import WRONG, part

WORDS = 97  # of TinyLM


def write(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Continue a prompt; the mode of the model is part of what comes back."""
    from autograder.labs.pairs.part08_kv_cache import rig

    prompt = inputs["prompt"]
    model = rig.drawn_model(inputs["seed"], inputs["mode"], prompt.device)
    tokens, logits = written(model, prompt, inputs["count"])
    return {"logits": logits, "tokens": tokens, "mode": "train" if model.training else "eval"}


text = Exercise("generate", part, call=write)


@text.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 4),
    length: Any = (1, 9),
    count: Any = (1, 24),
    mode: Any = "eval",
) -> dict[str, Any]:
    prompt = random.integers(0, WORDS, (batch, length))
    seed = int(random.integers(1 << 30))
    return {"prompt": prompt, "count": count, "seed": seed, "mode": mode}


SEVERAL: Sizes = {"batch": 3, "length": 5, "count": 20}
text.same(
    {"three sequences": SEVERAL, "in training mode": {**SEVERAL, "mode": "train"}},
    within=1e-4,
    gradients=(),
    name="generates_alike",
    says="generate returns the tokens and the logits of the slow version, and leaves the mode of the model alone.",
    why={
        "mode": "the mode of the model has changed",
        "logits": "the logits of a new token follow from all tokens before it: each sequence has its own keys, "
        "and positions go on where the prompt ends",
        "": "each new token is the most likely one, and the next call gets that token alone",
    },
    try_=f"one KVCache for each block, the prompt in one call; {WRONG}",
)
text.needs_less_memory(
    0.10,
    {"batch": 8, "length": 4, "count": 300},
    {"batch": 8, "length": 4, "count": 2},
    name="generate_keeps_no_graph",
    says="300 tokens for 8 sequences need at most 10 % of the slow version's memory, measured from outside.",
    why="the graph of each step is kept, or a copy of the cache for each token",
    try_="torch.no_grad() around the loop",
)
text.fetches_nothing(
    SEVERAL,
    name="generate_waits_for_nothing",
    says="generate brings no value to the host: the next step is queued while the device still works.",
    try_="argmax stays a tensor; count says when to end",
)
