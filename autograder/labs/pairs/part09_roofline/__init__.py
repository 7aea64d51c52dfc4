"""Part 9: bytes and products. A layout that uses every byte, a roofline, one product, one new tensor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.claims.families import Sizes
from autograder.lab import Close, Part

part = Part("part09_roofline", warm=["torch.utils.flop_counter"])
WRONG = 'see "What usually goes wrong" in the part 9 handout'

# --- advance: every byte that is read is used ---


def moved(written: Any, given: Mapping[str, Any]) -> Any:
    """Call it; say where the caller's own memory comes back."""
    result = written(**given)
    own = getattr(result, "data_ptr", int)() == given["particles"].data_ptr() != 0
    return "the caller's own tensor" if own else result


advance = Exercise("advance", part, call=moved)
MOST = 4.0  # farther out the steps explode


@advance.inputs
def draw_particles(
    random: np.random.Generator, rows: Any = (0, 40), steps: Any = (0, 40)
) -> dict[str, Any]:
    particles = random.uniform(-MOST, MOST, (rows, 8))
    return {"particles": particles, "dt": random.uniform(0.005, 0.02), "steps": steps}


FAR = f"values are up to {MOST:g}: farther out the steps explode"
CONTIGUOUS = "particles.t().clone(memory_format=torch.contiguous_format), once before the loop"
OLD = "velocities are changed by the old position, and must be changed by the new one"


def by_old_position(particles: Any, dt: float, steps: int) -> Any:
    moved = particles.clone()
    for _ in range(steps):
        old = moved[:, :3].clone()
        moved[:, :3] += dt * moved[:, 3:6]
        moved[:, 3:6] -= dt * old**3
    return moved


UNMOVED = (
    "mass and charge, columns 6 and 7, must stay as they were",
    "copy all eight columns, and change columns 0 to 5",
)
advance.same(
    gradients=(),
    skip_families=dict.fromkeys(("times 1000", "one row times 10000", "heavy tails"), FAR),
    name="advance_matches",
    says="advance returns the particles after all steps, for any number of particles and steps.",
    slips={OLD: by_old_position},
    why="a step must be position += dt * velocity, then velocity -= dt * position ** 3",
    hints={
        OLD: "change all positions first, and compute the velocities from these new positions",
        "changed: particles": "clone before the loop: contiguous() may return the caller's memory",
        'case "steps is 0": ': (
            "with steps=0 the same numbers must come back, in a new tensor",
            "clone before the loop over range(steps)",
        ),
        'float64": furthest off': (
            "something is converted to float32 on the way",
            "no .float(): keep all tensors in the dtype of particles, and dt a number of Python",
        ),
        **dict.fromkeys((", 6]: your", ", 7]: your"), UNMOVED),
        ", 6) instead of": (
            "mass and charge are missing: the result must have all eight columns of particles",
            "return columns 6 and 7 as well: they stay as they are",
        ),
    },
    try_="compare with the baseline after one step, one column after the other",
)
advance.touches_less(
    0.18,  # the reference 10 %, plain operators on planes 16 %, rows transposed in each step 20 %
    {"rows": 1000, "steps": 64},
    name="touches_few_sectors",
    says="advance touches at most 18 % of the memory that the slow version touches, in pieces of 32 bytes.",
    why="usually each step still reads a tensor whose columns lie apart in memory",
    try_=CONTIGUOUS,
)
advance.faster(
    {"rows": 20_000, "steps": 32},
    Close(rtol=1e-4, atol=1e-3),
    name="advance_is_faster",
    says="advance is at least {bar} as fast as the slow version.",
    why="bound by memory: columns are still strided, or each step makes many new tensors",
    try_=f"{CONTIGUOUS}; add_(..., alpha=dt) and addcmul_ make no new tensor",
)

# --- roofline ---


KINDS = (
    "a product",
    "attention",
    "a convolution",
    "an addition",
    "a number among the inputs",
    "a tensor passed twice",
    "two views of one storage",
    "a product and what follows",
    "in place",
    "two results",
    "bfloat16",
)


