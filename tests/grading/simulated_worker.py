"""Workers and time for a stopwatch that are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from autograder.model import Job, Limits
from tests import timed_toy

PROBE = timed_toy.part.probes["sums"]


@dataclass
class Machine:
    """Time, and how long a call takes: the file that a job holds says so."""

    noise: float = 0.01
    """Of a process: sd of its log-time."""
    breaks: Exception | None = None
    """What the student's worker does in its first window."""
    time: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))
    started: list[str] = field(default_factory=list)
    moves: list[Exception] = field(default_factory=list)
    """What spoils a pair, one after the other."""
    whoever: bool = False
    """Of the baseline against itself as well."""
    interrupted: list[float] = field(default_factory=list)
    """The share of the baseline's time that the kernel takes in each pair against a student."""
    windows: int = 0
    calls: set[int] = field(default_factory=set)


@dataclass
class SimulatedWorker:
    """Stands in for TimedWorker."""

    name: str
    job: Job
    machine: Machine
    work: object
    patience: float
    peak_bytes: int = 0

    def start(self, seed):  # noqa: ARG002 its noise has a seed of its own
        self.machine.started.append(self.job.side)
        self.machine.time += 0.5
        self.pace = float(self.job.files["speed"]) * (
            1 + self.machine.random.gauss(0, self.machine.noise)
        )
        self.peak_bytes = 3 << 20 if self.job.side == "student" else 6 << 20

    def window(self):
        if self.machine.breaks and self.job.side == "student":
            raise self.machine.breaks
        if (
            self.machine.moves
            and self.name == "student"
            and (self.machine.whoever or self.job.side == "student")
        ):
            raise self.machine.moves.pop(0)
        calls = self.work.fewer if self.work.fewer and self.name == "student" else self.work.count
        self.machine.calls.add(calls)
        self.machine.time += calls * self.pace
        self.machine.windows += 1
        return calls * self.pace

    def settle(self):
        self.machine.started.append("evaluator")

    def turns(self):
        return {}

    def interrupted(self):
        return self.machine.interrupted.pop(0) if self.machine.interrupted else 0.0

    def freeze(self):
        pass

    thaw = end = freeze


def job(side: str, seconds: float, device: str = "cpu") -> Job:
    """One call of it takes so long."""
    return Job(
        "toy", "part1_sums", "sums", side, 1, Limits(), {"speed": str(seconds).encode()}, device
    )


def compared(
    stopwatch, ratio: float, bar: float = 1.5, seconds: float = 0.001, device: str = "cpu"
):
    return stopwatch(
        PROBE, job("student", seconds / ratio, device), job("baseline", seconds, device), bar
    )
