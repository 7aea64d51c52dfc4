# %% [markdown]
# # Bonus: one step further
#
# Four independent challenges. None of them needs a GPU.
#
# | challenge | the question |
# |---|---|
# | one kernel | what does one kernel save if it does the work of three? |
# | automation | which range became slower since yesterday? |
# | two nodes | who talks to whom when processes are on several machines? |
# | inference | what can you leave out when nothing is trained? |

# %%
from __future__ import annotations

import copy
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from given import SimpleNet, covered, device_name, load_events
from given.tiles import HAS_TRITON, jit, tl

# %% [markdown]
# ## B.1 One kernel for three
#
# A convolution writes all its numbers to memory, a ReLU reads and writes them, a pool reads them and keeps a quarter.
# If one kernel computes the four numbers of a pool's window itself, it writes only that quarter.
#
# max(a, b, c, d, 0) of the four numbers does the pool and the ReLU.

# %%
BLOCK = 256  # numbers that one program computes


@jit
def fused_kernel(images, weight, bias, out, channels, filters, height, width, BLOCK: tl.constexpr):  # noqa: N803
    """Compute BLOCK numbers of out (batch, filters, height // 2, width // 2), all of one image and one filter."""
    # TODO: tl.program_id(0) says which image and filter, tl.program_id(1) which BLOCK of the pooled pixels.
    # TODO: tl.load with a mask: outside of the image all is 0. In the last program of each image and filter,
    # fewer than BLOCK pooled pixels may be left: mask the other numbers, too.
    # YOUR CODE HERE
    raise NotImplementedError()


def conv_relu_pool(images, weight, bias) -> torch.Tensor:
    """Return max_pool2d(relu(conv2d(images, weight, bias, padding=1)), 2), computed by one launch of fused_kernel.

    images (batch, channels, height, width), weight (filters, channels, 3, 3), bias (filters), all float32.
    """
    # TODO: allocate the result, and launch: fused_kernel[(n, m)](...), n and m as in the handout. A kernel sees only
    # addresses, so make tensors contiguous first.
    # YOUR CODE HERE
    raise NotImplementedError()


def cuda_source() -> str:
    """Return the same in CUDA: a kernel, extern "C", whose threads compute one number of *out* each.

    conv_relu_pool(const float *images, const float *weight, const float *bias, float *out,
                   int batch, int channels, int filters, int height, int width)
    It is launched in blocks of 256 threads in one dimension. The last block may have more threads than needed.
    """
    # TODO: the number of the thread is blockIdx.x * blockDim.x + threadIdx.x; take it apart into image, filter, place.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.2 A profile each night
#
# Nobody reads a profile each night, so let a program do it. It records a profile, compares it with the last good one
# range by range, writes a page, and says whether it became slower. Profiles differ in length, so compare per step.


# %%
def record_profile(step, file, steps=5) -> None:
    """Call step() *steps* + 2 times under one profiler, and export all calls but the first two as a Chrome trace.

    Call prof.step() after each call. The profiler's schedule skips the first two calls, and makes every later call a
    ProfilerStep range. The trace goes to *file*.
    """
    # TODO: torch.profiler.schedule with wait, warmup and active; prof.step() after each call; export in on_trace_ready.
    # YOUR CODE HERE
    raise NotImplementedError()


def compare_profiles(before, after, folder=".", allowed=0.05) -> dict[str, Any]:
    """Compare two traces per step, range by range; write profile_report.md into folder.

    Ranges are the events of category `user_annotation`; those named ProfilerStep#... are the steps. Milliseconds of a
    range: for how long at least one of its events ran, anywhere in the trace, divided by the number of steps.

    Returns {"before_ms", "after_ms": of a step; "slower": after_ms is above before_ms by more than *allowed*, a share;
    "rows": [{"range", "before_ms", "after_ms", "change_ms"}], 0 where a trace has no such range, sorted by
    abs(change_ms), the largest first}. The page holds the verdict, and the rows as a table.
    """

    # TODO: load_events(file) gives events with category, name, start, end in microseconds; covered(events) adds up.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.3 Two nodes
#
# A link between machines is many times slower than one inside a machine. So add up within each node first. Then one
# process of each node talks to the other nodes, and passes the result on within its own.


