"""The fence, attacked from inside: each test runs hostile code in a real box and says what it could not do."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from autograder.course.labs import load_lab
from autograder.errors import UserError, WorkerLostError
from autograder.grading.session import fence_for
from autograder.machine import device, landlock, turns
from autograder.model import Job, Limits
from autograder.sandbox import (
    BoxError,
    Workers,
    box,
    cgroup,
    gpu,
    seccomp,
    stage,
    try_out,
    usage,
    view,
)

PART = load_lab("resnet18").part("part3_amp")
PROBE = next(name for name, probe in PART.probes.items() if not probe.pair)
ROOT = Path(__file__).parents[2]
ORDINARY = 60997  # a user that nobody is


def why_not() -> str:
    try:
        try_out()
    except BoxError as problem:
        return f"no box here: {problem}"
    return ""


def may_have_a_group() -> bool:
    group = cgroup.limited_group(1 << 30)
    if group is not None:
        group.close()
    return group is not None


boxed = pytest.mark.skipif(bool(why_not()), reason=why_not())


def job(code: str, *, seconds: float = 20, memory_mb: int = 512, **files: str) -> Job:
    """A submission that does *code* when it is imported."""
    named = {
        PART.file: textwrap.dedent(code),
        **{f"{name}.py": text for name, text in files.items()},
    }
    staged = {name: text.encode() for name, text in named.items()}
    return Job("resnet18", PART.id, PROBE, "student", 1, Limits(seconds, memory_mb, 1), staged)


def inside(workers, code: str, **limits):
    """Run *code* in a box and return what it left in `said`; anything but a full run fails the test."""
    tail = "\nprint('SAID' + repr(said), flush=True)\nraise NotImplementedError"
    seen = workers(job(textwrap.dedent(code) + tail, **limits))
    assert "SAID" in seen.log, f"{seen.ended}: {seen.error}\n{seen.log}"
    return ast.literal_eval(seen.log.partition("SAID")[2].partition("\n")[0])


REFUSAL = """
def refusal(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
"""
TRY = "import ctypes, errno, os, pathlib, socket\n" + REFUSAL


@boxed
@pytest.mark.slow
class TestReading:
    """Nothing of the course, of others or of the supervisor can be read."""

    def test_files_of_the_host_are_not_there(self, fenced, tmp_path):
        """The reference, the tests, a folder of somebody else's, the system's secrets: the paths do not exist."""
        other = tmp_path / "part3_amp.py"
        other.write_text("a classmate's")
        with stage.staged({"part3_amp.py": b"another submission"}) as (code, _):
            ours = [ROOT / name for name in ("reference", "tests", ".git")]
            paths = [*ours, code, other, "/etc/shadow", Path.home() / ".profile", "/home"]
            said = inside(
                fenced, f"import os\nsaid = [os.path.lexists(p) for p in {[str(p) for p in paths]}]"
            )

        assert [False] * len(paths) == said

    def test_its_own_code_is_all_that_was_staged(self, fenced):
        """One folder with the listed files, at the same path for everyone."""
        assert [["part3_amp.py"], "/tmp/home", []] == inside(
            fenced, "import os\nsaid = [os.listdir('/code'), os.getcwd(), os.listdir()]"
        )

    @pytest.mark.parametrize("way", ["spawn", "forkserver"])
    def test_other_pythons_can_be_started_and_end_with_the_box(self, fenced, way):
        """What multiprocessing starts has the part's file; who is left behind is ended."""
        code = f"""
        import multiprocessing, os, sys, time
        sys.path.insert(0, "/code")
        import helper
        context = multiprocessing.get_context({way!r})
        with context.Pool(1) as pool:
            said = pool.apply(helper.double, (4,))
        context.Process(target=time.sleep, args=(60,)).start()
        """
        code = textwrap.dedent(code) + "print('SAID', said, flush=True)\nos._exit(0)"
        seen = fenced(job(code, helper="def double(number):\n    return 2 * number\n"))

        assert "SAID 8" in seen.log
        assert "process(es) were left behind and killed" in seen.log

    def test_the_supervisor_is_not_among_the_processes(self, fenced):
        """Only the box's own first process, its sleeper and the worker."""
        code = "import os\nsaid = [open(f'/proc/{p}/comm').read().strip() for p in os.listdir('/proc') if p.isdigit()]"

        assert ["bwrap", "cat", "python"] == sorted(name[:6] for name in inside(fenced, code))

    def test_no_process_inside_tells_about_the_outside(self, fenced, monkeypatch):
        """Arguments and environments hold no path, no name and no secret of ours."""
        monkeypatch.setenv("PERFLAB_SECRET", "hunter2")
        code = """
        import os, pathlib
        said = {}
        for p in filter(str.isdigit, os.listdir("/proc")):
            for name in ("environ", "cmdline"):
                try: said[p, name] = pathlib.Path("/proc", p, name).read_bytes()
                except OSError: pass
        """
        said = inside(fenced, code)

        assert b"" == b"".join(
            text for (_, name), text in said.items() if name == "environ" and b"PERFLAB" in text
        )
        assert b"" == said.get(("1", "environ"), b"")
        assert b"--args" in said["1", "cmdline"]
        assert str(ROOT).encode() not in b"".join(said[p, "cmdline"] for p in ("1", "2"))

    def test_descriptors_are_input_log_and_channel(self, fenced):
        """0 to 3, and the listing itself."""
        assert ["0", "1", "2", "3", "4"] == sorted(
            inside(fenced, "import os\nsaid = os.listdir('/proc/self/fd')")
        )


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


@boxed
@pytest.mark.slow
class TestWriting:
    """Nothing can be written but a private folder of bounded size."""

    def test_the_system_the_libraries_and_the_code_are_read_only(self, fenced):
        """One refusal for each place."""
        places = [
            "/",
            "/usr",
            "/etc",
            "/code",
            "/dev",
            str(box.PACKAGE),
            str(Path(sys.prefix, "lib")),
        ]
        code = f"{TRY}\nsaid = [refusal(pathlib.Path(place, 'mark').write_text, 'x') for place in {places}]"

        assert ["EROFS"] * len(places) == inside(fenced, code)

    def test_files_that_are_there_cannot_be_changed(self, fenced):
        """Not even its own: what was judged is what was handed in."""
        code = f"""
        {textwrap.indent(TRY, " " * 8).strip()}
        names = ["/code/part3_amp.py", {str(box.PACKAGE / "lab.py")!r}]
        said = [refusal(act, name) for name in names for act in (os.remove, lambda n: open(n, "a"), lambda n: os.chmod(n, 0o777))]
        """
        assert {"EROFS", "EACCES"} >= set(inside(fenced, code))

    @pytest.mark.parametrize(("place", "size_mb"), [("/tmp", box.TMP_MB), ("/dev/shm", box.SHM_MB)])
    def test_its_own_space_ends(self, fenced, place, size_mb):
        """Filled until the kernel says no, which is at the cap."""
        code = f"""
        {textwrap.indent(TRY, " " * 8).strip()}
        def fill():
            global full
            with open("{place}/fill", "wb", buffering=0) as file:
                while True: full += file.write(bytes(1 << 20))
        full = 0
        said = [refusal(fill), full >> 20]
        """
        why, full = inside(fenced, code, memory_mb=4096)

        assert "ENOSPC" == why
        assert size_mb - 8 <= full <= size_mb

    def test_settings_of_the_kernel_cannot_be_written(self, fenced):
        """core_pattern names a program that the host's root would run; nothing is changed by asking."""
        code = "import os\nsaid = [os.access(f'/proc/sys/{n}', os.W_OK) for n in ('kernel/core_pattern', 'vm/drop_caches')]"

        assert [False, False] == inside(fenced, code)
        assert "EACCES" == inside(
            fenced, f"{TRY}\nsaid = refusal(os.open, '/proc/sys/kernel/core_pattern', os.O_WRONLY)"
        )


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


HIDING = """
import ctypes, os, socket, subprocess, sys, threading, time
def program(text):
    held = subprocess.Popen([sys.executable, "-ISc", text + "\\nprint(1, flush=True); time.sleep(60)"], stdout=-1)
    held.stdout.readline()
"""
FULL = "import time; held = b'x' * (100 << 20)"
THREADED = f"""
import ctypes, threading, time
def hold():
    {FULL}
    print(1, flush=True)
    time.sleep(60)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60, 0)
"""
PLACES = {
    "a file": ("open('held', 'wb', buffering=0).write(bytes(100 << 20))", 100),
    "a file without a name": (
        "f = open('held', 'wb', buffering=0); os.unlink('held'); f.write(bytes(100 << 20))",
        100,
    ),
    "a file for shared memory": (
        "open('/dev/shm/held', 'wb', buffering=0).write(bytes(100 << 20))",
        100,
    ),
    "names of files": (
        "for i in range(22000): os.close(os.open(f'{i:0200}', os.O_CREAT | os.O_WRONLY))",
        20,
    ),
    "a program of its own": (f"program({FULL!r})", 100),
    "a program whose first thread has ended": (f"program({THREADED!r})", 100),
    "sockets": (
        """
        kept = [socket.socketpair() for _ in range(100)]
        for one in (end for pair in kept for end in pair):
            one.setblocking(False)
            try:
                while one.send(bytes(4096)): pass
            except BlockingIOError: pass
        """,
        20,
    ),
    "a connection": (
        """
        door = socket.create_server(("127.0.0.1", 0))
        kept = socket.create_connection(door.getsockname()), door.accept()
        kept[0].setblocking(False)
        try:
            while kept[0].send(bytes(4096)): pass
        except BlockingIOError: pass
        """,
        0.2,
    ),
    "pipes": (
        """
        kept = [os.pipe() for _ in range(150)]
        for _, end in kept: os.write(end, bytes(65536))
        """,
        9,
    ),
    "what was inherited": (
        """
        libc = ctypes.CDLL(None)
        for line in open("/proc/self/maps"):
            span, rights, _, _, _, *name = line.split()
            if name and "libtorch_c" in name[0] and rights in ("r--p", "rw-p"):
                start, end = (int(address, 16) for address in span.split("-"))
                if end - start > 1 << 20: libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 4)
        time.sleep(0.1)
        held = b"x" * (100 << 20)
        """,
        100,
    ),
}


@boxed
@pytest.mark.slow
class TestHolding:
    """Memory counts wherever it is held."""

    @pytest.mark.parametrize(("code", "mb"), PLACES.values(), ids=PLACES)
    def test_what_is_held_counts(self, fenced, code, mb):
        """It is still there when the worker has answered, and little else is."""
        held = f"{HIDING}{textwrap.dedent(code)}\nraise ValueError('held')"
        seen = fenced(job(held, memory_mb=2048))

        assert "ValueError: held" in seen.error
        assert mb * 2**20 <= seen.peak_bytes < (mb + 150) * 2**20

    def test_many_small_programs_meet_the_limit(self, fenced):
        """None of them holds much."""
        code = f"""
        import subprocess, sys, time
        held = [subprocess.Popen([sys.executable, "-ISc", {FULL + "; time.sleep(60)"!r}]) for _ in range(8)]
        time.sleep(20)
        """
        assert "memory" == fenced(job(code)).ended

    def test_the_kernels_note_of_the_most_cannot_be_cleared(self, fenced):
        """Nor can anything else in /proc be written."""
        names = ["clear_refs", "oom_score_adj", "comm"]
        code = f"{TRY}\nsaid = [refusal(pathlib.Path('/proc/self', name).write_text, '5') for name in {names}]"

        assert ["EROFS"] * 3 == inside(fenced, code)

    def test_no_buffer_can_be_made_larger(self, fenced):
        """Sockets and pipes are counted by their number."""
        code = f"""
        {textwrap.indent(TRY, " " * 8).strip()}
        import fcntl
        one, pipe = socket.socket(socket.AF_UNIX), os.pipe()
        sizes = [refusal(one.setsockopt, socket.SOL_SOCKET, n, 1 << 20) for n in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        said = [*sizes, refusal(fcntl.fcntl, pipe[0], 1031, 1 << 20)]
        """
        assert ["EPERM"] * 3 == inside(fenced, code)

    def test_a_program_cannot_pass_for_a_fork(self, fenced):
        """A process may not say where its code and its stack began."""
        code = (
            "import ctypes\nsaid = [ctypes.CDLL(None).prctl(35, 14, 0, 0, 0), ctypes.get_errno()]"
        )

        assert -1 == inside(fenced, code)[0]

    def test_loading_with_workers_stays_within_the_limit(self, fenced):
        """Each is a fork of a process that is larger than the limit; what they hand over lies in /dev/shm."""
        code = """
        import torch
        from torch.utils.data import DataLoader
        data = [(torch.ones(3, 64, 64), n) for n in range(256)]
        said = sum(int(labels.sum()) for _, labels in DataLoader(data, batch_size=16, num_workers=4))
        """
        assert sum(range(256)) == inside(fenced, code, memory_mb=512)


@boxed
@pytest.mark.slow
class TestEnding:
    """All that was started ends, however it ends."""

    def test_memory_is_bounded(self, fenced):
        """The bomb is seen from outside."""
        seen = fenced(job("hoard = []\nwhile True: hoard.append(bytearray(b'x' * (16 << 20)))"))

        assert ("memory", "used more than 512 MB of memory, the limit of this part") == (
            seen.ended,
            seen.error,
        )

    @pytest.mark.skipif(
        not may_have_a_group(), reason="this user can have no cgroup with a limit on memory"
    )
    def test_the_kernel_bounds_all_of_a_box_between_two_looks(self, fenced, monkeypatch):
        """Three processes take 300 MB each, and nobody looks; no group is left."""
        monkeypatch.setattr(usage.Usage, "look", lambda *_: 0)
        code = "import os, time\nfor _ in range(2): os.fork()\nheld = b'x' * (300 << 20)\ntime.sleep(20)"
        seen = fenced(job(code))

        assert ("memory", "used more than 512 MB of memory, the limit of this part") == (
            seen.ended,
            seen.error,
        )
        assert 10 > seen.seconds
        own = f"{cgroup.NAME}{os.getpid()}-*"
        assert [] == [group for parent, _ in cgroup.parents() for group in parent.glob(own)]

    def test_memory_of_an_orphan_is_counted(self, fenced):
        """It is no longer below the worker, but still in the box."""
        code = """
        import os, time
        if os.fork() == 0:
            if os.fork(): os._exit(0)
            os.setsid()
            hoard = []
            while True: hoard.append(bytearray(b'x' * (16 << 20)))
        os.wait()
        time.sleep(20)
        """
        assert "memory" == fenced(job(code)).ended

    def test_processes_are_bounded(self, fenced):
        """The kernel counts those of one box."""
        code = """
        import errno, os
        count, said = 0, ""
        while count < 400 and not said:
            try:
                os.posix_spawn("/usr/bin/sleep", ["sleep", "20"], {})
                count += 1
            except OSError as error:
                said = [errno.errorcode[error.errno], count]
        """
        why, count = inside(fenced, code)

        assert "EAGAIN" == why
        assert 240 <= count <= 256

    def test_a_daemon_ends_with_its_worker(self, fenced):
        """In a session of its own, deaf to every signal, its parent gone: the box's end is its end."""
        name = f"60.{time.time_ns()}"
        code = f"""
        import os, signal, time
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD): signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv("/usr/bin/sleep", ["sleep", "{name}"])
            os._exit(0)
        os.wait()
        raise ValueError("done")
        """
        seen = fenced(job(code))

        assert (
            "part3_amp.py could not be imported: ValueError: done (part3_amp.py, line 11)"
            == seen.error
        )
        assert "1 process(es) were left behind and killed" in seen.log
        assert [] == called(name)

    def test_a_loop_deaf_to_signals_is_stopped(self, fenced):
        """Time is kept outside."""
        code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"

        seen = fenced(job(code, seconds=1))
        assert ("timeout", True) == (
            seen.ended,
            seen.error.startswith("was stopped after 1 s, the limit of this part"),
        )

    @pytest.mark.parametrize(
        "victim", ["-1", "os.getppid()", "1", "2"], ids=["all", "its parent", "first", "sleeper"]
    )
    def test_killing_hurts_only_the_killer(self, fenced, victim):
        """The next worker comes up as if nothing had been."""
        seen = fenced(
            job(f"import os, time\nos.kill({victim}, 9)\ntime.sleep(1)\nraise ValueError('alive')")
        )

        assert seen.ended in ("crash", "raised")
        assert "raised" == fenced(job("1 / 0")).ended

    def test_the_supervisors_end_is_the_end_of_the_box(self):
        """Killed without a chance to tidy up, it leaves no process."""
        code = f"""
        import os, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from autograder.sandbox import box
        one = box.Box(Path({str(box.PACKAGE)!r}))
        print(one._process.pid, one._first, one._sleeper, flush=True)
        os.kill(os.getpid(), 9)
        """
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, check=False
        )
        pids = list(map(int, ended.stdout.split()))

        assert 3 == len(pids)
        assert gone(pids)


