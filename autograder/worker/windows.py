"""The worker's side of timed work: build once, then a window whenever the supervisor says so.

What is timed lies between a GO, which brings inputs that nobody has seen, and the answer. Nothing here reads a clock.
"""

from __future__ import annotations

import copy
import os
import socket
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn, Protocol

import numpy as np
import torch
from torch.utils.data import TensorDataset

from autograder.lab import Probe
from autograder.protocol.digest import commitment
from autograder.protocol.revealed import unseal
from autograder.protocol.wire import Message, encode, receive
from autograder.worker import allocator
from autograder.worker.projection import projection
from autograder.worker.rig import SCALE, Rig
from autograder.worker.rigs.loads import Store, epoch
from autograder.worker.rigs.nets import Loader
from autograder.worker.rigs.returned import flat, series
from autograder.worker.timed_once import called, tensors

MOST_DESCRIPTORS = 2  # with a message


class Work(Protocol):
    """One kind of timed work."""

    def answer(self, asked: Message, descriptors: list[int]) -> Message: ...


class Calls:
    """A function, called once for each of the inputs."""

    def __init__(self, probe: Probe, student: ModuleType, rig: Rig, _: list[int]) -> None:
        """Call it on inputs that do not count, so that what is built or compiled at the first call is there."""
        self._probe = probe
        self._student = student
        self._rig = rig
        called(probe, student, rig)
        self._outputs: list[np.ndarray[Any, Any]] = []

    def answer(self, asked: Message, descriptors: list[int]) -> Message:
        """Call, and commit to every output; or show some of them."""
        if asked.kind == "SHOW":
            return Message(
                "OUTPUT",
                {},
                {"output": self._outputs[asked.body["call"]]},
            )
        self._outputs = [self._call(inputs) for inputs in unseal(descriptors[0], asked.body)]
        commitments = b"".join(commitment(output) for output in self._outputs)
        return Message(
            "ANSWER",
            {},
            {"commitments": np.frombuffer(commitments, np.uint8)},
        )

    def _call(self, inputs: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        given = tensors(self._probe, inputs, self._rig)
        return flat(self._probe.run(self._student, given), torch.float32)


class Train:
    """An epoch function, called from the same fresh weights in each window."""

    def __init__(self, probe: Probe, student: ModuleType, rig: Rig, _: list[int]) -> None:
        """Build a training, keep how it began, and go through it once, for the same reason."""
        self._probe = probe
        self._student = student
        self._window = rig.window()
        window = self._window
        self._began = copy.deepcopy([window.model.state_dict(), window.optimizer.state_dict()])
        probe.run(student, window)

    def answer(self, asked: Message, descriptors: list[int]) -> Message:
        """Do what comes next in a window; nothing here remembers what came before."""
        match asked.kind:
            case "RESET":
                self._reset()
                return Message("FRESH", {})
            case "GO":
                return Message(
                    "ANSWER",
                    {},
                    {"losses": self._losses(descriptors[0], asked.body)},
                )
            case "CHALLENGE":
                weights = torch.cat(
                    [p.detach().float().flatten() for p in self._window.model.parameters()]
                )
                return Message(
                    "PROJECTION",
                    {"projection": projection(weights, asked.body["challenge"])},
                )
            case "SHOW":
                return Message("WEIGHTS", {}, {"weights": self._window.weights()})
        return Message("WORTH", {}, {"loss": self._worth(descriptors[0], asked.body)})

    def _reset(self) -> None:
        model, optimizer = self._began
        self._window.model.load_state_dict(model)  # in place: graphs that were captured stay valid
        self._window.optimizer.load_state_dict(copy.deepcopy(optimizer))
        self._window.optimizer.zero_grad()
        self._window.scaler = torch.amp.GradScaler(self._window.device.type, init_scale=SCALE)

    def _losses(self, fd: int, form: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        [data] = unseal(fd, form)
        tensors = TensorDataset(*(torch.from_numpy(data[name]) for name in ("images", "labels")))
        self._window.loader = Loader(tensors, form["batch"])
        return series(self._probe.run(self._student, self._window), "losses")

    def _worth(self, fd: int, form: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """Return the loss of handed-over weights on handed-over pictures; only trusted code is asked for it."""
        [data] = unseal(fd, form)
        model = self._window.model.train()
        weights, images, labels = (
            torch.from_numpy(data[name]).to(self._window.device)
            for name in ("weights", "images", "labels")
        )
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(weights, model.parameters())
            loss = self._window.criterion(model(images), labels)
        return np.array([float(loss)])


class Loads:
    """A loader over a data set whose samples a store hands out, built once."""

    def __init__(
        self,
        probe: Probe,
        student: ModuleType,
        rig: Rig,
        store: list[int],
    ) -> None:
        """Build it, and go through it once: workers that stay are there before the first window."""
        assert probe.dataset is not None
        self._loader = probe.run(student, probe.dataset(Store(*store)), rig.device)
        epoch(self._loader)

    def answer(self, asked: Message, descriptors: list[int]) -> Message:  # noqa: ARG002 it reads from the store
        """Go through it, and commit to every sample."""
        return Message("ANSWER", {}, epoch(self._loader))


KINDS: dict[str, Callable[[Probe, ModuleType, Rig, list[int]], Work]] = {
    "call": Calls,
    "train": Train,
    "load": Loads,
}


def serve(
    channel: socket.socket,
    probe: Probe,
    student: ModuleType,
    rig: Rig,
    store: list[int],
) -> NoReturn:
    """Answer until the supervisor hangs up; a data set reads from the *store*, where there is one."""
    allocator.keep()
    work = KINDS[probe.timed](probe, student, rig, store)
    channel.sendall(encode(Message("BUILT", {})))
    while True:
        asked, descriptors = hear(channel)
        channel.sendall(encode(work.answer(asked, descriptors)))
        for fd in descriptors:
            os.close(fd)


def hear(channel: socket.socket) -> tuple[Message, list[int]]:
    """Wait for a message, and for the descriptors that may come with it."""
    descriptors: list[int] = []

    def read(n: int) -> bytes:
        data = b""
        while len(data) < n:
            more, received, _, _ = socket.recv_fds(channel, n - len(data), MOST_DESCRIPTORS)
            if not more:
                raise EOFError
            data += more
            descriptors.extend(received)
        return data

    return receive(read), descriptors
