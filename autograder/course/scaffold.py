"""The files of a new part, ready to fill: they already work, so that the author changes one thing at a time."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from autograder.course import CONFIG, Course, first_exercise, own
from autograder.errors import UserError

JUDGED = '''"""{title}: sums of squares. One sentence on what the student learns here."""

from autograder.lab import Failed, Pair, Part, Passed, Verdict

part = Part("{part}", writes=["sum_of_squares"])


@part.probe(pair=True, arrays={{"sums": ("float64", 1)}})
def sums(student, rig):  # type: ignore[no-untyped-def]
    """Runs in the worker, once beside the student's code and once beside the baseline's, on the same fresh inputs."""
    import numpy as np

    inputs = np.random.default_rng(rig.seed).normal(size=(5, 100))
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


def scaffold(
    course: Course, lab: str, part: str, *, exercise: bool = False
) -> tuple[list[Path], str]:
    """Write what is missing; return the files, and the lines that are left to add to the configuration.

    An *exercise* is one function and what is claimed of it; else the part has a probe and a check of its own.
    """
    start = first_exercise if exercise else sys.modules[__name__]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", lab) or not re.fullmatch(
        r"[a-z]+[0-9]*_[a-z0-9_]+|bonus[a-z0-9_]*", part
    ):
        raise UserError(
            f"new {lab} {part}: use names such as resnet18 part4_memory: small letters, digits, and _ between the words"
        )
    words = {"lab": lab, "part": part, "title": part.replace("_", " ").capitalize()}
    home = own.LABS if own.is_own(course.root) else "autograder/labs"
    files = {
        f"{home}/{lab}/{part}.py": start.JUDGED,
        f"reference/{lab}/{part}.py": start.REFERENCE,
        f"reference/{lab}/baseline/{part}.py": start.BASELINE,
        f"assignments/{lab}/{part}.md": start.HANDOUT,
        f"tests/submissions/{lab}/{part}.yaml": start.MUTANTS,
    }
    taken = [name for name in files if (course.root / name).exists()]
    if taken:
        raise UserError(f"{taken[0]}: exists already; choose another name, or edit it")
    for name, text in files.items():
        _write(course.root / name, text.format(**words))
    extras = _shared_files(course.root, home, lab)
    lines, config = start.LINES.format(**words), course.root / CONFIG
    if lab not in course.labs and _added(config, f"  {lab}:\n    version: 1\n    parts:\n{lines}"):
        return [Path(name) for name in [*files, *extras, CONFIG]], ""
    return [Path(name) for name in [*files, *extras]], f"under labs.{lab}.parts:\n{lines}"


def _added(config: Path, lab: str) -> bool:
    """Add a lab at the end of the configuration, where its labs stand last."""
    text = config.read_text(encoding="utf-8")
    sections = re.findall(r"^(\w+):", text, re.MULTILINE)
    if not sections or sections[-1] != "labs":
        return False
    before = re.sub(r"^labs: *\{\} *$", "labs:", text.rstrip(), flags=re.MULTILINE)
    _write(config, f"{before}\n\n{lab}" if before.count("labs:\n") else f"{before}\n{lab}")
    return True


def _shared_files(root: Path, home: str, lab: str) -> list[str]:
    """Files that a lab has once."""
    written = []
    for name, text in {
        f"{home}/{lab}/__init__.py": f'"""What each part of {lab} is judged on."""\n',
        f"reference/{lab}/given/__init__.py": '"""Handed out as it is: data and models that parts share."""\n',
    }.items():
        if not (root / name).exists():
            _write(root / name, text)
            written.append(name)
    return written


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
