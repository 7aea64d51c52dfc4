"""What the probes of part 2 work with: a group of two on scripted clocks, one of which is slower."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from autograder.labs.distributed.part2_communication.stories import FASTER, Link, Story
from autograder.worker import rig as worker
from autograder.worker.rigs import group_processes
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.returned import Returned, file_text, rows, text

WORLD, SECONDS = 2, 18.0
ROWS, FEATURES, CLASSES = 8, 64, 10
FORWARD = 0.4  # of the time of a step alone
WALL = 1.25  # times as far goes time.time, which others may set
Costs = Callable[[int, int], float]
"""Seconds of an all_reduce alone, by its bytes and how often it was called before."""


class Clocked(Collectives):
    """Moves the clock by what collectives cost, and counts those of each backward pass."""

    def __init__(self, clock: VirtualClock, costs: Costs, exposed: Callable[[], float]) -> None:
        """Of a backward pass all collectives together cost what is *exposed*."""
        super().__init__()
        self._clock, self._costs, self._exposed = clock, costs, exposed
        self._calls = Counter[int]()
        self.passes: list[int] = []

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Make the call, then let it cost."""
        before = len(self.calls)
        result = super().called(func, args, kwargs)
        for call in self.calls[before:]:
            self._cost(call["kind"], call["bytes"])
        return result

    def _cost(self, kind: str, size: int) -> None:
        in_backward = torch._C._current_graph_task_id() >= 0
        if in_backward and self.passes:
            self._clock.advance(0.0 if self.passes[-1] else self._exposed())
            self.passes[-1] += 1
        elif kind == "all_reduce":
            self._clock.advance(self._costs(size, self._calls[size]))
            self._calls[size] += 1


class Steps:
    """Lets forward and backward take scripted time."""

    def __init__(self, clock: VirtualClock, story: Story, rank: int, model: Any) -> None:
        """Watch a wrapped model."""
        self._clock, self._story, self._model = clock, story, model
        self._factor = 1.0 if rank == story.slower else FASTER
        self._taken = Counter[bool]()
        self._now = 1.0
        self.passes: list[int] = []
        model.module.register_forward_hook(self._forward)
        last = next(iter(model.module.parameters()))
        last.register_post_accumulate_grad_hook(self._backward)

    def exposed(self) -> float:
        return self._story.exposed * self._factor * self._now

    def costs(self, size: int, call: int) -> float:
        return self._factor * self._story.link.seconds(size, call)

    def _forward(self, *_: Any) -> None:
        together = bool(self._model.require_backward_grad_sync)
        pattern = self._story.pattern
        self._now = pattern[(self._taken[together] + together) % len(pattern)]
        self._taken[together] += 1
        self.passes.append(0)
        self._advance(FORWARD)

    def _backward(self, _: Tensor) -> None:
        self._advance(1 - FORWARD)

    def _advance(self, share: float) -> None:
        self._clock.advance(share * self._story.compute * self._factor * self._now)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def measured(self, student: ModuleType, story: Story) -> list[dict[str, Any]]:
        """Let each process measure one model."""

        def work(rank: int) -> dict[str, Any]:
            model = self._model(story, rank)
            steps = Steps(self.clock, story, rank, model)
            start = _digest(model)
            with Clocked(self.clock, steps.costs, steps.exposed) as watched:
                watched.passes = steps.passes
                returned = student.measure_communication(
                    model, self._batch(rank), nn.CrossEntropyLoss(), steps=len(story.pattern)
                )
            figures = rows([Returned("measure_communication", returned)], "measure_communication")
            gradients = [it.grad is not None for it in model.parameters()]
            return {
                "figures": figures[0],
                "passes": steps.passes[:256],
                "start": start,
                "end": _digest(model),
                "gradients": sum(gradients),
            }

        return self._together(work)

    def linked(self, student: ModuleType, sizes: list[int], link: Link, slower: int) -> Any:
        """Let each process measure the link, in a folder of its own."""

        def work(rank: int) -> dict[str, Any]:
            home = self._home(rank)
            home.mkdir()
            factor = 1.0 if rank == slower else FASTER
            with Clocked(self.clock, lambda *call: factor * link.seconds(*call), float):
                returned = student.measure_link(list(sizes), len(link.pattern), folder=str(home))
            files = sorted(it.name for it in home.iterdir())[:16]
            return {"rows": rows(returned, "measure_link"), "files": [text(it) for it in files]}

        ranks = self._together(work)
        return {"ranks": ranks, "csv": file_text(self._home(0) / "allreduce_times.csv")}

    def _home(self, rank: int) -> Path:
        return self.folder / f"rank{rank}"

    def _model(self, story: Story, rank: int) -> DistributedDataParallel:
        torch.manual_seed(self.seed + rank)
        network = self.given("Net")(FEATURES, story.width, classes=CLASSES)
        return DistributedDataParallel(network, bucket_cap_mb=story.bucket_mb)

    def _batch(self, rank: int) -> tuple[Tensor, Tensor]:
        torch.manual_seed(self.seed + WORLD + rank)
        return torch.randn(ROWS, FEATURES), torch.randint(0, CLASSES, (ROWS,))

    def _together(self, work: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
        def begin(rank: int) -> dict[str, Any]:
            torch.cuda.is_available = lambda: False  # processes of one group cannot share a GPU
            dist.init_process_group("gloo")
            self.clock.freeze(WALL)
            return work(rank)

        return group_processes.together(
            WORLD, lambda rank: {"LOCAL_RANK": rank}, begin, self.folder, SECONDS
        )


def _digest(model: nn.Module) -> str:
    weights = b"".join(it.detach().numpy().tobytes() for it in model.parameters())
    return hashlib.sha256(weights).hexdigest()[:16]
