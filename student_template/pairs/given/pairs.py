"""The pairs of this lab: each plain version beside yours, on inputs to measure them with."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .language import TinyLM

Function = Callable[[], Any]
Make = Callable[[ModuleType, torch.device], Function]
Pairs = dict[str, tuple[str, Function, Function]]


def load_pairs(folder: str | Path = ".", device: str | torch.device = "cpu") -> Pairs:
    """Return name -> (goal, baseline, optimized) for each pair whose part in *folder* is written.

    The goal is "time" or "memory"; the functions take no arguments. Call it under __main__ only: it imports the parts.
    """
    pairs = {}
    for name, (goal, part, make) in PAIRS.items():
        files = [Path(folder) / "baseline" / f"{part}.py", Path(folder) / f"{part}.py"]
        missing = [file for file in files if not file.is_file()]
        if missing:
            print(f"{name} is left out: {missing[-1].relative_to(folder).with_suffix('')} is not in this folder")
            continue
        try:
            baseline, optimized = (make(_module(file), torch.device(device)) for file in files)
            baseline()
            optimized()
        except Exception as error:  # whatever a part raises, the other pairs can be measured
            print(f"{name} is left out: {type(error).__name__} in {part}.py {error}"[:200])
        else:
            pairs[name] = goal, baseline, optimized
    return pairs


def _module(file: Path) -> ModuleType:
    """Import a file by its path."""
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _numbers(device: torch.device, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).to(device)


def _backward(function: Callable[..., Tensor], *inputs: Tensor) -> Function:
    """Return what computes a mean square and its gradients."""
    leaves = [it.requires_grad_() if it.is_floating_point() else it for it in inputs]
    floating = [it for it in leaves if it.requires_grad]
    return lambda: torch.autograd.grad(function(*leaves).square().mean(), floating)


def _summarize(part: ModuleType, device: torch.device) -> Function:
    chunks = _numbers(device, 100, 500, 64)
    return lambda: part.summarize(iter(chunks), torch.tanh)


def _layers(device: torch.device, count: int) -> nn.Sequential:
    torch.manual_seed(0)
    sizes = (nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(count))
    return nn.Sequential(*sizes).to(device)


def _evaluate(part: ModuleType, device: torch.device) -> Function:
    batches = [(it, torch.arange(512, device=device) % 64) for it in _numbers(device, 8, 512, 64)]
    return partial(part.evaluate, _layers(device, 3), nn.CrossEntropyLoss(), batches)


def _stack(part: ModuleType, device: torch.device) -> Function:
    stack, x = part.CheckpointedStack(_layers(device, 12), 6), _numbers(device, 512, 64)
    parameters = list(stack.parameters())
    return lambda: torch.autograd.grad(stack(x).square().mean(), parameters)


def _mlp(part: ModuleType, device: torch.device) -> Function:
    """Six in a row: what each keeps is held until the backward pass."""

    def row(x: Tensor, *weights: Tensor) -> Tensor:
        for _ in range(6):
            x = part.mlp(x, *weights)
        return x

    shapes = ((1024, 64), (256, 64), (256,), (64, 256), (64,))
    return _backward(row, *(_numbers(device, *shape) / 8 for shape in shapes))


def _mixed(part: ModuleType, device: torch.device) -> Function:
    model, batches = _layers(device, 4), [(it, it) for it in _numbers(device, 4, 512, 64)]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device.type, enabled=False)  # bfloat16 needs none
    return partial(part.train_mixed, model, optimizer, nn.MSELoss(), batches, scaler, torch.bfloat16)


def _swiglu(part: ModuleType, device: torch.device) -> Function:
    """Six in a row."""

    def row(gate: Tensor, up: Tensor) -> Tensor:
        for _ in range(6):
            gate = part.swiglu(gate, up)
        return gate

    return _backward(row, _numbers(device, 256, 512), _numbers(device, 256, 512))


def _head(part: ModuleType, device: torch.device) -> Function:
    labels = torch.arange(512, device=device)
    return _backward(
        lambda hidden, weight: part.head_loss(hidden, weight, labels),
        _numbers(device, 512, 64),
        _numbers(device, 2048, 64),
    )


def _banded(part: ModuleType, device: torch.device) -> Function:
    q, k, v = _numbers(device, 3, 1, 4, 1024, 32)
    return partial(part.banded_attention, q, k, v, 128)


def _append(part: ModuleType, device: torch.device) -> Function:
    keys, values = _numbers(device, 2, 8, 4, 1, 32)

    def run() -> None:
        cache = part.KVCache(8, 4, 32, device=device)
        for _ in range(256):
            cache.append(keys, values)

    return run


def _advance(part: ModuleType, device: torch.device) -> Function:
    return partial(part.advance, _numbers(device, 5000, 8).clamp(-4, 4), 1e-3, 16)


def _product(part: ModuleType, device: torch.device) -> Function:
    return partial(part.product, _numbers(device, 64, 2048), _numbers(device, 2048, 64), 16)


def _epilogue(part: ModuleType, device: torch.device) -> Function:
    x, weight, residual = _numbers(device, 3, 512, 512)
    return partial(part.epilogue, x, weight, _numbers(device, 512), residual, 0.5)


def _regions(part: ModuleType, device: torch.device) -> Function:
    torch.manual_seed(0)
    model = part.compile_regions(TinyLM().to(device))
    ids = torch.arange(256, device=device).view(4, 64) % 97

    def run() -> None:
        for length in (24, 64):
            rows = ids[:, :length]
            functional.mse_loss(model(rows).logits, torch.zeros(4, length, 97, device=device)).backward()

    return run


def _fetch(part: ModuleType, device: torch.device) -> Function:
    rows = part.Rows(_numbers(device, 2000, 64), torch.arange(2000), lambda it: it.tanh().sin())
    indices = list(range(0, 2000, 8))
    if hasattr(rows, "__getitems__"):
        return lambda: rows.__getitems__(indices)
    return lambda: [rows[at] for at in indices]


PAIRS: dict[str, tuple[str, str, Make]] = {
    "summarize": ("memory", "part03_lifetimes", _summarize),
    "evaluate": ("memory", "part03_lifetimes", _evaluate),
    "stack": ("memory", "part04_checkpointing", _stack),
    "mlp": ("memory", "part04_checkpointing", _mlp),
    "mixed": ("time", "part05_precision", _mixed),
    "swiglu": ("memory", "part06_custom_gradients", _swiglu),
    "head": ("memory", "part06_custom_gradients", _head),
    "banded": ("time", "part07_attention", _banded),
    "append": ("time", "part08_kv_cache", _append),
    "advance": ("time", "part09_roofline", _advance),
    "product": ("time", "part09_roofline", _product),
    "epilogue": ("memory", "part09_roofline", _epilogue),
    "regions": ("time", "part10_compile", _regions),
    "fetch": ("time", "part11_loading", _fetch),
}
"""Name -> goal, the part's file, and what makes one call of its function."""
