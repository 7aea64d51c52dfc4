"""The fence, attacked from inside: memory counts wherever it is held."""

from __future__ import annotations

import textwrap

import pytest

from tests.sandbox.boxes import TRY, boxed, inside, job

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
