from pathlib import Path

import pandas as pd
import torch
from torch.autograd.profiler_util import EventList, FunctionEvent


def own_times(events):
    threads = {}
    listed = []
    for event in events:
        if event["ph"] == "X" and event["cat"] == "cpu_op":
            thread = threads.setdefault((event["pid"], event["tid"]), len(threads))
            end = event["ts"] + event["dur"]
            listed.append(FunctionEvent(len(listed), event["name"], thread, event["ts"], end))
    listed = EventList(listed, use_device=None)
    listed._populate_cpu_children()
    frame = pd.DataFrame(
        [[it.name, 1, it.cpu_time_total, it.self_cpu_time_total] for it in listed],
        columns=["operator", "calls", "total_us", "own_us"],
    )
    table = frame.groupby("operator", as_index=False).sum()
    return table.sort_values(["own_us", "operator"], ascending=[False, True]).to_dict("records")


class Handler:
    def __init__(self, folder, rank, top):
        self.folder, self.rank, self.top = Path(folder), rank, top
        self.tables = []

    def __call__(self, prof):
        cycle = len(self.tables) + 1
        prof.export_chrome_trace(str(self.folder / f"rank{self.rank}_cycle{cycle}_trace.json.gz"))
        operators = [it for it in prof.key_averages() if not it.is_user_annotation]
        operators.sort(key=lambda it: it.self_cpu_time_total, reverse=True)
        rows = [
            {"cycle": cycle, "place": place, "operator": it.key, "calls": it.count, "own_us": it.self_cpu_time_total}
            for place, it in enumerate(operators[: self.top], start=1)
        ]
        self.tables.append(pd.DataFrame(rows))
        pd.concat(self.tables).to_csv(self.folder / "operators.csv", index=False)


def make_handler(folder, rank=0, top=5):
    return Handler(folder, rank, top)


def profile_cycles(step, steps, handler, wait=1, warmup=1, active=3, repeat=2):
    length = wait + warmup + active
    if steps < length * repeat:
        raise ValueError(f"{steps} steps cut a cycle")

    def plan(number):
        cycle, place = divmod(number, length)
        if cycle >= repeat or place < wait:
            return torch.profiler.ProfilerAction.NONE
        if place < wait + warmup:
            return torch.profiler.ProfilerAction.WARMUP
        last = place == length - 1
        return torch.profiler.ProfilerAction.RECORD_AND_SAVE if last else torch.profiler.ProfilerAction.RECORD

    with torch.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        for number in range(steps):
            step(number)
            prof.step()
    return min(repeat, steps // length)
