from __future__ import annotations

import itertools
import re
from os import sched_getaffinity

import numpy as np

PARTS = ["input", "copy", "communication", "launch", "kernel"]
RANK = {name: at for at, name in enumerate(["SYS", "NODE", "PHB", "PXB", "PIX"])}


def seconds_of(step):
    return np.array([step[part] for part in PARTS])


def diagnose(step):
    seconds = seconds_of(step)
    at = int(np.argmax(seconds))
    kinds = [["io", "cpu"][int(step["worker_busy"] >= 0.5)], *PARTS[1:4]]
    # intensity against the ridge, as on a roofline
    above = step["flops"] / step["bytes"] >= step["peak_flops"] / step["peak_bandwidth"]
    kinds.append("compute" if above else "bandwidth")
    after = seconds.copy()
    after[at] = np.maximum(step["flops"] / step["peak_flops"], step["bytes"] / step["peak_bandwidth"]) if at == 4 else 0
    return dict(at_most=seconds.sum() / after.sum(), share=seconds[at] / seconds.sum(), bottleneck=kinds[at])


def plan(step, fixes):
    left, names, rows = seconds_of(step), list(fixes), []
    factors = np.array([[fixes[name].get(part, 1.0) for part in PARTS] for name in names]).reshape(-1, len(PARTS))
    free = np.ones(len(names), bool)
    whole = left.sum()
    while free.any():
        times = np.where(free, (left / factors).sum(1), np.inf)
        best = times.argmin()
        before = left.sum()
        if 1 - times[best] / before <= 0.01:
            break
        left = left / factors[best]
        free[best] = False
        rows.append({"speedup": before / left.sum(), "fix": names[best], "seconds": left.sum(), "cumulative": whole / left.sum()})
    return tuple(rows)


def visible_gpus(value, count):
    if value is None:
        return [*range(count)]
    matches = (re.match(r"\s*([+-]?\d+)", entry) for entry in value.split(","))
    numbers = (int(match[1]) if match else -1 for match in matches)
    valid = list(itertools.takewhile(lambda number: 0 <= number < count, numbers))
    return valid if len(set(valid)) == len(valid) else []


def usable_cpus(quota="/sys/fs/cgroup/cpu.max"):
    cpus = float(len(sched_getaffinity(0)))
    try:
        with open(quota) as file:
            limit, period = file.readline().split()
    except OSError:
        limit = "max"
    if limit != "max":
        cpus = min(cpus, np.floor(float(limit) / float(period)))
    return int(max(cpus, 1))


def numbers_in(text):
    found = []
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(low), int(high or low) + 1)
    return np.array(found)


def place(machine, ranks):
    gpus = np.array(machine["gpus"])
    if ranks > len(gpus):
        raise ValueError("there is no GPU for each rank")
    gpus, rows = gpus[:ranks], [None] * ranks
    for node in np.unique(gpus):
        here = np.intersect1d(numbers_in(machine["nodes"][node]), numbers_in(machine["allowed"]))
        cores = [np.intersect1d(numbers_in(core), here) for core in machine["cores"]]
        cores = [core for core in cores if core.size]
        mine = np.flatnonzero(gpus == node)
        if len(mine) > len(cores):
            raise ValueError(f"node {node} is full")
        edges = np.arange(len(mine) + 1) * len(cores) // len(mine)
        for rank, low, high in zip(mine, edges, edges[1:]):
            cpus = ",".join(map(str, np.concatenate(cores[low:high])))
            threads = max(high - low - machine["workers"], 1)
            rows[rank] = {"cpus": cpus, "gpu": rank, "node": node, "rank": rank, "threads": threads}
    return rows


def bind_command(row, program):
    return "numactl --physcpubind={cpus} --membind={node}".format(**row).split() + list(program)


def closest_pair(links):
    table = np.array([[RANK.get(link, -1) if link[:2] != "NV" else 10 + int(link[2:]) for link in row] for row in links])
    upper = np.where(np.triu(np.ones_like(table), 1) > 0, table, -2)
    return tuple(np.unravel_index(upper.argmax(), upper.shape))
