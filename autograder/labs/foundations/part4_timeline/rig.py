"""What the probes of part 4 work with: steps that mark themselves, and what files hold."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import torch
from torch.nn import functional
from torch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
)

from autograder.labs.foundations.part4_timeline import made
from autograder.labs.foundations.part4_timeline.made import Cycles
from autograder.worker import rig as worker

T = TypeVar("T")
Handler = Callable[[profile], Any]
MARK, STEP = "batch", "ProfilerStep#"


def work(number: int) -> None:
    """Take a step in a range of its number; no operator calls itself, which key_averages() merges."""
    with record_function(f"{MARK}{number}"):
        inputs, weight = torch.ones(4, 8), torch.ones(8, 8, requires_grad=True)
        outputs = functional.linear(inputs, weight).relu().softmax(-1)
        outputs.backward(torch.ones(4, 8))


def looked_into(file: Path, look: Callable[[list[Any]], T], otherwise: T) -> T:
    """Look at the events of a trace; what is no trace is *otherwise*."""
    try:
        return look(json.loads(gzip.decompress(file.read_bytes()))["traceEvents"])
    except (OSError, EOFError, ValueError, LookupError, TypeError, zlib.error):
        return otherwise


def held(file: Path) -> str:
    """Say which steps a trace holds."""
    return looked_into(file, _held, "no trace as gzipped JSON")


def _held(events: list[Any]) -> str:
    names = [it["name"] for it in events if it.get("cat") == "user_annotation"]
    marks = [[int(it[len(mark) :]) for it in names if it.startswith(mark)] for mark in (MARK, STEP)]
    return made.held(*marks)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def cycles(self, profile_cycles: Callable[..., Any], cycles: Cycles) -> dict[str, Any]:
        """Let the student's function profile; return what was called, recorded and returned."""
        traces, taken, profilers = list[str](), list[int](), list[profile]()

        def handler(profiler: profile) -> None:
            file = self.folder / "cycle.json.gz"
            profiler.export_chrome_trace(str(file))
            traces.append(held(file))
            profilers.append(profiler)

        def step(number: int) -> None:
            taken.append(number)
            work(number)

        with mock.patch.object(profile, "step", autospec=True, side_effect=profile.step) as stepped:
            returned = profile_cycles(step, cycles.steps, handler, **cycles.options)
        plan = schedule(**cycles.options)
        for profiler in profilers[:1]:
            plan = getattr(profiler, "schedule", plan)
        warm_up = [it for it in range(cycles.steps) if plan(it) == ProfilerAction.WARMUP]
        return made.profiled(taken, traces, warm_up, returned, stepped.call_count)

    def handled(self, folder: Path, handler: Handler, cycles: Cycles) -> dict[str, str]:
        """Profile in the right way; say what the files are that the student's handler wrote."""
        (folder / made.TABLE).write_text("left,by,another,run\n1,2,3,4\n")
        plan = schedule(**cycles.options)
        of_the_cpu = [ProfilerActivity.CPU]
        with profile(activities=of_the_cpu, schedule=plan, on_trace_ready=handler) as profiler:
            for number in range(cycles.steps):
                work(number)
                profiler.step()
        files = {it.name: held(it) for it in folder.iterdir()}
        return {**files, made.TABLE: "a table"} if made.TABLE in files else files

    def table(self, folder: Path, top: int) -> dict[str, Any]:
        """Return the table, and the operators of each trace beside it."""
        none = list[made.Row]()
        traces = [looked_into(it, made.own_times, none) for it in sorted(folder.glob("*.gz"))]
        return {"text": self.file_text(folder / made.TABLE), "top": top, "traces": traces}
