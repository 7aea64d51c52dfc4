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
    ### BEGIN SOLUTION
    image = tl.program_id(0) // filters
    own = tl.program_id(0) % filters  # the filter
    columns = width // 2
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    wanted = place < (height // 2) * columns
    best = tl.zeros([BLOCK], tl.float32)  # ReLU: nothing is below 0
    for window in range(4):  # the pixels of a pool's window
        row = 2 * (place // columns) + window // 2
        column = 2 * (place % columns) + window % 2
        total = tl.zeros([BLOCK], tl.float32) + tl.load(bias + own)
        for channel in range(channels):
            for tap in range(9):  # the 3 x 3 of the convolution
                y = row + tap // 3 - 1
                x = column + tap % 3 - 1
                seen = wanted & (y >= 0) & (y < height) & (x >= 0) & (x < width)
                pixel = tl.load(images + ((image * channels + channel) * height + y) * width + x, mask=seen, other=0.0)
                total += pixel * tl.load(weight + (own * channels + channel) * 9 + tap)
        best = tl.maximum(best, total)
    tl.store(out + tl.program_id(0) * (height // 2) * columns + place, best, mask=wanted)
    ### END SOLUTION


def conv_relu_pool(images, weight, bias) -> torch.Tensor:
    """Return max_pool2d(relu(conv2d(images, weight, bias, padding=1)), 2), computed by one launch of fused_kernel.

    images (batch, channels, height, width), weight (filters, channels, 3, 3), bias (filters), all float32.
    """
    # TODO: allocate the result, and launch: fused_kernel[(n, m)](...), n and m as in the handout. A kernel sees only
    # addresses, so make tensors contiguous first.
    ### BEGIN SOLUTION
    images, weight = images.contiguous(), weight.contiguous()
    batch, channels, height, width = images.shape
    filters = weight.shape[0]
    out = images.new_empty(batch, filters, height // 2, width // 2)
    grid = (batch * filters, -(-(height // 2) * (width // 2) // BLOCK))  # rounded up
    fused_kernel[grid](images, weight, bias, out, channels, filters, height, width, BLOCK=BLOCK)
    return out
    ### END SOLUTION


def cuda_source() -> str:
    """Return the same in CUDA: a kernel, extern "C", whose threads compute one number of *out* each.

    conv_relu_pool(const float *images, const float *weight, const float *bias, float *out,
                   int batch, int channels, int filters, int height, int width)
    It is launched in blocks of 256 threads in one dimension. The last block may have more threads than needed.
    """
    # TODO: the number of the thread is blockIdx.x * blockDim.x + threadIdx.x; take it apart into image, filter, place.
    ### BEGIN SOLUTION
    return """
extern "C" __global__ void conv_relu_pool(const float *images, const float *weight, const float *bias, float *out,
                                          int batch, int channels, int filters, int height, int width)
{
    int rows = height / 2, columns = width / 2;
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= batch * filters * rows * columns) return;      // the last block has threads too many

    int place = number % (rows * columns), filter = number / (rows * columns) % filters;
    int image = number / (rows * columns * filters);
    float best = 0.0f;                                           // ReLU: nothing is below 0
    for (int window = 0; window < 4; window++) {
        int row = 2 * (place / columns) + window / 2, column = 2 * (place % columns) + window % 2;
        float total = bias[filter];
        for (int channel = 0; channel < channels; channel++)
            for (int tap = 0; tap < 9; tap++) {
                int y = row + tap / 3 - 1, x = column + tap % 3 - 1;
                if (y < 0 || y >= height || x < 0 || x >= width) continue;
                total += images[((image * channels + channel) * height + y) * width + x]
                       * weight[(filter * channels + channel) * 9 + tap];
            }
        best = fmaxf(best, total);
    }
    out[number] = best;
}
"""
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(file)),
    ) as prof:
        for _ in range(2 + steps):
            step()
            prof.step()
    ### END SOLUTION


def compare_profiles(before, after, folder=".", allowed=0.05) -> dict[str, Any]:
    """Compare two traces per step, range by range; write profile_report.md into folder.

    Ranges are the events of category `user_annotation`; those named ProfilerStep#... are the steps. Milliseconds of a
    range: for how long at least one of its events ran, anywhere in the trace, divided by the number of steps.

    Returns {"before_ms", "after_ms": of a step; "slower": after_ms is above before_ms by more than *allowed*, a share;
    "rows": [{"range", "before_ms", "after_ms", "change_ms"}], 0 where a trace has no such range, sorted by
    abs(change_ms), the largest first}. The page holds the verdict, and the rows as a table.
    """

    # TODO: load_events(file) gives events with category, name, start, end in microseconds; covered(events) adds up.
    ### BEGIN SOLUTION
    def per_step(file):
        ranges: dict[str, list[Any]] = {}
        for event in load_events(file):
            if event.category == "user_annotation":
                ranges.setdefault(event.name.split("#")[0], []).append(event)
        steps = len(ranges["ProfilerStep"])
        return {name: covered(events) / 1000 / steps for name, events in ranges.items()}

    old, new = per_step(before), per_step(after)
    was, now = old.pop("ProfilerStep"), new.pop("ProfilerStep")
    rows = [{"range": name, "before_ms": old.get(name, 0.0), "after_ms": new.get(name, 0.0)} for name in {**old, **new}]
    rows = [{**row, "change_ms": row["after_ms"] - row["before_ms"]} for row in rows]
    rows.sort(key=lambda row: abs(row["change_ms"]), reverse=True)
    slower = now > was * (1 + allowed)

    lines = [f"{'Slower' if slower else 'Not slower'}: {was:.3f} ms a step before, {now:.3f} ms after", ""]
    lines += ["| range | before_ms | after_ms | change_ms |", "|---|---|---|---|"]
    lines += [f"| {r['range']} | {r['before_ms']:.3f} | {r['after_ms']:.3f} | {r['change_ms']:+.3f} |" for r in rows]
    (Path(folder) / "profile_report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"before_ms": was, "after_ms": now, "slower": slower, "rows": rows}
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return [
        [
            "torchrun",
            *("--nnodes", str(nodes), "--node-rank", str(node), "--nproc-per-node", str(processes)),
            *("--master-addr", address, "--master-port", str(port)),
            script,
        ]
        for node in range(nodes)
    ]
    ### END SOLUTION


def node_groups(processes) -> tuple[Any, Any]:
    """Return two groups: of the processes on this one's node, and of the first process of each node.

    *processes* is how many there are on each node: ranks 0 to processes - 1 on the first, the next ones on the second.
    Every process calls this once. A process that is not in the second group returns what dist.new_group returned.
    """
    # TODO: dist.new_group for each node, and one more: every process makes every group, in the same order.
    ### BEGIN SOLUTION
    firsts = list(range(0, dist.get_world_size(), processes))
    nodes = [dist.new_group(list(range(first, first + processes))) for first in firsts]
    return nodes[dist.get_rank() // processes], dist.new_group(firsts)
    ### END SOLUTION


def average_over_nodes(tensors, node, between) -> None:
    """Write into each tensor its mean over all processes; each calls this with tensors of the same shapes.

    *node* and *between* are what node_groups returned. Only the first process of a node talks to other nodes, with all
    numbers in one tensor.
    """
    # TODO: one flat tensor; reduce within the node, all_reduce among the first ones, broadcast within the node.
    ### BEGIN SOLUTION
    first = dist.get_process_group_ranks(node)[0]
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.reduce(flat, first, group=node)
    if dist.get_rank() == first:
        dist.all_reduce(flat, group=between)
    dist.broadcast(flat, first, group=node)
    flat /= dist.get_world_size()
    for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    with torch.no_grad():
        factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)  # one for each channel of the output
        bias = torch.zeros_like(norm.running_mean) if conv.bias is None else conv.bias
        folded = copy.deepcopy(conv)
        folded.weight = nn.Parameter(conv.weight * factor.view(-1, 1, 1, 1))
        folded.bias = nn.Parameter((bias - norm.running_mean) * factor + norm.bias)
    return folded
    ### END SOLUTION


def predict(model, batches, device) -> torch.Tensor:
    """Return the most likely class of each image of all batches, in their order: int64 (images), on the CPU.

    Dropout and batch norm act as in eval(), and nothing is kept for a backward pass. Afterwards, each module of the
    model has its old mode again, even after an exception. The host waits for the device once, at the end.
    """
    # TODO: remember module.training of each of model.modules(); torch.inference_mode; torch.cat, then cpu.
    ### BEGIN SOLUTION
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with torch.inference_mode():
            classes = [model(images.to(device, non_blocking=True)).argmax(1) for images in batches]
            return torch.cat(classes).cpu()
    finally:
        for module, training in modes:
            module.training = training
    ### END SOLUTION


def measure_latency(call, repeats=100, warmup=10, synchronize=None) -> dict[str, float]:
    """Time *repeats* calls one by one, after *warmup* that do not count; return p50_ms, p95_ms, p99_ms and per_second.

    Percentiles are numpy's; per_second is the number of calls / the sum of their times. synchronize(), if it is given,
    waits for the device: call it before each reading of time.perf_counter().
    """

    # TODO: a list of seconds; np.percentile.
    ### BEGIN SOLUTION
    def now():
        if synchronize is not None:
            synchronize()
        return time.perf_counter()

    for _ in range(warmup):
        call()
    seconds = []
    for _ in range(repeats):
        start = now()
        call()
        seconds.append(now() - start)
    names = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99}
    figures = {name: 1000 * float(np.percentile(seconds, share)) for name, share in names.items()}
    return {**figures, "per_second": repeats / sum(seconds)}
    ### END SOLUTION


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
