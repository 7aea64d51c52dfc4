"""The files of a new part with a probe and a check of its own; they already work."""

JUDGED = '''"""{title}: sums of squares. One sentence on what the student learns here."""

from typing import Any

from autograder.lab import Answer, Failed, Pair, Part, Passed, Student, Verdict

part = Part("{part}", writes=["sum_of_squares"])


@part.probe(pair=True, arrays={{"sums": ("float64", 1)}})
def sums(student: Student, rig: Any) -> Answer:
    """Runs in the worker, once beside the student's code and once beside the baseline's, on the same fresh inputs."""
    import numpy as np

    inputs = rig.random.normal(size=(5, 100))
    return {{"sums": np.array([float(student.sum_of_squares(row)) for row in inputs])}}


@part.check(basis="outputs")
def sums_are_right(sums: Pair) -> Verdict:
    """The sums equal those of the baseline."""
    import numpy as np

    got, want = sums.student.arrays["sums"], sums.baseline.arrays["sums"]
    if np.allclose(got, want):
        return Passed(f"{{len(want)}} sums agree")
    measured = f"{{got[0]:.6g}} instead of {{want[0]:.6g}}"
    return Failed(measured, "a sum differs from the baseline's", "square each number before adding")
'''
REFERENCE = '''# %% [markdown]
# # {title}: sums of squares

# %%
import numpy as np


# %%
def sum_of_squares(numbers):
    """Return the sum of the squares of an array."""
    # TODO: one vectorised call, no Python loop.
    ### BEGIN SOLUTION
    return float(np.dot(numbers, numbers))
    ### END SOLUTION
'''
BASELINE = '''"""The slow, working version that students start from and are compared with."""


def sum_of_squares(numbers):
    """Return the sum of the squares of an array."""
    total = 0.0
    for number in numbers:
        total += float(number) ** 2
    return total
'''
HANDOUT = """# {title}

**Goal.** Say what is learnt, in one sentence.

**Write** `sum_of_squares(numbers)` in `{part}.py`.

## How it is judged

<!-- BEGIN JUDGED -->
<!-- END JUDGED -->

## What usually goes wrong

One line for each mistake that you have seen.
"""
MUTANTS = """- id: {part}_forgets_to_square
  about: adds the numbers themselves
  part: {part}
  replace:
    - {{old: "np.dot(numbers, numbers)", new: "np.sum(numbers)"}}
  fails:
    sums_are_right: differs from the baseline
"""
LINES = """      {part}:
        points: 5
        limits: {{seconds: 30, memory_mb: 2048}}
        checks:
          sums_are_right: 5
"""
