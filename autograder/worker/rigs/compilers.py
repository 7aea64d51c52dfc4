"""A backend for torch.compile that notes what it is asked to build and what runs; it computes as eager code does.

A build takes scripted seconds: those are what a measured epoch must not hold. Nothing here judges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Self

import torch
from torch import Tensor, nn

from autograder.worker.rigs.clock import VirtualClock
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.nets import Loader
from autograder.worker.rigs.returned import dtype_name, text

MOST = 64  # builds that are told
# The last one: a forward pass without gradients.
KINDS = (
    "forward",
    "backward",
    "inference",
)
BUILT = {
    "forward": "fw_compiler",
    "backward": "bw_compiler",
    "inference": "inference_compiler",
}
NUMBERS = count(1)  # of names of backends, which last as long as the process


class Compiler:
    """What a student passes on as torch.compile's backend."""

    def __init__(
        self,
        clock: VirtualClock,
        loader: Loader | None,
        seconds: Mapping[str, float],
        step: float,
    ) -> None:
        """Forget what was compiled before; a build takes *seconds* by its kind, a compiled forward pass *step*."""
        import torch._dynamo  # a second that only those pay who compile
        import torch._inductor.compile_fx as inductor
        from torch._dynamo.backends.common import aot_autograd
        from torch._dynamo.utils import counters

        # What is compiled by the default backend would take minutes: it is counted and not compiled.
        vars(inductor)["compile_fx"] = self._by_default
        torch._dynamo.reset()
        counters.clear()
        self._breaks = counters["graph_break"]
        self._clock = clock
        self._loader = loader
        self._seconds = seconds
        self._step = step
        self.room = self._room = math.inf  # samples that fit into a backward pass in half precision
        builders: dict[str, Any] = {BUILT[kind]: self._builder(kind) for kind in KINDS}
        self._aot: Any = aot_autograd(**builders)
        self.forget()

    def __deepcopy__(self, _: Any) -> Self:
        """Stay the one backend: a function would not be copied with a model either, and graphs are found by it."""
        return self

    def forget(self) -> None:
        """Begin to note anew; what was compiled stays."""
        self._built: list[dict[str, Any]] = []
        self._runs: Counter[str] = Counter()
        self._defaults = 0
        self._parameters = 0
        self.first = 0  # samples of the first batch that ran
        self.operations = 0  # of all graphs that were captured
        self.names: set[str] = set()  # of what they call
        self._breaks.clear()

    def __call__(self, graph: Any, inputs: Any, **_: Any) -> Any:
        """Take a graph from torch.compile, with whatever options come along."""
        self._parameters = max(
            self._parameters,
            sum(isinstance(it, nn.Parameter) for it in inputs),
        )
        calls = [node.target for node in graph.graph.nodes if node.op.startswith("call_")]
        self.operations += len(calls)
        self.names |= {text(getattr(it, "__name__", it), 60) for it in calls}
        return self._aot(graph, inputs)

    def values(self) -> dict[str, Any]:
        """Say what was built, when and at which batch, how often graphs ran, the most parameters that one took."""
        return {
            "built": self._built[:MOST],
            "runs": {kind: self._runs[kind] for kind in KINDS},
            "parameters": self._parameters,
            "defaults": self._defaults,
            "breaks": [
                text(words.strip().splitlines()[0])
                for words in list(self._breaks)[:8]
                if words.strip()
            ],
        }

    def _by_default(self, graph: Any, *_: Any, **__: Any) -> Any:
        self._defaults += 1
        return graph.forward

    def _builder(self, kind: str) -> Callable[[Any, Any], Any]:
        from torch._functorch._aot_autograd.utils import make_boxed_func

        def build(graph: Any, _: Any) -> Any:
            batch = -1 if self._loader is None or self._loader.step is None else self._loader.step
            half = _in_half_precision(graph)
            at = self._clock.scripted
            self._built.append({"kind": kind, "batch": batch, "half": half, "at": at})
            self._clock.advance(self._seconds.get(kind, 0.0), busy=True)

            def run(*arguments: Any) -> Any:
                self._runs[kind] += 1
                self._fit(kind, half, arguments)
                self._clock.advance(self._step * (kind != "backward"), busy=True)
                return graph.forward(*arguments)

            return make_boxed_func(run)

        return build

    def _fit(self, kind: str, half: bool, arguments: tuple[Any, ...]) -> None:
        """Run out of memory, as Crowded does: images are what has four dimensions and is no kernel of 3 pixels."""
        if kind == "forward":
            self._room = self.room if half else self.room / 2
        most = max(
            (len(it) for it in arguments if getattr(it, "ndim", 0) == 4 and it.shape[-1] > 3),
            default=0,
        )
        self.first = self.first or most
        if kind != "inference" and most > self._room * (2 if kind == "forward" else 1):
            why = f"in this test {most} samples do not fit (compiled {kind} pass)"
            raise torch.OutOfMemoryError(f"CUDA out of memory: {why}")


