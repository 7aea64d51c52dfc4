"""What is claimed of summarize: one chunk after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise
from autograder.labs.pairs.part03_lifetimes import judges
from autograder.labs.pairs.part03_lifetimes.part import SEE, part


def turned(chunk: Any) -> Any:
    """Transform rows by what their chunk is, without any rounding."""
    return chunk * (1 - 2 * (len(chunk) % 2))


def chunked(given: Mapping[str, Any]) -> Iterator[Any]:
    """Make each chunk when it is asked for."""
    for _ in range(given["repeats"]):
        for chunk in given["rows"].split(given["sizes"]):
            yield chunk if given["repeats"] == 1 else chunk.clone()


def summarized(written: Any, given: Mapping[str, Any]) -> Any:
    """Call it, and give both results their names."""
    returned = written(chunked(given), turned)
    is_pair = isinstance(returned, tuple | list) and len(returned) == len(judges.NAMES)
    return dict(zip(judges.NAMES, returned, strict=True)) if is_pair else returned


NO_TENSORS = "a call is given an iterator and a function, and no tensor"
summary = Exercise(
    "summarize",
    part,
    call=summarized,
    holes=dict.fromkeys(("writes_into_its_inputs", "read_as_contiguous"), NO_TENSORS),
)
NEGATIVE, CANCEL, NAN = "all negative", "large numbers that cancel", "NaN in one column"
EMPTY = "the first chunk has no rows"


@summary.inputs
def draw_rows(
    random: np.random.Generator,
    rows: Any = (1, 40),
    columns: Any = (1, 9),
    chunks: Any = (1, 7),
    repeats: Any = 1,
    kind: Any = "",
) -> dict[str, Any]:
    values = random.normal(size=(rows, columns)) + random.uniform(-2, 2, columns)
    ends = np.sort(random.integers(0, rows + 1, chunks - 1))
    if kind == EMPTY:
        ends[0] = 0
    sizes = np.diff(ends, prepend=0, append=rows)
    signs = np.repeat(1 - 2 * (sizes % 2), sizes)[:, None]  # as each chunk is turned
    if kind == NEGATIVE:
        values = signs * (-1 - abs(values))
    if kind == CANCEL:
        values[[0, -1]] = signs[[0, -1]] * [[1e9], [-1e9]]
    if kind == NAN:
        values[random.integers(rows), 0] = np.nan
    return {"rows": values, "sizes": sizes.tolist(), "repeats": repeats}


FULL = {"rows": (20, 40), "columns": (3, 9), "chunks": 5}
summary.same(
    {
        **{kind: {**FULL, "kind": kind} for kind in (NEGATIVE, NAN, EMPTY)},
        CANCEL: {**FULL, "chunks": 1, "kind": CANCEL},
        f"{CANCEL}, in two chunks": {**FULL, "kind": CANCEL},
    },
    gradients=(),
    dtypes=("float64", "bfloat16"),
    slips={"chunks count by their rows: the means of chunks were averaged": judges.mean_of_means},
    name="summarize_is_right",
    says="summarize returns mean and maximum of each column: one row, chunks without rows, NaN, numbers that cancel.",
    why={
        NEGATIVE: "the largest of negative numbers is negative: 0 is no start for a maximum",
        CANCEL: "sums in the chunks' dtype lose small numbers beside large ones",
        NAN: "NaN in a column makes its mean and its maximum NaN",
        EMPTY: "a chunk may have no rows, the first one as well",
        "bfloat16": "results are in the chunks' dtype, and sums in float64",
        "float64": "results are in the chunks' dtype",
        "": "mean and maximum are taken over all rows of all transformed chunks",
    },
    try_=f"total = total + values.sum(0, dtype=torch.float64), and torch.maximum; {SEE}",
)
summary.needs_less_memory(
    0.1,
    {"rows": 1000, "columns": 64, "chunks": 1, "repeats": 400},
    {"rows": 4, "columns": 2, "chunks": 1, "repeats": 2},
    name="summarize_holds_one_chunk",
    says="summarize of 400 chunks needs at most 10% of the slow version's memory, measured from outside.",
    why="chunks or their results are kept until the end, in a list or by torch.cat",
    try_="for chunk in chunks: add to the sums, and keep no chunk",
)
