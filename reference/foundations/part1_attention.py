# %% [markdown]
# # Part 1: attention
#
# Attention compares each of `length` positions with each other one: `length` x `length` scores. Attention by hand
# writes all scores to memory, and softmax reads them. Softmax writes all weights, which are read for the product with v
# and kept for the backward pass. At 8,192 positions one head's scores take 268 MB, while q, k, v and the result take 1
# MB each.
#
# Each score is needed for a short time only. A row of the result needs the largest of its scores and the sum of
# exp(score - largest), and both can be carried along while the scores come and go in small blocks. That is
# FlashAttention: the same numbers, the same amount of arithmetic, and memory that grows with `length` and not with its
# square.
#
# You write two functions: attention, and a measurement that shows how time and memory grow.

# %%
from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from given import attention_by_hand, device_name, make_inputs, peak_mb

# %% [markdown]
# ## 1.1 Attention
#
# `given.attention_by_hand` is the formula, and what yours must equal. PyTorch has a function for it; you may also
# write the blocks yourself. Then mind the backward pass: autograd keeps every block of scores that it sees.


# %%
def attention(q, k, v, causal=False):
    """Return softmax(q k^T / sqrt(head_dim)) v.

    q: (batch, heads, length, head_dim); k, v: (batch, heads, keys, head_dim); all of the same dtype.
    causal: position i sees the keys 0 ... i only; then there are as many keys as positions.

    Returns a tensor of the shape and dtype of q. Gradients flow to q, k and v; q, k and v are not changed.
    """
    # TODO: no matrix of length x keys, neither in the forward nor in the backward pass.
    # TODO: subtract a row's maximum from its scores before exp: exp(89) is infinite in float32.
    # TODO: any length: the last block may be shorter. Any strides: a fused kernel may fall back to the formula.
    ### BEGIN SOLUTION
    q = q if q.stride(-1) == 1 else q.contiguous()  # or the kernel falls back to the formula
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    ### END SOLUTION


# %% [markdown]
# ## 1.2 How it grows
#
# If a time is `c * length ** p`, then log(time) against log(length) is a line of slope p. So measure at several
# lengths, and fit the slope. The first call does work that later calls do not repeat, and sometimes another program
# uses the machine: warm up, repeat, and take the median.

# %%
COLUMNS = ["version", "length", "milliseconds", "memory_mb", "time_exponent", "memory_exponent", "device"]
PANELS = {"milliseconds": "Time of a call (ms)", "memory_mb": "Peak memory of a call (MB)"}


def measure_growth(versions, make_inputs, lengths, device, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Measure each version at each length; return one row for each, and write them as a table and a figure.

    versions: name -> function of q, k, v.      make_inputs(length, device) returns q, k, v.

    A row has the names in COLUMNS: milliseconds (the median of `repeats` calls, each timed alone, after a warm-up),
    memory_mb (given.peak_mb), the exponents of its version in both, device (its name).
    All rows of the first version come first, in the order of lengths. Writes attention_growth.csv and
    attention_curves.png.
    """
    # TODO: warm up at each length; on a GPU, torch.cuda.synchronize() before each reading of the clock.
    # TODO: time first, then call peak_mb, which slows every operation down.
    # TODO: an exponent is the slope of log(time) or log(memory) against log(length), over all lengths of one version.
    # TODO: a panel for each of PANELS, both axes logarithmic, one line per version.
    ### BEGIN SOLUTION

    def reading():
        if device.type == "cuda":
            torch.cuda.synchronize()  # calls only queue work there
        return time.perf_counter()

    def milliseconds(function, inputs):
        function(*inputs)  # the warm-up
        times = []
        for _ in range(repeats):
            start = reading()
            function(*inputs)
            times.append(reading() - start)
        return 1000 * statistics.median(times)

    def exponent(figures):
        return float(np.polyfit(np.log(lengths), np.log(figures), 1)[0])

    rows: list[dict[str, Any]] = []
    for version, function in versions.items():
        inputs = [make_inputs(length, device) for length in lengths]
        times = [milliseconds(function, each) for each in inputs]
        memory = [peak_mb(function, *each) for each in inputs]
        fitted = (exponent(times), exponent(memory), device_name(device))
        measured = zip(lengths, times, memory, strict=True)
        rows += [dict(zip(COLUMNS, (version, *figures, *fitted), strict=True)) for figures in measured]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "attention_growth.csv", index=False)

    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for axis, (column, label) in zip(axes, PANELS.items(), strict=True):
        for version in versions:
            own = [row for row in rows if row["version"] == version]
            power = own[0]["time_exponent" if column == "milliseconds" else "memory_exponent"]
            figures = [row[column] for row in own]
            axis.loglog([row["length"] for row in own], figures, "o-", label=f"{version}: length^{power:.2f}")
        axis.set_xticks(lengths, labels=[str(length) for length in lengths])
        axis.tick_params(axis="x", which="minor", labelbottom=False)
        axis.set_xlabel("length")
        axis.set_ylabel(label)
        axis.legend()
    figure.suptitle(f"Attention, {rows[0]['device']}")
    figure.savefig(Path(folder) / "attention_curves.png", dpi=150)
    plt.close(figure)
    return rows
    ### END SOLUTION


# %%
if __name__ == "__main__":
    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    versions = {"by_hand": attention_by_hand, "attention": attention}
    rows = measure_growth(versions, make_inputs, [512, 1024, 2048, 4096], device)
    print(pd.DataFrame(rows).to_string(index=False))
