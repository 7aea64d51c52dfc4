"""Part 1: attention. The results and gradients of the formula, without its matrix of scores; how both versions grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from autograder.checks import growth, memory, outputs, plot, speedup, table
from autograder.checks.forms import DEVICE, Form, any_number, count, positive, words
from autograder.checks.slips import median_problem
from autograder.claims.studies import Study
from autograder.lab import (
    CELL,
    INTEGER,
    NUMBER,
    NUMBERS,
    PANELS,
    TEXT,
    Bar,
    Close,
    Failed,
    Observation,
    Pair,
    Part,
    Passed,
    Timed,
    Verdict,
    list_of,
    map_of,
)

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
part = Part(
    "part1_attention",
    writes=["attention", "measure_growth"],
    hands_in=[GROWTH.file, "attention_curves.png", "part1_notes.md"],
    tables=[GROWTH],
)

UNITS = {
    "milliseconds": r"\bms\b|millisec",
    "memory_mb": r"MB|[Mm]egabyte",
}  # a panel's label must match
WIDTH = 32  # head_dim of the long cases
FINE = Close(
    rtol=1e-4, atol=1e-5
)  # a late row is a mean of many: 0.1, of which 16 bits are wrong by 1e-4
MB = 1e6
WRONG = 'see "What usually goes wrong" in the part 1 handout'
EVEN = 256  # positions: a multiple of every usual block, so that what else is asked shows in its own check
ODD = "no multiple of 64"
VIEW = "heads behind positions"
BLOCKS = 'scaled_dot_product_attention, or blocks: see "How it can do without the matrix" in the part 1 handout'


@dataclass(frozen=True)
class Case:
    """One call of attention."""

    shape: tuple[int, int, int, int]
    """(batch, heads, length, head_dim) of q."""
    keys: int = 0
    """Other than length, where it is not 0."""
    dtype: str = "float32"
    causal: bool = False
    layout: str = "contiguous"
    logits: str = "ordinary"
    shaped: str = ""
    """One of SHAPED: something that a look at a part of the inputs takes for all of them."""

    def __str__(self) -> str:
        """Name the case in a message."""
        odd = [self.dtype] if self.dtype != "float32" else []
        odd += ["causal"] * self.causal + [self.layout] * (self.layout != "contiguous")
        odd += [f"{self.keys} keys"] * (self.keys > 0) + [f"{self.logits} logits"] * (
            self.logits != "ordinary"
        )
        odd += [ODD] * any(length % 64 for length in (self.shape[2], self.keys))
        return ", ".join([f"q of {self.shape}", *odd, *filter(None, [self.shaped])])


def same_keys_but_one(q: Any, k: Any) -> None:
    """Let each key be the first, but for one in the middle."""
    at = k.shape[-2] // 2
    other = k[..., at, :].clone()
    k[:] = k[..., :1, :].clone()
    k[..., at, :] = other


def scores_almost_equal(q: Any, k: Any) -> None:
    """Let softmax be nearly even: by some thousandths it is not."""
    q *= 2**-5
    k *= 2**-5


def scores_almost_equal_later(q: Any, k: Any) -> None:
    """Let it be so for the second half of the positions."""
    q[..., q.shape[-2] // 2 :, :] *= 2**-10


def keys_are_q_at_first(q: Any, k: Any) -> None:
    """Let the scores be symmetric, in the first half."""
    half = q.shape[-2] // 2
    k[..., :half, :] = q[..., :half, :]


SHAPED = {
    "all keys the same but one": same_keys_but_one,
    "scores almost equal": scores_almost_equal,
    "scores almost equal in the second half": scores_almost_equal_later,
    "k is q in the first half": keys_are_q_at_first,
}


# --- what is run ------------------------------------------------------------------------------------------------------


def draw(rig: Any, case: Case) -> list[Any]:
    """Return fresh q, k, v for a case; on the baseline's side in float64."""
    batch, heads, length, size = case.shape
    lengths = (length, *[case.keys or length] * 2)
    q, k, v = (laid_out(rig, case, (batch, heads, n, size), at) for at, n in enumerate(lengths))
    if case.shaped:
        SHAPED[case.shaped](q, k)
    return [q, k, v]


