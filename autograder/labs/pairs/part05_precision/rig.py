"""What part 5 trains, and the networks whose kept bytes are counted, with the right number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.lab import Student
from autograder.worker.rig import Rig, Window

__all__ = ["Rig", "counted", "made", "train", "train_wide"]


def train(student: Student, window: Window, dtype: str = "bfloat16") -> dict[str, Any]:
    losses, steps = student.train_mixed(
        window.model,
        window.optimizer,
        window.criterion,
        window.loader,
        window.scaler,
        getattr(torch, dtype),
    )
    return {"losses": losses, "steps": steps}


def train_wide(student: Student, x: Tensor, labels: Tensor) -> Any:
    """Train an MLP of three wide layers, the same at each call; in float16 where bfloat16 is only imitated."""
    width = x.shape[1] if x.is_cuda else 128  # a CPU only tries it
    x, labels = x[:, :width], labels % width
    torch.manual_seed(0)
    with torch.device(x.device):
        layers = [nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
        model = nn.Sequential(*layers, nn.Linear(width, width))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    old = x.is_cuda and torch.cuda.get_device_capability(x.device)[0] < 8
    batches = [(x.roll(at, 1), labels) for at in range(4)]
    scaler = torch.amp.GradScaler(x.device.type, init_scale=2.0**8)
    dtype = torch.float16 if old else torch.bfloat16
    losses, _ = student.train_mixed(
        model, optimizer, nn.functional.cross_entropy, batches, scaler, dtype
    )
    return losses


class Gate(nn.Module):
    """Multiplies both halves of each row: two views of one storage are kept."""

    def forward(self, x: Tensor) -> Tensor:
        """Halve the columns."""
        first, second = x.chunk(2, dim=1)
        return first * second


Net = Callable[[int], nn.Module]
NETS: dict[str, Net] = {
    "linear and ReLU": lambda n: nn.Sequential(
        *(it for _ in range(6) for it in (nn.Linear(n, n), nn.ReLU()))
    ),
    "ReLU in place": lambda n: nn.Sequential(nn.Linear(n, n), nn.ReLU(inplace=True)),
    "norm and GELU": lambda n: nn.Sequential(nn.LayerNorm(n), nn.Linear(n, n), nn.GELU()),
    "batch norm": lambda n: nn.Sequential(nn.Linear(n, n), nn.BatchNorm1d(n), nn.Tanh()),
    "dropout": lambda n: nn.Sequential(nn.Linear(n, n), nn.Dropout(0.3), nn.Linear(n, n)),
    "one layer twice": lambda n: nn.Sequential(*[nn.Linear(n, n)] * 2),
    "a frozen layer": lambda n: nn.Sequential(
        nn.Linear(n, n).requires_grad_(False), nn.Linear(n, n)
    ),
    "views": lambda n: nn.Sequential(
        nn.Linear(n, n), nn.Unflatten(1, (2, n // 2)), nn.Sigmoid(), nn.Flatten(), nn.Linear(n, 3)
    ),
    "halves of rows": lambda n: nn.Sequential(nn.Linear(n, n), Gate(), nn.Linear(n // 2, 3)),
}


def made(kind: str, width: int, rows: int, half: str) -> tuple[Any, Any, Any]:
    """Return a net, its inputs, and the dtype of autocast or None."""
    inputs = torch.linspace(-1, 1, rows * width).view(rows, width)
    return NETS[kind](width), inputs, getattr(torch, half) if half else None


def counted(kind: str, width: int, rows: int, half: str, slip: str) -> int:
    """Return the right number, or that of a usual mistake."""
    net, inputs, dtype = made(kind, width, rows, half)
    own = [*[inputs] * (slip != "inputs"), *net.parameters(), *net.buffers()]
    before = set() if slip == "parameters" else {it.untyped_storage().data_ptr() for it in own}
    kept: list[tuple[int, int, Any]] = []

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in before:
            kept.append((storage.data_ptr(), storage.nbytes(), tensor.detach()))
        return tensor.detach()

    enabled = slip == "autocast" or (dtype is not None and slip != "plain")
    autocast = torch.autocast("cpu", dtype, enabled=enabled)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda it: it), autocast:
        output = net(inputs)
        loss = (output if slip == "float" else output.float()).square().mean()
    if slip == "weights":
        shapes = [sorted(it.shape) for it in net.parameters()]
        kept = [it for it in kept if sorted(it[2].shape) not in shapes]
    if slip == "tensors":
        return sum(it[2].nbytes for it in kept)
    del loss
    return sum({place: size for place, size, _ in kept}.values())
