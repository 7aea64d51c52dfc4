"""What submissions are graded with: the kit of a lab, and the session that is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from autograder.config import LabConfig
from autograder.handed_in.notebook import NOTHING, Released
from autograder.lab import Lab, Probe
from autograder.model import Compared, Device, Job, Observation

Run = Callable[[Job], Observation]
Clock = Callable[[Probe, Job, Job, float], Compared]
"""Times a probe, the student's job against the baseline's, and judges the ratio by a bar."""
Squeeze = Callable[[Job, Job, int, int], Observation]
"""Runs the student's job with so many bytes of the GPU left (the last), where the baseline's took so many."""


@dataclass(frozen=True)
class Kit:
    """What a lab is graded with: its parts, its points, and the files that graders and students share."""

    lab: Lab
    config: LabConfig
    given: Mapping[str, bytes]
    baseline: Mapping[str, bytes]
    released: Released = NOTHING

    @property
    def files(self) -> list[str]:
        """What of a submission is looked at."""
        return [*self.lab.files, *self.released.notebooks]


@dataclass(frozen=True)
class Session:
    """What is the same for every submission of one run of the grader."""

    run: Run
    device: Device
    worker_device: str
    """What torch calls it: cpu, cuda:0."""
    isolation: str
    started: str
    now: Callable[[], float]
    """Seconds; only to say how long grading took."""
    clock: Clock | None = None
    """Without one, what has to be timed is owed."""
    squeeze: Squeeze | None = None
    """Without one, a bar on memory of a GPU is owed."""
    alone: Run | None = None
    """Runs a job with nothing beside it on the machine."""
    rehearsal: bool = False
    """A student's own run: a file that cannot be read is told as a failure at once, and no person is asked."""


def beside_others(session: Session) -> Session:
    """Where other work may be why a job runs out of time: it is run once more, alone, and only that counts."""
    run = session.run
    alone = session.alone

    def run_again(job: Job) -> Observation:
        observation = run(job)
        if alone and _out_of_time(observation):
            return alone(job)
        return observation

    return replace(session, run=run_again)


def _out_of_time(observation: Observation) -> bool:
    """Whether time was up, for all of it or for processes that it waited for."""
    return observation.ended == "timeout" or observation.kind == "unended"
