"""What is handed in for the exercises of these tests: slow versions, right ones, wrong ones."""

from __future__ import annotations

LOOP = """
import torch


def batched_products(left, right):
    out = [one @ other for one, other in zip(left, right)]
    return torch.stack(out) if out else left @ right
"""
BREAK = """
def clip_by_norm(x, limit):
    norm = x.detach().norm().item()
    return x * (limit / norm) if norm > limit else x * 1.0
"""
CAT = """
import torch


class KeyCache:
    def __init__(self, batch, size):
        self.keys = None

    def append(self, keys):
        self.keys = keys if self.keys is None else torch.cat([self.keys, keys], dim=1)
        return self.keys
"""
SLOW = {"batched_products": LOOP, "clip_by_norm": BREAK, "KeyCache": CAT}

ROOM = """
import torch


class KeyCache:
    def __init__(self, batch, size):
        self.room, self.length = torch.empty(batch, 4, size), 0

    def append(self, keys):
        end = self.length + keys.shape[1]
        if end > self.room.shape[1]:
            room = keys.new_empty(keys.shape[0], max(end, 2 * self.room.shape[1]), keys.shape[2])
            room[:, : self.length] = self.room[:, : self.length]
            self.room = room
        self.room = self.room.to(keys.dtype)
        self.room[:, self.length : end] = keys
        self.length = end
        return self.room[:, :end]
"""
RIGHT = {
    (
        "batched_products",
        "bmm",
    ): "import torch\n\n\ndef batched_products(left, right):\n    return torch.bmm(left, right)\n",
    ("batched_products", "at"): "def batched_products(left, right):\n    return left @ right\n",
    ("batched_products", "einsum"): """
import torch


def batched_products(left, right):
    return torch.einsum("bij,bjk->bik", left, right)
""",
    ("batched_products", "asks for full precision"): """
import torch

torch.set_float32_matmul_precision("highest")


def batched_products(left, right):
    return torch.matmul(left, right)
""",
    ("clip_by_norm", "where"): """
import torch


def clip_by_norm(x, limit):
    norm = x.detach().norm()
    return x * torch.where(norm > limit, limit / norm.clamp(min=1e-30), torch.ones_like(norm))
""",
    ("clip_by_norm", "clamp"): """
def clip_by_norm(x, limit):
    return x * (limit / x.detach().norm().clamp(min=1e-30)).clamp(max=1.0)
""",
    ("KeyCache", "room"): ROOM,
}
REFERENCE = {
    name: next(text for (function, _), text in RIGHT.items() if function == name) for name in SLOW
}

# (function, mistake) -> what was handed in, and check -> words of its failure.
WRONG = {
    ("batched_products", "tells the caller's tensor to need a gradient"): (
        "def batched_products(left, right):\n    return (left.requires_grad_() @ right).clone()\n",
        {"same_results": "left.requires_grad"},
    ),
    ("batched_products", "another axis"): (
        "def batched_products(left, right):\n    return (left[:, :, :, None] * right[:, None]).sum(1)\n",
        {"same_results": '"sizes drawn at random": '},
    ),
    ("batched_products", "read as it lies in memory"): (
        """
import torch


def batched_products(left, right):
    b, r, i = left.shape
    return torch.bmm(torch.as_strided(left, left.shape, (r * i, i, 1)), right)
""",
        {"same_results": '"transposed views": '},
    ),
    ("batched_products", "float32 inside"): (
        """
import torch


def batched_products(left, right):
    return torch.bmm(left.float(), right.float()).to(left.dtype)
""",
        {"same_results": '"float64": furthest off'},
    ),
    ("batched_products", "detached"): (
        "import torch\n\n\ndef batched_products(left, right):\n    return torch.bmm(left.detach(), right)\n",
        {"same_gradients": 'gradient of left": nothing instead of'},
    ),
    ("batched_products", "scales its input"): (
        """
import torch


def batched_products(left, right):
    left.data.mul_(2)
    return torch.bmm(left, right) / 2
""",
        {"same_results": "changed: left"},
    ),
    ("batched_products", "asks for the largest"): (
        """
import torch


def batched_products(left, right):
    if left.numel() and left.abs().max().item() > 1e9:
        return left * 0
    return torch.bmm(left, right)
""",
        {"fetches_nothing": ".item() (line 6)"},
    ),
    ("batched_products", "the loop"): (
        LOOP,
        {"operations_do_not_grow": "for batch=64", "is_faster": ""},
    ),
    ("batched_products", "remembered by the place in memory"): (
        """
import torch

SEEN = {}


def batched_products(left, right):
    key = (left.data_ptr(), right.data_ptr(), left.shape)
    if key not in SEEN:
        SEEN[key] = torch.bmm(left, right), left, right
    return SEEN[key][0]
""",
        {"same_results": '"other numbers in the same tensors": furthest off'},
    ),
    ("clip_by_norm", "the break"): (
        BREAK,
        {"is_one_graph": "Python has to look at the data", "fetches_nothing": ".item()"},
    ),
    ("clip_by_norm", "always scaled"): (
        "def clip_by_norm(x, limit):\n    return x * (limit / x.detach().norm().clamp(min=1e-30))\n",
        {"same_results": "times the right ones"},
    ),
    ("clip_by_norm", "NaN at zero"): (
        """
def clip_by_norm(x, limit):
    n = x.detach().norm()
    return x * (limit / n) * (n > limit) + x * (n <= limit)
""",
        {"same_results": "are NaN or infinite"},
    ),
    ("clip_by_norm", "a gradient through the norm"): (
        "def clip_by_norm(x, limit):\n    return x * (limit / x.norm().clamp(min=1e-30)).clamp(max=1.0)\n",
        {"same_gradients": 'gradient of x": furthest off'},
    ),
    ("KeyCache", "cat"): (
        CAT,
        {"moves_at_most": "for length=256", "moves_less": "25% of the slow"},
    ),
    ("KeyCache", "constant growth"): (
        ROOM.replace("max(end, 2 * self.room.shape[1])", "end + 4"),
        {"moves_at_most": "for length=256", "moves_less": "25% of the slow"},
    ),
    ("KeyCache", "one too far"): (
        ROOM.replace("self.length = end", "self.length = end + 1"),
        {"same_results": ""},
    ),
}
