"""What the probes of part 3 work with: a small network that notes its outputs, batches, trainings, single steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from autograder.worker import rig as worker
from autograder.worker.rigs.hooks import Hook
from autograder.worker.rigs.returned import flat

CLASSES = 5
MARGIN = 1e-3  # between a row's two largest outputs: rounding must not decide which class it is
Batch = tuple[Tensor, Tensor]


class Net(nn.Module):
    """Two layers; `graphs`: which outputs have a graph; `most_alive`: how many earlier graphs there were."""

    def __init__(
        self, features: int, width: int, *, norm: bool, dropout: float, classes: int
    ) -> None:
        """Make the layers."""
        super().__init__()
        self.inner = nn.Linear(features, width)
        self.norm = nn.BatchNorm1d(width) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.outer = nn.Linear(width, classes)
        self.graphs = graphs = list[bool]()
        self.register_forward_hook(Hook(lambda *call: graphs.append(call[2].requires_grad)))

        self.most_alive = 0
        saved = list[StorageWeakRef]()

        def noted(_: Any, given: tuple[Tensor]) -> None:
            self.most_alive = max(self.most_alive, sum(not it.expired() for it in saved))
            saved.append(StorageWeakRef(given[0].untyped_storage()))

        self.dropout.register_forward_pre_hook(Hook(noted))

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, classes)."""
        outputs: Tensor = self.outer(self.dropout(torch.tanh(self.norm(self.inner(x)))))
        return outputs


@dataclass
class Batches:
    """Batches that come once, each when it is asked for."""

    batches: list[Batch]
    most: int = 0
    """Of the batches that were drawn, how many were alive when another one was."""

    def __iter__(self) -> Iterator[Batch]:
        """Make copies, which nobody else keeps."""
        drawn = list[StorageWeakRef]()
        for batch in self.batches:
            self.most = max(self.most, sum(not it.expired() for it in drawn))
            inputs, labels = (it.clone() for it in batch)
            drawn.append(StorageWeakRef(inputs.untyped_storage()))
            yield inputs, labels


@dataclass
class Training:
    """A network with gradients from before, its optimizer, and batches."""

    net: Net
    batches: Batches

    def __post_init__(self) -> None:
        """Make the optimizer."""
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def weights(self) -> Any:
        """Return all parameters, flat."""
        return flat(list(self.net.parameters()))

    def given(self) -> tuple[Any, ...]:
        """Return what train is called with."""
        torch.manual_seed(0)  # for dropout
        return self.net, self.optimizer, self.criterion, iter(self.batches)


@dataclass
class Step:
    """A network, a batch, and what one step makes of the weights."""

    net: Net
    inputs: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        """Note the weights."""
        self.start, self.taken = flat(list(self.net.parameters())), 0

    def given(self) -> tuple[Any, ...]:
        """Return what accumulate is called with, but for the parts."""
        optimizer = torch.optim.SGD(self.net.parameters(), lr=1.0)
        optimizer.register_step_post_hook(Hook(self._step_taken))
        return self.net, optimizer, self.inputs, self.labels

    def _step_taken(self, *_: Any) -> None:
        self.taken += 1

    def slips(self, parts: int) -> dict[str, float]:
        """Return the losses that usual mistakes give; the judge has the words for them."""
        rows, kept = len(self.labels), len(self.labels) // parts * parts
        with torch.no_grad():
            outputs = self.net(self.inputs)
        self.net.graphs.clear()
        pieces = outputs.chunk(parts), self.labels.chunk(parts)
        means = [functional.cross_entropy(*both) for both in zip(*pieces, strict=True)]
        weighted = sum(mean * len(it) for mean, it in zip(means, pieces[1], strict=True))
        summed = functional.cross_entropy(outputs, self.labels, reduction="sum")
        dropped = functional.cross_entropy(outputs[:kept], self.labels[:kept])
        losses = {"parts": sum(means) / parts, "rows": weighted / rows, "all": summed / rows}
        return {name: float(it) for name, it in {**losses, "dropped": dropped}.items()}

    def update(self) -> Tensor:
        """Return how far the weights went."""
        return torch.from_numpy(flat(list(self.net.parameters())) - self.start)


