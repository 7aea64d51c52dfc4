"""The fence, attacked from inside: the network, system calls and privileges."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from autograder.machine import landlock, turns
from autograder.sandbox import box, view
from tests.sandbox.boxes import ROOT, TRY, boxed, inside

ORDINARY = 60997  # a user that nobody is


@boxed
@pytest.mark.slow
class TestReaching:
    """No network but an empty loopback."""

    def test_a_server_of_the_supervisor_cannot_be_reached(self, fenced):
        """The box's loopback is not ours."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            code = f"{TRY}\nsaid = refusal(socket.create_connection, {address}, 2)"

            assert "ECONNREFUSED" == inside(fenced, code)

    def test_there_is_no_other_interface(self, fenced):
        """And so no way out."""
        code = f"{TRY}\nsaid = [socket.if_nameindex(), refusal(socket.create_connection, ('192.0.2.1', 80), 2)]"

        assert [[(1, "lo")], "ENETUNREACH"] == inside(fenced, code)

    def test_abstract_sockets_of_the_host_are_not_there(self, fenced):
        """They have no path that a mount could hide."""
        name = f"\0perflab-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()

            assert "ECONNREFUSED" == inside(
                fenced, f"{TRY}\nsaid = refusal(socket.socket(socket.AF_UNIX).connect, {name!r})"
            )

    @pytest.mark.parametrize("family", [3, 17, 38, 40], ids=["AX25", "PACKET", "ALG", "VSOCK"])
    def test_other_families_are_refused(self, fenced, family):
        """A virtual machine's host answers on VSOCK, whatever the network namespace."""
        assert "EAFNOSUPPORT" == inside(fenced, f"{TRY}\nsaid = refusal(socket.socket, {family})")


CLONE = 56 if platform.machine() == "x86_64" else 220
CALLS = {
    "a namespace": ("unshare", "0x10000000"),
    "another's memory": ("ptrace", "16, 1, 0, 0"),
    "a mount": ("mount", "b'none', b'/tmp/home', b'tmpfs', 0, None"),
    "a root of its own": ("chroot", "b'/tmp'"),
    "somebody's namespace": ("setns", "0, 0"),
    "the kernel's log": ("klogctl", "3, None, 0"),
    "a file that nobody can count": ("memfd_create", "b'x', 0"),
    "memory that nobody maps": ("shmget", "0, 4096, 0o1600"),
    "a timer that wakes who was stopped": (
        "timer_create",
        "1, None, ctypes.byref(ctypes.c_void_p())",
    ),
    "timers by the thousand": ("timerfd_create", "1, 0"),
    "a child in a namespace": ("syscall", f"{CLONE}, 0x10000000 | 17, 0, 0, 0, 0"),
}


