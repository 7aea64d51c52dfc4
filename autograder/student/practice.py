"""What a student runs, from pytest or from `perflab check`: the checks of the lab in one folder."""

from __future__ import annotations

import configparser
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from autograder.course import Course
from autograder.errors import UserError
from autograder.grading.grade import Clock, Run, Session, Squeeze, grade
from autograder.grading.stopwatch import Stopwatch
from autograder.handed_in import submission
from autograder.machine import device
from autograder.machine.turns import Turns, during
from autograder.model import Result
from autograder.sandbox import BoxError, Workers, gpu, try_out
from autograder.sandbox.ballast import Ballast
from autograder.sandbox.card import Card

POLL_SECONDS = 0.5
Isolation = Literal["bubblewrap", "none", "best"]


@contextmanager
def open_session(
    course: Course, wanted: str = "auto", isolation: Isolation = "none", *, rehearsal: bool = True
) -> Iterator[Session]:
    """Find the device and keep one warm process for as long as the session lasts; a rehearsal judges no speed.

    Whoever judges waits for its turn: nothing else is graded on the device while something is timed, or squeezed.
    """
    found, worker_device = device.find(wanted, course.config.tier)
    fence = fence_for(isolation, worker_device)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    lent = gpu.nodes(worker_device) if fence == "bubblewrap" else ()
    card = None if worker_device == "cpu" else Card(device.identity(worker_device))
    with Workers(fence, lent=lent, card=card) as workers:
        run: Run = workers
        clock: Clock = Stopwatch(workers, rehearsal)
        squeeze: Squeeze | None = None
        alone: Run | None = None
        now = time.monotonic
        if not rehearsal:
            turns, whole = Turns(device.identity(worker_device)), Turns()
            run, clock, alone = (
                during(turns.many, run),
                during(turns.alone, clock),
                during(whole.alone, workers),
            )
            squeeze = during(turns.alone, Ballast(workers.fresh, card)) if card else None
            now = lambda: time.monotonic() - turns.waited - whole.waited  # noqa: E731 what is waited for is no work
        inside = gpu.INSIDE if lent else worker_device
        yield Session(
            run, found, inside, workers.isolation, started, now, clock, squeeze, alone, rehearsal
        )


def fence_for(wanted: Isolation, worker_device: str) -> Literal["bubblewrap", "none"]:
    """Settle what is in force; only `best` takes less than a fence for an answer."""
    if wanted == "none":
        return "none"
    try:
        try_out(gpu.nodes(worker_device))
    except BoxError as problem:
        if wanted == "best":
            return "none"
        raise UserError(
            f"no fence: {problem}; --isolation none does without, for work that you trust"
        ) from None
    return "bubblewrap"


def lab_of(folder: Path, course: Course) -> str:
    """Read which lab a folder holds: its pytest.ini says so, else its name."""
    ini = configparser.ConfigParser()
    try:
        ini.read(folder / "pytest.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise UserError(
            f"pytest.ini: {str(error).splitlines()[0]}; take the one of the released folder"
        ) from None
    lab = ini.get("pytest", "perflab_lab", fallback=folder.name)
    if lab not in course.labs:
        known = f"student_template/{course.labs[0]}"
        raise UserError(
            f"{folder.name}: not a lab's folder; go to one whose pytest.ini names a lab, such as {known}"
        )
    return lab


def check_folder(
    folder: Path, course: Course, session: Session, part: str | None, seed: int
) -> Result:
    """Grade the folder as it is now, all parts or one."""
    kit = course.kit(lab_of(folder, course))
    parts = [kit.lab.part(part).id] if part else []
    handed_in = submission.load(folder, kit.lab.files, released=kit.released)
    return grade(handed_in, kit, session, seed=seed, parts=parts)


def watched(folder: Path) -> Iterator[None]:
    """Yield at once, and then after every save; Ctrl-C ends it."""
    seen: dict[Path, int] = {}
    while True:
        now = {path: path.stat().st_mtime_ns for path in folder.glob("*") if path.is_file()}
        if now != seen:
            seen = now
            yield None
        time.sleep(POLL_SECONDS)
