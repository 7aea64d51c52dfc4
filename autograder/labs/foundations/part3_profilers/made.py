"""What part 3 draws: profiles and a program; and the memory of each line of the program."""

from __future__ import annotations

import marshal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

Entry = list[Any]
"""Of a profile: file, line, name, calls that are not recursive, all calls, own seconds, seconds."""
OWN_SECONDS, SECONDS = 5, 6  # places in an entry
Entries = list[Entry]

SHARED_NAME = "forward"
NAMES = ("__next__", SHARED_NAME, SHARED_NAME, "read", "collate", "<lambda>", "step", "backward")
FILES = ("train.py", "src/loader.py", "src/model.py", "lib/loader.py")

# --- profiles ---


def entries(random: np.random.Generator, functions: int, *, ties: bool = False) -> Entries:
    """Draw a profile of two programs, whose functions come first and call all others."""
    numbers = random.permutation(999)[:functions] + 1
    own = random.choice([0.5, 0.75], functions) if ties else random.uniform(0.01, 2, functions)
    seconds = own.tolist()
    for place in range(functions - 1, 1, -1):
        caller = int(random.integers(place)) if not ties else 0
        while caller and caller % 4 == 0:  # a built-in function calls nothing
            caller -= 1
        seconds[caller] += seconds[place]
    profile = []
    for place, number in enumerate(numbers.tolist()):
        calls = int(random.integers(1, 500))
        first = max(1, calls // 3) if place % 5 == 2 else calls
        figures = [first, calls, float(own[place]), float(seconds[place])]
        profile.append([*_function(place, number), *figures])
    return profile


def _function(place: int, number: int) -> tuple[str, int, str]:
    """Return file, line and name of a function; each fourth is a built-in one."""
    if place and place % 4 == 0:
        return "~", 0, f"<built-in method torch.op{number}>"
    return FILES[place % len(FILES)], number, NAMES[place % len(NAMES)]


@contextmanager
def stats_file(profile: Entries) -> Iterator[str]:
    """Write a profile as cProfile does."""
    stats = {tuple(it[:3]): (*it[3:], {}) for it in profile}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "calls.stats")
        file.write_bytes(marshal.dumps(stats))
        yield str(file)


def printed(entry: Entry) -> str:
    """Name a function as pstats prints it."""
    file, line, name = entry[:3]
    return f"{{{name[1:-1]}}}" if file == "~" else f"{file}:{line}({name})"


def rows(profile: Entries) -> list[dict[str, Any]]:
    """Return what a student's rows say, in the order of the file."""
    total = sum(entry[OWN_SECONDS] for entry in profile)
    return [
        {
            "function": printed(entry),
            "calls": entry[4],
            "own_seconds": entry[OWN_SECONDS],
            "seconds": entry[SECONDS],
            "own_share": entry[OWN_SECONDS] / total,
        }
        for entry in profile
    ]


# --- a program, line by line ---

PROGRAM = """
import torch


def helper(count):
    def program(n):
        made = torch.zeros(n)
        return made.sum()

    return program(count)


def program(n, m, h, rounds):
    kept = torch.ones(n)
    kept[: n // 2].add_(1)
    for i in range(rounds):
        large = torch.ones(m - i)
    total = helper(h)
    del large
    weight = torch.ones(n, requires_grad=True)
    loss = (weight * kept).exp().sum()
    loss.backward()
    return n + rounds
"""


def program(above: int) -> Callable[..., Any]:
    """Return the program; its file has so many empty lines above it."""
    names: dict[str, Any] = {}
    exec(compile("\n" * above + PROGRAM, "program.py", "exec"), names)  # noqa: S102
    made: Callable[..., Any] = names["program"]
    return made


def memory(
    *,
    kept: int,
    large: int,
    helper: int,
    rounds: int,
    above: int,
    figure: str,
    watch: str = "line",
) -> dict[str, Any]:
    """Return the result of the program and its rows.

    *watch* each line, its end, its last hit, what it adds to its beginning, all lines, or nothing.
    """
    table: dict[int, dict[str, int]] = {}
    line, before = 0, 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal line, before
        if event not in ("line", "return") or frame.f_code is not run.__code__:
            return step
        if line:
            row = table.setdefault(line, {"line": line, "hits": 0, figure: 0})
            row["hits"] += 1
            row[figure] *= watch != "last hit"
            if figure == "peak_bytes":
                most = memory.live if watch == "end" else memory.peak
                row[figure] = max(row[figure], most - before * (watch == "beyond"))
            elif watch != "nothing":
                row[figure] += memory.live - before
        if watch != "all":
            memory.restart()
        line, before = frame.f_lineno, memory.live
        return step

    run, traced = program(above), sys.gettrace()
    with import_module("given").Allocations() as memory:
        sys.settrace(step)
        result = run(kept, large, helper, rounds=rounds)
        sys.settrace(traced)
    return {"result": result, "rows": [table[line] for line in sorted(table)]}


def ended(function: Callable[..., Any], error: Exception | None) -> dict[str, str]:
    """Let *function* watch a call under a tracer of the caller's; say who traces then, and what was raised."""

    def watched() -> None:
        if error:
            raise error

    calls, traced, came = list[str](), sys.gettrace(), "nothing"
    sys.settrace(lambda *event: calls.append(str(event)))
    try:
        function(watched)
    except Exception as raised:
        came = type(raised).__name__
    calls.clear()
    printed(["~", 0, "<a call>"])  # whoever traces is told of it
    sys.settrace(traced)
    return left("as before" if calls else "changed", came)


def left(tracer: str, raised: str) -> dict[str, str]:
    """Name what is left of a call that ended."""
    return {"the trace function": tracer, "what is raised": raised}