@boxed
@pytest.mark.slow
class TestWorking:
    """What exercises use, works."""

    def test_torch_computes_and_loads_with_processes(self, fenced):
        """Operators, two DataLoader workers, shared memory."""
        code = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        model = torch.nn.Linear(64, 8)
        loader = DataLoader(TensorDataset(torch.ones(16, 64)), batch_size=4, num_workers=2)
        model(next(iter(loader))[0]).sum().backward()
        said = [len(list(loader)), list(model.weight.grad.shape), float(torch.ones(3).share_memory_().sum())]
        """
        assert [4, [8, 64], 3.0] == inside(fenced, code, memory_mb=2048)

    def test_temporary_files_have_a_place(self, fenced):
        """Its own, whatever the warm process thought of."""
        code = (
            "import tempfile\nsaid = [tempfile.gettempdir(), tempfile.mkdtemp().rpartition('/')[0]]"
        )

        assert ["/tmp/home"] * 2 == inside(fenced, code)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_a_process_group_on_loopback(self, fenced, host):
        """gloo finds the box's own loopback, by number and by name."""
        code = f"""
        import torch, torch.distributed as dist
        dist.init_process_group("gloo", init_method="tcp://{host}:29511", rank=0, world_size=1)
        ones = torch.ones(2); dist.all_reduce(ones); said = ones.tolist(); dist.destroy_process_group()
        """
        assert [1.0, 1.0] == inside(fenced, code, memory_mb=2048)

    def test_a_compiler_can_be_called(self, fenced):
        """What torch.compile does on a processor: write C++, call the compiler, load the result."""
        code = """
        import ctypes, shutil, subprocess
        open("one.cpp", "w").write('extern "C" int one() { return 1; }')
        compiler = shutil.which("c++")
        if compiler: subprocess.run([compiler, "-shared", "-fPIC", "one.cpp", "-o", "one.so"], check=True)
        said = ctypes.CDLL("./one.so").one() if compiler else 1
        """
        assert 1 == inside(fenced, code, memory_mb=2048)

    def test_the_result_says_what_is_in_force(self):
        """And never more."""
        assert ["bubblewrap", "none"] == [Workers("bubblewrap").isolation, Workers().isolation]

    def test_the_fence_costs_little(self, fenced, workers):
        """At most 60 ms more a check, or three times what a box alone costs here: the median of 15, in turns."""
        fenced(job("1 / 0")), workers(job("1 / 0"))
        with_, without, alone = [], [], []
        for _ in range(15):
            with_.append(took(lambda: fenced(job("1 / 0"))))
            without.append(took(lambda: workers(job("1 / 0"))))
            alone.append(took(lambda: box.Box(box.PACKAGE).close()))
        more, bare = statistics.median(with_) - statistics.median(without), statistics.median(alone)

        assert more <= max(0.060, 3 * bare)


