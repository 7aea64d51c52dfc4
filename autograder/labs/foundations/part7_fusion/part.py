"""The declaration of part 7."""

from __future__ import annotations

from autograder.checks.table_form import Form, count, words
from autograder.lab import Part

LAUNCHES = Form(
    "fusion_launches.csv",
    (
        words("version", "its name in `versions`"),
        count("operators", "of eager code, without views and `aten.empty`", 0),
        count("launches", "of compiled code: `extern + fused`", 0),
        count("extern", "launches of a library's kernels", 0),
        count("fused", "launches of kernels that the compiler writes", 0),
        count("graphs", "into how many graphs the version is cut", 0),
    ),
)
part = Part(
    "part7_fusion",
    writes=["compile_for"],
    hands_in=[LAUNCHES.file, "part7_notes.md"],
    tables=[LAUNCHES],
)
SEE = 'see "What usually goes wrong" in the part 7 handout'
FIRST = "a convolution, a norm, a ReLU"
"""A kind of network that students are given."""
