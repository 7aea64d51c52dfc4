"""One submission as a job: job.json says what to grade, result.json is what comes of it. What clusters run.

    {"format": 1, "lab": "resnet18", "submission": "handed_in/ada.zip", "out": "results"}

writes results/ada/result.json. Paths are relative to the job's file. A submission is a folder, an archive or a
notebook, or the handed_in.zip beside a result. `perflab grade-one job.json` does the same as `grade_one`.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from autograder.batch import store
from autograder.batch.lanes import later, squeezed_later
from autograder.course import Course, find_root
from autograder.errors import ReadError, UserError
from autograder.grading.grade import grade
from autograder.grading.kit import Kit, Session, beside_others
from autograder.grading.session import open_session
from autograder.machine.device import VISIBLE, node
from autograder.model import Submission
from autograder.records import from_json, to_json
from autograder.result_file import load_result

FORMAT = 1  # 1: the first.


@dataclass(frozen=True)
class GradeJob:
    """What job.json holds."""

    format: int
    lab: str
    out: str
    """Folder of results."""
    submission: str = ""
    """Without one nothing is graded: the answer says what this machine is."""
    course: str = ""
    """Folder of the course; else as for every command."""
    seed: int | None = None
    parts: tuple[str, ...] = ()
    only: str = ""
    device: str = "auto"
    isolation: Literal["bubblewrap", "none"] = "bubblewrap"
    settled: str = ""
    """The result so far: what it has settled is kept, and its points with it."""
    timed: bool = True
    """If not, what has to be timed is left undecided."""
    round: str = ""
    """What is found out about the machine holds for jobs of the same round."""
    beside: bool = False
    """Other jobs may run on the machine: who runs out of time is run once more, alone."""


def read(file: Path) -> GradeJob:
    """Read job.json; whatever is wrong with it is one line."""
    try:
        value = json.loads(file.read_bytes())
        job = from_json(GradeJob, value, str(file))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    except ReadError as error:
        raise UserError(str(error)) from None
    if job.format != FORMAT:
        raise UserError(f"{file}: format {job.format}; this perflab reads format {FORMAT}")
    return job


def write(job: GradeJob, file: Path) -> Path:
    """Write job.json."""
    file.write_text(json.dumps(to_json(job), indent=1), encoding="utf-8")
    return file


def grade_one(file: Path) -> Path:
    """Grade what job.json names and return where result.json is."""
    with Grader() as grader:
        return Path(grader(file)["result"])


class Grader:
    """Grades jobs one after the other in a warm session; a context, since workers end with it."""

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._held = ExitStack()
        self._asked: tuple[object, ...] = ()
        self._kit: Kit
        self._session: Session

    def __enter__(self) -> Self:
        """Nothing to do before the first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the session."""
        self._held.close()

    def __call__(self, file: Path) -> dict[str, Any]:
        """Do one job; the answer says where its result is, what graded it, and where and when."""
        began, job = _now(), read(file)
        self._open(job, file.parent)
        result = str(self._grade(job, file.parent)) if job.submission else ""
        device, isolation = to_json(self._session.device), self._session.isolation
        where = {
            "node": node(),
            "gpus": os.environ.get(VISIBLE, ""),
            "pid": os.getpid(),
            "began": began,
        }
        return {
            "result": result,
            "device": device,
            "isolation": isolation,
            "where": {**where, "ended": _now()},
        }

    def _open(self, job: GradeJob, home: Path) -> None:
        """Keep the session while the jobs are of one kind."""
        root = home / job.course if job.course else None
        asked = (root, job.lab, job.device, job.isolation, job.round, job.beside)
        if asked == self._asked:
            return
        self._held.close()
        self._asked = ()
        course = Course(find_root(root))
        self._kit = course.kit(job.lab)
        session = open_session(course.config.tier, job.device, job.isolation, rehearsal=False)
        opened = self._held.enter_context(session)
        self._session = beside_others(opened) if job.beside else opened
        self._asked = asked

    def _grade(self, job: GradeJob, home: Path) -> Path:
        path, out, kit = home / job.submission, home / job.out, self._kit
        chosen = kit.lab.chosen(job.parts, job.only)
        handed_in = _handed_in(path, kit)
        settled = load_result(home / job.settled) if job.settled else None
        session = (
            self._session
            if job.timed
            else replace(self._session, clock=later, squeeze=squeezed_later)
        )
        seed = settled.seed if settled else secrets.randbits(48) if job.seed is None else job.seed
        result = grade(
            handed_in, kit, session, seed=seed, parts=chosen, only=job.only, settled=settled
        )
        if path.resolve() != (out / handed_in.name / store.HANDED_IN).resolve():
            store.keep(handed_in, out)
        return store.save(result, out)


def _handed_in(path: Path, kit: Kit) -> Submission:
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    if path.name == store.HANDED_IN:
        return store.kept(path.parent.name, path.parent.parent, kit.lab.files)
    return store.load_or_say(path, kit.lab.files, kit.released)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
