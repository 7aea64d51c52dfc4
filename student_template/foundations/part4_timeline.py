# %% [markdown]
# # Part 4: a timeline
#
# cProfile sees functions of Python. `torch.profiler` sees operators, with the moment at which each of them began. It
# writes a trace, and a viewer such as Perfetto shows the trace as a timeline. You read such a trace, write one for each
# cycle of a schedule, and learn where a step of the training spends its time.

# %%
from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.profiler import profile, record_function, schedule
from torch.utils.data import DataLoader, TensorDataset

import given

# %% [markdown]
# ## 4.1 Which operator?
#
# A trace is JSON: `json.load(file)["traceEvents"]` is a list of dicts, in no order. An operator is an event whose `ph`
# is "X" and whose `cat` is "cpu_op". It has `name`, `ts` (when it began) and `dur` (how long it took), both in
# microseconds, and `pid` and `tid`, which together name its thread. Other events have fewer keys.


# %%
def own_times(events) -> list[dict[str, Any]]:
    """Return a row for each name of an operator, the one with the most own_us first, ties by operator.

    A row has: operator, calls, total_us (the sum of its durations), own_us (the same without the operators that ran
    directly inside its calls, on the same thread). Leave events as they are.
    """
    # TODO: sort by start. Of two with the same start, the longer one surrounds the other. (The grader draws no two
    # operators of a thread with the same start and the same duration.) An operator that starts when another one ends is
    # not inside it.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 4.2 A file for each cycle
#
# A handler is a function. At the end of each cycle the profiler `prof` calls it, as `handler(prof)`.
# `prof.export_chrome_trace(file)` writes the trace of this cycle, gzipped if the name ends in .gz.


# %%
def make_handler(folder, rank=0, top=5):
    """Return a function that is handed to torch.profiler as on_trace_ready. It writes into `folder`, which exists.

    Its n-th call writes rank{rank}_cycle{n}_trace.json.gz, and adds rows to operators.csv: cycle, place (1 ... top),
    operator, calls, own_us. These are the operators with the most own time in that trace. The first call writes a new
    operators.csv, with the names of the columns.
    """
    # TODO: read what you have just written, and let own_times say which operators they are.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 4.3 A schedule
#
# A cycle is `wait` steps that are not recorded, `warmup` steps that are recorded and thrown away, and `active` steps
# that the handler gets. `prof.step()` says that a step has ended.


# %%
def profile_cycles(step, steps, handler, wait=1, warmup=1, active=3, repeat=2) -> int:
    """Call step(i) for i = 0 ... steps - 1 under torch.profiler; return how many cycles were recorded.

    There are `repeat` cycles (1 or more). handler is called at the end of each. Steps after the last cycle are not
    recorded. If there are too few steps for all cycles, raise ValueError before the first step.
    """
    # TODO: torch.profiler.schedule takes wait, warmup, active and repeat.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
def make_step(images=160, batch_size=16):
    """Return a function that takes a step of a training: it fetches a batch, and has a forward and a backward range."""
    network = given.make_network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    data = TensorDataset(given.make_images(images, 32), torch.arange(images) % 10)
    batches = iter(DataLoader(data, batch_size))

    def step(number):
        inputs, labels = next(batches)
        with record_function("forward"):
            loss = torch.nn.functional.cross_entropy(network(inputs.float() / 255), labels)
        optimizer.zero_grad()
        with record_function("backward"):
            loss.backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    cycles = profile_cycles(make_step(), 10, make_handler("."))
    print(f"{cycles} cycles")
    print(Path("operators.csv").read_text(encoding="utf-8"))
    with gzip.open("rank0_cycle2_trace.json.gz", "rt", encoding="utf-8") as text:
        print(pd.DataFrame(own_times(json.load(text)["traceEvents"])[:12]).round(1).to_string(index=False))