# %%
def node_commands(script, nodes, processes, address, port) -> list[list[str]]:
    """Return a torchrun command line, a list of words, for each of *nodes* nodes. Each node runs *processes* processes.

    *address* and *port* are where the first node listens.
    """
    # TODO: --nnodes, --node-rank, --nproc-per-node, --master-addr, --master-port; the script comes last.
    # YOUR CODE HERE
    raise NotImplementedError()


def node_groups(processes) -> tuple[Any, Any]:
    """Return two groups: of the processes on this one's node, and of the first process of each node.

    *processes* is how many there are on each node: ranks 0 to processes - 1 on the first, the next ones on the second.
    Every process calls this once. A process that is not in the second group returns what dist.new_group returned.
    """
    # TODO: dist.new_group for each node, and one more: every process makes every group, in the same order.
    # YOUR CODE HERE
    raise NotImplementedError()


def average_over_nodes(tensors, node, between) -> None:
    """Write into each tensor its mean over all processes; each calls this with tensors of the same shapes.

    *node* and *between* are what node_groups returned. Only the first process of a node talks to other nodes, with all
    numbers in one tensor.
    """
    # TODO: one flat tensor; reduce within the node, all_reduce among the first ones, broadcast within the node.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## B.4 Inference
#
# Without training, batch norm multiplies by a factor and adds a number. Both fit into the convolution before it. No
# graph is kept, and dropout is off.
# The mean time is not enough: somebody waits for the one request in a hundred that takes ten times as long.


# %%
def fold_norm(conv, norm) -> nn.Conv2d:
    """Return a new convolution that gives what conv, then norm, an nn.BatchNorm2d, give; both are in eval()."""
    # TODO: norm is (x - running_mean) / sqrt(running_var + eps) * weight + bias. conv may have no bias.
    # YOUR CODE HERE
    raise NotImplementedError()


def predict(model, batches, device) -> torch.Tensor:
    """Return the most likely class of each image of all batches, in their order: int64 (images), on the CPU.

    Dropout and batch norm act as in eval(), and nothing is kept for a backward pass. Afterwards, each module of the
    model has its old mode again, even after an exception. The host waits for the device once, at the end.
    """
    # TODO: remember module.training of each of model.modules(); torch.inference_mode; torch.cat, then cpu.
    # YOUR CODE HERE
    raise NotImplementedError()


def measure_latency(call, repeats=100, warmup=10, synchronize=None) -> dict[str, float]:
    """Time *repeats* calls one by one, after *warmup* that do not count; return p50_ms, p95_ms, p99_ms and per_second.

    Percentiles are numpy's; per_second is the number of calls / the sum of their times. synchronize(), if it is given,
    waits for the device: call it before each reading of time.perf_counter().
    """

    # TODO: a list of seconds; np.percentile.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
SHAPES = [(1, 1), (1, 2), (2, 1), (2, 2)]  # nodes, processes on each
STEPS, BATCH = 10, 16


def work_as_one_process():
    """Be one process of a rehearsal: ten steps, their gradients averaged; the first one says how fast."""
    torch.set_num_threads(1)
    torch.manual_seed(0)  # the same weights everywhere
    dist.init_process_group(backend="gloo")
    try:
        net, images = SimpleNet(8), torch.randn(BATCH, 3, 64, 64)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        groups = node_groups(int(os.environ["LOCAL_WORLD_SIZE"]))
        for number in range(2 + STEPS):
            if number == 2:  # two to warm up
                start = time.perf_counter()
            optimizer.zero_grad()
            net(images).square().mean().backward()
            average_over_nodes([it.grad for it in net.parameters()], *groups)
            optimizer.step()
        if dist.get_rank() == 0:
            print(json.dumps(BATCH * STEPS * dist.get_world_size() / (time.perf_counter() - start)))
    finally:
        dist.destroy_process_group()


