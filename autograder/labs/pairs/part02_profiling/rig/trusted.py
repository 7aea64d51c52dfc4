"""What profiles say that nobody wrote but the grader."""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, schedule

if TYPE_CHECKING:
    from autograder.labs.pairs.part02_profiling.rig import Steps


def step(model: nn.Module, ids: Tensor) -> None:
    model.zero_grad()
    model(ids, labels=ids).loss.backward()


def squares(model: nn.Module, inputs: Tensor, *, kept: str, product: bool) -> None:
    """Go forward and back; what is kept until the end, the loss or the outputs too, may be alive at the peak."""
    if kept == "outputs":
        outputs = model(inputs).float()
        loss = _mean(outputs, product=product)
        loss.backward()
    elif kept == "loss":
        loss = _mean(model(inputs).float(), product=product)
        loss.backward()
    else:
        _mean(model(inputs).float(), product=product).backward()


def _mean(outputs: Tensor, *, product: bool) -> Tensor:
    return (outputs * outputs if product else outputs.square()).mean()


class Trusted:
    """What profiles say that nobody can have written but the grader."""

    def __init__(self, device: torch.device) -> None:
        """Know what there is to record."""
        self._on_gpu = device.type == "cuda"
        gpu = [ProfilerActivity.CUDA] * self._on_gpu
        self._activities = [ProfilerActivity.CPU, *gpu]
        self._kind = "self_device_memory_usage" if gpu else "self_cpu_memory_usage"

    def calls_of_steps(self, steps: Steps, active: int) -> dict[str, list[int]]:
        """Take all steps; count operators in so many of them after the first two."""
        plan = schedule(wait=1, warmup=1, active=active, repeat=1)
        with profile(activities=self._activities, schedule=plan) as recorded:
            for batch in steps.batches:
                steps.step(batch)
                recorded.step()
        return _calls(recorded)

    def calls_of_model(self, model: nn.Module, ids: Tensor) -> dict[str, list[int]]:
        """Count operators in one step."""
        with profile(activities=self._activities) as recorded:
            step(model, ids)
        return _calls(recorded)

    def memory(self, model: nn.Module, inputs: Tensor, path: Path) -> list[dict[str, Any]]:
        """Say for each way to write the mean square what was allocated: at most, in sum, at the end, by operator."""
        ways = []
        for product in (False, True):
            each = {}
            for kept in ("", "loss", "outputs"):
                forget(model)
                with profile(activities=self._activities, profile_memory=True) as recorded:
                    squares(model, inputs, kept=kept, product=product)
                each[kept] = self._allocated(recorded, path)
            wrong = each.pop("outputs")["peak"]
            ways += [{**way, "kept": wrong} for way in each.values()]
        return ways

    def _allocated(self, recorded: Any, path: Path) -> dict[str, Any]:
        recorded.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        changes = [it for it in events if it["name"] == "[memory]"]
        changes.sort(key=lambda it: it["ts"])
        own = [it["args"] for it in changes if it["args"]["Device Type"] == self._on_gpu]
        sizes = [args["Bytes"] for args in own]
        averages = recorded.key_averages()
        return {
            "peak": max(accumulate(sizes)),
            "sum": sum(size for size in sizes if size > 0),
            "left": sum(sizes),
            "operators": {
                it.key: int(getattr(it, self._kind))
                for it in averages
                if it.key.startswith("aten::")
            },
        }


def forget(model: nn.Module) -> None:
    for it in model.parameters():
        it.grad = None


def _calls(recorded: Any) -> dict[str, list[int]]:
    """Count calls as key_averages() does, which leaves out what calls itself, and all of them."""
    every = Counter(it.name() for it in recorded.profiler.kineto_results.events())
    averages = recorded.key_averages()
    return {it.key: [it.count, every[it.key]] for it in averages if it.key.startswith("aten::")}
