"""What part 3 draws and knows: profiles, images, a program, and the memory of each of its lines."""

from __future__ import annotations

import marshal
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Entry = list[Any]
"""Of a profile: file, line, name, calls that are not recursive, all calls, own seconds, seconds."""
OWN_SECONDS, SECONDS = 5, 6  # places in an entry
Entries = list[Entry]
Array = np.ndarray[Any, Any]

GREY, FLIPPED, READ_ONLY = "grey", "flipped", "read-only"
SHARED_NAME = "forward"
NAMES = ("__next__", SHARED_NAME, SHARED_NAME, "read", "collate", "<lambda>", "step", "backward")
FILES = ("train.py", "src/loader.py", "src/model.py", "lib/loader.py")

# --- profiles ---------------------------------------------------------------------------------


def entries(random: np.random.Generator, functions: int, *, ties: bool = False) -> Entries:
    """Draw a profile: the first function calls all others, directly or not."""
    numbers = random.permutation(999)[:functions] + 1
    own = random.choice([0.5, 0.75], functions) if ties else random.uniform(0.01, 2, functions)
    seconds = own.tolist()
    for place in range(functions - 1, 0, -1):
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


# --- images -----------------------------------------------------------------------------------


def cut(pixels: Array, shapes: Sequence[Sequence[int]]) -> list[Array]:
    """Cut pixels into images, which share their memory."""
    images, start = [], 0
    for shape in shapes:
        end = start + math.prod(shape)
        images.append(pixels[start:end].reshape(*shape))
        start = end
    return images


# --- a program, line by line ------------------------------------------------------------------

PROGRAM = """
import torch


def helper(count):
    return torch.zeros(count).sum()


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
FIRST = 10  # the line of PROGRAM that makes kept
NUMBER = 4  # bytes


def program(above: int) -> Callable[..., Any]:
    """Return the program; its file has so many empty lines above it."""
    names: dict[str, Any] = {}
    exec(compile("\n" * above + PROGRAM, "program.py", "exec"), names)  # noqa: S102
    made: Callable[..., Any] = names["program"]
    return made


def steps(kept: int, large: int, helper: int, rounds: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the lines in the order in which they run, each with the numbers that it makes and frees."""
    yield 0, [kept]
    yield 1, []
    for at in range(rounds):
        yield 2, []
        old = large - at + 1  # it is freed when the new tensor is there
        yield 3, [large - at, -old] if at else [large]
    yield 2, []
    yield 4, [helper, 1, -helper]
    yield 5, [rounds - 1 - large]
    yield 6, [kept]
    yield 7, [kept, kept, -kept, 1]  # the product goes, backward needs the exponential
    yield 8, [1, kept, -kept, -1]  # a gradient comes, the exponential goes
    yield 9, []


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
    """Return the result of the program and its rows; *watch* each line, its end, all lines, or nothing."""
    live = peak = 0
    table: dict[int, dict[str, int]] = defaultdict(
        lambda: {"hits": 0, "added_bytes": 0, "peak_bytes": 0}
    )
    for line, changes in steps(kept, large, helper, rounds):
        before = live
        peak = peak if watch == "all" else live
        for change in changes:
            live += NUMBER * change
            peak = max(peak, live)
        row = table[line + FIRST + above]
        row["hits"] += 1
        row["added_bytes"] += 0 if watch == "nothing" else live - before
        row["peak_bytes"] = max(row["peak_bytes"], live if watch == "end" else peak)
    names = ("hits", figure)
    lines = [
        {"line": line, **{name: table[line][name] for name in names}} for line in sorted(table)
    ]
    return {"result": kept + rounds, "rows": lines}


def ends(function: Callable[..., Any]) -> list[dict[str, Any]]:
    """Let *function* watch one that returns and one that raises; say who traces then, and what came."""
    return [_end(function, "a return", None), _end(function, "an exception", LookupError())]


def _end(function: Callable[..., Any], case: str, error: Exception | None) -> dict[str, Any]:
    def traced() -> None:
        if error:
            raise error

    def tracer(*_: object) -> None:
        """Trace nothing."""

    before, came = sys.gettrace(), None
    sys.settrace(tracer)
    try:
        function(traced)
    except Exception as raised:
        came = raised
    kept = sys.gettrace() is tracer
    sys.settrace(before)
    return {"case": case, "kept": kept, "came": came is error}
