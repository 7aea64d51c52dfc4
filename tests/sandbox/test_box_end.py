"""The fence, attacked from inside: memory, processes and time are bounded, and all ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from autograder.sandbox import box, cgroup, usage
from tests.sandbox.boxes import ROOT, boxed, inside, job


def may_have_a_group() -> bool:
    group = cgroup.limited_group(1 << 30)
    if group is not None:
        group.close()
    return group is not None


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
