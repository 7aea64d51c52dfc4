"""What part 2 is: its functions, and the form of their rows."""

from __future__ import annotations

from autograder.lab import BOOLEAN, CELL, INTEGER, NUMBER, Part, list_of, map_of

part = Part("part02_profiling", writes=["profile_steps", "profile_memory", "profile_model"])
SEE = 'see "What usually goes wrong" in the part 2 handout'
TOP = {
    "rows": list_of(map_of(CELL)),
    "written": map_of(list_of(NUMBER)),
    "calls": map_of(list_of(INTEGER)),
    "timed": BOOLEAN,
}
"""Of the top operators: rows that were returned, what the file says, and trusted counts."""
