"""The fence: a bubblewrap box, empty but for one sleeping process, that a worker of the warm
zygote enters.

The sleeper is `cat`: it echoes one line when the box is ready, and ends when the supervisor
does. Killing the box's first process kills everything in it. Start boxes from a thread that
outlives them: they die with that thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict

from autograder.errors import UserError
from autograder.machine import turns
from autograder.model import OWN_LABS
from autograder.sandbox import gpu, seccomp, tree, usage, view

CODE, HOME = Path("/code"), Path("/tmp/home")  # noqa: S108 inside the box
TMP_MB = 1024
SHM_MB = 512
IN_MEMORY = ("/tmp", "/dev/shm")  # noqa: S108 inside the box: all that can be written there
NOBODIES = range(60710, 61000)
"""Who workers are when the grader is root: numbers that Debian and systemd give to nobody."""
CLOSED = f"cannot be read by a user like {NOBODIES[-1]}, who runs submissions when root grades"
PACKAGE = Path(__file__).parents[1]
ETC = {"passwd": f"student:x:1000:1000::{HOME}:/bin/sh\n", "hosts": "127.0.0.1 localhost lab\n"}
OPTIONS = f"""
--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup --disable-userns
--die-with-parent --new-session --clearenv --cap-drop ALL --hostname lab --uid 1000 --gid 1000
--ro-bind /usr /usr --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives
--proc /proc --dev /dev --size {SHM_MB << 20} --tmpfs /dev/shm --size {TMP_MB << 20} --tmpfs /tmp --dir {HOME}
"""
READY = b"ready\n"
REST_SECONDS = 0.0005
APPARMOR = "AppArmor forbids user namespaces: add a profile for bwrap that allows userns"
# What bubblewrap says -> what to do about it.
ADVICE = {
    "setting up uid map: Permission denied": APPARMOR,
    "Failed RTM_NEWADDR": APPARMOR,
    "setpriv: set": (
        "root may not become another user here: "
        "allow SETUID and SETGID, or grade as an ordinary user"
    ),
    "No permissions to creat": ("the container forbids namespaces: run it with seccomp unconfined"),
    "Unknown option": "bubblewrap 0.8 or newer is needed",
    "Can't mount proc": "the container masks /proc: run it with procMount Unmasked",
}
OTHER_ADVICE = "run `bwrap --unshare-all --ro-bind / / true` and read what it says"


class BoxError(UserError):
    """The box does not come up: what was seen, and what to do about it."""

    def __init__(self, problem: str, mend: str) -> None:
        """Keep both."""
        super().__init__(f"{problem}; {mend}")
        self.problem = problem
        self.mend = mend


class Box:
    """One box around one folder of code, and its end."""

    def __init__(
        self,
        code: Path,
        lent: Sequence[Path] = (),
        *,
        timed: bool = False,
    ) -> None:
        """Start it, with the device nodes that are lent to it, and wait until it can be entered."""
        self._process = start(code, ["/usr/bin/cat"], lent, timed=timed)
        said = self._exchange()
        if said != READY:
            raise explained(said.decode("utf-8", "replace"))
        [self._first] = tree.children(self._process.pid)
        [self._sleeper] = tree.children(self._first)
        self.pidfd = os.pidfd_open(self._sleeper)
        self._at_rest: dict[str, int] = {}
        self._memory = [self._folder(path) for path in IN_MEMORY]

    def _exchange(self) -> bytes:
        """Wait for the echo; anything else is bubblewrap's complaint, and the end of it."""
        answer = b""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(READY)
        while answer != READY and (more := self._process.stdout.read(4096)):
            answer += more
        self._process.stdout.close()
        if answer != READY:
            self._process.stdin.close()
            self._process.wait()
        return answer

    def _folder(self, path: str) -> int:
        try:
            return os.open(f"/proc/{self._first}/root{path}", os.O_PATH)
        except OSError as error:
            raise BoxError(
                f"{path} of a sandbox cannot be seen: {error.strerror}", "allow SYS_PTRACE to root"
            ) from None

    def processes(self) -> list[int]:
        """Every process whose parent ended: it came back to the first of the box."""
        return [pid for pid in tree.below(self._first) if pid != self._sleeper]

    @property
    def own(self) -> list[int]:
        """The two processes that are the box's and nobody's work."""
        return [self._first, self._sleeper]

    def rest(self, cores: Collection[int]) -> None:
        """Stop both for as long as the box lives.

        What somebody writes into their memory does not run unseen.
        """
        for pid in self.own:
            os.sched_setaffinity(pid, cores)
        tree.signal_all(self.own, signal.SIGSTOP)
        while tree.moving(self.own):
            time.sleep(REST_SECONDS)
        self._at_rest = tree.turns(self.own)

    def stirred(self) -> bool:
        """Whether one of them was given a core since they were stopped."""
        return bool(self._at_rest) and tree.turns(self.own) != self._at_rest

    def held_bytes(self) -> int:
        """Memory of the box that need not be mapped by any process of it.

        Files in memory, and what sockets hold.
        """
        return usage.in_files(self._memory) + usage.in_sockets(self._first)

    def close(self) -> None:
        """End the first process.

        The kernel ends all others with it, and lets it go when they are gone.
        """
        for folder in self._memory:
            os.close(folder)
        tree.kill([self._first])
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        os.close(self.pidfd)


