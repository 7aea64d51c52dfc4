"""Which stretch of a recording a share is taken of, and which thread is the one that trains."""

from __future__ import annotations

import numpy as np

from autograder.errors import SubmissionError
from autograder.traces.events import ON_GPU, STEP, Events, Kind
from autograder.traces.record import Window
from autograder.traces.words import many

MOST_GPUS = 64
Stretch = tuple[int, int]


def steps_of(events: Events) -> Events:
    """Return the ProfilerSteps of the CPU, in order; those on GPU tracks repeat them."""
    steps = events.of(Kind.MARK).named(STEP.fullmatch)
    return steps.where(np.argsort(steps.start, kind="stable"))


def on_gpu(events: Events, device: int) -> Events:
    """Return what ran on one GPU."""
    return events.where(np.isin(events.kind, ON_GPU) & (events.device == device))


def gpus(events: Events) -> list[int]:
    """Number the GPUs that did something."""
    devices = [int(device) for device in np.unique(events.of(*ON_GPU).device)]
    if len(devices) > MOST_GPUS:
        raise SubmissionError(
            f"work on {many(len(devices), 'GPU')}; at most {MOST_GPUS} are read in one file"
        )
    return devices


def windows(events: Events) -> tuple[Window, ...]:
    """Return steps, each GPU's from its first to its last work, and the whole recording."""
    works = {"steps": steps_of(events)} | {
        f"gpu{device}": on_gpu(events, device) for device in gpus(events)
    }
    stretches = {
        name: (int(work.start.min()), int(work.end.max()))
        for name, work in works.items()
        if len(work)
    }
    stretches["trace"] = (0, events.length)
    return tuple(
        Window(name, start, end - start) for name, (start, end) in stretches.items() if end > start
    )


def stretch(windows_: tuple[Window, ...], *names: str) -> tuple[str, Stretch] | None:
    """Return the first of these windows that the recording has."""
    for name in names:
        for window in windows_:
            if window.id == name:
                return name, (window.start, window.start + window.length)
    return None


def main_thread(events: Events) -> int:
    """Return the thread of the steps, else the one with most operators; -1 without any."""
    for work in (steps_of(events), events.of(Kind.OP)):
        if len(work):
            tracks, counts = np.unique(work.track, return_counts=True)
            return int(tracks[np.argmax(counts)])
    return -1
