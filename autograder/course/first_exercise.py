"""The files of a new part with one exercise, as claims; they already work."""

JUDGED = '''"""{title}: sums of squares. One sentence on what the student learns here."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.claims.exercise import Exercise

part = Exercise("sums_of_squares", "{part}")
ONE_CALL = "one call that adds up along a dimension, for all rows"


@part.inputs
def draw(random: np.random.Generator, rows: Any = (0, 9), columns: Any = (1, 9)) -> dict[str, Any]:
    """Draw what one call is given. A size that is a pair is drawn between both; claims and cases may fix it."""
    return {{"rows": random.normal(size=(rows, columns))}}


part.same({{"one column": {{"columns": 1}}}}, why="each number is squared, then each row is added up", try_=ONE_CALL)
part.operations_do_not_grow({{"rows": 8}}, {{"rows": 64}}, why="a loop over the rows", try_=ONE_CALL)
part.faster({{"rows": 2000, "columns": 64}}, why="a call for each row is left", try_=ONE_CALL)
'''
REFERENCE = '''# %% [markdown]
# # {title}: sums of squares

# %%
import torch


# %%
def sums_of_squares(rows: torch.Tensor) -> torch.Tensor:
    """Return for each row the sum of its squares: (n, d) -> (n,)."""
    # TODO: one call for all rows, no Python loop.
    ### BEGIN SOLUTION
    return rows.square().sum(dim=1)
    ### END SOLUTION
'''
BASELINE = '''"""The slow, working version that students start from and are compared with."""

import torch


def sums_of_squares(rows: torch.Tensor) -> torch.Tensor:
    """Return for each row the sum of its squares: (n, d) -> (n,)."""
    sums = [(row * row).sum() for row in rows]
    return torch.stack(sums) if sums else rows.new_zeros(0)
'''
HANDOUT = """# {title}

**Goal.** Say what is learnt, in one sentence.

**Write** `sums_of_squares(rows)` in `{part}.py`: for each row the sum of its squares, for any number of rows.
Start from `baseline/{part}.py`.

## How it is judged

*outputs* compares what your code computes with the slow version's on fresh inputs, and times it from outside;
*report* observes how it computes.

<!-- BEGIN JUDGED -->
<!-- END JUDGED -->

## What usually goes wrong

One line for each mistake that you have seen.
"""
MUTANTS = """- id: {part}_forgets_to_square
  about: adds the numbers themselves
  part: {part}
  replace:
    - {{old: "rows.square().sum(dim=1)", new: "rows.sum(dim=1)"}}
  fails:
    same_results: each number is squared
- id: {part}_takes_the_mean
  about: divides each sum by the number of columns
  part: {part}
  replace:
    - {{old: ".sum(dim=1)", new: ".mean(dim=1)"}}
  fails:
    same_results: each row is added up
"""
LINES = """      {part}:
        points: 10
        limits: {{seconds: 30, memory_mb: 2048}}
        checks:
          same_results: 4
          same_gradients: 2
          operations_do_not_grow: 2
          is_faster: {{points: 2, bar: {{cpu: 3.0}}, from: seed}}
"""
