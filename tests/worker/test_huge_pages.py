"""What is warm lies in huge pages once a session is long, where the kernel can do that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograder.worker.huge_pages import HUGE, heap

MAPS = """\
000200000000-000200600000 rw-p 00000000 00:00 0
000300100000-000300500000 rw-p 00000000 00:00 0                          [heap]
000400000000-000400100000 rw-p 00000000 00:00 0
000500000000-000500400000 r--p 00000000 00:00 0
000600000000-000600400000 rw-s 00000000 00:01 0
000700000000-000700400000 rw-p 00000000 fe:00 77                         /usr/lib/a library of ours.so
000800000000-000800400000 rw-p 00000000 00:00 0                          [stack]
""".splitlines()


def test_what_is_gathered_is_ours_alone_in_whole_pages():
    """Not a file's, not the stack, not what is shared or only read, and not a piece that is too small."""
    assert list(heap(MAPS)) == [(0x200000000, 0x200600000), (0x300200000, 0x300400000)]


GATHERS = f"""
from pathlib import Path
from autograder.worker import huge_pages

def huge():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("AnonHugePages"))

held = bytearray(b"x" * {16 * HUGE})
before = huge()
huge_pages.gather()
assert held.count(b"x") == len(held)
print(huge() - before)
"""


def test_memory_that_was_gathered_holds_what_it_held():
    """And most of it is in huge pages."""
    said = subprocess.run(
        [sys.executable, "-c", GATHERS], capture_output=True, text=True, check=True
    ).stdout
    if int(said) == 0:
        pytest.skip("this kernel makes no huge pages when it is asked to")

    assert int(said) >= 12 * HUGE
