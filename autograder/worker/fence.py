"""Enters a bubblewrap box and gives up everything there, before there is a worker that could keep some of it."""

from __future__ import annotations

import ctypes
import os
import signal

from autograder.machine import landlock

NEW_USER, NEW_NS, NEW_PID, NEW_NET, NEW_IPC, NEW_UTS, NEW_CGROUP = (
    0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000
)  # fmt: skip
EVERYTHING = NEW_USER | NEW_NS | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS | NEW_CGROUP
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522
libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def enter(pidfd: int, rules: bytes) -> None:
    """Join the namespaces of a process; what this process forks next is inside, without any privilege."""
    _do("setns", libc.setns(pidfd, EVERYTHING))
    # A change of user namespace takes back both of these.
    _do("pdeathsig", libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    _do("dumpable", libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
    capability = 0
    while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    _do(
        "capset",
        libc.capset(
            (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0),
            (ctypes.c_uint32 * 6)(),
        ),
    )
    _do("no new privileges", libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    landlock.enter(landlock.abi())
    program = _Program(len(rules) // 8, rules)
    _do(
        "seccomp",
        libc.prctl(
            PR_SET_SECCOMP,
            SECCOMP_MODE_FILTER,
            ctypes.byref(program),
            0,
            0,
        ),
    )


def _do(what: str, result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(
            number,
            f"the sandbox could not be entered: {what}: {os.strerror(number)}",
        )
