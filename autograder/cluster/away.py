"""The run's end of a cluster.

Starts the engine, and gives lanes what they do in place of grading.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

from autograder.batch import store
from autograder.batch.job import GradeJob, write
from autograder.batch.lanes import Errand, Work
from autograder.cluster import site as sites
from autograder.errors import GoneError, ReadError, UserError
from autograder.grading.kit import Session
from autograder.model import Device, Job, Observation, Result
from autograder.records import from_json, to_json
from autograder.result_file import load_result
from autograder.sandbox.stage import temporary

FOLDER = ".cluster"
"""Below --out, while a run lasts: jobs, what came of them, what Parsl writes."""
LOG = "engine.log"
GOODBYE_SECONDS = 60.0
"""To cancel pilots."""


@dataclass(frozen=True)
class Engine:
    """Where the engine listens, and what every job has in common."""

    address: str
    home: Path
    """For jobs; nodes must see it, too."""
    like: GradeJob
    device: Device | None = None
    """On which the class is graded."""

    def __call__(self, errand: Errand) -> tuple[Result, str]:
        """Have what a lane read graded on a node.

        Only a result of these very files, on such a device, is taken.
        """
        name = errand.handed_in.name
        home = Path(tempfile.mkdtemp(dir=self.home))
        settled = ""
        if errand.settled is not None:
            settled = "settled.json"
            (home / settled).write_text(json.dumps(to_json(errand.settled)), encoding="utf-8")
        answer = self.ask(
            home,
            submission=str(Path(self.like.out) / name / store.HANDED_IN),
            settled=settled,
            seed=errand.seed,
            timed=errand.timed,
            round=errand.round,
            out=str(home),
            beside=True,
        )
        result = self._result(home / name / store.RESULT, errand)
        if result.device != self.device:
            raise UserError(
                f"node {answer['where']['node']} is {_described(result.device)}, "
                f"the class is graded on {_described(self.device)}; "
                "let the site file ask for nodes that are alike"
            )
        shutil.rmtree(home)
        return result, json.dumps(answer["where"])

    def _result(self, file: Path, errand: Errand) -> Result:
        try:
            result = load_result(file)
        except ReadError as problem:
            raise UserError(f"{problem}; do all nodes see {self.like.out}?") from None
        if (result.submission_sha256, result.seed) != (errand.handed_in.sha256, errand.seed):
            name = errand.handed_in.name
            raise UserError(
                f"{name}: what a node graded is not what was sent; "
                f"do all nodes see {self.like.out}?"
            )
        return result

    def ask(self, home: Path, **changes: Any) -> dict[str, Any]:
        """Send a job and wait, however long it has to wait in a queue."""
        file = write(replace(self.like, **changes), home / "job.json")
        try:
            with Client(self.address, "AF_UNIX") as engine:
                engine.send_bytes(str(file).encode())
                answer: dict[str, Any] = json.loads(engine.recv_bytes())
        except (EOFError, OSError):
            raise UserError(
                f"the engine of the cluster is gone; {self.home.parent / LOG} says why"
            ) from None
        for outcome in ("lost", "cut off"):
            if outcome in answer:
                raise GoneError(outcome, answer[outcome])
        if "stop" in answer:
            raise UserError(answer["stop"])
        return answer


@contextmanager
def cluster(
    site: Path, work: Work, like: GradeJob, say: Callable[[str], object]
) -> Iterator[tuple[Work, int]]:
    """Start the engine; yield the work as lanes do it then, and how many of them the cluster
    keeps busy.
    """
    wanted = sites.read(site)
    out = work.out.resolve()
    home = out / FOLDER
    # Of a run that was killed: whoever still writes there, nobody reads it.
    shutil.rmtree(home, ignore_errors=True)
    (home / "jobs").mkdir(parents=True)
    with _engine(site.resolve(), home) as (address, slots):
        say(f"{site}: waiting for the first node; Ctrl-C ends that")
        job = replace(like, out=str(out), parts=tuple(work.parts), only=work.only)
        session = _session(Engine(address, home / "jobs", job))
        if wanted.gpus and like.device == "auto":
            refuse_processors(site, wanted.gpus, session.device)
        away = Engine(address, home / "jobs", job, session.device)
        yield replace(work, open=lambda: nullcontext(session), away=away), slots
    shutil.rmtree(home, ignore_errors=True)


def refuse_processors(site: Path, gpus: int, device: Device) -> None:
    """Refuse to grade on processors where GPUs were asked for: points would be owed that the driver's absence costs."""
    if device.kind != "cuda":
        raise UserError(
            f"{site}: gpus: {gpus}, but the first node shows no NVIDIA GPU and would grade on {device.name}; see "
            f"perflab doctor there, or write workers: {gpus} to grade on processors"
        )


@contextmanager
def _engine(site: Path, home: Path) -> Iterator[tuple[str, int]]:
    with temporary() as place, (home / LOG).open("wb") as log:
        address = f"{place}/engine"
        command = [
            sys.executable,
            "-P",
            "-m",
            "autograder.cluster.engine",
            str(site),
            address,
            str(home / "parsl"),
        ]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
        # A session of its own: Ctrl-C is for the run, which ends the engine.
        process = subprocess.Popen(command, cwd=home, start_new_session=True, **pipes)
        try:
            assert process.stdout is not None
            first = json.loads(process.stdout.readline() or "{}")
            if "slots" not in first:
                problem = f"the engine of the cluster did not start; {home / LOG} says why"
                raise UserError(f"{site.name}: {first.get('stop', problem)}")
            yield address, first["slots"]
        finally:
            _end(process)


def _end(engine: subprocess.Popen[bytes]) -> None:
    """Let it cancel its pilots."""
    for pipe in (engine.stdin, engine.stdout):
        assert pipe is not None
        pipe.close()
    try:
        engine.wait(GOODBYE_SECONDS)
    except subprocess.TimeoutExpired:
        engine.kill()
        engine.wait()


def _session(engine: Engine) -> Session:
    """Ask the first node that is there what it is; all others must be alike."""
    try:
        answer = engine.ask(engine.home, round="look")
    except GoneError as gone:
        raise UserError(f"the first node that was asked: {gone}") from None
    device = from_json(Device, answer["device"])
    began = datetime.now(UTC).isoformat(timespec="seconds")
    return Session(_nothing, device, device.kind, answer["isolation"], began, time.monotonic)


def _nothing(_: Job) -> Observation:
    raise RuntimeError("nothing runs where the run is: nodes grade")


def _described(device: Device | None) -> str:
    return f"{device.name} with {dict(device.versions)}" if device else "nothing"
