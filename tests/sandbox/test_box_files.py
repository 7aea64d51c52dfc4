"""The fence, attacked from inside: what can be read and written."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from autograder.sandbox import box, stage
from tests.sandbox.boxes import ROOT, TRY, boxed, inside, job

HELPER = """
import time

def double(number):
    return 2 * number

def stay(began):
    began.set()
    time.sleep(60)
"""


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
        import multiprocessing, os, sys
        sys.path.insert(0, "/code")
        import helper
        context = multiprocessing.get_context({way!r})
        with context.Pool(1) as pool:
            said = pool.apply(helper.double, (4,))
        began = context.Event()
        context.Process(target=helper.stay, args=(began,)).start()
        began.wait()
        """
        code = textwrap.dedent(code) + "print('SAID', said, flush=True)\nos._exit(0)"
        seen = fenced(job(code, helper=HELPER))

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
