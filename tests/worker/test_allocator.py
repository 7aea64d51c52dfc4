"""Freed memory: gone at once where memory is measured, used again where time is."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from autograder.worker import allocator

getattr(allocator, {rule!r})()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        tensors = [np.ones(2 << 20) for _ in range(3)]  # 16 MiB each
        del tensors
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""
PAGES = 4 * 3 * (16 << 20) // 4096


@pytest.mark.parametrize(("rule", "least", "most"), [("keep", 0, 99), ("return_at_once", 6, PAGES)])
def test_memory_that_is_freed_is_used_again_or_gone(rule, least, most):
    """By pages that the kernel has to make anew; huge pages make them few, and never none."""
    program = PROGRAM.format(rule=rule)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert least <= int(ended.stdout) <= most + 99
