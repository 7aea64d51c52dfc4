"""Part 8: tokens one by one. A cache of keys and values that grows without being copied, and text from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.checks.hints import Causes
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.claims.object_calls import Drawn
from autograder.lab import Part

part = Part("part08_kv_cache")
WRONG = 'see "What usually goes wrong" in the part 8 handout'
EXACT = {"float32": 0.0, "bfloat16": 0.0}

# --- KVCache ---

Drawing = tuple[dict[str, Any], list[Drawn]]
cache = Exercise("KVCache", part, call=lambda written, inputs: filled(written, **inputs))


def made(written: Any, inputs: Mapping[str, Any], rig: Any) -> Any:
    return rig.made_cache(written, inputs)


def script(
    random: np.random.Generator,
    batch: Any = (1, 5),
    heads: Any = range(1, 4),
    capacity: Any = (2, 9),
    precision: Any = "float32",
    device: Any = "",
) -> Drawing:
    """Appends that fill the first buffer and the next ones; sequences that are kept, repeated and moved."""
    size, now = 4, batch
    calls: list[Drawn] = [("length",)]
    for count in (7, 1, 1, 3, 0, 2, 1, 16, 0, 1):
        if not count:
            rows = random.integers(0, now, random.integers(1, 5)).tolist()
            calls += [("keep", rows), ("length",)]
            now = len(rows)
        else:
            keys, values = random.normal(size=(2, now, heads, count, size))
            calls.append(("append", (keys, precision), (values, precision)))
    inputs = {"batch": batch, "heads": heads, "size": size, "capacity": capacity}
    inputs |= {"precision": precision, "device": device}
    return inputs, [*calls, ("length",)]


OF_WEIGHTS = "make each buffer with the dtype and the device that the cache is given"
AFTER_KEEP = (
    (
        "appends were right until keep, and the first one after it is not: "
        "keep left other sequences than rows names"
    ),
    "index the buffer by rows as they are: a mask, a sort or a set loses order or repetitions",
)
cache.calls(
    script,
    {
        "float32": {},  # before those that fix something, so that a mistake in all of them is told of this one
        "bfloat16": {"precision": "bfloat16"},
        "a capacity of 1": {"capacity": 1},
        "device meta": {"device": "meta"},
    },
    make=made,
    within=EXACT,
    name="follows_the_script",
    says="append returns the keys and values of all positions so far; keep picks, moves and repeats sequences.",
    why={
        "keep(": ("keep must return nothing", "leave out its return, or return None"),
        "length": (
            "length must be the number of positions: n more after an append of n",
            "add keys.shape[2] in each append",
        ),
        "": (
            "append must return what this cache was given so far, of all sequences and positions",
            "make self.keys in __init__; self.keys[:, :, start:start + n] = keys; return self.keys[:, :, :start + n]",
        ),
    },
    hints={
        **dict.fromkeys(("call 8: append", "call 13: append"), AFTER_KEEP),
        "dtype of the result is": OF_WEIGHTS,
        "with a buffer on another device": (
            "device is an argument of KVCache, and a buffer is made without it",
            OF_WEIGHTS,
        ),
        "dimension 2 is too short": (
            "positions of earlier appends are missing",
            "add keys.shape[2] to length, and return the positions from 0 to length",
        ),
        "must match": "double the room until the new positions fit, before you write them",
    },
    try_=WRONG,
)
cache.calls(
    script,
    make=made,
    overwrites=True,
    within=EXACT,
    name="copies_what_it_takes",
    says="The caller may write over its tensors after an append, and earlier results keep their values.",
    needs=["follows_the_script"],
    why={
        "after all calls": (
            "a later call wrote over what was returned earlier",
            "write behind what was returned, and let keep make new tensors",
        ),
        "": (
            "your cache keeps the caller's own tensor, and the caller has written over it",
            "copy keys and values into the buffer, also in the first append",
        ),
    },
    try_=WRONG,
)


@cache.inputs
def draw(
    random: np.random.Generator,
    batch: Any = 4,
    heads: Any = 2,
    size: Any = 8,
    positions: Any = (2, 64),
) -> dict[str, Any]:
    shape = (batch, heads, positions, size)
    return {"keys": random.normal(size=shape), "values": random.normal(size=shape)}


def filled(written: Any, keys: Any, values: Any) -> Any:
    """Append position after position, and return all of them."""
    batch, heads, _, size = keys.shape
    cache = written(batch, heads, size, dtype=keys.dtype, device=keys.device)
    for pair in zip(keys.split(1, dim=2), values.split(1, dim=2), strict=True):
        returned = cache.append(*pair)
    return returned


GROWS = "double the room when the buffer is full, write only the new positions, and return views"
cache.moves_at_most(
    {"positions": 256},
    {"positions": 2048},
    at_most=16,  # any factor from 2 on: the last copy is at most as large as all appends
    name="moves_linearly",
    says="8 times as many appends move at most 16 times as many bytes.",
    needs=["follows_the_script"],
    why="positions are copied again and again: the more there are, the more an append moves",
    try_=GROWS,
)
LONG: Sizes = {"batch": 8, "heads": 4, "size": 32, "positions": 1024}
cache.faster(
    LONG,
    name="append_is_faster",
    says="1024 appends are at least {bar} as fast as with torch.cat.",
    needs=["follows_the_script"],
    why="bound by memory: all positions are copied for each append, joined, cloned, or stacked from a list of pieces",
    try_=f"return views of the buffer; {GROWS}",
)

# --- generate ---

WORDS = 97  # of TinyLM
CALLS = "number of calls of the model"


def write(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Continue a prompt; the mode of the model, and what it was called with, are part of what comes back."""
    from autograder.labs.pairs.part08_kv_cache import rig

    prompt = inputs["prompt"]
    model = rig.drawn_model(inputs["seed"], inputs["mode"], inputs["precision"], prompt.device)
    calls = rig.lengths_of_calls(model)
    grad = inputs["grad"]
    tokens, logits, mode = rig.called(written, model, prompt, inputs["count"], grad=grad)
    noted = lengths(*calls) if inputs["counted"] else {}
    return {**noted, "mode": mode, "logits": logits, "tokens": tokens}


