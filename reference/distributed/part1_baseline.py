# %% [markdown]
# # Part 1: where a step of two processes goes
#
# You profile a training in each of its two processes, read both traces, and find out which process is slow.

# %%
from __future__ import annotations

import gzip
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, record_function, schedule

import given

# %% [markdown]
# ## 1.1 A trace of each process


# %%
def profile_rank(step, steps, folder, rank, wait=1, warmup=2, active=3) -> Path:
    """Call step() `steps` times under torch.profiler, in one process of several; return the file of the trace.

    The first `wait` steps are not recorded, `warmup` steps are recorded and thrown away, and the next `active` steps
    are in the trace, with the shapes of inputs. step() is still called for later steps; they are not in the trace.
    Writes rank{rank}_trace.json.gz into `folder`, and nothing else. If there are fewer steps than the schedule needs:
    ValueError before the first step.
    """
    # TODO: torch.profiler.schedule, with repeat=1. prof.step() after each step.
    ### BEGIN SOLUTION
    needed = wait + warmup + active
    if steps < needed:
        raise ValueError(f"the schedule needs {needed} steps, and there are {steps}")
    file = Path(folder) / f"rank{rank}_trace.json.gz"
    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=1)

    def write(prof):
        prof.export_chrome_trace(str(file))

    with profile(schedule=plan, record_shapes=True, on_trace_ready=write) as prof:
        for _ in range(steps):
            step()
            prof.step()
    return file
    ### END SOLUTION


# %% [markdown]
# ## 1.2 A step of one process
#
# Events of a trace are dicts, in no order. Look only at those with `ph` "X". They have `cat`, `name`, `ts` (start) and
# `dur`, both in microseconds, `pid` and `tid` (together: the thread). Other events have fewer keys.
#
# | | is an event with |
# |---|---|
# | step | `cat` "user_annotation" and a name that begins with `ProfilerStep#` |
# | operator | `cat` "cpu_op", and a name that does not begin with `c10d::` |
# | kernel | `cat` "kernel"; a trace with kernels is one of a GPU |
# | collective | with a GPU a kernel `nccl...`; without one a "user_annotation" `gloo:...` |
# | compute | with a GPU all other kernels; without one all operators |


# %%
def collectives(events) -> list[dict[str, Any]]:
    """Return the collectives of a trace, in the order in which they began."""
    # TODO: a helper for `summarise` and `waiting`; change it as you like.
    ### BEGIN SOLUTION
    events = [it for it in events if it.get("ph") == "X"]
    on_gpu = any(it["cat"] == "kernel" for it in events)
    kind, beginning = ("kernel", "nccl") if on_gpu else ("user_annotation", "gloo:")
    chosen = [it for it in events if it["cat"] == kind and it["name"].startswith(beginning)]
    return sorted(chosen, key=lambda it: it["ts"])
    ### END SOLUTION


def covered(events) -> float:
    """Return the microseconds in which at least one of the events runs."""
    # TODO: another helper. Sort by start. Of each event, add only the part after the latest end so far.
    ### BEGIN SOLUTION
    total, until = 0.0, float("-inf")
    for event in sorted(events, key=lambda it: it["ts"]):
        end = event["ts"] + event["dur"]
        total += max(0.0, end - max(until, event["ts"]))
        until = max(until, end)
    return total
    ### END SOLUTION


def own_times(events) -> dict[str, float]:
    """Return the own time of each name, in microseconds.

    `events` are all events of category "cpu_op": operators and calls of c10d::. The result has a time for each name.
    `summarise` leaves out the names that begin with c10d::.
    """
    # TODO: the last helper. Of two with the same start, the longer one surrounds the other.
    # (The grader draws no two of a thread with the same start and the same duration.)
    ### BEGIN SOLUTION
    own: dict[str, float] = defaultdict(float)
    opened = defaultdict(list)  # the operators around the next one, by thread
    for event in sorted(events, key=lambda it: (it["ts"], -it["dur"])):
        around = opened[event["pid"], event["tid"]]
        while around and around[-1]["ts"] + around[-1]["dur"] <= event["ts"]:
            around.pop()
        if around:
            own[around[-1]["name"]] -= event["dur"]
        own[event["name"]] += event["dur"]
        around.append(event)
    return own
    ### END SOLUTION