def asked(written: Any, given: Mapping[str, Any]) -> Any:
    from autograder.labs.pairs.part09_roofline import rig

    sizes = (given[name] for name in ("kind", "rows", "inner", "columns"))
    function, inputs = rig.work(*sizes)
    counted = rig.Calls(function)
    answer = written(counted, inputs, given["peak_flops"], given["bandwidth"])
    return (
        {**answer, "calls of the function": counted.calls} if isinstance(answer, dict) else answer
    )


roof = Exercise("roofline", part, call=asked)


@roof.inputs
def draw_work(
    random: np.random.Generator,
    kind: Any = "a product",
    rows: Any = (40, 70),
    inner: Any = (20, 60),
    columns: Any = (20, 40),
    ridge: Any = "",
) -> dict[str, Any]:
    """Draw a device whose ridge, in FLOP per byte, lies below or above most of the work."""
    bandwidth = random.uniform(1e10, 1e12)
    peak = {"": random.uniform(1, 20) * bandwidth, "equal": 8.0 * bandwidth}[ridge]
    sizes = {"rows": rows, "inner": inner, "columns": columns}
    return {"kind": kind, **sizes, "peak_flops": peak, "bandwidth": bandwidth}


def counted(**given: Any) -> Any:
    from autograder.labs.pairs.part09_roofline import rig

    return rig.counted(**given)


STORAGES = "a dict of untyped_storage().data_ptr() -> untyped_storage().nbytes(), then the sum of its values"
EQUAL = "computing and moving take equally long"
RIDGE: Sizes = {"rows": 48, "inner": 48, "columns": 48, "ridge": "equal"}
roof.same(
    {
        "64 x 128 times 128 x 32": {"rows": 64, "inner": 128, "columns": 32},
        EQUAL: RIDGE,
        **{kind: {"kind": kind} for kind in KINDS},
    },
    oracle=counted,
    name="roofline_is_exact",
    says="roofline returns FLOPs, bytes, intensity, bound and seconds exactly.",
    why={
        "calls": (
            "the function must be called once: a second call may change its inputs again",
            "keep the result of the call inside of FlopCounterMode",
        ),
        "flops": (
            "FlopCounterMode must count: 2 for each multiply-add, 0 for elementwise work",
            "make the call under FlopCounterMode(display=False), and ask it for get_total_flops()",
        ),
        "twice, bytes": ("a tensor that is passed twice must count once", STORAGES),
        "views of one storage, bytes": (
            "both inputs lie in one storage, which must count once and whole",
            STORAGES,
        ),
        "follows, bytes": (
            "tensors between inputs and results must not count",
            "count the storages of inputs and results alone",
        ),
        "in place, bytes": (
            "the result is the storage of an input, which must count once",
            STORAGES,
        ),
        "two results, bytes": (
            "the function returns a tuple, and each tensor in it must count",
            "look with isinstance(..., tuple) at what the function returns",
        ),
        "bytes": ("all inputs and all results must count, each storage once and whole", STORAGES),
        "intensity": ("intensity must be flops / bytes", "divide flops by bytes"),
        f"{EQUAL}, bound": (
            "the intensity equals peak_flops / bandwidth here: bound must be memory",
            "compare by > and not by >=",
        ),
        "bound": (
            "bound must be compute if the intensity is above peak_flops / bandwidth, else memory",
            "compare with peak_flops / bandwidth, not bandwidth / peak_flops",
        ),
        "seconds": (
            "seconds must be the longer of two times, of computing and of moving",
            "max(flops / peak_flops, bytes / bandwidth), and not their sum",
        ),
        "": "roofline must return a dict of flops, bytes, intensity, bound and seconds",
    },
    hints={
        '128 x 32, bytes": 49152': (
            "only the inputs count: results must count as well",
            "for tensor in (*inputs, *results)",
        ),
    },
    try_='see "What to write" in the part 9 handout',
)