def took(act) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def fields(seen):
    return seen.ended, seen.error


def called(name: str) -> list[str]:
    """Processes of this machine, those in boxes included, that were started with this argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if name.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def gone(pids: list[int], seconds: float = 5) -> bool:
    """Wait until none of the processes is alive; a zombie that nobody has buried yet is dead."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@boxed
@pytest.mark.slow
def test_a_box_that_cannot_be_entered_is_our_fault(monkeypatch):
    """The student is not said to have crashed; grade() makes an owed error of it."""
    real = os.pidfd_open
    monkeypatch.setattr(
        os, "pidfd_open", lambda _: real(1)
    )  # whose namespaces are not ours to enter
    with (
        Workers("bubblewrap", preload=["autograder.worker.shim"]) as own,
        pytest.raises(WorkerLostError, match="the fence could not be entered: setns"),
    ):
        own(job("1 / 0"))


SAID = {
    "AppArmor": ("bwrap: setting up uid map: Permission denied", box.APPARMOR),
    "loopback": ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", box.APPARMOR),
    "a container": (
        "bwrap: No permissions to create new namespace, likely because ...",
        "the container forbids namespaces: run it with seccomp unconfined",
    ),
    "masked proc": (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        "the container masks /proc: run it with procMount Unmasked",
    ),
    "an old version": (
        "bwrap: Unknown option --disable-userns",
        "bubblewrap 0.8 or newer is needed",
    ),
    "a root that may not become another user": (
        "setpriv: setresuid failed: Operation not permitted",
        "root may not become another user here: allow SETUID and SETGID, or grade as an ordinary user",
    ),
    "anything else": ("bwrap: moon in the wrong phase", box.OTHER_ADVICE),
}


