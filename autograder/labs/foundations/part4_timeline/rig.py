"""What the probes of part 4 work with: steps that mark themselves, schedules, and what files hold."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from autograder.labs.foundations.part4_timeline import made
from autograder.labs.foundations.part4_timeline.made import Cycles
from autograder.worker import rig as worker

Handler = Callable[[profile], Any]
MARK, STEP = "batch", "ProfilerStep#"


def work(number: int) -> None:
    """Take a step in a range of its number; no operator calls itself, which key_averages() merges."""
    with record_function(f"{MARK}{number}"):
        inputs, weight = torch.ones(4, 8), torch.ones(8, 8, requires_grad=True)
        outputs = functional.linear(inputs, weight).relu().softmax(-1)
        outputs.backward(torch.ones(4, 8))


def held(file: Path) -> dict[str, Any]:
    """Return the steps that a trace holds, by their own marks and by the profiler's, and its operators."""
    try:
        return _held(json.loads(gzip.decompress(file.read_bytes()))["traceEvents"])
    except (OSError, EOFError, ValueError, LookupError, zlib.error):
        return {"batches": [], "steps": [], "operators": []}


def _held(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = [it["name"] for it in events if it.get("cat") == "user_annotation"]
    rows = made.own_times(events)
    return {
        "batches": sorted(int(it[len(MARK) :]) for it in names if it.startswith(MARK)),
        "steps": sorted(int(it[len(STEP) :]) for it in names if it.startswith(STEP)),
        "operators": [
            {"name": it["operator"], "calls": it["calls"], "own_us": it["own_us"]} for it in rows
        ],
    }


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def cycles(self, profile_cycles: Callable[..., Any], cycles: Cycles) -> dict[str, Any]:
        """Let the student's function profile; return what was recorded, called and returned."""
        traces, taken = list[dict[str, Any]](), list[int]()

        def handler(profiler: profile) -> None:
            file = self.folder / "cycle.json.gz"
            profiler.export_chrome_trace(str(file))
            traces.append(held(file))

        def step(number: int) -> None:
            taken.append(number)
            work(number)

        count = profile_cycles(step, cycles.steps, handler, **cycles.options)
        named = [{name: it[name] for name in ("batches", "steps")} for it in traces]
        return {"taken": taken, "traces": named, "count": self.number(count)}

    def handled(self, folder: Path, handler: Handler, cycles: Cycles) -> dict[str, Any]:
        """Profile in the right way; return what the student's handler wrote."""
        (folder / made.TABLE).write_text("left,by,another,run\n1,2,3,4\n")
        plan = schedule(**cycles.options)
        of_the_cpu = [ProfilerActivity.CPU]
        with profile(activities=of_the_cpu, schedule=plan, on_trace_ready=handler) as profiler:
            for number in range(cycles.steps):
                work(number)
                profiler.step()
        files = sorted(it.name for it in folder.iterdir())
        traces = {name: held(folder / name) for name in files if name.endswith(".gz")}
        return {"files": files, "traces": traces, "table": self.file_text(folder / made.TABLE)}