def laid_out(rig: Any, case: Case, shape: tuple[int, int, int, int], at: int) -> Any:
    """Return q, k or v (*at* 0, 1, 2) in the memory layout of the case."""
    batch, heads, length, size = shape
    if case.layout == "heads behind positions":
        shape = (batch, length, heads, size)
    if case.layout == "every second number":
        shape = (batch, heads, length, 2 * size)
    if case.layout == "one key for all heads" and at:
        shape = (batch, 1, length, size)
    numbers = rig.random.normal(size=shape)
    if case.logits == "large" and at < 2:
        numbers *= 30.0
    if case.logits == "far below zero" and at < 2:
        numbers += (20.0, -20.0)[at]
    tensor = rig.exact(rig.tensor(numbers, case.dtype))
    if case.layout == "heads behind positions":
        return tensor.transpose(1, 2)
    if case.layout == "every second number":
        return tensor[..., ::2]
    return tensor.expand(-1, heads, -1, -1) if case.layout == "one key for all heads" else tensor


def drawn_shape(rig: Any, length: int = 0) -> tuple[int, int, int, int]:
    """Return a small shape; head_dim is a multiple of 8, and a length that is drawn is odd."""
    return (
        rig.integer(1, 3),
        rig.integer(1, 4),
        length or 2 * rig.integer(1, 34) + 1,
        8 * rig.integer(1, 4),
    )


def drawn_for_views(rig: Any) -> tuple[int, int, int, int]:
    """Return a shape of which no dimension is 1: only then does a layout show."""
    return rig.integer(2, 3), rig.integer(2, 4), EVEN, 8 * rig.integer(1, 4)


def called(student: Any, rig: Any, cases: Sequence[Case]) -> Any:
    """Call attention on each case; on the last one again, with other numbers in the same places."""
    seen, again = rig.answers(student), []
    for case in cases:
        inputs = draw(rig, case)
        again = rig.redrawn(inputs)
        seen.ask(
            str(case), partial(student.attention, causal=case.causal), *inputs, asked=case.dtype
        )
    last = partial(student.attention, causal=cases[-1].causal)
    seen.ask(f"{cases[-1]}, other numbers", last, *again, asked=cases[-1].dtype)
    return seen.seen()


def shaped(causal: bool) -> list[Case]:
    """Return a case of each kind of SHAPED."""
    return [Case((1, 2, EVEN, 16), causal=causal, shaped=kind) for kind in SHAPED]


@part.outputs
def plain(student: Any, rig: Any) -> Any:
    return called(
        student, rig, [Case(drawn_shape(rig, EVEN)), *shaped(False), Case((1, 2, 2 * EVEN, 16))]
    )


@part.outputs
def causal(student: Any, rig: Any) -> Any:
    plain = [Case(shape, causal=True) for shape in (drawn_shape(rig, EVEN), (1, 2, 2 * EVEN, 16))]
    return called(student, rig, [*plain, *shaped(True)])


@part.outputs
def shapes(student: Any, rig: Any) -> Any:
    """Other numbers of keys than positions, more than a block and fewer; lengths that no block divides."""
    keys = [
        Case((1, 2, 128, 16), EVEN),
        Case((1, 2, EVEN, 16), 128),
        Case((1, 1, 257, 16)),
        Case((2, 3, 9, 8), 200),
    ]
    drawn = [drawn_shape(rig) for _ in range(3)]
    masked = [*drawn, drawn_shape(rig, 1), (1, 2, 131, 16), (1, 1, 300, 8)]
    cases = [*keys, Case((1, 2, 70, 16), 20), *map(Case, drawn), Case(drawn_shape(rig, 1))]
    return called(student, rig, [*cases, *[Case(shape, causal=True) for shape in masked]])


