"""What is claimed of windowed_attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.lab import INTEGER, Failed, Observation, Passed, Student, Verdict
from autograder.labs.pairs.part07_attention.part import WRONG, part

if TYPE_CHECKING:
    from autograder.labs.pairs.part07_attention.rig import Rig
else:
    Rig = Any


SHORT = 256  # positions, where nothing is timed


def attend(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Call it with a mask; what is timed runs on a GPU, compiled and with gradients, and elsewhere a piece of it."""
    from autograder.labs.pairs.part07_attention import rig

    given, trains = dict(inputs), "upstream" in inputs
    if trains and not inputs["q"].is_cuda:
        given, trains = given | {name: inputs[name][..., :SHORT, :] for name in "qkv"}, False
    q, k, v = (given[name] for name in "qkv")
    mask = rig.made_mask(q.shape[-2], given["window"], str(q.device))
    rest = [mask] if given["slopes"] is None else [mask, given["slopes"]]
    if trains:
        return rig.with_gradients(lambda *leaves: rig.compiled(written)(*leaves, *rest), given)
    return written(q, k, v, *rest)


windowed = Exercise("windowed_attention", part, call=attend)


@windowed.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = (40, 200),
    size: Any = range(16, 33, 8),
    window: Any = (1, 150),
    sloped: Any = True,
    trains: Any = False,
) -> dict[str, Any]:
    shape = (batch, heads, length, size)
    q, k, v, upstream = (random.normal(size=shape) for _ in range(4))
    slopes = random.uniform(0.05, 1.0, heads) if sloped else None
    return {"q": q, "k": k, "v": v, "window": window, "slopes": slopes} | (
        {"upstream": upstream} if trains else {}
    )


LARGE = "a score of thousands keeps no digits behind the point in float32"
windowed.same(
    {
        "one position": {"length": 1},
        "37 positions": {"length": 37},
        "128 positions": {"length": 128},
        "1000 positions": {"batch": 1, "heads": 2, "length": 1000},
        "without slopes": {"length": (60, 200), "sloped": False},
        "a window of everything": {"length": (60, 120), "window": 300},
    },
    within={"bfloat16": 8e-2},
    gradients=(),
    dtypes=("float64", "bfloat16"),
    skip_families=dict.fromkeys(("times 1000", "one row times 10000", "heavy tails"), LARGE),
    name="flex_matches",
    says="windowed_attention returns attention over the keys that its mask shows, with slopes and without.",
    why={
        "without slopes": "with slopes it is right: without them scores stay as they are",
        "": "each score is q k / sqrt(d), less slopes[head] * (i - j) where slopes are given; "
        "softmax runs over the keys that the mask shows",
    },
    try_="flex_attention(q, k, v, score_mod=score_mod, block_mask=mask); "
    "score_mod(score, batch, head, i, j) returns the new score",
)


@part.probe(
    values=dict.fromkeys(("graphs", "calls", "masked"), INTEGER), takes=["windowed_attention"]
)
def captured(student: Student, rig: Rig) -> Any:
    q, k, v = (rig.tensor(rig.random.normal(size=(1, 2, 256, 16))) for _ in range(3))
    mask, slopes = rig.made_mask(256, rig.integer(20, 100), str(rig.device)), rig.tensor([0.5, 0.1])
    return rig.captured(student.windowed_attention, q, k, v, mask, slopes)


@part.check(basis="report", needs=[part.checks["flex_matches"].judge])
def flex_is_reached(captured: Observation) -> Verdict:
    """Inside torch.compile, windowed_attention is one graph with one call of flex_attention, which gets the mask."""
    graphs, calls, masked = (captured.values[name] for name in ("graphs", "calls", "masked"))
    measured = f"{calls} calls of flex_attention in {graphs} graphs, {masked} of them with a mask"
    if not calls:
        why = "no flex_attention in the graph: the whole matrix is computed and then masked"
        return Failed(measured, why, f"call flex_attention itself; {WRONG}")
    if masked < calls:
        why = "the window is part of score_mod, so no block can be skipped"
        return Failed(measured, why, "block_mask=mask")
    if graphs != 1 or calls != 1:
        why = "the function does not fit into one graph, or computes attention several times"
        return Failed(measured, why, "one call of flex_attention; no .item() and no print")
    return Passed(measured)
