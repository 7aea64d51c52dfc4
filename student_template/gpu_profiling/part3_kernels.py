# %% [markdown]
# # Part 3: kernels
#
# A GPU computes in kernels. The host launches one after another, and each reads its inputs from memory and writes its
# results back. So there are two questions: how many are launched, and how does each spend its time?
#
# | question | tool | answer |
# |---|---|---|
# | how many, and which? | a profile (torch.profiler, Nsight Systems) | one row for each launch |
# | why does this one take so long? | Nsight Compute | how busy the SMs and the memory were while it ran |
#
# Without a GPU, count operators instead of kernels: each is one request of the host, as a launch is.

# %%
from __future__ import annotations

import csv
import re
import shutil
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from given import CLASSES, NO_WORK, SimpleNet, device_name, load_events

# %% [markdown]
# ## 3.1 The same network, written in blocks
#
# `SimpleNet` calls one operation after another. People often advise `nn.Sequential`, "to fuse the operations".
# Do that. In 3.4, you count what the net launches.
#
# There is something else to gain: move a ReLU from before a max-pool to after it. There it reads only a quarter of the
# numbers. Results and gradients stay the same, because the largest of four is negative only if all four are. This is
# not true of an average.


# %%
class OptimizedNet(nn.Module):
    """SimpleNet in blocks: the same outputs and gradients from the same weights, with less to read and write."""

    def __init__(self, width=64) -> None:
        """Draw fresh weights; *width* is the channels of the first convolution."""
        # TODO: self.features and self.classifier, each an nn.Sequential; ReLU after the pool if that changes nothing.
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x) -> torch.Tensor:
        """Return the logits (batch, CLASSES) of images (batch, 3, height, width)."""
        # TODO: the two blocks, one after the other.
        # YOUR CODE HERE
        raise NotImplementedError()


def map_weights(state) -> dict[str, torch.Tensor]:
    """Return a SimpleNet's state_dict() under OptimizedNet's names: its tensors or copies of them."""
    # TODO: conv1.weight becomes features.0.weight, and so on; every tensor has one new name. Leave *state* as it is.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 3.2 One graph
#
# A compiler fuses operators: it sees the whole graph, and writes one kernel for a chain of elementwise operators, such
# as ReLU. Convolutions and matrix products stay kernels of a library. If the graph breaks, so does the chain.


# %%
def compile_net(net, backend="inductor") -> Any:
    """Return *net* compiled by *backend* into one graph for each shape; a net that does not fit into one is an error.

    Nothing is compiled before the first call.
    """
    # TODO: torch.compile; a break is an error, and one graph for each shape.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 3.3 Counting launches
#
# A trace holds more events than launches: operators call operators, some only look at memory in another shape, and a
# GPU's copies are no kernels. On a CPU, each kernel that `torch.compile` writes is an event with `fused` in its name,
# if `torch._inductor.config.cpp.enable_kernel_profile` is set, as at the end of this file.


# %%
def count_launches(file) -> Counter[str]:
    """Return how often a trace of torch.profiler launched what: name -> count.

    If the trace has kernels (category `kernel`), each of them is a launch, and nothing else is.
    Else, among the events of category `cpu_op`: each operator (`aten::...`) that no other operator called, unless its
    name is in given.NO_WORK; and each name with `fused` that does not begin with `aten::`. An operator is called by
    another (which may be one of NO_WORK) if it runs during that one, on the same thread.
    """
    # TODO: load_events(file) gives all events by their start, an outer one before those inside it.
    # TODO: look for kernels first. Without any, remember for each thread where the open operator ends.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 3.4 Comparing nets

# %%
COLUMNS = ["net", "launches", "ms", "speedup", "device"]


