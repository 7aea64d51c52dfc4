"""Part 1: attention. The results and gradients of the formula, without its matrix of scores; how both versions grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from autograder.checks import table
from autograder.checks.forms import DEVICE, Form, Row, any_number, count, positive, words
from autograder.checks.numerics import Array
from autograder.checks.slips import median_problem
from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.claims.studies import DRAWN, PICTURE, Study, written
from autograder.lab import (
    INTEGER,
    NUMBER,
    TEXT,
    Close,
    Pair,
    Part,
    list_of,
)
from autograder.labs.foundations.part1_attention import curves as plot
from autograder.labs.foundations.part1_attention import judges

GROWTH = Form(
    "attention_growth.csv",
    (
        words("version", "its name"),
        count("length", "positions of the input"),
        positive("milliseconds", "median of the calls, after a warm-up", "ms"),
        positive("memory_mb", "1e6 bytes, at the peak of one call, beyond its inputs", "MB"),
        any_number(
            "time_exponent", "slope of log(milliseconds) against log(length), one for each version"
        ),
        any_number("memory_exponent", "the same for the memory"),
        DEVICE,
    ),
    keys=2,
)
CURVES = "attention_curves.png"
part = Part(
    "part1_attention",
    writes=["measure_growth"],
    hands_in=[GROWTH.file, CURVES, "part1_notes.md"],
    tables=[GROWTH],
)

UNITS = {
    "milliseconds": r"\bms\b|millisec",
    "memory_mb": r"MB|[Mm]egabyte",
}  # a panel's label must match
Cases = dict[str, Sizes]
MB = 1e6
WIDTH = 32  # head_dim of the long cases
WRONG = 'see "What usually goes wrong" in the part 1 handout'
EVEN = 256  # positions: a multiple of every usual block, so that what else is asked shows in its own check
ODD = "no multiple of 64"
VIEW, SHARED = "heads behind positions", "one key for all heads"
SMALL: Sizes = {"batch": 1, "heads": 2, "size": 16}
LONG = {"batch": 1, "heads": 1, "size": WIDTH}
BLOCKS = 'scaled_dot_product_attention, or blocks: see "How it can do without the matrix" in the part 1 handout'


# --- what a call is given ---------------------------------------------------------------------------------------------


def same_keys_but_one(q: Array, k: Array) -> None:
    """Let each key be the first, but for one in the middle."""
    at = k.shape[-2] // 2
    other = k[..., at, :].copy()
    k[:] = k[..., :1, :]
    k[..., at, :] = other


def scores_almost_equal(q: Array, k: Array) -> None:
    """Let softmax be nearly even: by some thousandths it is not."""
    q *= 2**-5
    k *= 2**-5


def scores_almost_equal_later(q: Array, k: Array) -> None:
    """Let it be so for the second half of the positions."""
    q[..., q.shape[-2] // 2 :, :] *= 2**-10


def keys_are_q_at_first(q: Array, k: Array) -> None:
    """Let the scores be symmetric, in the first half."""
    half = q.shape[-2] // 2
    k[..., :half, :] = q[..., :half, :]


def large(q: Array, k: Array) -> None:
    """Let scores be some thousands."""
    q *= 30
    k *= 30


def far_below_zero(q: Array, k: Array) -> None:
    """Let all scores be far below zero."""
    q += 20
    k -= 20


SHAPED = {
    "all keys the same but one": same_keys_but_one,
    "scores almost equal": scores_almost_equal,
    "scores almost equal in the second half": scores_almost_equal_later,
    "k is q in the first half": keys_are_q_at_first,
}
"""Something that a look at a part of the inputs takes for all of them."""
LARGE = {"large logits": large, "logits far below zero": far_below_zero}

attention = Exercise(
    "attention",
    part,
    holes={"read_as_contiguous": "takes_any_layout_and_dtype is the check that tells it"},
)


@attention.inputs
def draw(
    random: np.random.Generator,
    batch: Any = (1, 3),
    heads: Any = (1, 4),
    length: Any = EVEN,
    keys: Any = 0,
    size: Any = range(8, 33, 8),
    causal: Any = False,
    kind: Any = "",
    layout: Any = "",
) -> dict[str, Any]:
    lengths = (length, *[keys or length] * 2)
    q, k, v = (random.normal(size=(batch, heads, each, size)) for each in lengths)
    if kind:
        (SHAPED | LARGE)[kind](q, k)
    if layout == VIEW:
        q, k, v = (each.swapaxes(1, 2).copy().swapaxes(1, 2) for each in (q, k, v))
    if layout == SHARED:
        k, v = (np.broadcast_to(each[:, :1], each.shape) for each in (k, v))
    if layout == "strided":
        q = q.swapaxes(2, 3).copy().swapaxes(2, 3)
    return {"q": q, "k": k, "v": v, **({"causal": True} if causal else {})}


def causal(cases: Cases) -> Cases:
    """Return the same cases with causal."""
    return {f"{name}, causal": {**sizes, "causal": True} for name, sizes in cases.items()}


# --- what is claimed of the numbers -----------------------------------------------------------------------------------

# Relative to the largest number of a row. Measured 2026-11-23 on a CPU with torch 2.15, 25 seeds, the largest of fused
# and by hand: float32 2.1e-6, gradients 5.0e-5 (of rows that are 0 but for rounding), large logits 4.0e-4; bfloat16 in
# 300 draws of 128 positions 3.4e-2 (by hand). By hand in bfloat16 instead of float32: 1.2e-2.
CLOSE = {"float32": 1e-5, "bfloat16": 8e-2}
FORMULA: Cases = {
    f"{EVEN} positions": {},
    **{kind: {**SMALL, "kind": kind} for kind in SHAPED},
    f"{2 * EVEN} positions": {**SMALL, "length": 2 * EVEN},
    "other numbers in the same tensors": {**SMALL, "length": 2 * EVEN, "again": True},
}
ANY_ODD: Sizes = {"length": range(3, 70, 2)}
ONE: Sizes = {"length": 1}
SHAPES: Cases = {
    "128 positions, 256 keys": {**SMALL, "length": 128, "keys": 256},
    "256 positions, 128 keys": {**SMALL, "length": 256, "keys": 128},
    f"257 positions, {ODD}": {**SMALL, "length": 257},
    f"9 positions, 200 keys, {ODD}": {**SMALL, "length": 9, "keys": 200},
    f"70 positions, 20 keys, {ODD}": {**SMALL, "length": 70, "keys": 20},
    **{f"an odd length, {ODD}, {time}": ANY_ODD for time in ("once", "twice", "again")},
    f"one position, {ODD}": ONE,
}
MASKED: Cases = {
    **{f"an odd length, {ODD}, {time}": ANY_ODD for time in ("once", "twice", "again")},
    f"one position, {ODD}": ONE,
    f"131 positions, {ODD}": {**SMALL, "length": 131},
    f"300 positions, {ODD}": {**SMALL, "length": 300},
}
SEVERAL: Sizes = {"batch": (2, 3), "heads": (2, 4)}  # only where no dimension is 1 a layout shows
LAYOUTS: Cases = {
    VIEW: {**SEVERAL, "layout": VIEW},
    "every second number": {**SEVERAL, "view": "sliced"},
    SHARED: {**SEVERAL, "layout": SHARED},
    "bfloat16": {"dtype": "bfloat16", "length": EVEN // 2},
}
LOGITS: Cases = {kind: {**SMALL, "kind": kind} for kind in LARGE}
GRADIENTS: Cases = {
    f"{EVEN} positions": {},
    f"{EVEN} positions, causal": {"causal": True},
    f"{VIEW}, causal": {**LAYOUTS[VIEW], "causal": True},
    f"an odd length, {ODD}": ANY_ODD,
    f"150 positions, {ODD}": {**SMALL, "length": 150},
    f"9 positions, 100 keys, {ODD}": {**SMALL, "length": 9, "keys": 100},
    f"an odd length, {ODD}, causal": {**ANY_ODD, "causal": True},
}
alike = partial(attention.same, within=CLOSE, gradients=(), dtypes=(), families=())
MASKS = "masks_the_future"
FAILED = {"causal": MASKS}

alike(
    FORMULA,
    slips={
        "the scores are not divided by sqrt(head_dim)": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        "softmax runs over the positions, and must run over the keys": lambda q, k, v: (
            (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v
        ),
    },
    name="matches_by_hand",
    says="attention returns what the formula gives, for lengths that are multiples of 256.",
    why="softmax over the keys (the last dimension) of q k^T / sqrt(head_dim), then the product with v, "
    "is another number",
    try_="compare with given.attention_by_hand on one small shape; 1e-2 is the rounding of bfloat16, 1e-3 of float16",
)
alike(
    causal(FORMULA),
    name=MASKS,
    says="With causal, a position sees itself and what came before.",
    why="position i must see the keys 0 ... i, itself included, and no later one",
    try_="-inf above the diagonal, before softmax, in a block by the positions in the whole; or is_causal=True",
)
RIGHT = "multiples of 256 are right"
alike(
    SHAPES | causal(MASKED),
    apart=FAILED,
    name="takes_any_shape",
    says="Any length will do, one that no block divides as well; keys may be more or fewer than positions.",
    why={
        f"keys, {ODD}": f"{RIGHT}; k and v have their own length, which may be no multiple of the block either",
        "keys": f"{RIGHT}; k and v have their own length: blocks of keys are counted by k",
        "": f"{RIGHT}: the last block is left out, or what fills it up takes a share of softmax",
    },
    try_="let the last block be shorter, or give padded keys the score -inf; try lengths 1, 5 and 70 with 20 keys",
)
alike(
    LAYOUTS | causal(LAYOUTS),
    apart=FAILED,
    name="takes_any_layout_and_dtype",
    says="Inputs may be bfloat16, or views that are not contiguous; the result has their dtype and the shape of q.",
    why={
        "bfloat16": "more than the rounding of bfloat16: carry maximum and sums in float32, and round once, at the end",
        "": "the numbers were taken in the order of memory, and not of the tensor's dimensions",
    },
    try_="reshape instead of view, leave strides to torch; q.float() at the start, .to(q.dtype) at the end",
)
alike(
    LOGITS | causal(LOGITS),
    within=5e-3,
    apart=FAILED,
    name="survives_large_logits",
    says="Scores of some thousands, or all far below zero, give numbers and not NaN.",
    why={
        "causal": "without causal they are right: hidden scores are -inf, as any other number may be the largest",
        "below": "large scores are right; a row whose scores are all below zero has a maximum below zero as well",
        "": "softmax is the same for scores moved by a constant, but exp is not: exp(89) is infinite in float32",
    },
    try_="subtract each row's own maximum before exp, as torch.softmax does; a running maximum starts at -inf",
)
attention.same_gradients(
    GRADIENTS,
    within=2e-4,
    apart={**FAILED, ODD: "takes_any_shape", VIEW: "takes_any_layout_and_dtype"},
    name="gradients_match",
    says="The gradients with respect to q, k and v are those of the formula.",
    why={
        ODD: "for multiples of 64 they are right: backward leaves the last block out, or fills it up with numbers",
        VIEW: "for contiguous inputs they are right: backward takes memory in another order than the dimensions",
        "causal": "without causal they are right: backward forgets the mask",
        "gradient of v": "the gradient of v is weights^T times that of the result",
        "gradient of k": "that of q is right; the gradient of k is d_scores^T q, divided by sqrt(head_dim) as well",
        "": "weights and their gradient meet in softmax's: d_scores = weights * (d_weights - row sum)",
    },
    try_="torch.autograd.gradcheck in float64 tells which input is wrong; .detach() and .data cut gradients off",
)
attention.leaves_inputs_alone(
    {},
    {"causal": True},
    name="leaves_inputs_alone",
    says="q, k and v are not changed, forward or backward, nor is float32 multiplied in fewer bits while attention "
    "runs.",
    needs=["matches_by_hand"],
    try_="q = q * scale makes a new tensor, q *= scale does not",
)


# --- what is claimed of the measurement -------------------------------------------------------------------------------


@part.probe(
    pair=True,
    arrays=PICTURE,
    values={
        **DRAWN,
        "scales": list_of(TEXT),
        "across": list_of(list_of(NUMBER)),
        "names": list_of(TEXT),
        "lengths": list_of(INTEGER),
        "seconds": list_of(NUMBER),
        "bytes": list_of(INTEGER),
        "repeats": INTEGER,
    },
)
def scripted_growth(student: Any, rig: Any) -> Any:
    """Two functions that take scripted seconds and bytes, each near a power of the length."""
    repeats, versions = 2 * rig.integer(3, 5) + 1, ["by_hand", "attention"]
    shortest = rig.integer(20, 40)
    lengths = [shortest * 2**i + i for i in range(4)]

    def grown(unit: float, low: float, high: float) -> Any:
        """Draw figures for each version, off the line, so that two points do not tell the slope."""
        powers, off = rig.random.uniform(low, high, (2, 1)), rig.random.uniform(0.7, 1.4, (2, 4))
        return unit * np.array(lengths) ** powers * off

    times, held = grown(1e-4, 1.7, 2.3), grown(1e3, 0.8, 1.4).astype(int)
    seconds, sizes = times.tolist(), held.tolist()
    calls = {
        version: rig.scripted_call(
            dict(zip(lengths, its_seconds, strict=True)),
            dict(zip(lengths, its_bytes, strict=True)),
            repeats,
        )
        for version, its_seconds, its_bytes in zip(versions, seconds, sizes, strict=True)
    }

    def make_inputs(length: int, device: Any) -> Any:
        return tuple(rig.tensor(np.zeros((1, 2, length, 4))) for _ in "qkv")

    with rig.figures() as figures:
        returned = student.measure_growth(
            calls, make_inputs, lengths, rig.device, folder=str(rig.made_folder()), repeats=repeats
        )
    return {
        **written(rig, GROWTH, "measure_growth", returned, CURVES, figures),
        "scales": figures.scales(CURVES),
        "across": figures.across(CURVES),
        "names": [version for version in versions for _ in lengths],
        "lengths": lengths * 2,
        "seconds": times.flatten().tolist(),
        "bytes": held.flatten().tolist(),
        "repeats": repeats,
    }


def _measured(scripted_growth: Pair) -> str:
    rows, script = scripted_growth.student.values["rows"], scripted_growth.baseline.values
    in_mib = "it is in MiB, and a MB is 1e6 bytes"
    problems = (
        median_problem(GROWTH, row, "milliseconds", seconds, script["repeats"])
        or GROWTH.mismatch(row, "memory_mb", size / MB, 0.01, [(size / 2**20, in_mib)])
        for row, seconds, size in zip(rows, script["seconds"], script["bytes"], strict=True)
    )
    wrong = next(filter(None, problems), "") or _exponents_problem(rows)
    return wrong or table.other_device(rows, script["rows"][0]["device"])


def _exponents_problem(rows: Sequence[Row]) -> str:
    for version in dict.fromkeys(row["version"] for row in rows):
        mine = [row for row in rows if row["version"] == version]
        if len({row["length"] for row in mine}) < 2:
            return f"{version} was measured at one length; a slope needs more"
        for figure, told in (("milliseconds", "time_exponent"), ("memory_mb", "memory_exponent")):
            problem = judges.exponent_problem(mine, "length", figure, told)
            if problem:
                return f"{version}: {problem}"
    return ""


def _file_problem(rows: Sequence[Row]) -> str:
    versions = {row["version"] for row in rows}
    alone = f"it has {versions.pop()} alone, and no version to compare it with"
    return _exponents_problem(rows) or ("" if versions else alone)


def _axes(scripted_growth: Pair) -> tuple[str, str] | None:
    drawn = scripted_growth.student.values
    panels, rows, names = drawn["panels"], drawn["rows"], list(UNITS)
    why = plot.linear(panels, drawn["scales"], rows, names)
    if why:
        return why, "axis.loglog(...): a power of the length is a straight line there"
    why = plot.merged(panels, rows, names, "version")
    why = why or plot.displaced(panels, drawn["across"], rows, names, "length")
    return (why, "for each version: axis.loglog(lengths, figures, label=version)") if why else None


study = Study(
    part,
    GROWTH,
    "measure_growth",
    by=scripted_growth,
    expected=lambda known: list(zip(known["names"], known["lengths"], strict=True)),
)
study.is_measured(
    "measures_honestly",
    _measured,
    says="measure_growth returns the median time after a warm-up, the peak memory, and the exponents of both.",
    try_=f"warm up at each length, time repeats calls one by one, then peak_mb, then fit; {WRONG}",
    shows=["length", "milliseconds"],
)
study.is_written()
study.is_drawn(
    CURVES,
    UNITS,
    says="measure_growth draws time and memory of its rows on logarithmic axes, and writes attention_curves.png.",
    try_="one line per version with every row's figure, set_ylabel with the unit, and legend()",
    also=_axes,
)

# --- what is claimed of memory and speed ------------------------------------------------------------------------------


def matrix(given: Mapping[str, Any]) -> int:
    """Return the bytes of one matrix of scores."""
    return int(4 * given["q"].shape[-2] ** 2)


attention.keeps_at_most(
    {**LONG, "length": 2 * EVEN},
    {**LONG, "length": 8 * EVEN},
    also={"strided": {**LONG, "length": 8 * EVEN, "layout": "strided"}},
    at_most=6,  # 16 times is the square of the length
    more=4e5,
    name="keeps_little_for_backward",
    says="What autograd keeps grows with the length, not with its square; also where q's last dimension is strided.",
    why={
        "strided": "the fused kernel falls back to the formula for such a q, and its matrix is kept",
        "": "scores or weights of all positions are kept, or what goes from one block of keys to the next",
    },
    try_="checkpoint a block of rows with all its keys, or keep one number per row and recompute; "
    f"q.contiguous() where q is strided; {BLOCKS}",
)
attention.needs_less_memory(
    0.5,
    {**LONG, "length": range(31 * EVEN, 33 * EVEN + 1, EVEN)},
    LONG,
    of=matrix,
    name="lean_forward",
    says="At 8,000 positions attention needs less than half of one matrix of scores, measured from outside.",
    why="the scores of all positions are in memory at once, or blocks of them are kept beside the next",
    try_=BLOCKS,
)
attention.needs_less_memory(
    0.5,
    {**LONG, "length": range(21 * EVEN, 22 * EVEN + 1, EVEN), "causal": True},
    LONG,
    of=matrix,
    backward=True,
    name="lean_backward",
    says="With causal, forward and backward at 5,600 positions need less than half of one matrix, measured from "
    "outside.",
    needs=[MASKS, "gradients_match", "lean_forward"],
    why="the mask of causal is length x keys, or blocks are too large, or all scores are there in the backward pass: "
    "autograd kept something of each block, or they are computed again at once",
    try_="is_causal=True, or a mask of one block's rows and keys; recompute scores block by block, or checkpoint",
)
attention.faster(
    {"batch": 1, "heads": 4, "length": range(896, 1153, 128), "size": WIDTH, "causal": True},
    Close(
        rtol=1e-4, atol=1e-5
    ),  # a late row is a mean of many: 0.1, of which 16 bits are wrong by 1e-4
    name="attention_is_faster",
    says="Causal attention at 1,000 positions is at least {bar} as fast as by hand.",
    needs=[MASKS],
    why="the scores still go to memory and back, or those that causal hides are computed",
    slower="many small calls cost more than the scores: larger blocks, or one call for all of them",
    try_=BLOCKS,
)

# --- what is claimed of the files that are handed in ------------------------------------------------------------------

study.is_consistent(
    _file_problem,
    says="The attention_growth.csv handed in has both versions at several lengths, and exponents that fit them.",
)
study.is_pictured(CURVES)
