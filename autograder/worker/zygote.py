"""The warm process: imports torch once and forks a fresh worker per request.

Requests arrive on a SEQPACKET socket as JSON with three descriptors: the channel, the output pipe and the status pipe;
and a fourth, a pidfd, where there is a box to enter. Each request forks a keeper, which enters the box, imports the
part, forks the worker, waits for it, kills what it left, and writes to the status pipe: a line {"pid"} when the worker
starts and a line {"status", "cpu_seconds", "left_behind"} when all of it is gone; or one line {"fault"}. The requests
{"gather"}, huge pages from now on, and {"import"}, one more module, are for the process itself, which then reports its
size again.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from autograder.worker import fence, huge_pages

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
libc = ctypes.CDLL(None, use_errno=True)


def main(descriptor: int, preload: list[str]) -> None:
    """Import what is to be warm, say so, and serve until the supervisor hangs up."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    control = socket.socket(fileno=descriptor)
    for name in preload:
        importlib.import_module(name)
    _one_thread()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # finished keepers are reaped by the kernel
    _report(control)
    while True:
        try:
            received, descriptors, _, _ = socket.recv_fds(control, 65536, 4)
        except (
            KeyboardInterrupt
        ):  # a terminal or a notebook interrupts the whole group; the supervisor speaks
            return
        if not received:
            return
        request = json.loads(received)
        if "gather" in request or "import" in request:
            _prepare(request)
            _report(control)
        elif os.fork() == 0:
            _keep(request, *descriptors)
        for fd in descriptors:
            os.close(fd)


def _prepare(request: dict[str, Any]) -> None:
    if "import" in request:
        importlib.import_module(request["import"])
    else:
        huge_pages.gather()


def _report(control: socket.socket) -> None:
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    control.send(json.dumps({"threads": threads, "rss_bytes": _anonymous_bytes()}).encode())


def _one_thread() -> None:
    # Two OpenMP threads before a fork hang the first parallel operation after it.
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def _keep(
    request: dict[str, Any],
    channel: int,
    output: int,
    status: int,
    *box: int,
) -> NoReturn:
    """Be the parent of one worker and, where no box has a first process for that, of every orphan it makes."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.setsid()
    # When the machine runs out of memory, the kernel takes the worker first and never the supervisor.
    Path("/proc/self/oom_score_adj").write_text("1000")
    if request["cores"]:
        os.sched_setaffinity(0, request["cores"])
    try:
        for pidfd in box:
            fence.enter(pidfd, bytes.fromhex(request["seccomp"]))
        importlib.import_module(request["part"])
    except OSError as error:
        _tell(status, {"fault": str(error)})
        os._exit(1)
    except Exception as error:  # before any of the student's code is there, so no fault of theirs
        said = f"{type(error).__name__}: {error}; workers import perflab from {Path(__file__).parents[1]}"
        _tell(status, {"fault": said})
        os._exit(1)
    pid = os.fork()
    if pid == 0:
        _become_worker(request, channel, output)
    os.close(channel)
    os.close(output)
    _tell(status, {"pid": os.getpid()})
    code, cpu_seconds, left = _bury(pid)
    _tell(
        status,
        {"status": code, "cpu_seconds": cpu_seconds, "left_behind": left},
    )
    os._exit(0)


def _bury(worker: int) -> tuple[int, float, int]:
    """Wait for the worker, then kill and wait for whatever else is below us."""
    code, cpu_seconds, left, alone = 0, 0.0, 0, False
    while True:
        if alone:
            left = max(left, _kill_children())
        try:
            pid, status, used = os.wait4(-1, 0)
        except ChildProcessError:
            return code, cpu_seconds, left
        cpu_seconds += used.ru_utime + used.ru_stime
        if pid == worker:
            code, alone = os.waitstatus_to_exitcode(status), True


def _kill_children() -> int:
    try:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except FileNotFoundError:  # in a box, whose /proc does not show us; the box ends them
        return 0
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)
    return len(children)


def _tell(status: int, words: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone, and all of this is ending
        os.write(status, json.dumps(words).encode() + b"\n")


def _become_worker(request: dict[str, Any], channel: int, output: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _rearrange(channel, output)
        _limit(request["limits"])
        os.environ.clear()
        os.environ.update(request["environ"])
        os.chdir(request["work"])
        tempfile.tempdir = None  # the warm process found its own
        from autograder.worker import shim

        shim.serve(3, Path(request["staged"]))
        code = 0
    finally:
        os._exit(code)


def _rearrange(channel: int, output: int) -> None:
    """0: nothing, 1 and 2: the log, 3: the channel; every other descriptor is closed."""
    spare = os.dup2(channel, 60)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(spare, 3, inheritable=False)
    os.closerange(4, 1024)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _limit(limits: dict[str, Any]) -> None:
    seconds = int(limits["seconds"]) + 1
    cores = os.cpu_count() or 1
    gib = 1 << 30
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Fewer than the grader may have: it could not send any where workers have as many on their way to nobody.
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * gib, 2 * gib))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds * cores, seconds * cores + 5))
    if "processes" in limits:
        resource.setrlimit(
            resource.RLIMIT_NPROC,
            (limits["processes"], limits["processes"]),
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
