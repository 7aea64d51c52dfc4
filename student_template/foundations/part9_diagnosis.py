# %% [markdown]
# # Part 9: diagnosis
#
# A training step waits for one thing at a time: for data, for a copy, for other processes, for the host, for the
# kernels. Making anything else faster gains little. You write functions that find this one thing, say how much a fix
# can gain, put fixes in order, and say where on a machine with several GPUs each process belongs.

# %%
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from given.topology import cpu_set, cpu_text, leading_number

PARTS = ("input", "copy", "communication", "launch", "kernel")

# %% [markdown]
# ## 9.1 What the step waits for


# %%
def diagnose(step) -> dict[str, Any]:
    """Return `bottleneck`, what a step waits for most; its `share` of the step; the speedup `at_most` without it.

    step: seconds by the names in PARTS, and worker_busy (0 ... 1), flops, bytes, peak_flops, peak_bandwidth. At least
    two parts take time.
    """
    # TODO: the largest of PARTS, of equal ones the first. A busy GPU may still wait for its memory.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 9.2 What to fix first


# %%
def plan(step, fixes) -> list[dict[str, Any]]:
    """Return a row for each fix that pays, in the order in which to apply them.

    step: seconds by the names in PARTS; fixes: name -> {part: number}, which divides the seconds of this part. Each
    time, take the fix that leaves the least time (no two leave the same); stop when the best one saves no more than 1 %
    of the time before it. A row: fix, seconds (left after it), speedup (of this fix), cumulative (since the beginning).
    """
    # TODO: apply a fix to the times that the fixes before it have left. Each is applied once.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 9.3 What a process may use


# %%
def visible_gpus(value, count) -> list[int]:
    """Return which of `count` GPUs a program sees under CUDA_VISIBLE_DEVICES=value, in its order.

    Where the variable is not set, value is None, and the program sees all.
    """
    # TODO: the first invalid entry ends the list; a number that comes twice leaves nothing at all.
    # YOUR CODE HERE
    raise NotImplementedError()


def usable_cpus(quota="/sys/fs/cgroup/cpu.max") -> int:
    """Return how many CPUs this process may keep busy: its affinity, and its container's quota if there is one.

    quota: a file with two words, "250000 100000" for 2.5 CPUs or "max 100000" for no limit; it may not be there.
    """
    # TODO: os.sched_getaffinity(0); a part of a CPU does not count, and the result is at least 1.
    # YOUR CODE HERE
    raise NotImplementedError()


# %% [markdown]
# ## 9.4 Where each process belongs


# %%
def place(machine, ranks) -> list[dict[str, Any]]:
    """Return a row for each rank from 0 to ranks - 1: rank, gpu, node, cpus ("0-3,16-19"), threads.

    machine: nodes (the CPUs of each node, "0-7,16-23"), cores (the CPUs of each core, "0,16"), allowed (the CPUs that
    may be used), gpus (the node of each GPU), workers (loader workers of a rank). ValueError where it does not fit.
    """
    # TODO: share out cores, not CPU numbers: two ranks on the two CPUs of one core slow each other down.
    # YOUR CODE HERE
    raise NotImplementedError()


def bind_command(row, program) -> list[str]:
    """Return the words of the command that runs `program` (a list of words) where a row of `place` says.

    numactl --physcpubind=<cpus> --membind=<node> <program>
    """
    # TODO: memory belongs to a node as well: take row["node"], where the CPUs are.
    # YOUR CODE HERE
    raise NotImplementedError()


def closest_pair(links) -> tuple[int, int]:
    """Return the two GPUs (a, b), a < b, that are connected best; of equal pairs the first by a, then by b.

    links[a][b]: what `nvidia-smi topo -m` says: NV12 (12 NVLinks), PIX, PXB, PHB, NODE, SYS; X for a GPU itself.
    """
    # TODO: NV12 is more than NV4, and every NV is more than PIX.
    # YOUR CODE HERE
    raise NotImplementedError()


# %%
if __name__ == "__main__":
    step = {"input": 0.074, "copy": 0.003, "communication": 0.0, "launch": 0.013, "kernel": 0.030}
    facts = {"worker_busy": 0.95, "flops": 1.2e12, "bytes": 9e9, "peak_flops": 6.5e13, "peak_bandwidth": 3.2e11}
    print(diagnose(step | facts))
    fixes = {
        "pinned memory": {"copy": 3},
        "torch.compile": {"launch": 8},
        "mixed precision": {"kernel": 2.5},
        "eight workers": {"input": 6},
    }
    for row in plan(step, fixes):
        print(row)
    print(f"this process may use {usable_cpus()} of {os.cpu_count()} CPUs")
    machine = {
        "nodes": ["0-7,16-23", "8-15,24-31"],
        "cores": [f"{cpu},{cpu + 16}" for cpu in range(16)],
        "allowed": "0-27",
        "gpus": [0, 0, 1, 1],
        "workers": 2,
    }
    for row in place(machine, ranks=4):
        print(" ".join(bind_command(row, ["python", "train.py"])), f"# {row['threads']} threads")