@boxed
@pytest.mark.slow
class TestPrivilege:
    """No process in the box has any, and none can be had."""

    def test_nothing_inside_has_a_privilege(self, fenced):
        """Not the worker, not the processes of the box, which it could otherwise take over."""
        code = """
        import pathlib
        said = []
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            lines = dict(line.split(":\\t") for line in status.read_text().splitlines())
            said.append([lines[n] for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups")])
        """
        said = inside(fenced, code)

        assert 3 == len(said)
        for capabilities in (status[:5] for status in said):
            assert ["0" * 16] * 5 == capabilities
        assert [["1", "2"]] * 3 == [status[5:7] for status in said]
        if os.geteuid() == 0:
            assert [""] * 3 == [status[7].strip() for status in said]

    @pytest.mark.parametrize(("call", "arguments"), CALLS.values(), ids=CALLS)
    def test_calls_that_no_exercise_needs_are_refused(self, fenced, call, arguments):
        """Operation not permitted, from the filter."""
        code = f"""
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        said = [libc.{call}({arguments}), errno.errorcode[ctypes.get_errno()]]
        """
        assert [-1, "EPERM"] == inside(fenced, code)

    @pytest.mark.skipif(landlock.abi() < landlock.WITH_REFER, reason="this kernel has no Landlock")
    def test_the_memory_of_the_boxs_own_processes_is_closed(self, fenced):
        """They have the worker's user; its own memory and that of its children open."""
        code = """
        import os, time
        if (child := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        def opened(pid):
            try:
                open(f"/proc/{pid}/mem", "rb").close()
                return True
            except PermissionError:
                return False
        said = [opened(pid) for pid in (1, 2, "self", child)]
        os.kill(child, 9)
        """
        assert [False, False, True, True] == inside(fenced, code)

    @pytest.mark.skipif(
        landlock.abi() < landlock.WITH_SCOPES, reason="this kernel's Landlock lets signals pass"
    )
    def test_no_signal_reaches_the_boxs_own_processes(self, fenced):
        """Neither stopped nor made to go on; a child of its own is."""
        code = f"""{TRY}
import signal, time
if (child := os.fork()) == 0:
    time.sleep(60)
    os._exit(0)
said = [refusal(os.kill, pid, number) for pid in (1, 2, child) for number in (19, 18, 9)]
"""
        assert ["EPERM"] * 6 + ["done"] * 3 == inside(fenced, code)

    @pytest.mark.parametrize("version", range(landlock.abi() + 1))
    def test_files_can_be_moved_between_folders_whatever_the_kernel_has(self, version, tmp_path):
        """As compilers and tempfile do: a domain that says nothing of it would forbid it."""
        before, after = tmp_path / "a", tmp_path / "b"
        before.mkdir()
        after.mkdir()
        (before / "file").touch()
        if (child := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges
                landlock.enter(version)
                (before / "file").rename(after / "file")
            os._exit(0)
        os.waitpid(child, 0)

        assert (after / "file").exists()

    @pytest.mark.parametrize("lease", [1024, 1026], ids=["a lease", "a notice"])
    def test_nobody_is_kept_waiting_for_a_file(self, fenced, lease):
        """A lease on a file of the user who grades would hold whoever opens it next; the upper half of a word is no way."""
        code = f"""
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.open(b"/code/part3_amp.py", 0)
        said = []
        for command in ({lease}, {lease} + (1 << 32)):
            said.append([libc.syscall(72, fd, ctypes.c_long(command), ctypes.c_long(0)), errno.errorcode[ctypes.get_errno()]])
        said = said if platform == "x86_64" else [[-1, "EPERM"]] * 2
        """
        code = f"platform = {platform.machine()!r}\n{textwrap.dedent(code)}"
        assert [[-1, "EPERM"]] * 2 == inside(fenced, code)

    def test_clone3_is_not_known(self, fenced):
        """Its flags cannot be seen, so libc has to take the call whose flags can."""
        code = "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\nsaid = [libc.syscall(435, 0, 0), errno.errorcode[ctypes.get_errno()]]"

        assert [-1, "ENOSYS"] == inside(fenced, code)

    @pytest.mark.skipif(os.geteuid() != 0, reason="not root, so workers are who we are")
    def test_root_is_nobody_in_the_box(self):
        """Seen from outside: files of root, those in /proc/sys among them, are not a worker's."""
        one = box.Box(box.PACKAGE)
        owners = [Path(f"/proc/{pid}").stat().st_uid for pid in (one._first, one._sleeper)]
        one.close()

        assert [box.unprivileged()["user"]] * 2 == owners

    def test_lanes_have_users_of_their_own(self, monkeypatch, tmp_path):
        """What the kernel counts by user, such as descriptors on their way, a worker can use up for its own lane only."""
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(turns, "PLACES", (tmp_path,))
        found = set()
        for pid in range(4000, 4000 + 16 * 290, 290):
            monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
            found.add(box.unprivileged()["user"])

        assert 16 == len(found)
        assert found <= set(box.NOBODIES)


@boxed
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="wants root, who can become somebody else")
@pytest.mark.skipif(
    bool(view.closed(ROOT) or view.closed(Path(sys.base_prefix))),
    reason="this checkout or its Python lies where an ordinary user cannot read it",
)
def test_an_ordinary_user_has_the_same_fence(tmp_path):
    """Nothing about a box needs root: the same attack on privileges, started by a user without any."""
    home = Path(tempfile.mkdtemp(prefix="perflab-user-"))
    os.chown(home, ORDINARY, ORDINARY)
    attack = f"{__file__}::{TestPrivilege.__name__}::{TestPrivilege.test_nothing_inside_has_a_privilege.__name__}"
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        attack,
        "-p",
        "no:cacheprovider",
        f"--basetemp={home}/pytest",
    ]
    try:
        ran = subprocess.run(
            command,
            cwd=ROOT,
            user=ORDINARY,
            group=ORDINARY,
            extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        shutil.rmtree(home)

    assert "1 passed" in ran.stdout, ran.stdout[-2000:]
