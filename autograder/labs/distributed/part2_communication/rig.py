"""What the probes of part 2 work with: a group of two on scripted clocks, one of which is slower."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from autograder.labs.distributed.part2_communication.stories import (
    WALL,
    WARMUP,
    Link,
    Script,
    Story,
)
from autograder.worker import rig as worker
from autograder.worker.rigs import call_order, group_processes
from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.collectives import Collectives
from autograder.worker.rigs.late_collectives import Late
from autograder.worker.rigs.returned import Returned, file_text, rows, text

SECONDS = 18.0
ROWS, FEATURES, CLASSES = 8, 64, 10
LARGE = 2000  # bytes: a median or a bias is less, and each weight and each bucket more
FORWARD = 0.4  # of the time of a step alone
FILE = "allreduce_times.csv"


class Clocked(Collectives):
    """Moves the clock by what collectives cost once they are waited for, and counts those of each backward pass."""

    def __init__(self, clock: VirtualClock, link: Link, factors: Sequence[float]) -> None:
        """Of each size, calls take so many times as long as the *link* says, one after the other."""
        super().__init__()
        self._clock, self._link, self._factors = clock, link, factors
        self._turns = Counter[Any]({"together": 1})
        self._unpaid = self._exposed = self._backward = 0.0
        self.passes: list[int] = []
        self.sent: list[list[int]] = []
        """In each pass, the bytes of the large calls of its backward pass, and after it."""
        self.outside = False
        """Whether no_sync() was around a backward pass alone."""

    def train(self, model: DistributedDataParallel, story: Story, rank: int) -> None:
        """Let forward and backward of a model take the time of a *story*."""
        alone = story.script.of(1 - rank)

        def forward(*_: Any) -> None:
            if model.require_backward_grad_sync:
                factor = self._factor("together", self._factors)
            else:
                factor = self._factor("alone", alone)
            self._exposed = factor * story.exposed
            self._backward = factor * story.compute * (1 - FORWARD)
            self._clock.advance(factor * story.compute * FORWARD)
            self.passes.append(0)
            self.sent += [[], []]

        def backward(_: Tensor) -> None:
            self._clock.advance(self._backward)
            self.outside |= bool(self.passes[-1]) and not model.require_backward_grad_sync

        model.module.register_forward_hook(forward)
        last = next(iter(model.module.parameters()))
        last.register_post_accumulate_grad_hook(backward)

    def _factor(self, what: Any, factors: Sequence[float]) -> float:
        """Return how many times as long this takes now, by how often it was done before."""
        turn = self._turns[what]
        self._turns[what] += 1
        return factors[turn % len(factors)]

    def called(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Make the call; in a backward pass all of them together cost what is exposed."""
        before = len(self.calls)
        result = super().called(func, args, kwargs)
        for call in self.calls[before:]:
            is_backward = bool(self.passes) and torch._C._current_graph_task_id() >= 0
            if self.passes and call["kind"] == "all_reduce" and call["bytes"] >= LARGE:
                self.sent[-2 if is_backward else -1].append(call["bytes"])
            if is_backward:
                self._clock.advance(0.0 if self.passes[-1] else self._exposed)
                self.passes[-1] += 1
            elif call["kind"] == "barrier":
                self._clock.advance(self._link.latency)
            elif call["kind"] == "all_reduce":
                size = call["bytes"]
                seconds = self._link.seconds(size)
                if self._unpaid:  # calls that nobody waited for have one latency together
                    seconds -= self._link.latency
                self._unpaid += self._factor(size, self._factors) * seconds
        return result

    def note(self, event: str) -> None:
        """Let what was called take its time: somebody waits for it."""
        if event != "call":
            self._clock.advance(self._unpaid)
            self._unpaid = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the calls, and who waits for them."""
        with self, Late(self.note):
            yield


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    def measured(self, student: ModuleType, story: Story) -> list[dict[str, Any]]:
        """Let each process measure one model."""

        def work(rank: int) -> dict[str, Any]:
            model = self._model(story, rank)
            factors = story.script.of(rank)
            watched = Clocked(self.clock, story.link, factors)
            watched.train(model, story, rank)
            start = _digest(model)
            with watched.watching():
                returned = student.measure_communication(
                    model,
                    self._batch(rank),
                    nn.CrossEntropyLoss(),
                    steps=len(factors),
                    warmup=WARMUP,
                )
            call_order.returns("measure_communication")
            figures = rows([Returned("measure_communication", returned)], "measure_communication")
            gradients = [it.grad for it in model.parameters() if it.grad is not None]
            sent = watched.sent
            return {
                "figures": figures[0],
                "passes": watched.passes[:256],
                "start": start,
                "end": _digest(model),
                "gradients": len(gradients),
                "zeros": sum(not bool(it.any()) for it in gradients),
                "outside": watched.outside,
                "buckets": next(filter(None, sent[-2::-2]), [])[:64],
                "alone": next(filter(None, sent[::-2]), [])[:64],
            }

        return self._together(2, work)

    def linked(
        self, student: ModuleType, sizes: list[int], link: Link, script: Script, world: int
    ) -> dict[str, Any]:
        """Let each process measure the link, in a folder of its own."""

        def work(rank: int) -> dict[str, Any]:
            home = self._home(rank)
            home.mkdir()
            factors = script.of(rank)
            with Clocked(self.clock, link, factors).watching():
                returned = student.measure_link(list(sizes), len(factors), folder=str(home))
            call_order.returns("measure_link")
            files = [f"rank {rank} wrote {text(it.name)}" for it in home.iterdir()]
            return {"rows": rows(returned, "measure_link"), "files": files}

        ranks = self._together(world, work)
        return {
            "rows": ranks[0]["rows"],
            "alike": all(it["rows"] == ranks[0]["rows"] for it in ranks),
            "csv": next(filter(None, map(self._table, range(world))), ""),
            "files": [file for it in ranks[1:] for file in it["files"][:8]],
        }

    def _home(self, rank: int) -> Path:
        return self.folder / f"rank{rank}"

    def _table(self, rank: int) -> str:
        return file_text(self._home(rank) / FILE)

    def _model(self, story: Story, rank: int) -> DistributedDataParallel:
        torch.manual_seed(self.seed + rank)
        network = self.given("Net")(FEATURES, story.width, classes=CLASSES)
        next(it for it in network.parameters() if it.dim() == 1).requires_grad_(False)
        return DistributedDataParallel(network, bucket_cap_mb=story.bucket_mb)

    def _batch(self, rank: int) -> tuple[Tensor, Tensor]:
        torch.manual_seed(self.seed + 2 + rank)
        return torch.randn(ROWS, FEATURES), torch.randint(0, CLASSES, (ROWS,))

    def _together(self, world: int, work: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
        def begin(rank: int) -> dict[str, Any]:
            dist.init_process_group("gloo")
            self.clock.freeze(WALL)
            return work(rank)

        return group_processes.together(
            world, lambda rank: {"LOCAL_RANK": rank}, begin, self.folder, SECONDS
        )


def _digest(model: nn.Module) -> str:
    weights = b"".join(it.detach().numpy().tobytes() for it in model.parameters())
    return hashlib.sha256(weights).hexdigest()[:16]
