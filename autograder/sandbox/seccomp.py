"""The system calls that a fenced worker is refused, as the bytes of a BPF program.

A second wall: namespaces and missing capabilities stop these calls already, this stops the
kernel code behind them. libseccomp writes the program; it comes with every system that has apt
or systemd.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache

# Nothing that torch, DataLoader, gloo or a compiler calls; without a GPU memfd_create is not
# needed either, and memory that no process maps could not be counted. Timed work keeps the core
# that it was given, and sets no timers: one of timer_create wakes a process that was stopped,
# and a hundred thousand keep the other side's core for 20 ms. For the same reason timed work
# has no sockets of the internet: TCP paces what it sends with timers of its own, which run on
# the core where they were set, whoever is stopped. gloo needs such sockets, and nobody times a
# group on a CPU.
REFUSED = """
acct add_key bpf chroot clock_adjtime clock_settime create_module delete_module fanotify_init fanotify_mark
finit_module fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl
kcmp kexec_file_load kexec_load keyctl lookup_dcookie memfd_create memfd_secret mount mount_setattr move_mount msgget
name_to_handle_at nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_madvise
process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot request_key sched_setaffinity semget setns
settimeofday shmat shmget stime swapoff swapon syslog timer_create timerfd_create umount umount2 unshare uselib
userfaultfd ustat vhangup
"""
WITH_A_GPU = {
    "memfd_create",
    "timer_create",
    "timerfd_create",
}  # may be its driver's; sides take turns there
ALLOW = 0x7FFF0000
ERRNO = 0x00050000
EQUAL = 4
GREATER = 6
MASKED = 7
NAMESPACES = (
    0x00020000,
    0x02000000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)  # CLONE_NEW*
UNIX = 1
INET = 2
INET6 = 10
NETLINK = 16
F_SETLEASE, F_NOTIFY = (
    1024,
    1026,
)  # a lease on a file of the grader's keeps whoever opens it next waiting
SOL_SOCKET = 1
SO_SNDBUF = 7
SO_RCVBUF = 8
F_SETPIPE_SZ = 1031
PR_SET_MM = 35
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # typing on somebody's terminal


class _Compare(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


@cache
def program(*, gpu: bool = False, timed: bool = False) -> bytes:
    """Return the filter for this machine's processor.

    With a GPU its driver may do more, timed work less.
    """
    library = _library()
    context = library.seccomp_init(ALLOW)
    try:
        for name, refusal, *compare in _rules(timed=timed):
            if gpu and name in WITH_A_GPU:
                continue
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == -1:  # older than this library: it has no such call to refuse
                continue
            rules = (_Compare * len(compare))(*compare)
            if (
                library.seccomp_rule_add_array(
                    context, ERRNO | refusal, number, len(compare), rules
                )
                < 0
            ):
                raise OSError(f"seccomp: no rule for {name}")
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _rules(*, timed: bool) -> list[tuple[str, int, *tuple[_Compare, ...]]]:
    allowed = (UNIX,) if timed else (UNIX, INET, INET6)
    families = [f for f in range(NETLINK) if f not in allowed]
    return [
        *((name, errno.EPERM) for name in REFUSED.split()),
        (
            "clone3",
            errno.ENOSYS,
        ),  # its flags lie behind a pointer; libc then takes clone, whose flags can be seen
        *(("clone", errno.EPERM, _Compare(0, MASKED, flag, flag)) for flag in NAMESPACES),
        *(("socket", errno.EAFNOSUPPORT, _Compare(0, EQUAL, family)) for family in families),
        (
            "socket",
            errno.EAFNOSUPPORT,
            _Compare(0, GREATER, NETLINK),
        ),  # AF_VSOCK would reach a virtual machine's host
        *(("ioctl", errno.EPERM, _int(1, call)) for call in (TIOCSTI, TIOCLINUX)),
        *(("fcntl", errno.EPERM, _int(1, call)) for call in (F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ)),
        # What sockets and pipes hold is counted by how many there are.
        *(
            ("setsockopt", errno.EPERM, _int(1, SOL_SOCKET), _int(2, name))
            for name in (SO_SNDBUF, SO_RCVBUF)
        ),
        (
            "prctl",
            errno.EPERM,
            _int(0, PR_SET_MM),
        ),  # whoever is no fork of the warm process could pass for one
    ]


def _int(argument: int, value: int) -> _Compare:
    return _Compare(argument, MASKED, 0xFFFFFFFF, value)


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Compare)
    ]  # fmt: skip
    return library


def _exported(library: ctypes.CDLL, context: int) -> bytes:
    fd = os.memfd_create("seccomp")
    try:
        if library.seccomp_export_bpf(context, fd) < 0:
            raise OSError("seccomp: the filter could not be written")
        return os.pread(fd, 1 << 16, 0)
    finally:
        os.close(fd)