@pytest.mark.parametrize(("said", "advice"), SAID.values(), ids=SAID)
def test_what_bubblewrap_says_is_shown_with_what_helps(said, advice):
    """Each message that it is known for has its own advice."""
    assert (said, advice) == (box.explained(said).problem, box.explained(said).mend)


def test_silence_is_put_into_words():
    """A bubblewrap that was killed says nothing."""
    assert "bubblewrap ended without a word" == box.explained("").problem


def fails_to_start(tmp_path, monkeypatch, said):
    """A bubblewrap of our own that complains, as the one on a machine without namespaces does."""
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho '{said}'\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(box, "_bwrap", lambda: str(fake))
    monkeypatch.setattr(box, "unprivileged", dict)
    box.try_out.cache_clear()


def cannot_mount(*_):
    raise OSError


@pytest.fixture
def _forget():
    yield
    box.try_out.cache_clear()
    box._view.cache_clear()


@pytest.mark.usefixtures("_forget")
class TestNoBox:
    """Where none comes up, nothing is claimed and nothing falls through."""

    def test_a_missing_bubblewrap(self, monkeypatch):
        """One line with the cure."""
        box.try_out.cache_clear()
        monkeypatch.setattr(box.shutil, "which", lambda _: None)

        with pytest.raises(
            BoxError, match=r"^bubblewrap is not installed; apt-get install bubblewrap$"
        ):
            try_out()

    def test_a_root_that_may_not_become_another(self, monkeypatch):
        """As in a container that took the capability away."""

        def refused(*_):
            raise PermissionError("[Errno 1] Operation not permitted")

        box.try_out.cache_clear()
        monkeypatch.setattr(box, "Box", refused)

        with pytest.raises(
            BoxError,
            match=r"^bubblewrap does not start: \[Errno 1\] Operation not permitted; run `bwrap",
        ):
            try_out()

    def test_a_missing_libseccomp(self, monkeypatch):
        """One line with the cure."""

        def missing(**_):
            raise OSError("libseccomp.so.2: cannot open shared object file")

        monkeypatch.setattr(seccomp, "program", missing)
        with pytest.raises(
            BoxError, match=r"^libseccomp.so.2: cannot open .*; apt-get install libseccomp2$"
        ):
            box.system_calls()

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            pytest.param(
                {"is_open": lambda path: path != box.PACKAGE},
                f"{box.PACKAGE} {box.CLOSED}; chmod -R go+rX {box.PACKAGE}",
                id="the package is root's alone",
            ),
            pytest.param(
                {"is_open": lambda path: path != Path(tempfile.gettempdir())},
                f"{tempfile.gettempdir()} {box.CLOSED}; set TMPDIR to a folder that every user can use",
                id="the temporary folder is root's alone",
            ),
            pytest.param(
                {"opened": cannot_mount, "closed": lambda _: Path("/root")},
                f"/root {box.CLOSED}; let root mount (CAP_SYS_ADMIN), or put perflab and its Python elsewhere",
                id="all lies below a folder of root's, and root may not mount",
            ),
        ],
    )
    def test_what_only_root_can_read_is_named_with_the_cure(self, monkeypatch, change, said):
        """Whoever is no root never comes there."""
        for name, stand_in in change.items():
            monkeypatch.setattr(box.view, name, stand_in)
        monkeypatch.setattr(box, "unprivileged", lambda: {"user": 60999, "group": 60999})
        box.try_out.cache_clear()
        box._view.cache_clear()

        with pytest.raises(BoxError) as error:
            try_out()
        assert said == str(error.value)

    def test_grading_stops_and_practice_goes_on(self, tmp_path, monkeypatch):
        """Only who asks for the best there is gets none."""
        fails_to_start(tmp_path, monkeypatch, "bwrap: No permissions to create new namespace")

        assert ["none", "none"] == [fence_for("none", "cpu"), fence_for("best", "cpu")]
        with pytest.raises(UserError) as error:
            fence_for("bubblewrap", "cpu")
        assert (
            "no fence: bwrap: No permissions to create new namespace; the container forbids namespaces: "
            "run it with seccomp unconfined; --isolation none does without, for work that you trust"
        ) == str(error.value)

    @boxed
    @pytest.mark.skipif(bool(device.gpu_names()), reason="there is a GPU here")
    def test_a_box_in_which_cuda_does_not_start_is_none(self, monkeypatch):
        """Said before anything runs, rather than blamed on a student."""
        monkeypatch.setattr(gpu, "nodes", lambda _: (Path("/dev/null"),))

        assert "none" == fence_for("best", "cuda:0")
        with pytest.raises(
            UserError,
            match=r"no fence: CUDA does not start in the box: OSError: libcuda\.so\.1: .*gpu",
        ):
            fence_for("bubblewrap", "cuda:0")


@boxed
@pytest.mark.slow
def test_the_warm_process_leaves_no_list_of_fonts(monkeypatch):
    """The next one is another user, who could neither write it again nor trust it."""
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o777)
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        box._view.cache_clear()
        with Workers("bubblewrap", ["matplotlib.font_manager"]) as warm:
            warm.warm()
            left = list(Path(temporary).iterdir())
    box._view.cache_clear()

    assert [] == left


def test_the_box_holds_the_package_and_never_the_repository():
    """Whatever holds this package, the reference and the tests stay outside."""
    bound = box.environment()

    assert box.PACKAGE in bound
    assert [] == [path for path in bound if (ROOT / "reference").is_relative_to(path)]
    assert [] == [path for path in bound if path.is_relative_to("/usr")]


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
