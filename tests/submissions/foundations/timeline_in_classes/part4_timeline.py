import gzip
import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from operator import itemgetter
from pathlib import Path

import pandas as pd
from torch.profiler import profile, schedule, tensorboard_trace_handler


@dataclass
class Node:
    name: str
    start: Fraction
    end: Fraction
    children: list = field(default_factory=list)

    @property
    def own(self):
        return self.end - self.start - sum(child.end - child.start for child in self.children)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


def tree(events):
    """Put each operator below the last one that is still open when it starts."""
    root = Node("", Fraction(-1), Fraction(10**20))
    path = [root]
    for event in events:
        start = Fraction(event["ts"])
        node = Node(event["name"], start, start + Fraction(event["dur"]))
        while path[-1].end <= start:
            path.pop()
        path[-1].children.append(node)
        path.append(node)
    return root


def own_times(events):
    found = [event for event in events if (event.get("ph"), event.get("cat")) == ("X", "cpu_op")]
    found.sort(key=itemgetter("dur"), reverse=True)
    found.sort(key=itemgetter("ts"))
    calls, whole, own = Counter(), Counter(), Counter()
    for thread in {(event["pid"], event["tid"]) for event in found}:
        root = tree([event for event in found if (event["pid"], event["tid"]) == thread])
        for node in list(root.walk())[1:]:
            calls[node.name] += 1
            whole[node.name] += node.end - node.start
            own[node.name] += node.own
    return [
        {"operator": name, "calls": calls[name], "total_us": float(whole[name]), "own_us": float(own[name])}
        for name in sorted(calls, key=lambda name: (-own[name], name))
    ]


def make_handler(folder, rank=0, top=5):
    numbers = count(1)

    def handler(prof):
        cycle = next(numbers)
        tensorboard_trace_handler(folder, worker_name="written", use_gzip=True)(prof)
        (written,) = Path(folder).glob("written*")
        file = written.rename(Path(folder, f"rank{rank}_cycle{cycle}_trace.json.gz"))
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
        table = pd.DataFrame(own_times(events)[:top])
        table["cycle"], table["place"] = cycle, table.index + 1
        file = Path(folder) / "operators.csv"
        if cycle > 1:
            table = pd.concat([pd.read_csv(file), table])
        table[["own_us", "calls", "operator", "place", "cycle"]].to_csv(file, index=False)

    return handler


def profile_cycles(step, steps, handler, wait=1, warmup=1, active=3, repeat=2):
    length = wait + warmup + active
    if steps < repeat * length:
        raise ValueError(steps)
    recorded = count()
    with ExitStack() as stack:
        plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
        prof = stack.enter_context(profile(schedule=plan))
        prof.on_trace_ready = lambda it: (handler(it), next(recorded))
        for i in range(steps):
            step(i)
            prof.step()
    return next(recorded)