def rehearse_nodes(folder="."):
    """Start each shape on this machine, a torchrun for each node, and write nodes_results.csv."""
    rows: list[dict[str, Any]] = []
    for nodes, processes in SHAPES:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        commands = node_commands(__file__, nodes, processes, "127.0.0.1", port)
        torchrun = [sys.executable, "-m", "torch.distributed.run"]  # what torchrun is, on the path or not
        options = {"stdout": subprocess.PIPE, "text": True, "env": {**os.environ, "OMP_NUM_THREADS": "1"}}
        started = [subprocess.Popen([*torchrun, *words[1:]], **options) for words in commands]
        said = [process.communicate()[0] for process in started]
        if not said[0].strip():
            raise SystemExit(f"{nodes} x {processes}: a process failed, and says above why")
        rate = json.loads(said[0].strip().splitlines()[-1])
        each = rate / (nodes * processes)
        row = {"nodes": nodes, "processes": processes, "samples_per_s": rate}
        first = rows[0]["samples_per_s"] if rows else rate
        rows.append({**row, "efficiency": each / first, "device": device_name(torch.device("cpu"))})
    pd.DataFrame(rows).to_csv(Path(folder) / "nodes_results.csv", index=False)
    return rows


def report_on_pool():
    """Profile a step before and after its ReLU moved behind the pool, and say which range changed."""
    weight, images = torch.randn(16, 3, 3, 3), torch.randn(16, 3, 96, 96)

    def step(pool_first):
        with record_function("convolution"):
            x = nn.functional.conv2d(images, weight, padding=1)
        with record_function("relu and pool"):
            x = nn.functional.max_pool2d(x, 2).relu() if pool_first else nn.functional.max_pool2d(x.relu(), 2)

    for name, pool_first in (("before", False), ("after", True)):
        record_profile(lambda: step(pool_first), f"{name}.json", steps=20)  # noqa: B023
    return compare_profiles("before.json", "after.json")["rows"]


def compile_kernel():
    """Compile the CUDA source for an A100, and return what ptxas says of registers and memory."""
    Path("conv_relu_pool.cu").write_text(cuda_source(), encoding="utf-8")
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return [{"said": "no nvcc on this machine"}]
    options = ["--cubin", "-arch=sm_80", "-Xptxas", "-v", "-o", "conv_relu_pool.cubin"]
    told = subprocess.run([nvcc, *options, "conv_relu_pool.cu"], capture_output=True, text=True, check=True)
    return [{"said": line} for line in told.stderr.splitlines()]


def compare_kernels():
    """Compare the fused kernel with three operators: how far apart, and the bytes that each way moves."""
    if not HAS_TRITON:
        return [{"said": "no Triton on this machine"}]
    device = "cuda" if torch.cuda.is_available() else "cpu"  # the interpreter's kernels run on the CPU
    images, weight, bias = (torch.randn(it, device=device) for it in ((2, 3, 32, 32), (2, 3, 3, 3), 2))
    convolved = nn.functional.conv2d(images, weight, bias, padding=1)
    pooled = nn.functional.max_pool2d(convolved.relu(), 2)
    apart = (conv_relu_pool(images, weight, bias) - pooled).abs().max().item()
    inputs = images.nbytes + weight.nbytes + bias.nbytes
    return [
        {"way": "three operators", "kB": (inputs + 4 * convolved.nbytes + pooled.nbytes) / 1000, "apart": 0.0},
        {"way": "one kernel", "kB": (inputs + pooled.nbytes) / 1000, "apart": apart},
    ]


@torch.inference_mode()
def time_inference():
    """Say what folding brings: percentiles of a convolution and a batch norm, and of the two in one."""
    conv, norm = nn.Conv2d(3, 32, 3, padding=1, bias=False).eval(), nn.BatchNorm2d(32).eval()
    images = torch.randn(8, 3, 64, 64)
    rows = []
    for name, net in (("convolution, norm", nn.Sequential(conv, norm)), ("folded", fold_norm(conv, norm))):
        rows.append({"net": name, **measure_latency(lambda: net(images))})  # noqa: B023
    return rows


# %%
if __name__ == "__main__":
    if dist.is_torchelastic_launched():  # torchrun started this process
        work_as_one_process()
    elif len(sys.argv) == 3:  # python bonus.py before.json after.json: status 1 if it became slower
        sys.exit(int(compare_profiles(*sys.argv[1:])["slower"]))
    else:
        torch.set_num_threads(1)
        for run in (compare_kernels, compile_kernel, report_on_pool, time_inference, rehearse_nodes):
            try:
                print(pd.DataFrame(run()).to_string(index=False))
            except NotImplementedError:
                print(f"{run.__name__}: something that it needs is not written yet")
