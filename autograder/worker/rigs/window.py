"""One short training from fresh weights: what a student's epoch function is called with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from autograder.worker.rigs import returned
from autograder.worker.rigs.nets import Loader, Net
from autograder.worker.rigs.returned import Returned

State = tuple[dict[str, Any], dict[str, Any]]


@dataclass
class Window:
    """A model, data and all that trains it, alike at each call of `rig.window`."""

    model: Net
    loader: Loader
    criterion: nn.CrossEntropyLoss
    optimizer: torch.optim.Optimizer
    device: torch.device
    scaler: torch.amp.GradScaler
    returned: Callable[[str, Any], Returned] = Returned
    """Reads the dict that a function of this name returned."""

    def weights(self) -> np.ndarray[Any, Any]:
        """Return all parameters, flat, as they are now."""
        return returned.flat(list(self.model.parameters()), torch.float32)

    def state(self) -> State:
        """Return copies of what the model and the optimizer hold."""
        held = self.model.state_dict(), self.optimizer.state_dict()
        return copy.deepcopy(held)

    def restore(self, state: State) -> None:
        """Put back what `state` returned."""
        self.model.load_state_dict(state[0])
        self.optimizer.load_state_dict(copy.deepcopy(state[1]))

    def held(self) -> list[np.ndarray[Any, Any]]:
        """Return the same, flat: parameters, buffers, and the optimizer's tensors, if any."""
        parameters = list(self.model.parameters())
        states = [self.optimizer.state.get(weight, {}) for weight in parameters]
        values = [value for state in states for value in state.values()]
        moments = [value for value in values if isinstance(value, Tensor)]
        kinds = parameters, list(self.model.buffers()), moments
        return [returned.flat(tensors) if tensors else np.zeros(0) for tensors in kinds]

    def label(self, right: Sequence[int]) -> None:
        """Let the untrained model be *right* so often in each batch, about the clearest samples."""
        dataset = self.loader.dataset
        size = self.loader.batch_size or 1
        state = self.state()
        with torch.no_grad():
            for start, count in zip(range(0, len(dataset), size), right, strict=False):
                images, labels = dataset[start : start + size]
                outputs = self.model(images.to(self.device)).cpu()
                first, second = outputs.topk(2).values.T
                clear = (first - second).argsort(descending=True)[:count]
                labels[:] = outputs.argmin(1)
                labels[clear] = outputs.argmax(1)[clear]
        self.restore(state)  # batch norms have moved