def start(
    code: Path,
    command: list[str],
    lent: Sequence[Path] = (),
    errors: int = subprocess.STDOUT,
    *,
    timed: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program of the system, or of ours, in a box of its own."""
    files = {f"/etc/{name}": _filled(text.encode()) for name, text in ETC.items()}
    rules = _filled(system_calls(gpu=bool(lent), timed=timed))
    args = _filled("\0".join(_options(code, files, rules, lent)).encode())
    descriptors = [*files.values(), rules, args]
    try:
        # An empty environment and no telling arguments: both can be read from inside, in /proc/1.
        return subprocess.Popen(
            [*become(), _bwrap(), "--args", str(args), "--", *command],
            env={},
            pass_fds=descriptors,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
    finally:
        for fd in descriptors:
            os.close(fd)


class User(TypedDict, total=False):
    """Arguments of Popen that say who the process is."""

    user: int
    group: int
    extra_groups: list[int]


def unprivileged() -> User:
    """Root becomes nobody, since files of /proc/sys are guarded by user and not by capability.

    Others stay.
    """
    # Not the same one in each lane: the kernel counts by user which descriptors are on their
    # way between processes, and a worker that uses all of them up would leave none to the
    # DataLoaders of others.
    if os.geteuid() != 0:
        return {}
    nobody = NOBODIES[turns.number(len(NOBODIES))]
    return {"user": nobody, "group": nobody, "extra_groups": []}


def become() -> list[str]:
    """Let a program of the system change the user.

    Where Popen does, it copies the tables of all our memory first.
    """
    user = unprivileged()
    if not user:
        return []
    if (problem := _view()) is None:
        return [
            "/usr/bin/setpriv",
            f"--reuid={user['user']}",
            f"--regid={user['group']}",
            "--clear-groups",
        ]
    mount = f"--mount=/proc/{os.getpid()}/fd/{problem}"
    return [
        "/usr/bin/nsenter",
        mount,
        f"--setuid={user['user']}",
        f"--setgid={user['group']}",
        "--",
    ]


@cache
def _view() -> int | None:
    """Return where that user can read what Python needs; None where it can as things are."""
    temporary = Path(tempfile.gettempdir())
    wanted = [temporary, *environment(), Path(sys.executable).resolve()]
    if own := next((path for path in wanted if not view.is_open(path)), None):
        mend = (
            "set TMPDIR to a folder that every user can use"
            if own == temporary
            else f"chmod -R go+rX {own}"
        )
        raise BoxError(f"{own} {CLOSED}", mend)
    # What can be imported beside the package can be there, too, as from a checkout that every
    # user can read.
    beside = [PACKAGE.parent] if view.is_open(PACKAGE.parent) else []
    try:
        return view.opened([*wanted, *beside], _bwrap())
    except OSError:
        problem = f"{next(filter(None, map(view.closed, wanted)))} {CLOSED}"
        raise BoxError(
            problem, "let root mount (CAP_SYS_ADMIN), or put perflab and its Python elsewhere"
        ) from None


def system_calls(*, gpu: bool = False, timed: bool = False) -> bytes:
    """Return the filter that everything in a box runs under."""
    try:
        return seccomp.program(gpu=gpu, timed=timed)
    except OSError as error:
        raise BoxError(str(error), "apt-get install libseccomp2") from None


@cache
def try_out(lent: tuple[Path, ...] = ()) -> str:
    """Bring one box up and down and return bubblewrap's version.

    `BoxError` says what is missing.
    """
    try:
        Box(PACKAGE, lent).close()
        if lent:
            _start_cuda(lent)
        return subprocess.run(
            [_bwrap(), "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except OSError as error:  # a container whose root may not become another user
        raise BoxError(f"bubblewrap does not start: {error}", OTHER_ADVICE) from None


def _start_cuda(lent: Sequence[Path]) -> None:
    process = start(PACKAGE, gpu.STARTS, lent)
    output, _ = process.communicate()
    if process.returncode:
        last = (
            output.decode("utf-8", "replace").strip() or f"error {process.returncode}"
        ).splitlines()[-1]
        raise BoxError(
            f"CUDA does not start in the sandbox: {last}", "docs/gpu.md says what it needs"
        )


def explained(words: str) -> BoxError:
    """Put bubblewrap's last line beside what is known to help."""
    last = words.strip().splitlines()[-1] if words.strip() else "bubblewrap ended without a word"
    advice = (mend for mark, mend in ADVICE.items() if mark in words)
    return BoxError(last, next(advice, OTHER_ADVICE))


def environment() -> list[Path]:
    """Return what Python needs outside of /usr: interpreter, libraries, this package.

    Nothing that lies beside them.
    """
    parts = ("bin", "include", "lib", "lib64", "pyvenv.cfg")
    wanted = {Path(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in parts}
    wanted |= {PACKAGE, *(Path(path) for path in sys.path if path.endswith("-packages"))}
    wanted |= {Path(own) for own in [os.environ.get(OWN_LABS)] if own}
    return sorted(path for path in wanted if path.exists() and not path.is_relative_to("/usr"))


def _bwrap() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise BoxError("bubblewrap is not installed", "apt-get install bubblewrap")
    return program


def _filled(data: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def _options(
    code: Path,
    files: dict[str, int],
    rules: int,
    lent: Sequence[Path],
) -> list[str]:
    """Return bubblewrap's options; later ones lie over earlier ones."""
    system = [name for name in map(Path, ("/lib", "/lib64", "/bin", "/sbin")) if name.is_symlink()]
    options: list[tuple[object, ...]] = [
        *(("--symlink", name.readlink(), name) for name in system),
        *(("--ro-bind-data", fd, path) for path, fd in files.items()),
        *(("--ro-bind", path, path) for path in environment()),
        ("--ro-bind", code, CODE),
        *gpu.options(lent),
        ("--seccomp", rules),
        ("--remount-ro", "/dev"),
        # In /proc the kernel's note of the most that a process held could be cleared. A GPU's
        # driver writes there.
        *(() if lent else [("--remount-ro", "/proc")]),
        ("--remount-ro", "/"),
    ]
    return OPTIONS.split() + [str(word) for option in options for word in option]
