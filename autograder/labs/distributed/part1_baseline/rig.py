"""What the probes of part 1 work with: a group of two whose steps mark themselves, and what its traces hold."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch.profiler import record_function

from autograder.worker import rig as worker
from autograder.worker.rigs import group_processes
from autograder.worker.rigs.returned import text

WORLD, SECONDS = 2, 25.0
SCHEDULE = {"wait": 2, "warmup": 1, "active": 4}
STEPS = (12, 6, 7)
"""Into the second cycle of a schedule without an end; too few; just enough."""


def held(file: Path) -> dict[str, Any]:
    """Return which steps a trace holds, whether with shapes, and the rank in it."""
    try:
        trace = json.loads(gzip.decompress(file.read_bytes()))
        events, rank = trace["traceEvents"], trace["distributedInfo"]["rank"]
    except (OSError, EOFError, ValueError, LookupError, zlib.error):
        return {"rank": -1, "steps": [], "shapes": False}
    names = [it["name"].split() for it in events if it.get("cat") == "user_annotation"]
    steps = [int(name[1]) for name in names if name[0] == "marked"]
    shapes = any("Input Dims" in it.get("args", {}) for it in events)
    return {"rank": rank, "steps": sorted(steps)[:64], "shapes": shapes}


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def profiled(self, student: ModuleType) -> dict[str, Any]:
        """Let each process profile into one folder, and then other numbers of steps into others."""
        folder = self.made_folder()

        def work(rank: int) -> dict[str, Any]:
            dist.init_process_group("gloo")
            calls = []
            for steps in STEPS:
                place = folder if steps == STEPS[0] else self.folder / f"of_{steps}"
                place.mkdir(exist_ok=True)
                calls.append(_profiled(student, steps, place, rank))
            returned = [call.pop("returned") for call in calls]
            return {"returned": returned[0], "calls": calls}

        ranks = group_processes.together(
            WORLD, lambda rank: {"LOCAL_RANK": rank}, work, self.folder, SECONDS
        )
        files = sorted(it.name for it in folder.iterdir())[:16]
        traces = [held(folder / f"rank{rank}_trace.json.gz") for rank in range(WORLD)]
        return {"ranks": ranks, "files": [text(it) for it in files], "traces": traces}


def _profiled(student: ModuleType, steps: int, folder: Path, rank: int) -> dict[str, Any]:
    taken = 0

    def step() -> None:
        nonlocal taken
        with record_function(f"marked {taken}"):
            taken += 1
            dist.all_reduce(torch.ones(4, 8) @ torch.ones(8, 8))

    returned = raised = ""
    try:
        returned = student.profile_rank(step, steps, str(folder), rank, **SCHEDULE)
    except Exception as error:
        if steps == STEPS[0]:
            raise
        raised = text(type(error).__name__, 60)
    path = Path(str(returned))
    inside = path.parent.resolve() == folder.resolve()
    named = path.name if inside else f"{path}, which is outside of folder"
    named = text("None" if returned is None else named)
    return {"returned": named, "taken": taken, "raised": raised}