# --- product and epilogue ---

product = Exercise("product", part)


@product.inputs
def draw_matrices(
    random: np.random.Generator,
    rows: Any = (0, 40),
    inner: Any = (0, 90),
    columns: Any = (0, 40),
    tile: Any = (5, 30),
) -> dict[str, Any]:
    # Around 1: of a single column, which is its row's largest number, nothing cancels out.
    left, right = random.normal(1, size=(rows, inner)), random.normal(1, size=(inner, columns))
    return {"a": left, "b": right, "tile": tile}


LONG: Sizes = {"rows": 64, "inner": 2048, "columns": 64, "tile": 16}
MM = "torch.mm(a, b), or a @ b"
product.same(
    {"a long sum": LONG},
    gradients=(),
    name="product_matches",
    says="product returns a @ b as exactly as its dtype allows, empty matrices included.",
    why={
        "is 0": (
            "a sum over nothing must be 0, and a product of empty matrices empty",
            f"{MM}, which needs no special case for it",
        ),
        "": (
            "products or sums are rounded more than the dtype of a and b rounds them",
            "convert neither a nor b to fewer bits, and leave the precision flags alone",
        ),
    },
    try_=WRONG,
)
product.fewer_operations(
    0.02,  # of 129: two operations
    LONG,
    views=False,
    name="product_is_one_operation",
    says="product takes at most two operations of torch, views not counted.",
    why="the product is cut into tiles in Python, and each tile reads and writes the whole result again",
    try_=MM,
)

epilogue = Exercise("epilogue", part)


@epilogue.inputs
def draw_layer(
    random: np.random.Generator,
    rows: Any = (0, 40),
    inner: Any = (1, 30),
    columns: Any = (1, 30),
    bias: Any = 0.0,
    scale: Any = None,
) -> dict[str, Any]:
    # Sums of these numbers are exact and never 0: what cancels out has no digits in float32.
    whole = partial(random.integers, -2, 3)
    return {
        "x": whole((rows, inner)) + 0.0,
        "weight": whole((columns, inner)) + 0.0,
        "bias": bias + whole(columns) + 0.5,
        "residual": whole((rows, columns)) + 0.25,
        "scale": random.uniform(-2, 2) if scale is None else scale,
    }


def relu_last(x: Any, weight: Any, bias: Any, residual: Any, scale: float) -> Any:
    return (x @ weight.T + bias + residual).relu() * scale


def scale_first(x: Any, weight: Any, bias: Any, residual: Any, scale: float) -> Any:
    return (x @ weight.T + bias).relu() * scale + residual


IN_PLACE = (
    "torch.addmm(bias, x, weight.t()), then relu_(), add_(residual) and mul_(scale) on its result"
)
epilogue.same(
    {
        "relu leaves nothing": {"bias": -100.0},
        "scale is 0": {"scale": 0.0},
    },
    gradients=(),
    name="epilogue_matches",
    says="epilogue returns (relu(x @ weight.T + bias) + residual) * scale and changes none of its inputs.",
    slips={
        (
            "your code adds the residual before relu, and not after it",
            "relu_() first, then add_(residual)",
        ): relu_last,
        (
            "your code multiplies relu alone by scale, and not the residual",
            "add_(residual) first, then mul_(scale)",
        ): scale_first,
    },
    why="the result must be relu(x @ weight.T + bias), plus the residual, times scale",
    hints={
        "changed: ": "write in place into the result of the product alone",
        "second call": (
            "both calls use one buffer, so the earlier result has changed",
            "let each call make a result of its own",
        ),
    },
    try_="compare with the slow version, one operation after the other",
)
epilogue.allocates_less(
    0.25,
    {"rows": 8192, "inner": 32, "columns": 32},
    name="epilogue_allocates_one",
    says="epilogue allocates at most 25 % of the slow version's bytes. The result is included: it alone is 20 %.",
    why="operations after the product make new tensors: relu and not relu_, + and not add_",
    try_=IN_PLACE,
)
