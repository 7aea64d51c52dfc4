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
    """Continue a prompt; the mode of the model, and what it was called with, are part of what comes back."""
    from autograder.labs.pairs.part08_kv_cache import rig

    prompt = inputs["prompt"]
    model = rig.drawn_model(inputs["seed"], inputs["mode"], inputs["precision"], prompt.device)
    calls = rig.lengths_of_calls(model)
    tokens, logits = written(model, prompt, inputs["count"])
    mode = "train" if model.training else "eval"
    noted = {"calls": calls} if inputs["counted"] else {}
    return {"logits": logits, "tokens": tokens, "mode": mode, **noted}


def expected(**inputs: Any) -> Any:
    """Return the same of the plain way; the right calls are the prompt, and then one token each."""
    from autograder.labs.pairs.part08_kv_cache import rig

    prompt, count = inputs["prompt"], inputs["count"]
    returned = write(rig.continued, inputs)
    return {**returned, "calls": [prompt.shape[1], *[1] * (count - 1)]}


text = Exercise("generate", part, call=write)


@text.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 4),
    length: Any = (1, 9),
    count: Any = (1, 24),
    mode: Any = "eval",
    precision: Any = "float32",
    counted: Any = True,
) -> dict[str, Any]:
    prompt = random.integers(0, WORDS, (batch, length))
    seed = int(random.integers(1 << 30))
    rest = {"mode": mode, "precision": precision, "counted": counted}
    return {"prompt": prompt, "count": count, "seed": seed, **rest}


SEVERAL: Sizes = {"batch": 3, "length": 5, "count": 20}
text.same(
    {
        "three sequences": SEVERAL,
        "in training mode": {**SEVERAL, "mode": "train"},
        "a model in float64": {**SEVERAL, "precision": "float64"},
    },
    oracle=expected,
    within=1e-4,
    gradients=(),
    name="generates_alike",
    says="generate returns the tokens and logits of the slow version, by a call for the prompt and then one for each "
    "token; the mode of the model stays.",
    why={
        "mode": "the mode of the model has changed",
        "calls": "the prompt is one call of the model, and each call after it gets one token: count calls in all",
        "float64": "a cache has the dtype of the model",
        "logits": "the logits of a new token follow from all tokens before it: each sequence has its own keys, "
        "and positions go on where the prompt ends",
        "": "each new token is the most likely one, and the next call gets that token alone",
    },
    try_=f"one KVCache for each block, the prompt in one call; {WRONG}",
)
text.needs_less_memory(
    0.10,
    {"batch": 8, "length": 4, "count": 300, "counted": False},
    {"batch": 8, "length": 4, "count": 2, "counted": False},
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