def compare_nets(nets, images, folder=".", repeats=5) -> list[dict[str, Any]]:
    """Count the launches of one forward pass of each net, and time it; return one row per net, and write them.

    *nets* maps names to modules. Each is compared with the first one. Call them without gradients.
    A row has the names in COLUMNS: net, launches (of one call, counted in a trace of it), ms (the median of *repeats*
    calls, each timed alone, after at least one call to warm up), speedup (ms of the first net / ms), device (its name).
    Write kernel_results.csv into folder. The traces may stay there.
    """
    # TODO: warm up; record one call with torch.profiler, export it, count_launches; then time, without the profiler.
    # TODO: on a GPU, torch.cuda.synchronize() before each reading of the clock and before the profiler stops.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 3.5 One kernel under Nsight Compute
#
# Nsight Compute runs each kernel that it measures many times over. So choose a few by name, and say how many launches.
# Find the names in a profile. Few of cuDNN's convolutions have "conv" in theirs.


# %%
def ncu_command(script, kernels, report, launches, skipped=0) -> list[str]:
    """Return the command line, as a list of words, that measures *kernels* (names of functions) and no others.

    It skips the first *skipped* launches of them, and measures the next *launches*. `--set` names a group of metrics:
    take one with throughput and occupancy, such as full. It writes *report*.ncu-rep and runs `python script`.
    """
    # TODO: ncu, its options, then python and the script. A name is exact, unless regex: stands before it.
    # TODO: re.escape names, because a dot means something in an expression.
    # YOUR CODE HERE
    raise NotImplementedError()


MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
MICROSECONDS |= {"nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3, "second": 1e6}  # before 2024.2


def read_ncu(file) -> list[dict[str, Any]]:
    """Return what `ncu --csv --page details` printed into *file*: one dict per launch that was measured, in order.

    Each has kernel (its name), duration_us (microseconds), sm_percent, memory_percent (throughput of the SMs, of the
    memory, in percent of what the device can do), occupancy_percent (achieved), and bound: "latency" if both
    throughputs are below 60 %, else "compute" or "memory", whichever is the higher, and "compute" on a tie.
    """
    # TODO: find the header, the line that begins with "ID". The program and ncu print lines before it.
    # TODO: there is one line per metric. Lines with ncu's advice have an empty Metric Name: skip them. Mind the unit of
    # Duration, the commas in 12,319,469, and the second Memory Throughput, in bytes.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    from torch._inductor import config as inductor  # takes seconds: not when this file is only imported

    torch.set_num_threads(1)  # on shared cores, more threads would wait for other programs
    inductor.cpp.enable_kernel_profile = True  # without a GPU: an event for each kernel
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"width": 64, "image_size": 224} if device.type == "cuda" else {"width": 8, "image_size": 64}
    simple, optimized = SimpleNet(sizes["width"]).to(device).eval(), OptimizedNet(sizes["width"]).to(device).eval()
    optimized.load_state_dict(map_weights(simple.state_dict()))
    nets = {"SimpleNet": simple, "OptimizedNet": optimized}
    if device.type == "cuda" or shutil.which("g++") or shutil.which("clang++"):
        nets["OptimizedNet, compiled"] = compile_net(optimized)  # the first call takes up to a minute
    images = torch.randn(32, 3, sizes["image_size"], sizes["image_size"], device=device)
    print(pd.DataFrame(compare_nets(nets, images, repeats=21)).to_string(index=False))

    for file in sorted(Path("given/recorded").glob("*.json.gz")):  # the same, recorded by us
        print(file.name, dict(count_launches(file)))

    # put short names of kernels of your own profile here: "name" for "void space::name<float>(int)"
    names = ["implicit_convolve_sgemm"]
    print(" ".join(ncu_command("part3_kernels.py", names, "kernels", launches=10)))
    report = Path("kernel_report.txt")  # ncu --import kernels.ncu-rep --csv --page details > kernel_report.txt
    if shutil.which("ncu") is None and not report.exists():
        report.write_text("no ncu: there is none on this machine\n", encoding="utf-8")
    elif report.exists() and not report.read_text(encoding="utf-8").startswith("no ncu"):
        print(pd.DataFrame(read_ncu(report)).to_string(index=False))