def lengths(first: int = 0, *later: int) -> dict[str, int]:
    """Say how often the model was called, and with how many tokens."""
    most = {"most tokens in a later call": max(later, default=1)}
    return {CALLS: bool(first) + len(later), "tokens in the first call": first, **most}


def expected(way: str = "continued", **inputs: Any) -> Any:
    """Return the same of the plain *way*; the right calls are the prompt, and then one token each."""
    from autograder.labs.pairs.part08_kv_cache import rig

    prompt, count = inputs["prompt"], inputs["count"]
    returned = write(getattr(rig, way), inputs)
    return {**returned, **lengths(prompt.shape[1], *[1] * (count - 1))}


text = Exercise("generate", part, call=write)


@text.inputs
def draw_prompt(
    random: np.random.Generator,
    batch: Any = (1, 4),
    length: Any = (1, 9),
    count: Any = (1, 24),
    mode: Any = "eval",
    precision: Any = "float32",
    counted: Any = True,
    grad: Any = True,
) -> dict[str, Any]:
    prompt = random.integers(0, WORDS, (batch, length))
    seed = int(random.integers(1 << 30))
    rest = {"mode": mode, "precision": precision, "counted": counted, "grad": grad}
    return {"prompt": prompt, "count": count, "seed": seed, **rest}


SEVERAL: Sizes = {"batch": 3, "length": 5, "count": 20}
OWN_CACHE = (
    "fix follows_the_script first if it fails; else one KVCache per block, of its heads and dtype"
)
NO_GRAD = "with torch.no_grad():, in place of torch.set_grad_enabled(...)"
HINTS: Causes = {
    "a model in float64": (
        "usually a cache has another dtype than the model",
        OWN_CACHE,
    ),
    "raised": OWN_CACHE,
    "instead of 'eval, gradients are off'": (
        "gradients are on after generate, and its caller had turned them off",
        NO_GRAD,
    ),
    "parameters are frozen'": (
        "generate changes requires_grad of the parameters",
        "with torch.no_grad():, in place of requires_grad_(False)",
    ),
    "gradients are off": ("gradients are off after generate, and they were on before", NO_GRAD),
    "result mode": (
        "generate leaves the model in another mode",
        "call neither model.eval() nor model.train()",
    ),
    CALLS: (
        "the model must be called `count` times: the first call, of the prompt, gives a token",
        "the whole prompt in the first call, then one token in each call",
    ),
    "tokens in ": (
        "the first call must get the prompt, and each later call the newest token alone",
        "call model(latest, caches=caches): latest is the prompt, then the newest token alone",
    ),
    'tokens": int64 (': (
        "tokens must be the prompt and `count` new tokens",
        "torch.cat([prompt, *new_tokens], dim=1)",
    ),
}
text.same(
    {
        "three sequences": SEVERAL,
        "in training mode": {**SEVERAL, "mode": "train"},
        "under no_grad": {**SEVERAL, "grad": False},
        "a model in float64": {**SEVERAL, "precision": "float64"},
    },
    oracle=expected,
    slips={
        (
            "each call of the model gets new caches, so the positions before it are missing",
            "make the caches once, before the first call, and give the same list to every call",
        ): partial(expected, "forgetful"),
        (
            "your code takes a softmax of the logits",
            "return the last position of the model's logits as it is",
        ): partial(expected, "as_shares"),
    },
    within=1e-4,
    gradients=(),
    name="generates_alike",
    says="generate returns the slow version's tokens and logits. It calls the model `count` times: "
    "with the prompt, then with one token each time. The modes stay.",
    why={
        "logits": (
            "logits must follow from all tokens before: usually positions are missing or mixed up",
            "fix follows_the_script first if it fails; else look at the logits of the second token",
        ),
        "": "each new token must be the most likely one, and the next call must get it alone",
    },
    hints=HINTS,
    try_=OWN_CACHE,
)
text.needs_less_memory(
    0.10,
    {"batch": 8, "length": 4, "count": 300, "counted": False},
    {"batch": 8, "length": 4, "count": 2, "counted": False},
    name="generate_keeps_no_graph",
    says="300 tokens for 8 sequences need at most 10 % of the slow version's memory, measured from outside.",
    why="usually the graph of each step is kept, because gradients are on",
    try_="torch.no_grad() around the loop, and keep no keys or values but those in the caches",
)
text.fetches_nothing(
    SEVERAL,
    name="generate_waits_for_nothing",
    says="generate brings no value to the host: the next step is queued while the device still works.",
    try_="argmax stays a tensor; count says when to end",
)