@part.outputs
def layouts(student: Any, rig: Any) -> Any:
    cases = []
    for causal in (False, True):
        names = (VIEW, "every second number", "one key for all heads")
        cases += [Case(drawn_for_views(rig), layout=name, causal=causal) for name in names]
        cases += [Case(drawn_shape(rig, EVEN // 2), dtype="bfloat16", causal=causal)]
    return called(student, rig, cases)


@part.outputs
def large_logits(student: Any, rig: Any) -> Any:
    kinds = [("large", False), ("far below zero", False), ("large", True), ("far below zero", True)]
    return called(
        student, rig, [Case((1, 2, EVEN, 16), logits=kind, causal=c) for kind, c in kinds]
    )


@part.outputs
def gradients(student: Any, rig: Any) -> Any:
    even = [Case(drawn_shape(rig, EVEN)), Case(drawn_shape(rig, EVEN), causal=True)]
    odd = [
        Case(drawn_shape(rig)),
        Case((1, 2, 150, 16)),
        Case((2, 2, 9, 8), 100),
        Case(drawn_shape(rig), causal=True),
    ]
    seen = rig.answers(student)
    for case in [*even, Case(drawn_for_views(rig), layout=VIEW, causal=True), *odd]:
        leaves = [tensor.requires_grad_() for tensor in draw(rig, case)]
        grad = rig.exact(rig.tensor(rig.random.normal(size=case.shape)))
        failed = seen.tried(forward_and_backward, student, leaves, grad, case.causal)
        for name, leaf in zip("qkv", leaves, strict=True):
            seen.add(f"gradient of {name}, {case}", failed or leaf.grad, case.dtype)
    return seen.seen()


def forward_and_backward(
    student: Any, leaves: Sequence[Any], grad: Any, causal: bool = False
) -> None:
    """Call attention on what was computed before, as in a network."""
    student.attention(*[leaf.clone() for leaf in leaves], causal=causal).backward(grad)


@part.probe(values={"changed": list_of(TEXT), "lowered": list_of(TEXT)})
def inputs_after(student: Any, rig: Any) -> Any:
    inputs = dict(zip("qkv", draw(rig, Case(drawn_shape(rig, EVEN))), strict=True))
    computed = {name: tensor.clone().requires_grad_().clone() for name, tensor in inputs.items()}
    before, precision = rig.copies(inputs), rig.precision()
    with precision:
        student.attention(**inputs)
        for causal in (False, True):
            with suppress(Exception):  # gradients_match and masks_the_future say what it raises
                student.attention(**computed, causal=causal).sum().backward()
    late = [f"{name}, with causal or in backward" for name in rig.changed(computed, before)]
    return {"changed": rig.changed(inputs, before) or late, "lowered": list(precision.lowered)}


@part.probe(pair=True, values={"length": INTEGER}, arrays=NUMBERS)
def long_forward(student: Any, rig: Any) -> Any:
    """One head: at 8,192 its scores are 268 MB, and outweigh all else. The memory is measured from outside."""
    length = EVEN * rig.integer(31, 33)
    q, k, v = long_inputs(rig, length)
    rig.return_memory_at_once()
    return {"length": length, "numbers": rig.flat(student.attention(q, k, v))}


@part.probe(pair=True, values={"length": INTEGER}, arrays=NUMBERS)
def long_backward(student: Any, rig: Any) -> Any:
    """With causal: a mask of length x keys would be in memory as well."""
    length = EVEN * rig.integer(21, 22)
    leaves = [tensor.requires_grad_() for tensor in long_inputs(rig, length)]
    rig.return_memory_at_once()
    forward_and_backward(
        student, leaves, rig.tensor(rig.random.normal(size=(1, 1, length, WIDTH))), causal=True
    )
    return {"length": length, "numbers": rig.flat([leaf.grad for leaf in leaves])}


@part.probe(pair=True)
def idle(student: Any, rig: Any) -> Any:
    """A short call: what a worker holds before anything is long."""
    student.attention(*long_inputs(rig, EVEN))
    return {}


def long_inputs(rig: Any, length: int) -> list[Any]:
    """Return q, k, v of one head."""
    return [rig.tensor(rig.random.normal(size=(1, 1, length, WIDTH))) for _ in "qkv"]


@part.probe(pair=True, values={name: list_of(INTEGER) for name in ("lengths", "saved", "strided")})
def kept_for_backward(student: Any, rig: Any) -> Any:
    """Also with a q whose last dimension is strided, for which a fused kernel may fall back to the formula."""
    lengths = [2 * EVEN, 8 * EVEN]
    inputs = [long_inputs(rig, length) for length in lengths]
    strided = [(q.mT.contiguous().mT, k, v) for q, k, v in inputs]
    saved, of_strided = ([kept(student, rig, each) for each in some] for some in (inputs, strided))
    return {"lengths": lengths, "saved": saved, "strided": of_strided}


def kept(student: Any, rig: Any, tensors: Sequence[Any]) -> int:
    """Return the bytes that autograd keeps, or Python until the result is gone; the inputs not."""
    inputs = [tensor.requires_grad_().clone() for tensor in tensors]
    with rig.saved(*inputs) as seen:
        result = student.attention(*inputs)
    return int(seen.held) - int(result.nbytes)


def draw_call(random: np.random.Generator) -> Mapping[str, Any]:
    """Draw one timed call: long enough that the scores leave the cache."""
    shape = (1, 4, 128 * int(random.integers(7, 10)), WIDTH)
    return {name: random.standard_normal(shape, dtype=np.float32) for name in "qkv"}


@part.timed("call", inputs=draw_call, within=FINE)
def fast(student: Any, inputs: Any) -> Any:
    return student.attention(**inputs, causal=True)


@part.probe(
    pair=True,
    arrays={"picture": ("uint8", 1)},
    values={
        "rows": list_of(map_of(CELL)),
        "csv": TEXT,
        "panels": PANELS,
        "scales": list_of(TEXT),
        "versions": list_of(TEXT),
        "lengths": list_of(INTEGER),
        "seconds": list_of(list_of(NUMBER)),
        "bytes": list_of(list_of(INTEGER)),
        "repeats": INTEGER,
    },
)
def scripted_growth(student: Any, rig: Any) -> Any:
    """Two functions that take scripted seconds and bytes, each near a power of the length."""
    repeats, versions = 2 * rig.integer(3, 5) + 1, ["by_hand", "attention"]
    shortest = rig.integer(20, 40)
    lengths = [shortest * 2**i + i for i in range(4)]
    powers = [rig.random.uniform(1.7, 2.3, 2), rig.random.uniform(0.8, 1.4, 2)]
    off = rig.random.uniform(
        0.7, 1.4, (2, 2, 4)
    )  # off the line, so that two points do not tell the slope
    seconds = [
        [1e-4 * n ** float(p[0]) * float(o) for n, o in zip(lengths, off[0, i], strict=True)]
        for i, p in enumerate(powers)
    ]
    sizes = [
        [int(1e3 * n ** float(p[1]) * float(o)) for n, o in zip(lengths, off[1, i], strict=True)]
        for i, p in enumerate(powers)
    ]
    calls = {
        version: rig.scripted_call(
            dict(zip(lengths, times, strict=True)), dict(zip(lengths, held, strict=True)), repeats
        )
        for version, times, held in zip(versions, seconds, sizes, strict=True)
    }

    def make_inputs(length: int, device: Any) -> Any:
        return tuple(rig.tensor(np.zeros((1, 2, length, 4))) for _ in "qkv")

    with rig.figures() as figures:
        returned = student.measure_growth(
            calls, make_inputs, lengths, rig.device, folder=str(rig.made_folder()), repeats=repeats
        )
    return {
        "rows": rig.rows(returned, "measure_growth"),
        "csv": rig.file_text(rig.made_folder() / "attention_growth.csv"),
        "picture": rig.file_bytes(rig.made_folder() / "attention_curves.png", plot.BYTES + 1),
        "panels": figures.panels("attention_curves.png"),
        "scales": figures.scales("attention_curves.png"),
        "versions": versions,
        "lengths": lengths,
        "seconds": seconds,
        "bytes": sizes,
        "repeats": repeats,
    }


# --- what is judged: the numbers --------------------------------------------------------------------------------------

# Relative to the largest number of a row. Measured 2026-11-23 on a CPU with torch 2.15, 25 seeds, the largest of fused
# and by hand: float32 2.1e-6, gradients 5.0e-5 (of rows that are 0 but for rounding), large logits 4.0e-4; bfloat16 in
# 300 draws of 128 positions 3.4e-2 (by hand). By hand in bfloat16 instead of float32: 1.2e-2.
CLOSE = {"float32": 1e-5, "bfloat16": 8e-2}
APART = (
    "softmax over the keys (the last dimension) of q k^T / sqrt(head_dim), then the product with v, "
    "is another number"
)
NOT_MASKED = "position i must see the keys 0 ... i, itself included, and no later one"


@part.check(basis="outputs")
def matches_by_hand(plain: Pair) -> Verdict:
    """attention returns what the formula gives, for lengths that are multiples of 256."""
    try_ = "compare with given.attention_by_hand on one small shape; 1e-2 is the rounding of bfloat16, 1e-3 of float16"
    return outputs.same(plain, CLOSE, why=APART, try_=try_)


@part.check(basis="outputs", needs=[matches_by_hand])
def masks_the_future(causal: Pair) -> Verdict:
    """With causal, a position sees itself and what came before."""
    return outputs.same(
        causal,
        CLOSE,
        why=NOT_MASKED,
        try_="-inf above the diagonal, before softmax, in a block by the positions in the whole; or is_causal=True",
    )


@part.check(basis="outputs", needs=[matches_by_hand])
def takes_any_shape(shapes: Pair, causal: Pair) -> Verdict:
    """Any length will do, one that no block divides as well; keys may be more or fewer than positions."""
    right = "multiples of 256 are right"
    why = {
        f"keys, {ODD}": f"{right}; k and v have their own length, which may be no multiple of the block either",
        "keys": f"{right}; k and v have their own length: blocks of keys are counted by k",
        "": f"{right}: the last block is left out, or what fills it up takes a share of softmax",
    }
    try_ = "let the last block be shorter, or give padded keys the score -inf; try lengths 1, 5 and 70 with 20 keys"
    return outputs.same(shapes, CLOSE, why=why, try_=try_, without=_failed(causal))


@part.check(basis="outputs", needs=[matches_by_hand])
def takes_any_layout_and_dtype(layouts: Pair, causal: Pair) -> Verdict:
    """Inputs may be bfloat16, or views that are not contiguous; the result has their dtype and the shape of q."""
    why = {
        "bfloat16": "more than the rounding of bfloat16: carry maximum and sums in float32, and round once, at the end",
        "q of (": "the numbers were taken in the order of memory, and not of the tensor's dimensions",
    }
    try_ = "reshape instead of view, leave strides to torch; q.float() at the start, .to(q.dtype) at the end"
    return outputs.same(layouts, CLOSE, why=why, try_=try_, without=_failed(causal))


@part.check(basis="outputs", needs=[matches_by_hand])
def survives_large_logits(large_logits: Pair, causal: Pair) -> Verdict:
    """Scores of some thousands, or all far below zero, give numbers and not NaN."""
    why = {
        "causal": "without causal they are right: hidden scores are -inf, as any other number may be the largest",
        "below": "large scores are right; a row whose scores are all below zero has a maximum below zero as well",
        "": "softmax is the same for scores moved by a constant, but exp is not: exp(89) is infinite in float32",
    }
    try_ = "subtract each row's own maximum before exp, as torch.softmax does; a running maximum starts at -inf"
    return outputs.same(large_logits, 5e-3, why=why, try_=try_, without=_failed(causal))


@part.check(basis="outputs", needs=[matches_by_hand])
def gradients_match(gradients: Pair, causal: Pair, shapes: Pair, layouts: Pair) -> Verdict:
    """The gradients with respect to q, k and v are those of the formula."""
    why = {
        ODD: "for multiples of 64 they are right: backward leaves the last block out, or fills it up with numbers",
        VIEW: "for contiguous inputs they are right: backward takes memory in another order than the dimensions",
        "causal": "without causal they are right: backward forgets the mask",
        "gradient of v": "the gradient of v is weights^T times that of the result",
        "gradient of k": "that of q is right; the gradient of k is d_scores^T q, divided by sqrt(head_dim) as well",
        "": "weights and their gradient meet in softmax's: d_scores = weights * (d_weights - row sum)",
    }
    try_ = "torch.autograd.gradcheck in float64 tells which input is wrong; .detach() and .data cut gradients off"
    return outputs.same(
        gradients, 2e-4, why=why, try_=try_, without=_failed(causal, shapes, layouts)
    )


def _failed(causal: Pair, shapes: Pair | None = None, layouts: Pair | None = None) -> list[str]:
    """Name the cases that a check of their own has failed for: one mistake costs one check."""
    verdicts = {"causal": masks_the_future(causal)}
    if shapes and layouts:
        verdicts |= {
            ODD: takes_any_shape(shapes, causal),
            VIEW: takes_any_layout_and_dtype(layouts, causal),
        }
    return [word for word, verdict in verdicts.items() if isinstance(verdict, Failed)]


@part.check(basis="report", needs=[matches_by_hand])
def leaves_inputs_alone(inputs_after: Observation) -> Verdict:
    """q, k and v are not changed, forward or backward, nor is float32 multiplied in fewer bits while attention runs."""
    if lowered := inputs_after.values["lowered"]:
        why = "float32 is multiplied in fewer bits while attention runs, also where the setting is put back afterwards"
        return Failed("; ".join(lowered[:3]), why, "leave torch's precision as it is")
    return outputs.unchanged(
        inputs_after.values["changed"], try_="q = q * scale makes a new tensor, q *= scale does not"
    )


# --- what is judged: the measurement ----------------------------------------------------------------------------------


def _measured(scripted_growth: Pair) -> str:
    rows, script = scripted_growth.student.values["rows"], scripted_growth.baseline.values
    took, held = (chain.from_iterable(script[name]) for name in ("seconds", "bytes"))
    problems = (
        median_problem(GROWTH, row, "milliseconds", seconds, script["repeats"])
        or GROWTH.mismatch(
            row,
            "memory_mb",
            size / MB,
            0.01,
            [(size / 2**20, "it is in MiB, and a MB is 1e6 bytes")],
        )
        for row, seconds, size in zip(rows, took, held, strict=True)
    )
    wrong = next(filter(None, problems), "") or _exponents_problem(rows)
    return wrong or table.other_device(rows, script["rows"][0]["device"])


def _exponents_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    for version in dict.fromkeys(row["version"] for row in rows):
        mine = [row for row in rows if row["version"] == version]
        if len({row["length"] for row in mine}) < 2:
            return f"{version} was measured at one length; a slope needs more"
        for figure, told in (("milliseconds", "time_exponent"), ("memory_mb", "memory_exponent")):
            problem = growth.exponent_problem(mine, "length", figure, told)
            if problem:
                return f"{version}: {problem}"
    return ""


def _file_problem(rows: Sequence[Mapping[str, Any]]) -> str:
    versions = dict.fromkeys(row["version"] for row in rows)
    alone = f"it has {next(iter(versions))} alone, and no version to compare it with" * (
        len(versions) == 1
    )
    return _exponents_problem(rows) or alone


study = Study(
    part,
    GROWTH,
    "measure_growth",
    by=scripted_growth,
    expected=lambda known: list(product(known["versions"], known["lengths"])),
)
study.is_measured(
    "measures_honestly",
    _measured,
    says="measure_growth returns the median time after a warm-up, the peak memory, and the exponents of both.",
    try_=f"warm up at each length, time repeats calls one by one, then peak_mb, then fit; {WRONG}",
    shows=["length", "milliseconds"],
)


def _axes(scripted_growth: Pair) -> tuple[str, str] | None:
    seen = scripted_growth.student.values
    why = plot.linear(seen["panels"], seen["scales"], seen["rows"], list(UNITS))
    if why:
        return why, "axis.loglog(...): a power of the length is a straight line there"
    why = plot.merged(seen["panels"], seen["rows"], list(UNITS), "version")
    return (why, "for each version: axis.loglog(lengths, figures, label=version)") if why else None


study.is_written()
study.is_drawn(
    "attention_curves.png",
    UNITS,
    says="measure_growth draws time and memory of its rows on logarithmic axes, and writes attention_curves.png.",
    try_="one line per version with every row's figure, and set_ylabel with the unit",
    also=_axes,
)

# --- what is judged: memory and speed ---------------------------------------------------------------------------------

LONG = 1e-4  # of a row's largest number: sums over 8,192 keys in float32


@part.check(basis="report", needs=[matches_by_hand])
def keeps_little_for_backward(kept_for_backward: Pair) -> Verdict:
    """What autograd keeps grows with the length, not with its square; also where q's last dimension is strided."""
    rows = f"checkpoint a block of rows with all its keys, or keep one number per row and recompute; {BLOCKS}"
    for name, where, why, try_ in (
        (
            "saved",
            "",
            "scores or weights of all positions are kept, or what goes from one block of keys to the next",
            rows,
        ),
        (
            "strided",
            " (q strided)",
            "the fused kernel falls back to the formula for such a q, and its matrix is kept",
            "q = q.contiguous()",
        ),
    ):
        measured, in_proportion = _kept(kept_for_backward, name)
        if not in_proportion:
            return Failed(measured + where, why, try_)
    return Passed(_kept(kept_for_backward, "saved")[0])


def _kept(seen: Pair, name: str) -> tuple[str, bool]:
    """Say what autograd kept, and whether it grows in proportion: four times the length keep four times as much."""
    lengths, by_hand = seen.baseline.values["lengths"], seen.baseline.values[name][-1]
    saved = seen.student.values[name]
    if len(saved) != len(lengths):
        return f"{len(saved)} figures for {len(lengths)} lengths", False
    ends = f"{saved[-1] / MB:.2f} MB at {lengths[-1]} positions, {saved[0] / MB:.2f} MB at {lengths[0]}"
    return f"{ends}; by hand {by_hand / MB:.1f} MB", saved[-1] <= 8 * max(
        saved[0], 1e5
    )  # 16 times is the square


@part.check(basis="outputs", needs=[matches_by_hand])
def lean_forward(long_forward: Pair, idle: Pair) -> Verdict:
    """At 8,000 positions attention needs less than half of one matrix of scores, measured from outside."""
    why = "the scores of all positions are in memory at once, or blocks of them are kept beside the next"
    return _lean(long_forward, idle, why, BLOCKS)


@part.check(basis="outputs", needs=[masks_the_future, gradients_match, lean_forward])
def lean_backward(long_backward: Pair, idle: Pair) -> Verdict:
    """With causal, forward and backward at 5,600 positions need less than half of one matrix, measured from outside."""
    why = (
        "the mask of causal is length x keys, or blocks are too large, or all scores are there in the backward pass: "
        "autograd kept something of each block, or they are computed again at once"
    )
    try_ = "is_causal=True, or a mask of one block's rows and keys; recompute scores block by block, or checkpoint"
    return _lean(long_backward, idle, why, try_)


def _lean(run: Pair, idle: Pair, why: str, try_: str) -> Verdict:
    """Judge the peak that the supervisor saw beyond that of an idle worker, on a run whose results are right."""
    matrix = 4 * run.baseline.values["length"] ** 2
    needed, by_hand = memory.beyond(run, idle)
    apart = outputs.furthest(
        run.student.arrays["numbers"], run.baseline.arrays["numbers"], row=WIDTH
    )
    measured = f"{needed / MB:.0f} MB where by hand takes {by_hand / MB:.0f} MB and one matrix {matrix / MB:.0f} MB"
    if not apart <= LONG:
        told = f"apart by {apart:.1e} of the largest number of its row"
        try_ = "when a block has a larger score, multiply both sums so far by exp(old largest - new largest)"
        return Failed(told, "long inputs give other numbers than by hand", try_)
    return memory.at_most(run, idle, matrix / 2 - 1, measured, why, try_)


@part.check(basis="outputs", needs=[masks_the_future])
def attention_is_faster(fast: Timed, bar: Bar) -> Verdict:
    """Causal attention at 1,000 positions is at least {bar} as fast as by hand."""
    same = outputs.same_calls(
        fast,
        FINE,
        why="the timed calls return other numbers than by hand",
        try_="the same work for every length",
    )
    why = "the scores still go to memory and back, or those that causal hides are computed"
    slower = (
        "many small calls cost more than the scores: larger blocks, or one call for all of them"
    )
    return speedup.at_least(fast, bar, why=why, try_=BLOCKS, same=same, slower=slower)


# --- what is judged: the files that are handed in ---------------------------------------------------------------------

study.is_consistent(
    _file_problem,
    says="The attention_growth.csv handed in has both versions at several lengths, and exponents that fit them.",
)
study.is_pictured("attention_curves.png")
