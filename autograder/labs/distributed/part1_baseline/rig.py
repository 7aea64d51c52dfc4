"""What the probes of part 1 work with: a group of two whose steps mark themselves, and what its traces hold."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
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
STEPS, TOO_FEW = 10, 5  # the second cycle of a schedule without an end is cut
RANGES = ("forward", "backward", "optimizer")


def held(file: Path) -> dict[str, Any]:
    """Return the steps and ranges that a trace holds, and the rank in it."""
    try:
        trace = json.loads(gzip.decompress(file.read_bytes()))
        events = trace["traceEvents"]
        rank = trace["distributedInfo"]["rank"]
    except (OSError, EOFError, ValueError, LookupError, zlib.error):
        return {"rank": -1, "steps": 0, "shapes": False, "ranges": {}}
    names = Counter(it["name"] for it in events if it.get("cat") == "user_annotation")
    steps = sum(count for name, count in names.items() if name.startswith("ProfilerStep#"))
    shapes = any("Input Dims" in it.get("args", {}) for it in events)
    return {
        "rank": rank,
        "steps": steps,
        "shapes": shapes,
        "ranges": {it: names[it] for it in RANGES},
    }


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def profiled(self, student: ModuleType) -> dict[str, Any]:
        """Let each process profile into one folder, and then with too few steps into another."""
        folder, refused = self.made_folder(), self.folder / "refused"
        refused.mkdir()

        def work(rank: int) -> dict[str, Any]:
            torch.cuda.is_available = lambda: False  # processes of one group cannot share a GPU
            dist.init_process_group("gloo")
            taken: list[int] = []
            weight = torch.ones(8, 8, requires_grad=True)

            def step() -> None:
                taken.append(1)
                with record_function("forward"):
                    loss = (torch.ones(4, 8) @ weight).sum()
                with record_function("backward"):
                    loss.backward()
                    dist.all_reduce(torch.ones(8))
                with record_function("optimizer"):
                    weight.grad = None

            returned = student.profile_rank(step, STEPS, str(folder), rank)
            late, raised = len(taken), ""
            try:
                student.profile_rank(step, TOO_FEW, str(refused), rank)
            except Exception as error:
                raised = text(type(error).__name__, 60)
            file = text(Path(str(returned)).name)
            return {"returned": file, "taken": late, "late": len(taken) - late, "raised": raised}

        ranks = group_processes.together(
            WORLD, lambda rank: {"LOCAL_RANK": rank}, work, self.folder, SECONDS
        )
        files = sorted(it.name for it in folder.iterdir())[:16]
        traces = [held(folder / f"rank{rank}_trace.json.gz") for rank in range(WORLD)]
        return {"ranks": ranks, "files": [text(it) for it in files], "traces": traces}
