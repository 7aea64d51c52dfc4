"""Part 7: a window of keys. FlexAttention with blocks that are skipped, and attention cut to its band by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.lab import INTEGER, Close, Failed, Observation, Part, Passed, Student, Verdict
from autograder.traces.words import many

if TYPE_CHECKING:
    from autograder.labs.pairs.part07_attention.rig import Rig
else:
    Rig = Any

WRONG = 'see "What usually goes wrong" in the part 7 handout'
# The first call of flex_attention imports what compiles it.
part = Part(
    "part07_attention",
    warm=["torch.nn.attention.flex_attention", "torch._dynamo"],
)

# --- the mask ---

LENGTHS = [(1024, 128), (300, 40), (1000, 100), (257, 1), (130, 400)]


def read_mask(written: Any, inputs: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part07_attention import rig

    length, window, rows = (inputs[name] for name in ("length", "window", "rows"))
    return rig.mask_read(written(length, window, "cpu"), rows)


def of(sees: Callable[[Any, Any, int], Any]) -> Callable[..., Any]:
    """Return what is read of a mask with which i sees j when sees(i, j, window)."""

    def right(length: int, window: int, rows: list[int]) -> Any:
        from autograder.labs.pairs.part07_attention import rig

        return rig.pairs_read(lambda i, j: sees(i, j, window), length, rows)

    return right


masks = Exercise(
    "window_mask",
    part,
    call=read_mask,
    holes={"empties_its_inputs": "it is given two numbers: the list of rows is the check's own"},
)


@masks.inputs
def draw_mask(
    random: np.random.Generator, length: Any = (150, 900), window: Any = (2, 120)
) -> dict[str, Any]:
    rows = [0, *random.integers(0, length, 30).tolist(), length - 1]
    return {"length": length, "window": window, "rows": rows}


SIZES: Mapping[str, Sizes] = {
    f"{length} positions, window {window}": {"length": length, "window": window}
    for length, window in LENGTHS
}
ONE_MORE = "each position sees one key too many", "put i - j < window in the place of <="
masks.same(
    SIZES,
    oracle=of(lambda i, j, window: (i >= j) & (i - j < window)),
    slips={
        ONE_MORE: of(lambda i, j, window: (i >= j) & (i - j <= window)),
        ("a position must not see a later one", "ask for i >= j as well"): of(
            lambda i, j, window: abs(i - j) < window
        ),
        (
            "every earlier position counts, not only the window",
            "ask for i - j < window as well",
        ): of(lambda i, j, _: i >= j),
        ("a position must see itself", "put i >= j in the place of i > j"): of(
            lambda i, j, window: (i > j) & (i - j < window)
        ),
    },
    name="mask_is_the_window",
    says="window_mask lets position i see j when i - window < j <= i, and skips each block without such a pair.",
    why={
        "pairs": ("i must see j when i - window < j <= i", "(i >= j) & (i - j < window)"),
        "": (
            "the mask must list each block of 128 x 128 in which a pair counts, and no other block",
            "return what create_block_mask returns, with no BLOCK_SIZE and no list of your own",
        ),
    },
    hints={
        "a BlockMask is expected": (
            "the mask has another type, which names no block that can be skipped",
            "return what create_block_mask returns",
        )
    },
    try_=WRONG,
)


# --- FlexAttention ---

SHORT = 256  # positions, where nothing is timed


def attend_by_mask(written: Any, inputs: Mapping[str, Any]) -> Any:
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


windowed = Exercise("windowed_attention", part, call=attend_by_mask)


@windowed.inputs
def draw_heads(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = (40, 200),
    size: Any = range(16, 33, 8),
    window: Any = (1, 150),
    sloped: Any = True,
    trains: Any = False,
) -> dict[str, Any]:
    heads = max(heads, batch)  # slopes[batch] is a wrong number there, and no exception
    shape = (batch, heads, length, size)
    q, k, v, upstream = (random.normal(size=shape) for _ in range(4))
    slopes = random.uniform(0.05, 1.0, heads) if sloped else None
    return {"q": q, "k": k, "v": v, "window": window, "slopes": slopes} | (
        {"upstream": upstream} if trains else {}
    )


def attended(**given: Any) -> Any:
    """Return what somebody returns who makes a mistake with the slopes."""
    from autograder.labs.pairs.part07_attention import rig

    return rig.attended_by_hand(**given)


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
    slips={
        (
            "slopes are given here, and your code leaves them out",
            "hand a score_mod to flex_attention where slopes are given",
        ): partial(attended, slip="left out"),
        (
            "the slopes are added, and they have to be subtracted",
            "subtract slopes[head] * (i - j) from the score",
        ): partial(attended, slip="added"),
        (
            "the number of the batch picks the slope, and each head has its own",
            "take slopes[head]: score_mod gets (score, batch, head, i, j), in this order",
        ): partial(attended, slip="of the batch"),
    },
    name="flex_matches",
    says="windowed_attention returns attention over the keys that its mask shows, with slopes and without.",
    why={
        "without slopes": (
            "without slopes scores must stay as they are; with slopes they are right",
            "call flex_attention without score_mod where slopes is None",
        ),
        "": (
            (
                "slopes are given here: each score must be q k / sqrt(d) - slopes[head] * (i - j), "
                "and softmax must run over the keys that the mask shows"
            ),
            "score_mod(score, batch, head, i, j): take the slope of this head, and subtract",
        ),
    },
    try_=WRONG,
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
    measured = f"{many(calls, 'call')} of flex_attention, {masked} with a mask, in "
    measured += f"{many(graphs, 'graph')}; 1 call with a mask in 1 graph is right"
    if not calls:
        why = "no flex_attention in the graph: something else computes attention"
        return Failed(measured, why, "call flex_attention itself")
    if masked < calls:
        why = "flex_attention gets no block_mask, so no block can be skipped"
        return Failed(measured, why, "block_mask=mask")
    if graphs != 1:
        why = "the function does not fit into one graph: it asks for a tensor's value, or prints"
        return Failed(measured, why, "leave out .item(), print and if by a tensor's value")
    if calls != 1:
        why = "your code computes attention several times"
        return Failed(measured, why, "call flex_attention once")
    return Passed(measured)


# --- the band by hand ---


def attend_in_band(written: Any, inputs: Mapping[str, Any]) -> Any:
    """Call it, with gradients where an upstream one was drawn."""
    from autograder.labs.pairs.part07_attention import rig

    window = inputs["window"]
    if "upstream" in inputs:
        return rig.with_gradients(lambda *leaves: written(*leaves, window), inputs)
    return written(*(inputs[name] for name in "qkv"), window)


banded = Exercise("banded_attention", part, call=attend_in_band)


@banded.inputs
def draw_band(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = (0, 200),
    size: Any = range(8, 33, 8),
    window: Any = (1, 150),
    trains: Any = True,
) -> dict[str, Any]:
    shape = (batch, heads, length, size)
    q, k, v, upstream = (random.normal(size=shape) for _ in range(4))
    # Where one key is seen, the gradients of q and k are 0 but for rounding.
    trains = trains and min(length, window) != 1
    return {"q": q, "k": k, "v": v, "window": window} | ({"upstream": upstream} if trains else {})


def with_one_key_more(**given: Any) -> Any:
    """Return what comes of i - j <= window."""
    from autograder.labs.pairs.part07_attention import rig

    by_hand = partial(rig.attended_by_hand, slopes=None, slip="")
    return attend_in_band(by_hand, given | {"window": given["window"] + 1})


# Measured with torch 2.15 on a CPU, 15 seeds: results 1e-6; gradients 7.5e-5, of rows that are nearly 0.
# Scores by hand in bfloat16 were off by 2.6e-2.
CLOSE = {"float32": 5e-4, "bfloat16": 8e-2}
CUT = "rows start to stop - 1 see the keys max(0, start - window + 1) to stop - 1, for any window"
BANDS = f"64 to 256 rows at a time; {CUT}"
WIDE = "a window of 300"
DETACHED = (
    "the result is right, but no gradient comes to this input: usually it is detached",
    "use the slices of q, k and v as they are, without detach(), .data or no_grad()",
)
banded.same(
    {
        "257 positions": {"batch": 1, "length": 257},
        "1000 positions": {"batch": 1, "heads": 2, "length": 1000},
        "a window of everything": {"length": (60, 120), "window": 300},
        f"{WIDE} of 500 positions": {"batch": 1, "heads": 2, "length": 500, "window": 300},
        "bfloat16": {"dtype": "bfloat16", "trains": False},
    },
    within=CLOSE,
    gradients=(),
    skip_families=dict.fromkeys(("times 1000", "one row times 10000", "heavy tails"), LARGE),
    slips={ONE_MORE: with_one_key_more},
    name="banded_matches",
    says="banded_attention returns the attention of the window; its backward pass gives the gradients of q, k and v.",
    why={
        "gradient": (
            (
                "the result is right, and a gradient is not: usually keys that two blocks of rows "
                "share get only one of two shares"
            ),
            "use the slices of q, k and v as they are, without detach() or .data",
        ),
        WIDE: ("narrower windows are right: the band of a wide window lacks its first keys", CUT),
        "": (
            "position i must see j when i - window < j <= i, and no other",
            f"mask each band by (i >= j) & (i - j < window); {CUT}",
        ),
    },
    hints={
        **dict.fromkeys((f'gradient of {it}": nothing' for it in "qkv"), DETACHED),
        "changed: ": "compute out of place: q * scale, not q *= scale",
        "dimension 2 is too short": (
            "positions are missing: most likely the last block of rows, which is shorter",
            "for start in range(0, n, rows): stop = min(start + rows, n)",
        ),
        "must match the size of tensor": f"{CUT}: a slice never begins below 0",
    },
    try_=WRONG,
)

LONG: Sizes = {"batch": 1, "heads": 4, "size": 32, "window": 128, "trains": False}
banded.needs_less_memory(
    0.05,
    {**LONG, "heads": 1, "length": 8192},
    {**LONG, "heads": 1, "length": 16},
    name="banded_needs_little",
    says="At 8192 positions and a window of 128, banded_attention needs at most 5 % of the slow version's memory, "
    "measured from outside.",
    why="more is in memory than one band needs: usually n x n numbers, as scores or as a mask",
    try_=BANDS,
)
banded.operations_do_not_grow(
    {**LONG, "length": 512},
    {**LONG, "length": 2048},
    more=2048 - 512 - 1,
    also={"a narrow window": {**LONG, "length": 2048, "window": 8}},
    name="rows_per_operation",
    says="The operations of banded_attention grow by less than one for each position that is added.",
    needs=["banded_needs_little"],
    why={
        "narrow": (
            "the loop takes as few rows at a time as the window is wide",
            "take the same number of rows at a time for every window, 64 to 256",
        ),
        "": (
            "a loop over positions: each row needs its own calls",
            "take 64 to 256 rows at a time",
        ),
    },
    try_=WRONG,
)

# --- what the clock decides ---

banded.faster(
    {**LONG, "length": 2048},
    Close(rtol=1e-4, atol=1e-5),
    name="banded_is_faster",
    says="At 2048 positions and a window of 128, banded_attention is at least {bar} as fast as the slow version.",
    why="bound by launches if rows are taken one by one, else by memory: scores outside of the band are computed",
    try_=BANDS,
)
windowed.faster(
    {
        "batch": 1,
        "heads": 8,
        "length": 2048,
        "size": 64,
        "window": 128,
        "sloped": False,
        "trains": True,
    },
    Close(rtol=1e-3, atol=1e-4),
    name="flex_is_faster",
    says="On a GPU, compiled, windowed_attention with its gradients is at least {bar} as fast as the slow version.",
    needs=["flex_is_reached"],
    why="bound by arithmetic: blocks that hold nothing are computed",
    try_="flex_attention with block_mask=mask",
)