# %%
def summarise(events) -> dict[str, Any]:
    """Return where the steps of one trace go. Times are milliseconds per step: divided by the number of steps.

    top_operators           the names of the 5 operators with the most own time in all their calls, most first
    step_ms                 the steps
    compute_ms              time in which anything computes
    communication_ms        time in which any collective runs
    exposed_ms              of that, the time in which nothing computes
    utilization_percent     time in which any kernel runs, in percent of step_ms; None without kernels

    Where events overlap, their common time counts once. In the grader's traces, no two own times are equal.
    """
    # TODO: exposed is (time in which a collective runs or anything computes) - (time in which anything computes).
    ### BEGIN SOLUTION
    kinds = defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            kinds[event["cat"]].append(event)
    called, kernels, transfers = kinds["cpu_op"], kinds["kernel"], collectives(events)
    steps = [it for it in kinds["user_annotation"] if it["name"].startswith("ProfilerStep#")]
    operators = [it for it in called if not it["name"].startswith("c10d::")]
    compute = [it for it in kernels if not it["name"].startswith("nccl")] if kernels else operators
    own = {name: us for name, us in own_times(called).items() if not name.startswith("c10d::")}

    def per_step(chosen):
        return covered(chosen) / 1000 / len(steps)

    return {
        "top_operators": sorted(own, key=own.get, reverse=True)[:5],
        "step_ms": per_step(steps),
        "compute_ms": per_step(compute),
        "communication_ms": per_step(transfers),
        "exposed_ms": per_step(compute + transfers) - per_step(compute),
        "utilization_percent": 100 * per_step(kernels) / per_step(steps) if kernels else None,
    }
    ### END SOLUTION


# %% [markdown]
# ## 1.3 Who waits for whom
#
# A collective ends when all processes have taken part. The process that comes first waits. In its trace the collective
# is long, because it contains this waiting.


# %%
def waiting(traces) -> list[dict[str, Any]]:
    """Return a row for each rank, the one that waits least first: the others wait for it. `traces`: rank -> events.

    The k-th collective of every rank is one transfer, in the order in which they began. Its transfer time is the
    shortest duration that any rank shows for it. What a rank's own duration has beyond that is waiting.
    A row has rank, communication_ms (durations of all collectives of the rank, added up), transfer_ms and
    waiting_ms, all of the whole trace. The clocks of two processes differ: compare durations only.
    In the grader's traces, no two ranks wait equally long.
    """
    # TODO: sort each rank's collectives, then take the shortest duration of each transfer.
    ### BEGIN SOLUTION
    durations = {rank: [it["dur"] / 1000 for it in collectives(events)] for rank, events in traces.items()}
    transfer = sum(min(each) for each in zip(*durations.values(), strict=True))
    rows = [
        {
            "rank": rank,
            "communication_ms": sum(own),
            "transfer_ms": transfer,
            "waiting_ms": sum(own) - transfer,
        }
        for rank, own in durations.items()
    ]
    return sorted(rows, key=lambda row: row["waiting_ms"])
    ### END SOLUTION


# %%
STEPS, LATE = 6, 0.03  # seconds that the data of rank 1 comes late in each step


def make_step(rank, device):
    """Return a function without arguments that does one training step; the trace shows its phases by name."""
    torch.manual_seed(rank)
    network = given.Net(features=256, width=512, layers=6).to(device)
    model = DistributedDataParallel(network, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(256, 256, device=device), torch.randint(0, 10, (256,), device=device)

    def step():
        time.sleep(LATE if rank == 1 else 0)
        with record_function("forward"):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

    return step


def work(rank, device) -> None:
    """Profile the training, as one of the processes."""
    profile_rank(make_step(rank, device), STEPS, ".", rank)


def answers(traces) -> dict[str, Any]:
    """Return what two traces say: rank 0's top operators, shares of its steps, and which rank is slow."""
    figures = summarise(traces[0])
    first, *_, last = waiting(traces)
    names = ("compute", "communication", "exposed")
    shares = {f"{name}_percent": 100 * figures[f"{name}_ms"] / figures["step_ms"] for name in names}
    steps = [it for it in traces[0] if it.get("cat") == "user_annotation" and "ProfilerStep" in it["name"]]
    much = 0.1 * len(steps) * figures["step_ms"]  # a tenth of all steps' time: if each rank waits less, none is slow
    slow_rank = first["rank"] if last["waiting_ms"] >= much else "none"
    return {"top_operators": figures["top_operators"], **shares, "slow_rank": slow_rank}


if __name__ == "__main__":
    given.start(work)
    both = {}
    for rank in (0, 1):
        with gzip.open(f"rank{rank}_trace.json.gz", "rt", encoding="utf-8") as file:
            both[rank] = json.load(file)["traceEvents"]
        print(f"rank {rank}: {summarise(both[rank])}")
    for row in waiting(both):
        print(row)
    Path("answers.json").write_text(json.dumps(answers(both), indent=2))
    print(Path("answers.json").read_text())
