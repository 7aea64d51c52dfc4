"""fp8_linear: rounded as FP8 and no further, gradients for all three, FP8 operands, FP8 kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.labs.pairs.part05_precision.part import WRONG, part

HOLES = {
    "half_precision_and_back": "float16 rounds a hundred times less than FP8 does",
}


def in_a_network(written: Any, given: Mapping[str, Any]) -> Any:
    """Call it; on request with an x that nobody else keeps."""
    x = 2 * given["x"] if given["inside"] else given["x"]
    return written(x, given["weight"], given["bias"])


fp8 = Exercise("fp8_linear", part, call=in_a_network, holes=HOLES)


@fp8.inputs
def draw_layer(
    random: np.random.Generator,
    rows: Any = (0, 40),
    inner: Any = (4, 8),  # of 16 numbers: an error of fewer is left to chance
    outer: Any = (4, 8),
    shape: Any = "",
    inside: Any = False,
) -> dict[str, Any]:
    inner, outer = 16 * inner, 16 * outer
    shapes = {"three dimensions": (3, rows, inner), "one vector": (inner,)}
    x = random.normal(size=shapes.get(shape, (rows, inner)))
    if shape == "a huge row":
        x[random.integers(rows)] *= 3e3
    bias = random.normal(size=outer) if shape == "with a bias" else None
    weight = random.normal(size=(outer, inner)) / inner**0.5
    return {"x": x, "weight": weight, "bias": bias, "inside": inside}


CASES: dict[str, Sizes] = {
    "three dimensions": {"shape": "three dimensions"},
    "a transposed x of three dimensions": {"shape": "three dimensions", "view": "transposed"},
    "one vector": {"shape": "one vector"},
    "with a bias": {"shape": "with a bias"},
    "a row of x times 3000": {"shape": "a huge row", "rows": 40},
}
CHANCE = "all numbers of a result are one number, whose error may be any by chance"
HUGE = "errors of one number are left to chance; a huge row of x has a case of its own"
SKIPPED = {
    "equal rows": CHANCE,
    "one row times 10000": HUGE,
    "a constant row": "with a scale of its own it is not rounded at all",
}
SCALE = f"tensor.abs().amax() / 448, at least some tiny number; {WRONG}"
fp8.error_between(
    1e-2,
    6e-2,
    CASES,
    dtypes=["bfloat16"],
    skip_families=SKIPPED,
    name="fp8_is_fp8",
    says="fp8_linear has the error of FP8, 1e-2 to 6e-2, for large, small and equal numbers.",
    why={
        "zeros": "the scale of zeros is 0, and 0 / 0 is NaN",
        "a row of x": "numbers above 448 do not fit into float8_e4m3fn: they were not scaled",
        "a transposed x": "x may be any view: x.view() refuses one whose rows are scattered, and reshape copies it",
        "rows is 0": "no numbers have no largest one",
        "times 0.001": "numbers below 0.001 become 0 in float8_e4m3fn: they were not scaled",
        "times 1000": "numbers above 448 do not fit into float8_e4m3fn: they were not scaled",
        "": "operands are not divided by their scales, or the product is not multiplied by both",
    },
    exact="that is more exact than FP8: the product was computed in 16 or 32 bits",
    try_=SCALE,
)
fp8.error_between(
    0.0,
    6e-2,
    CASES,
    of="gradients",
    dtypes=["bfloat16"],
    skip_families=SKIPPED,
    name="fp8_gradients",
    needs=[],
    says="x, weight and bias get gradients with an error of at most 6e-2.",
    why={
        "gradient of weight": "without a gradient weight never trains; "
        "it is gradient.t() @ x, by the x that was multiplied",
        "gradient of x": "the gradient of x is gradient @ weight, by the weight that was multiplied",
        "": "the gradient of bias is the sum over all rows",
    },
    try_=f"an autograd.Function whose backward returns both gradients; {WRONG}",
)
fp8.reaches(
    ("aten::_scaled_mm", "aten::_scaled_mm_v2"),
    {"rows": 32, "inner": 4, "outer": 3, "view": "transposed"},
    dtype="float8_e4m3fn",
    layout=("row-major", "column-major"),
    without=("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::dot"),
    name="fp8_reaches_the_product",
    says="The product is computed by torch's scaled product of two float8_e4m3fn matrices, the second column-major.",
    why={
        "layout": "a GPU refuses this layout: the first operand is row-major, the second column-major, "
        "also where x and weight are transposed views",
        "dtype": "both operands have to be float8_e4m3fn",
        "": "numbers were rounded to FP8 and back, and multiplied in 16 or 32 bits",
    },
    try_="torch._scaled_mm(xq, wq.t(), scale_a=sx, scale_b=sw, out_dtype=x.dtype), with xq and wq contiguous",
)
fp8.keeps_less(
    0.4,  # the reference 28 %, copies in bfloat16 50 %
    {"rows": 2048, "inner": 16, "outer": 16, "inside": True},
    name="fp8_holds_less",
    says="For the backward pass, fp8_linear keeps at most 40 % of what a float32 layer keeps.",
    why="operands are kept in 16 or 32 bits",
    try_="ctx.save_for_backward(xq, sx, wq, sw): what was multiplied, in FP8",
)