def register(compiler: Compiler) -> str:
    """Return a name under which torch.compile finds it: for programs, whose options are words."""
    from torch._dynamo import register_backend

    name = f"recording_{next(NUMBERS)}"
    register_backend(compiler, name=name)
    return name


def _in_half_precision(graph: Any) -> bool:
    """Whether a convolution of the graph computes in bfloat16."""
    tensors = [
        node.meta.get("val") for node in graph.graph.nodes if "convolution" in str(node.target)
    ]
    return any(isinstance(it, Tensor) and it.dtype == torch.bfloat16 for it in tensors)


class EagerTrainings:
    """make_training whose models take scripted seconds for a pass that is not compiled; counts them by dtype."""

    def __init__(
        self,
        make: Callable[[], Any],
        wait: Callable[[float], None],
        seconds: float,
        cold: float,
    ) -> None:
        """A pass takes *seconds*, the very first one *cold* more."""
        self.passes: Counter[str] = Counter()
        """By the dtype in which they computed."""
        self._make, left, parts = make, [cold], [1]

        def tick(
            *_: Any,
        ) -> None:  # one function for all models, so that one model's graphs serve the next one
            if not torch.compiler.is_compiling():
                wait(seconds / parts[0] + left[0])
                left[0] = 0.0

        def count(_: Any, __: Any, output: Any) -> None:
            if not torch.compiler.is_compiling():
                self.passes[dtype_name(output)] += 1

        self._tick = Hook(tick)
        self._count = Hook(count)
        self._parts = parts

    def __call__(self, device: torch.device) -> Any:
        model, criterion, optimizer = self._make()
        layers = [module for module in model.modules() if not list(module.children())]
        self._parts[0] = len(layers)
        for (
            layer
        ) in layers:  # and not the model: who compiles its forward alone has compiled all of them
            layer.register_forward_pre_hook(self._tick)
        layers[0].register_forward_hook(self._count)
        return model.to(device), criterion, optimizer


class Doubles(nn.Module):
    """Doubles small numbers; one that peeks decides so in Python, and no one graph holds it."""

    def __init__(self, *, peeks: bool) -> None:
        super().__init__()
        self.peeks = peeks
        self.factor = nn.Parameter(torch.full((), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        """Return x or twice x."""
        small = x.abs().max() < 1
        if self.peeks:
            return x * self.factor if small.item() else x
        return torch.where(small, x * self.factor, x)


def refusal(compile_model: Callable[[nn.Module], Any]) -> str:
    """Return the name of the error with which a model that peeks is refused, or nothing; others have to run."""
    compile_model(Doubles(peeks=False))(torch.ones(3))
    try:
        compile_model(Doubles(peeks=True))(torch.ones(3))
    except Exception as error:
        return text(type(error).__name__, 60)
    return ""
