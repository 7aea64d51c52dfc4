"""Three exercises for the tests of claims: a batched product, a graph break, a cache of keys and values."""

from __future__ import annotations

from autograder.claims.exercise import Exercise

BMM = "torch.bmm(left, right), or left @ right, which multiplies the last two dimensions"
WHERE = "torch.where(norm > limit, ...), or clamp(max=1.0): no .item(), and no `if` on a tensor"
BUFFER = (
    "one buffer with room for more, of which append returns views; twice as large when it is full"
)

products = Exercise("batched_products")


@products.inputs
def draw_products(random, batch=(0, 9), rows=(1, 9), inner=(0, 9), columns=(1, 9)):
    left, right = (
        random.normal(size=(batch, rows, inner)),
        random.normal(size=(batch, inner, columns)),
    )
    return {"left": left, "right": right}


products.same(
    {"one row": {"rows": 1}},
    dtypes=["float64", "bfloat16"],
    why={"inner is 0": "a sum over nothing is 0", "": "product i is left[i] @ right[i]"},
    try_=BMM,
)
products.operations_do_not_grow({"batch": 8}, {"batch": 64}, why="a loop over the batch", try_=BMM)
products.fetches_nothing(try_="shapes are Python numbers already")
products.faster(
    {"batch": 256, "rows": 16, "inner": 16, "columns": 16},
    why="one call for each product is left",
    try_=BMM,
)

clip = Exercise("clip_by_norm")


@clip.inputs
def draw_clip(random, rows=(0, 20), columns=(2, 9), size=1.0):
    return {
        "x": size * random.normal(size=(rows, columns)) / max(1, rows * columns) ** 0.5,
        "limit": 2.0,
    }


SHORT, LONG = {"rows": 16, "columns": 6, "size": 0.5}, {"rows": 16, "columns": 6, "size": 9.0}
clip.same(
    {"below the limit": SHORT, "above the limit": LONG},
    why={
        "zeros": "infinite times 0 is NaN",
        "gradient": "the factor has no gradient",
        "": "x * (limit / norm)",
    },
    try_=WHERE,
)
clip.one_graph([SHORT, LONG, SHORT, LONG], why="Python has to look at the data", try_=WHERE)
clip.fetches_nothing(try_=WHERE)


def fill(made, given):
    """Append the keys one by one, and return what is held after each half."""
    cache = made(given["keys"].shape[0], given["keys"].shape[2])
    held = [cache.append(key[:, None]) for key in given["keys"].unbind(1)]
    return [it * 1.0 for it in (held[len(held) // 2], held[-1])]


cache = Exercise("KeyCache", call=fill)


@cache.inputs
def draw_keys(random, batch=(1, 4), length=(1, 40), size=(1, 6)):
    return {"keys": random.normal(size=(batch, length, size))}


cache.same(
    why="append returns all keys so far, in their order", try_=BUFFER, gradients=[], dtypes=[]
)
cache.moves_at_most(
    {"length": 128, "batch": 4, "size": 8},
    {"length": 256, "batch": 4, "size": 8},
    at_most=2.5,
    why="each append copies all that came before",
    try_=BUFFER,
)
cache.moves_less(
    0.25, {"length": 256, "batch": 4, "size": 8}, why="each append copies all", try_=BUFFER
)
cache.faster(
    {"length": 512, "batch": 8, "size": 32},
    why="each append copies all that came before",
    try_=BUFFER,
)
