"""What timed windows cost and how much they scatter here: `python -m tests.measure_windows` prints the tables.

docs/measurements/windows.md keeps what it printed once.
"""

from __future__ import annotations

import math
import time
from statistics import median, quantiles, stdev

from autograder.clock.pairs import FEW, TIMED
from autograder.clock.rule import CLEAR_LOOK
from autograder.grading.stopwatch import Sides, Stopwatch
from autograder.model import Job, Limits
from autograder.probe import Close
from autograder.sandbox import Workers
from autograder.sandbox.calls import Calls
from autograder.sandbox.train import Train
from autograder.sandbox.windows import TimedWorker
from autograder.sandbox.workers import PRELOAD
from tests import timed_toy as toy

ECHO = "def total(x): return x"
WINDOWS = 200
CHECKS = 5
PAIRS = 12
TARGETS = (0.05, 0.1, 0.25)  # seconds of a window
SLOWER = toy.TRAIN.replace(
    "        losses.append",
    "        model.eval(); criterion(model(images), labels).backward(); model.train()\n        losses.append",
)


def job(code: str, side: str = "student", probe: str = "sums") -> Job:
    return Job(toy.LAB, toy.part.id, probe, side, 1, Limits(), {toy.FILE: code.encode()})


def echoed(workers: Workers, work: Calls | Train, code: str, probe: str) -> None:
    """Time windows in which next to nothing is done, and what stops and starts a worker."""
    arm = TimedWorker("student", job(code, probe=probe), workers, work, 10.0)
    seconds, own, froze, thawed = [], [], [], []
    try:
        arm.start(0)
        for _ in range(WINDOWS):
            begun = time.process_time()
            seconds.append(arm.window())
            own.append(time.process_time() - begun)
            for act, took in ((arm.freeze, froze), (arm.thaw, thawed)):
                begun = time.monotonic()
                act()
                took.append(time.monotonic() - begun)
    finally:
        arm.end()
    named = {
        "GO to the last answer": seconds,
        "supervisor's CPU": own,
        "freeze": froze,
        "thaw": thawed,
    }
    for name, values in named.items():
        print(
            f"| {probe} | {name} | {1e3 * median(values):.2f} | {1e3 * quantiles(values, n=20)[-1]:.2f} |"
        )


def checked(
    stopwatch: Stopwatch, probe: str, about: str, student: str, baseline: str, bar: float
) -> None:
    """Judge one speedup as a grading run does; each time it is another submission's bytes."""
    for number in range(CHECKS):
        begun = time.monotonic()
        found = stopwatch(
            toy.part.probes[probe],
            job(f"{student}\n# {number}", probe=probe),
            job(baseline, "baseline", probe),
            bar,
        )
        row = (about, found.decision, found.measured or found.error, found.evidence.get("noise"))
        print("|", " | ".join(map(str, row)), f"| {time.monotonic() - begun:.0f} |", flush=True)


def scattered(stopwatch: Stopwatch) -> None:
    """Hold the baseline against itself in pairs of few and many, of short and long windows."""
    itself = job(toy.BASELINE, "baseline")
    sides = Sides(toy.part.probes["sums"], itself, itself)
    for target in TARGETS:
        size = stopwatch._measured(sides, target)
        for windows in (4, FEW, 8, TIMED):
            stopwatch._session.windows = windows
            take = stopwatch._take(sides, size)
            begun = time.monotonic()
            pairs = [take(CLEAR_LOOK + index) for index in range(PAIRS)]
            seconds = (time.monotonic() - begun) / PAIRS
            noise = stdev(pairs)
            row = f"{target} | {windows} | {100 * noise:.2f} % | {seconds:.1f}"
            print(f"| {row} | {100 * noise * math.sqrt(seconds):.2f} |", flush=True)


def main() -> None:
    """Measure in the fence."""
    with Workers("bubblewrap", [*PRELOAD, "tests.timed_toy"]) as workers:
        workers.warm()
        one = Calls(lambda random: {"x": random.standard_normal(1, dtype="float32")}, 1, 1, Close())
        echoed(workers, one, ECHO, "sums")
        stopwatch = Stopwatch(workers)
        scattered(stopwatch)
        stopwatch = Stopwatch(workers)
        checked(
            stopwatch,
            "sums",
            "sums: a third of the loop in Python",
            toy.TWICE_AS_FAST,
            toy.BASELINE,
            1.5,
        )
        checked(stopwatch, "sums", "sums: the baseline itself", toy.BASELINE, toy.BASELINE, 1.1)
        slower = toy.BASELINE.replace(toy.TRAIN, SLOWER)
        checked(stopwatch, "training", "training: without a second pass", toy.BASELINE, slower, 1.3)
        checked(stopwatch, "training", "training: the baseline itself", slower, slower, 1.1)


if __name__ == "__main__":
    main()
