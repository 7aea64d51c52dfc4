"""The worker's side of timed work: build once, then a window whenever the supervisor says so.

What is timed lies between a GO, which brings inputs that nobody has seen, and the answer. Nothing here reads a clock.
"""

from __future__ import annotations

import os
import socket
from types import ModuleType
from typing import Any, NoReturn, Protocol

import numpy as np
import torch

from autograder.digest import commitment
from autograder.lab import Probe
from autograder.revealed import unseal
from autograder.wire import Message, encode, receive
from autograder.worker.returned import flat
from autograder.worker.rig import Rig


class Work(Protocol):
    """One kind of timed work."""

    def answer(self, asked: Message, descriptors: list[int]) -> Message: ...


class Calls:
    """A function, called once for each of the inputs."""

    def __init__(self, probe: Probe, student: ModuleType, rig: Rig) -> None:
        """Have nothing to show yet."""
        self._probe, self._student, self._rig = probe, student, rig
        self._outputs: list[np.ndarray[Any, Any]] = []

    def answer(self, asked: Message, descriptors: list[int]) -> Message:
        """Call, and commit to every output; or show some of them."""
        if asked.kind == "SHOW":
            return Message("OUTPUTS", {}, {str(call): self._outputs[call] for call in asked.body["calls"]})
        self._outputs = [self._call(inputs) for inputs in unseal(descriptors[0], asked.body)]
        commitments = b"".join(commitment(output) for output in self._outputs)
        return Message("ANSWER", {}, {"commitments": np.frombuffer(commitments, np.uint8)})

    def _call(self, inputs: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        tensors = {name: torch.from_numpy(array).to(self._rig.device) for name, array in inputs.items()}
        return flat(self._probe.run(self._student, tensors), torch.float32)


KINDS = {"call": Calls}


def serve(channel: socket.socket, probe: Probe, student: ModuleType, rig: Rig) -> NoReturn:
    """Answer until the supervisor hangs up."""
    work: Work = KINDS[probe.timed](probe, student, rig)
    channel.sendall(encode(Message("BUILT", {})))
    while True:
        asked, descriptors = hear(channel)
        channel.sendall(encode(work.answer(asked, descriptors)))
        for fd in descriptors:
            os.close(fd)


def hear(channel: socket.socket) -> tuple[Message, list[int]]:
    """Wait for a message, and for the descriptor that may come with it."""
    descriptors: list[int] = []

    def read(n: int) -> bytes:
        data = b""
        while len(data) < n:
            more, found, _, _ = socket.recv_fds(channel, n - len(data), 1)
            if not more:
                raise EOFError
            data += more
            descriptors.extend(found)
        return data

    return receive(read), descriptors
