"""Lists of CPUs as Linux writes them, and numbers as CUDA reads them."""

from __future__ import annotations

import re


def cpu_set(text: str) -> set[int]:
    """Return the numbers of a list of CPUs: {0, 1, 2, 16} of "0-2,16"."""
    ends = [[int(end) for end in part.split("-")] for part in text.split(",") if part]
    return {cpu for end in ends for cpu in range(end[0], end[-1] + 1)}


def cpu_text(cpus: set[int]) -> str:
    """Return a set of CPUs as a list: "0-2,16" of {0, 1, 2, 16}."""
    words: list[str] = []
    for cpu in sorted(cpus):
        if cpu - 1 not in cpus:
            words.append(str(cpu))
        elif cpu + 1 not in cpus:
            words[-1] += f"-{cpu}"
    return ",".join(words)


def leading_number(entry: str) -> int:
    """Return the number that an entry begins with, as CUDA reads it: 1 of "1gpu", -1 of "-1"; -1 where none is."""
    digits = re.match(r"[+-]?[0-9]+", entry)
    return int(digits[0]) if digits else -1
