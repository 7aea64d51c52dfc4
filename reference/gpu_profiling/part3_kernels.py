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
        ### BEGIN SOLUTION
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.MaxPool2d(2),
            nn.ReLU(inplace=True),  # writes where it reads: no new tensor
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.MaxPool2d(2),
            nn.ReLU(inplace=True),
            nn.Conv2d(2 * width, 4 * width, 3, padding=1),
            nn.ReLU(inplace=True),  # before the average: a mean of positives is not the positive part of a mean
            nn.AdaptiveAvgPool2d(4),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(4 * width * 4 * 4, 512),
            nn.ReLU(inplace=True),
            nn.Linear(512, CLASSES),
        )
        ### END SOLUTION

    def forward(self, x) -> torch.Tensor:
        """Return the logits (batch, CLASSES) of images (batch, 3, height, width)."""
        # TODO: the two blocks, one after the other.
        ### BEGIN SOLUTION
        return self.classifier(self.features(x))
        ### END SOLUTION


def map_weights(state) -> dict[str, torch.Tensor]:
    """Return a SimpleNet's state_dict() under OptimizedNet's names: its tensors or copies of them."""
    # TODO: conv1.weight becomes features.0.weight, and so on; every tensor has one new name. Leave *state* as it is.
    ### BEGIN SOLUTION
    names = {
        "conv1": "features.0",
        "conv2": "features.3",
        "conv3": "features.6",
        "fc1": "classifier.1",
        "fc2": "classifier.3",
    }
    mapped = {}
    for name, tensor in state.items():
        layer, _, kind = name.rpartition(".")
        mapped[f"{names[layer]}.{kind}"] = tensor
    return mapped
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return torch.compile(net, backend=backend, fullgraph=True, dynamic=False)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    events = load_events(file)
    kernels = Counter(event.name for event in events if event.category == "kernel")
    if kernels:
        return kernels
    launches: Counter[str] = Counter()
    open_until: dict[object, float] = {}  # thread -> end of the operator that was called from Python
    for event in events:
        if event.category != "cpu_op":
            continue
        if "fused" in event.name and not event.name.startswith("aten::"):
            launches[event.name] += 1
        elif event.name.startswith("aten::") and event.start >= open_until.get(event.thread, 0.0):
            open_until[event.thread] = event.end
            if event.name not in NO_WORK:
                launches[event.name] += 1
    return launches
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    on_gpu = images.device.type == "cuda"
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu

    def call(net):
        with torch.no_grad():
            net(images)
        if on_gpu:
            torch.cuda.synchronize()

    def recorded(net, file):
        with profile(activities=activities) as prof:
            call(net)
        prof.export_chrome_trace(str(file))
        return file

    def timed(net):
        start = time.perf_counter()
        call(net)
        return 1000 * (time.perf_counter() - start)

    rows: list[dict[str, Any]] = []
    for number, (name, net) in enumerate(nets.items()):
        call(net)
        launches = count_launches(recorded(net, Path(folder) / f"launches_{number}.json")).total()
        ms = statistics.median(timed(net) for _ in range(repeats))
        speedup = rows[0]["ms"] / ms if rows else 1.0
        rows.append(dict(zip(COLUMNS, (name, launches, ms, speedup, device_name(images.device)), strict=True)))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(Path(folder) / "kernel_results.csv", index=False)
    return rows
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    names = "|".join(re.escape(name) for name in kernels)
    options = ["--set", "full", "--kernel-name", f"regex:^({names})$", "--launch-count", str(launches)]
    if skipped:
        options += ["--launch-skip", str(skipped)]
    return ["ncu", *options, "--export", report, "python", script]
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    metrics = {
        "Duration": "duration_us",
        "Compute (SM) Throughput": "sm_percent",
        "Memory Throughput": "memory_percent",
        "Achieved Occupancy": "occupancy_percent",
    }
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith('"ID",'))
    launches: dict[str, dict[str, Any]] = {}
    for line in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        launch = launches.setdefault(line["ID"], {"kernel": line["Kernel Name"]})
        name, unit = metrics.get(line["Metric Name"]), line["Metric Unit"]
        if name is not None and (unit == "%" or unit in MICROSECONDS):
            launch[name] = float(line["Metric Value"].replace(",", "")) * MICROSECONDS.get(unit, 1.0)
    for launch in launches.values():
        sm, memory = launch["sm_percent"], launch["memory_percent"]
        launch["bound"] = "latency" if max(sm, memory) < 60 else "compute" if sm >= memory else "memory"
    return list(launches.values())
    ### END SOLUTION


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
