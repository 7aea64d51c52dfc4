"""Runs jobs: one warm zygote for a whole command, one fresh worker for each probe."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard, get_args

from autograder.errors import WireError, WorkerLostError
from autograder.model import OWN_LABS, Job, Kind, Observation
from autograder.protocol.wire import Message, encode, receive
from autograder.sandbox import box, cgroup, stage, usage
from autograder.sandbox.card import Card, Gauge
from autograder.sandbox.usage import Inherited
from autograder.sandbox.watch import MAX_PROCESSES, Stopped, Watched

PRELOAD = (
    *("torch", "torchvision", "pandas", "matplotlib.pyplot"),
    # The first call of a compiled function would import it, for more than a second.
    "functorch.compile",
    "autograder.worker.shim",
    "autograder.worker.warm",
)
RESULT = {
    "ended": str,
    "values": dict,
    "error": str,
    "kind": str,
    "imported": bool,
    "import": float,
}
"""What an answer says, as worker/shim.py writes it."""
KINDS = frozenset(get_args(Kind))
LONG_SESSION = 40
"""Workers after which huge pages have paid.

Some 25 ms less for each, and up to a second once.
"""
COMPILER = "autograder.worker.compiler_imports"
"""Imported when the first job comes that compiles.

0.8 s once, and 0.1 to 0.5 s less for each of them.
"""
START_SECONDS = 120.0  # a cold disk and 5 GB of libraries
QUIET_SECONDS = 20.0  # of starting, before it is said what is waited for
LOG = logging.getLogger(__name__)
Isolation = Literal["bubblewrap", "none"]


class Workers:
    """A context in which jobs run; calling it runs one."""

    def __init__(
        self,
        isolation: Isolation = "none",
        preload: Sequence[str] = PRELOAD,
        lent: Sequence[Path] = (),
        card: Card | None = None,
    ) -> None:
        """Name the fence, what the warm process imports, and a GPU with its nodes in the fence.

        Nothing starts yet.
        """
        self.isolation: Isolation = isolation
        """The fence in force. none.

        Processes of their own with limits, as the user who grades.
        """
        self._fenced = isolation == "bubblewrap"
        self._user = box.unprivileged() if self._fenced else box.User()
        self._preload = tuple(preload)
        self._lent = tuple(lent)
        self._card = card
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._inherited = Inherited()
        self._ran = 0
        self._compiles = False
        self._trusted: dict[str, Observation] = {}
        self.ready_seconds = 0.0
        """From asking for the last worker to hearing that it was ready."""

    def __enter__(self) -> Self:
        """Try the fence; start the rest lazily: a submission without the part's file needs no
        torch.
        """
        if self._fenced:
            box.try_out(self._lent)
        return self

    def __exit__(self, *_: object) -> None:
        """End the zygote; workers die with it."""
        self.close()

    def __call__(self, job: Job) -> Observation:
        """Run one job in a fresh worker.

        The baseline answers for the same inputs only once.
        """
        if job.side != "baseline":
            return self.fresh(job)
        key = f"{job.seed} {job.fingerprint}"
        if key not in self._trusted:
            observation = self.fresh(job)
            if observation.ended != "ok":
                return observation
            self._trusted[key] = observation
        return self._trusted[key]

    def fresh(self, job: Job) -> Observation:
        """Run one job, the baseline's too; a zygote that was lost is started again, once."""
        try:
            return self._run(job)
        except (WorkerLostError, OSError):
            self.close()
            return self._run(job)

    def close(self) -> None:
        """Hang up, and make sure."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None

    def warm(self) -> None:
        """Start the zygote now, and wait until torch is there."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        cgroup.clear()
        stage.clear()
        with stage.staged({}, self._user.get("user")) as (_, own):
            self._start(own)
            quiet = min(QUIET_SECONDS, START_SECONDS)
            if self._control and not wait([self._control], quiet):
                LOG.info("torch is being imported, which takes long from a cold disk")
            self._hear(
                "the warm process did not start: try again if the machine was busy; "
                "`perflab doctor` says what is missing"
            )

    def _start(self, own: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        become = box.become() if self._fenced else []
        command = [
            *become,
            sys.executable,
            "-I",
            "-m",
            "autograder.worker.zygote",
            str(theirs.fileno()),
        ]
        # Matplotlib would keep a list of fonts that the next user can neither write nor trust.
        fonts = {"MPLCONFIGDIR": str(own)} if self._fenced else {}
        self._process = subprocess.Popen(
            [*command, *self._preload],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=_environ(tempfile.gettempdir()) | fonts,
        )
        theirs.close()
        ours.settimeout(START_SECONDS)
        self._control = ours
        self._ran = 0
        self._compiles = False

    def _hear(self, otherwise: str) -> None:
        """Take the report of how much every worker inherits."""
        assert self._control is not None
        report = b""
        with suppress(TimeoutError):
            report = self._control.recv(4096)
        if not report:
            self.close()  # or the next job would wait for it, on the student's time
            raise WorkerLostError(otherwise)
        assert self._process is not None
        self._inherited = Inherited(
            int(json.loads(report)["rss_bytes"]), usage.mark_of(self._process.pid)
        )

    def _prepare(self, job: Job) -> None:
        """Let the warm process be cheaper to fork from.

        Never between the two sides that are timed together.
        """
        self.warm()
        if not self._compiles and _compiles(job):
            self._compiles = True
            self._ask(**{"import": COMPILER})
        self._ran += 1
        if self._ran == LONG_SESSION:
            self._ask(gather=True)

    def _ask(self, **what: Any) -> None:
        assert self._control is not None
        self._control.send(json.dumps(what).encode())
        self._hear("the warm process ended")

    @contextmanager
    def worker(self, job: Job, cores: Collection[int] = ()) -> Iterator[Watched]:
        """Keep one fresh worker, on some cores or on all.

        What is left of it is killed at the end.
        """
        self.warm()
        with stage.staged(job.files, self._user.get("user")) as (code, work):
            watched = self._fork(job, code, work, cores)
            try:
                yield watched
            finally:
                watched.finish()

    def _run(self, job: Job) -> Observation:
        gauge = Gauge(self._card) if self._card else None
        if gauge:
            gauge.look()
        self._prepare(job)
        with self.worker(job) as watched:
            watched.gauge = gauge
            watched.closely = True
            observation = self._converse(job, watched)
        return _measured(observation, watched)

    def _fork(self, job: Job, code: Path, work: Path, cores: Collection[int]) -> Watched:
        assert self._control is not None
        timed = bool(cores)
        fence = box.Box(code, self._lent, timed=timed) if self._fenced else None
        ours, theirs = socket.socketpair()
        output_read, output_write = os.pipe()
        status_read, status_write = os.pipe()
        group = cgroup.limited_group(job.limits.memory_mb << 20) if fence else None
        watched = Watched(ours, output_read, status_read, job.limits, self._inherited, fence, group)
        request = _request(job, box.CODE, box.HOME) if fence else _request(job, code, work)
        if fence:
            request["seccomp"] = box.system_calls(gpu=bool(self._lent), timed=timed).hex()
        request["cores"] = list(cores)
        descriptors = [
            theirs.fileno(),
            output_write,
            status_write,
            *([fence.pidfd] if fence else []),
        ]
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            watched.finish()
            raise WorkerLostError(str(error)) from None
        finally:
            theirs.close()
            os.close(output_write)
            os.close(status_write)
        return watched

    def _converse(self, job: Job, watched: Watched) -> Observation:
        try:
            receive(watched.read)
            self.ready_seconds = time.monotonic() - watched.started
            watched.send(encode(Message("TASK", task(job))))
            answer = receive(watched.read)
            watched.look()  # it waits to be ended: what it held at its most is still known
            return _believe_form(job, answer)
        except Stopped as stopped:
            return Observation(job.probe, stopped.ended, error=stopped.words)
        except (WireError, OSError) as error:
            return Observation(
                job.probe, "refused", error=f"the worker's answer was refused: {error}"
            )


def task(job: Job) -> dict[str, Any]:
    """Say what a worker is to do."""
    return {name: getattr(job, name) for name in ("lab", "part", "probe", "side", "seed", "device")}


def _believe_form(job: Job, message: Message) -> Observation:
    """Take the answer as what it is: words and arrays of an untrusted process."""
    body: dict[str, Any] = dict(message.body)
    if message.kind != "RESULT" or {name: type(value) for name, value in body.items()} != RESULT:
        raise WireError("it is no result")
    if body["ended"] not in ("ok", "raised") or not known_kind(body["kind"]):
        raise WireError("it is no result")
    return Observation(
        job.probe,
        body["ended"],
        body["values"],
        message.arrays,
        body["error"],
        body["kind"],
        body["imported"],
        import_seconds=body["import"],
    )


def known_kind(kind: object) -> TypeGuard[Kind]:
    """Whether a worker names a kind of end that there is; whether it is true, nobody knows."""
    return type(kind) is str and kind in KINDS


def _compiles(job: Job) -> bool:
    return any(
        b"torch.compile" in data
        for name, data in job.files.items()
        if not name.startswith("given/")
    )


def _request(job: Job, code: Path, work: Path) -> dict[str, Any]:
    """Tell the zygote where a worker finds its files and what it may use."""
    request = {
        "part": f"autograder.labs.{job.lab}.{job.part}",
        "limits": {"seconds": job.limits.seconds},
        "environ": _environ(str(work)),
        "staged": str(code),
        "work": str(work),
    }
    if code == box.CODE:
        # Counted inside the box; outside, the limit would count every process of the user who
        # grades.
        request["limits"] = {"seconds": job.limits.seconds, "processes": MAX_PROCESSES}
    return request


def _measured(observation: Observation, watched: Watched) -> Observation:
    end = watched.end or {}
    gauge = watched.gauge
    log = watched.log.decode("utf-8", "replace")
    left_behind = watched.left_behind or end.get("left_behind", 0)
    if left_behind:
        log += f"\n[perflab] {left_behind} process(es) were left behind and killed"
    computed = float(end.get("cpu_seconds", 0.0))
    of_it = f"; it computed for {computed:.1f} s of them" if observation.ended == "timeout" else ""
    return replace(
        observation,
        error=observation.error + of_it,
        log=log,
        seconds=time.monotonic() - watched.started,
        cpu_seconds=computed,
        peak_bytes=watched.peak_bytes,
        gpu_bytes=gauge.peak_bytes if gauge else None,
        gpu_unseen=gauge.unseen if gauge else "",
    )


def _environ(home: str) -> dict[str, str]:
    """All that a worker's environment holds."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        # Huge pages for what is allocated: a tenth less time.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": home,
        "USER": "student",
        "LOGNAME": "student",
        **{name: path for name, path in os.environ.items() if name == OWN_LABS and path},
        "GLOO_SOCKET_IFNAME": "lo",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Whoever asks whether there is a GPU does not start CUDA by asking.
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
