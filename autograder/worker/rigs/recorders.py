"""Recorders: contexts around student code that note what it did. They read and never judge.

Dtypes         in which precision operators ran
ScalerCalls    the order of calls on a GradScaler
Graphs         how many steps' graphs were kept
BackwardNodes  how many autograd nodes ran outside of compiled graphs
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any, Self

import torch
from torch import Tensor, is_autocast_enabled, nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.returned import dtype_name

# Operator -> what readers call it. Autocast works above this level, so the dtypes seen are those that computed.
MODEL_OPS = {
    "aten::convolution": "convolution",
    "aten::_convolution": "convolution",
    "aten::mkldnn_convolution": "convolution",
    "aten::cudnn_convolution": "convolution",
    "aten::addmm": "matrix product",
    "aten::mm": "matrix product",
    "aten::bmm": "matrix product",
    "aten::linear": "matrix product",
    "aten::_softmax": "softmax",
}
NODE = "autograd::engine::evaluate_function"  # what a profile calls a node that runs
OFTEN_SET = ("compiled_autograd", "capture_scalar_outputs")  # of torch._dynamo, by a compiled step
LOSS_OPS = {
    "aten::_log_softmax": "loss",
    "aten::nll_loss_forward": "loss",
}


class Dtypes(TorchDispatchMode):
    """Counts operators by kind and dtype, inside the model and inside the criterion; and the parameters' dtypes.

    Of backward passes it counts whether autocast was on.
    """

    def __init__(self, model: nn.Module, criterion: nn.Module) -> None:
        """Operators elsewhere, such as a softmax for the accuracy, do not count."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._ops: dict[str, str] = {}
        for module, ops in ((model, MODEL_OPS), (criterion, LOSS_OPS)):
            module.register_forward_pre_hook(Hook(lambda *_, ops=ops: self._watch(ops)))
            module.register_forward_hook(Hook(lambda *_: self._watch({})))
        model.register_forward_pre_hook(Hook(lambda module, _: self._parameters(module)))
        model.register_forward_hook(Hook(lambda *args: self._passed(args[2])))

    def _watch(self, ops: dict[str, str]) -> None:
        self._ops = ops

    def _parameters(self, model: nn.Module) -> None:
        self.counts["parameters"].update(dtype_name(weight) for weight in model.parameters())

    def _passed(self, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad:
            output.register_hook(self._went_back)

    def _went_back(self, gradient: Tensor) -> None:
        on = is_autocast_enabled(gradient.device.type)
        self.counts["backward"].update(["inside autocast" if on else "outside autocast"])

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kind = self._ops.get(func._schema.name)
        if kind:
            first = next(a for a in args if isinstance(a, Tensor))
            self.counts[kind][dtype_name(first)] += 1
        return func(*args, **(kwargs or {}))

    def values(self) -> dict[str, dict[str, int]]:
        """Return {kind: {dtype: count}}."""
        return {kind: dict(counts) for kind, counts in self.counts.items()}


class ScalerCalls:
    """Notes scale, backward, unscale_, step and update in the order in which student code causes them."""

    def __init__(
        self,
        scaler: torch.amp.GradScaler,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Watch these three; calls that the scaler makes itself do not count."""
        self.events: list[str] = []
        self._depth, self._scaled = 0, False
        for name in ("scale", "unscale_", "step", "update"):
            setattr(scaler, name, self._watched(name, getattr(scaler, name)))
        model.register_forward_hook(Hook(lambda *args: self._passed(args[2])))
        optimizer.register_step_pre_hook(lambda *_: self._note("optimizer.step"))

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._note(name)
            self._depth += 1
            try:
                result = method(*args, **kwargs)
            finally:
                self._depth -= 1
            if name == "scale" and isinstance(result, Tensor) and result.requires_grad:
                result.register_hook(lambda _: self._scaled_backward())
            return result

        return watched

    def _note(self, name: str) -> None:
        if self._depth == 0 and len(self.events) < 1000:
            self.events.append(name)

    def _passed(self, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad:
            output.register_hook(lambda _: self._backward())

    def _scaled_backward(self) -> None:
        self._note("backward")
        self._scaled = True

    def _backward(self) -> None:
        if not self._scaled:
            self._note("backward of a loss not scaled by the given scaler")
        self._scaled = False


class Graphs:
    """Counts earlier steps whose graph is still in memory when a model is called again."""

    def __init__(self, model: nn.Module) -> None:
        """The variables of a loop keep the last step or two."""
        self.kept = 0
        self._alive: list[weakref.ref[_Hook]] = []
        model.register_forward_hook(Hook(lambda *args: self._passed(args[2])))

    def _passed(self, output: Any) -> None:
        if self._count() > self.kept:
            gc.collect()
            self.kept = max(self.kept, self._count())
        if isinstance(output, Tensor) and output.requires_grad:
            hook = _Hook()
            output.register_hook(hook)
            self._alive.append(weakref.ref(hook))

    def _count(self) -> int:
        return sum(hook() is not None for hook in self._alive)


class BackwardNodes:
    """Counts the autograd nodes that run one by one in a call; afterwards, compiled autograd is as it was before."""

    count = 0
    """Of the last call."""

    def __enter__(self) -> Self:
        import torch._dynamo

        self._flags = set[bool]()  # compiled autograd, in each call of torch.compile
        self._compile, torch.compile = torch.compile, self._noted
        self._flag = torch._dynamo.config.patch(compiled_autograd=False)
        self._flag.__enter__()
        self._before = torch._dynamo.config.get_config_copy()
        return self

    def _noted(self, *arguments: Any, **named: Any) -> Any:
        self._flags.add(bool(torch._dynamo.config.compiled_autograd))
        return self._compile(*arguments, **named)

    def was_off(self) -> bool:
        """Whether compiled autograd was off in all calls of torch.compile, of which one was seen."""
        return self._flags == {False}

    def settings(self) -> list[str]:
        """Name the settings of torch._dynamo that are no longer what they were."""
        now = torch._dynamo.config.get_config_copy()
        return sorted(name for name, value in now.items() if value != self._before.get(name))

    @staticmethod
    def turned_off(call: Callable[[], Any]) -> list[str]:
        """Name the settings of torch._dynamo that are on before a call, and off after it."""
        config = torch._dynamo.config
        with config.patch(dict.fromkeys(OFTEN_SET, True)):
            call()
            return [name for name in OFTEN_SET if not getattr(config, name)]

    def __exit__(self, *error: object) -> None:
        torch.compile = self._compile
        self._flag.__exit__(*error)
        torch._dynamo.compiled_autograd.reset()

    def counted(self, call: Callable[[], Any]) -> Any:
        """Return what the call returns."""
        threads = _ExperimentalConfig(profile_all_threads=True)
        with profile(activities=[ProfilerActivity.CPU], experimental_config=threads) as profiler:
            result = call()
        names = [event.name for event in profiler.events() or ()]
        self.count = sum(name.startswith(NODE) for name in names)
        return result


class _Hook:
    """Does nothing, and lives as long as the graph it hangs on."""

    def __call__(self, _: Tensor) -> None:
        pass
