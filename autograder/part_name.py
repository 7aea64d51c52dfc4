"""The number of a part, by which it is known however it is written."""

from __future__ import annotations

import re

NUMBERED = re.compile(r"part(\d{1,4})(?![a-zA-Z0-9])")


def same_part(name: str, other: str) -> bool:
    """Whether two names mean one part: part1, part01 and part1_baseline do, part10 does not."""
    return name == other or (
        number(name) is not None and _bare(other) and number(name) == number(other)
    )


def number(name: str) -> int | None:
    """Return the number of a part: 1 of part1, part01_baseline and part01_notes.md."""
    match = NUMBERED.match(name)
    return int(match[1]) if match else None


def _bare(name: str) -> bool:
    """Whether a name is a number and nothing else."""
    return NUMBERED.fullmatch(name) is not None