class Rig(worker.Rig):
    """The toolkit of this part's probes."""

    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def net(
        self,
        features: int = 6,
        width: int = 16,
        *,
        norm: bool = False,
        dropout: float = 0.0,
        classes: int = CLASSES,
    ) -> Net:
        """Return a network whose parameters and statistics are all drawn."""
        net = Net(features, width, norm=norm, dropout=dropout, classes=classes).to(self.device)
        with torch.no_grad():
            for name, it in net.state_dict().items():
                shape = tuple(it.shape)
                if "norm.weight" in name or "var" in name:
                    it.copy_(self.tensor(self.random.uniform(0.5, 1.5, shape)))
                elif it.is_floating_point():
                    drawn = self.random.normal(size=shape) / max(1, it[0].numel()) ** 0.5
                    it.copy_(self.tensor(drawn))
        return net

    def batch(self, net: Net, rows: int) -> Batch:
        """Draw a batch for a network."""
        inputs = self.tensor(self.random.normal(size=(rows, net.inner.in_features)))
        return inputs, self.tensor(self.random.integers(0, net.outer.out_features, rows), "int64")

    def clear_batches(self, net: Net, sizes: Sequence[int]) -> Batches:
        """Draw batches of these sizes, of rows whose class is clear."""
        inputs, labels = self.batch(net, 3 * sum(sizes))
        with torch.no_grad():
            highest = net.eval()(inputs).topk(2, dim=1).values
        net.graphs.clear()
        clear = (highest[:, 0] - highest[:, 1] > MARGIN).nonzero()[: sum(sizes), 0]
        parts = zip(inputs[clear].split(sizes), labels[clear].split(sizes), strict=True)
        return Batches(list(parts))

    def repeated(self, net: Net, rows: int, count: int) -> Iterator[Batch]:
        """Make one batch after the other, each when it is asked for."""
        inputs, labels = self.batch(net, rows)
        return ((inputs * (1 + at / count), labels) for at in range(count))

    def training(self, steps: int) -> Training:
        """Return a training of so many steps; the last batch is short."""
        net = self.net(norm=True, dropout=0.2)
        batches = [self.batch(net, 12) for _ in range(steps - 1)]
        self._gradients(net)
        return Training(net, Batches([*batches, self.batch(net, 7)]))

    def one_step(
        self, rows: int, ignored: slice, *, before: bool = False, features: int = 6, width: int = 16
    ) -> Step:
        """Return what one step is taken with: every fifth label, and those in *ignored*, are -100."""
        net = self.net(features, width)
        inputs, labels = self.batch(net, rows)
        labels[::5] = labels[ignored] = -100
        if before:
            self._gradients(net)
        return Step(net, inputs, labels)

    def _gradients(self, net: Net) -> None:
        """Let the parameters have gradients from before."""
        for it in net.parameters():
            it.grad = self.tensor(0.1 * self.random.normal(size=tuple(it.shape)))

    @staticmethod
    def kept(net: Net) -> dict[str, Any]:
        """Note what an evaluation leaves as it is."""
        return {
            "mode": net.training,
            "state": {name: it.clone() for name, it in net.state_dict().items()},
        }

    @staticmethod
    def left(net: Net, before: dict[str, Any], returned: Any) -> list[str]:
        """Say what is no longer as it was, and what is wrong with the results; the words are the judge's."""
        results = [it for it in tree_leaves(returned) if isinstance(it, Tensor)]
        state = net.state_dict()
        changed = {it for it, old in before["state"].items() if not torch.equal(state[it], old)}
        learned = {name for name, _ in net.named_parameters()}
        modes = {it.training for it in net.modules()}
        problems = {
            "parameters of the model changed": bool(changed & learned),
            "buffers of the model changed": bool(changed - learned),
            "the model is not in the mode it was in before": modes != {before["mode"]},
            "parameters are frozen now": not all(it.requires_grad for it in net.parameters()),
            "parameters have gradients now": any(it.grad is not None for it in net.parameters()),
            "autograd is off for the whole program": not torch.is_grad_enabled(),
            "a result is an inference tensor": any(it.is_inference() for it in results),
            "a result has a graph": any(it.requires_grad for it in results),
        }
        torch.set_grad_enabled(True)  # for the next model
        return [name for name, wrong in problems.items() if wrong]
