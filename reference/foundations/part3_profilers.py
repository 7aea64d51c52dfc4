# %% [markdown]
# # Part 3: profilers
#
# `given.train_epoch` is slow, and nobody knows why. A guess costs an afternoon; two profilers cost a minute. The first
# one says which function takes the time. The second one says which line of it. You make that line fast. At the end
# you look at memory in the same way, line by line.

# %%
from __future__ import annotations

import cProfile
import linecache
import math
import pstats
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import given

# %% [markdown]
# ## 3.1 Which function?
#
# `cProfile.Profile.dump_stats` writes a file. `pstats.Stats(file).stats` is a dict: the key of a function is
# (file, line, name), and its value is (calls that are not recursive, all calls, own seconds, seconds, callers).


# %%
def rank_functions(file, count=20) -> list[dict[str, Any]]:
    """Return a row for each function of a file that cProfile wrote, at most `count` of them.

    A row has: function (as pstats prints it: "src/train.py:23(train_epoch)"), calls (all of them), own_seconds, seconds
    (with the functions that it calls), own_share (of the own seconds of all functions). The row with the most seconds
    is first; rows with equal seconds are sorted by function, a string.
    """
    # TODO: pstats.func_std_string(key) is the name as pstats prints it.
    ### BEGIN SOLUTION
    stats = pstats.Stats(str(file)).stats
    total = sum(own for _, _, own, _, _ in stats.values())
    rows = [
        {
            "function": pstats.func_std_string(key),
            "calls": calls,
            "own_seconds": own,
            "seconds": seconds,
            "own_share": own / total,
        }
        for key, (_, calls, own, seconds, _) in stats.items()
    ]
    return sorted(rows, key=lambda row: (-row["seconds"], row["function"]))[:count]
    ### END SOLUTION


def speedup_if(file, function, factor) -> float:
    """Return how many times as fast the program is when `function`, with all it calls, is `factor` times as fast.

    function: a name as in rank_functions; ValueError if the profile does not have it. (No check asks for a function
    that takes the program's whole time.)
    factor: math.inf is allowed.
    """
    # TODO: the time of the whole program is the sum of all own seconds.
    ### BEGIN SOLUTION
    rows = {row["function"]: row for row in rank_functions(file, count=sys.maxsize)}
    if function not in rows:
        raise ValueError(f"{file} has no function {function}")
    total = sum(row["own_seconds"] for row in rows.values())
    return total / (total - rows[function]["seconds"] * (1 - 1 / factor))
    ### END SOLUTION


# %% [markdown]
# ## 3.2 Which line?
#
# `given/line_report.txt` is a report of line_profiler about `given.preprocess`. Read it before you change anything.


# %%
def preprocess(images, size=32) -> torch.Tensor:
    """Return images as one batch, equal to that of given.preprocess: (n, 3, size, size), float32.

    images: uint8 arrays (height, width, 3) of different sizes. An array may be read-only, or a view with strides of
    its own; it stays as it is.
    """
    # TODO: begin with a copy of given.preprocess (its F is torch.nn.functional), and change the line that takes the
    # time.
    ### BEGIN SOLUTION
    table = torch.tensor([(value / 255) ** 2.2 for value in range(256)])
    batch = torch.zeros(len(images), 3, size, size)
    for place, image in enumerate(images):
        pixels = torch.from_numpy(image.copy()).int()  # uint8 would be a mask; a negative stride needs the copy
        light = table[pixels].permute(2, 0, 1)
        darkest, brightest = light.min(), light.max()
        span = brightest - darkest
        scaled = (light - darkest) / (span if span > 0 else 1)
        resized = torch.nn.functional.interpolate(scaled[None], size=(size, size), mode="bilinear", antialias=True)
        batch[place] = resized[0]
    return batch
    ### END SOLUTION


# %% [markdown]
# ## 3.3 Memory of each line
#
# `given.Allocations` counts the bytes of tensors: `live` are there now, `peak` is the most since the last `restart()`.
# `sys.settrace(f)`: Python calls f for each new frame, that is, for each call of a Python function. If f returns a
# function g, Python calls g(frame, event, argument). The event is "line" before each line of this frame, "return" when
# the frame ends, and "exception" when a line raises an exception. Only "line" begins a new line: frame.f_lineno is then
# its number.


# %%
def memory_by_line(function, *args, **kwargs) -> tuple[Any, list[dict[str, Any]]]:
    """Return function(*args, **kwargs) and a row for each of its lines that ran at least once, sorted by line number.

    A row has: line (its number in the file), hits, added_bytes (alive after the line minus alive before it, added up
    over the hits), peak_bytes (the most bytes that were alive while the line ran, with the functions that it called).
    Count the tensors that are made in the call, with given.Allocations. Afterwards sys.gettrace() is what it was
    before, also when the function raises an exception, and the exception reaches the caller.
    """
    # TODO: a line ends when the next one begins or the function returns. Read live and peak there, then restart().
    ### BEGIN SOLUTION
    rows: dict[int, dict[str, Any]] = {}
    current, before = 0, 0  # the line that runs, and what was alive when it began

    def finish(memory):
        if current:
            new = {"line": current, "hits": 0, "added_bytes": 0, "peak_bytes": 0}
            row = rows.setdefault(current, new)
            row["hits"] += 1
            row["added_bytes"] += memory.live - before
            row["peak_bytes"] = max(row["peak_bytes"], memory.peak)

    def enter(frame, event, argument):
        return step if frame.f_code is function.__code__ else None

    def step(frame, event, argument):
        nonlocal current, before
        if event in ("line", "return"):
            finish(memory)
            current = frame.f_lineno if event == "line" else 0
            memory.restart()
            before = memory.live
        return step

    tracer = sys.gettrace()
    with given.Allocations() as memory:
        sys.settrace(enter)
        try:
            result = function(*args, **kwargs)
        finally:
            sys.settrace(tracer)
    return result, [rows[line] for line in sorted(rows)]
    ### END SOLUTION


# %%
def write_top20(file, report):
    """Write what pstats prints of the 20 functions with the most cumulative time, without folders."""
    with Path(report).open("w", encoding="utf-8") as stream:
        pstats.Stats(str(file), stream=stream).strip_dirs().sort_stats("cumulative").print_stats(20)


def write_line_memory(file):
    """Write the memory of each line of given.train_step as a table. In this call, Adam makes its state."""
    network = given.make_network()
    optimizer = torch.optim.Adam(network.parameters())
    images = torch.zeros(64, 3, 32, 32)
    labels = torch.arange(64) % 10
    _, rows = memory_by_line(given.train_step, network, images, labels, optimizer)
    source = given.train_step.__code__.co_filename
    for row in rows:
        row["code"] = linecache.getline(source, row["line"]).strip()
    columns = ["line", "code", "hits", "added_bytes", "peak_bytes"]
    pd.DataFrame(rows, columns=columns).to_csv(file, index=False)


if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    given.train_epoch(given.preprocess, count=16)  # the warm-up
    with cProfile.Profile() as profile:
        given.train_epoch(given.preprocess)
    profile.dump_stats("train_epoch.stats")
    write_top20("train_epoch.stats", "calls_top20.txt")
    ranked = rank_functions("train_epoch.stats")
    print(pd.DataFrame(ranked[:8]).to_string(index=False))
    slow = next(row["function"] for row in ranked if row["function"].endswith("(preprocess)"))
    print(f"without {slow} the epoch would be {speedup_if('train_epoch.stats', slow, math.inf):.2f}x as fast")
    write_line_memory("line_memory.csv")
    print(Path("line_memory.csv").read_text(encoding="utf-8"))
