import csv
import gzip
import json
import os

import numpy as np
from torch.profiler import ProfilerActivity, profile, schedule


def own_times(events):
    found = [e for e in events if e["ph"] == "X" and e.get("cat") == "cpu_op"]
    if not found:
        return []
    names = np.array([e["name"] for e in found])
    start, dur = (np.array([e[key] for e in found], dtype=float) for key in ("ts", "dur"))
    end = start + dur
    threads = {key: at for at, key in enumerate({(e["pid"], e["tid"]) for e in found})}
    thread = np.array([threads[e["pid"], e["tid"]] for e in found])
    together = thread[:, None] == thread[None, :]
    # row: the outer one, column: the inner one
    inside = together & (start[:, None] <= start) & (end <= end[:, None]) & (dur < dur[:, None])
    length = np.where(inside, dur[:, None], np.inf)
    parent = length.argmin(axis=0)
    has_parent = inside.any(axis=0)
    own = dur.copy()
    np.subtract.at(own, parent[has_parent], dur[has_parent])
    kinds, where = np.unique(names, return_inverse=True)
    counts = np.bincount(where)
    whole, self_time = np.bincount(where, dur), np.bincount(where, own)
    rows = [
        {"operator": str(name), "calls": n, "total_us": whole[at], "own_us": self_time[at]}
        for at, (name, n) in enumerate(zip(kinds, counts))
    ]
    rows.sort(key=lambda row: row["operator"])
    rows.sort(key=lambda row: row["own_us"], reverse=True)
    return rows


def make_handler(folder, rank=0, top=5):
    calls = []

    def handler(prof):
        calls.append(prof)
        n = len(calls)
        plain = os.path.join(folder, f"rank{rank}_cycle{n}_trace.json")
        prof.export_chrome_trace(plain)
        with open(plain, "rb") as source:
            data = source.read()
        os.remove(plain)
        with gzip.open(plain + ".gz", "wb") as target:
            target.write(data)
        with open(os.path.join(folder, "operators.csv"), "a" if n > 1 else "w", newline="") as table:
            writer = csv.writer(table)
            if n == 1:
                writer.writerow(["cycle", "place", "operator", "calls", "own_us"])
            for place, row in enumerate(own_times(json.loads(data)["traceEvents"])[:top], 1):
                writer.writerow([n, place, row["operator"], row["calls"], f"{row['own_us']:.3f}"])

    return handler


def profile_cycles(step, steps, handler, wait=1, warmup=1, active=3, repeat=2):
    length = wait + warmup + active
    if steps // length < repeat:
        raise ValueError("the last cycle would be cut")
    cycles = 0

    def ready(prof):
        nonlocal cycles
        handler(prof)
        cycles += 1

    prof = profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=repeat),
        on_trace_ready=ready,
    )
    prof.start()
    try:
        for i in range(steps):
            step(i)
            if i + 1 < steps:
                prof.step()
    finally:
        prof.stop()
    return cycles
