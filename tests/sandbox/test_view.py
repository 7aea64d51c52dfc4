"""What another user sees of a folder that only root may pass: what is wanted, and nothing beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from autograder.sandbox import BoxError, box, try_out, view

ROOT = Path(__file__).parents[2]
NOBODY = str(box.NOBODIES[-1])


def why_not() -> str:
    try:
        try_out()
    except BoxError as problem:
        return f"no box here: {problem}"
    return "" if os.geteuid() == 0 else "wants root, who can become somebody else"


as_root = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture
def shut(tmp_path):
    """A folder of root's own, with two files below it."""
    folder = tmp_path / "shut"
    for name in ("wanted", "beside"):
        (folder / "a" / name).mkdir(parents=True)
        (folder / "a" / name / "file").write_text(name)
    folder.chmod(0o700)
    return folder


def seen_by_nobody(paths, *command):
    """Run a command as a user of no privilege, where *paths* can be read."""
    descriptor = view.opened(paths, "bwrap")
    enter = [
        "nsenter",
        f"--mount=/proc/self/fd/{descriptor}",
        f"--setuid={NOBODY}",
        f"--setgid={NOBODY}",
        "--",
    ]
    try:
        return subprocess.run(
            [*enter, *command], pass_fds=[descriptor], capture_output=True, text=True, check=False
        )
    finally:
        os.close(descriptor)


@as_root
class TestOpened:
    """A mount namespace in which a closed folder is empty but for what is wanted."""

    def test_what_is_wanted_can_be_read_at_its_own_path(self, shut):
        """And nobody changed the folder for that."""
        assert (
            "wanted"
            == seen_by_nobody([shut / "a/wanted"], "cat", str(shut / "a/wanted/file")).stdout
        )
        assert 0o700 == shut.stat().st_mode & 0o777

    def test_nothing_beside_it_is_there(self, shut):
        """Neither by its name nor in a list."""
        assert "wanted\n" == seen_by_nobody([shut / "a/wanted"], "ls", str(shut / "a")).stdout

    def test_what_a_link_leads_to_can_be_read(self, shut, tmp_path):
        """By the link and by where it leads, whichever of the two is behind the closed folder."""
        inward, outward = Path(f"{tmp_path}-in"), shut / "out"
        inward.symlink_to(shut / "a/wanted")
        outward.symlink_to("/usr/lib")
        names = [
            str(path) for path in (inward / "file", shut / "a/wanted/file", outward / "os-release")
        ]

        assert 0 == seen_by_nobody([inward, outward], "head", "-c1", *names).returncode

    def test_where_every_user_can_read_nothing_is_done(self):
        """Nothing is to be opened, so nothing is slower."""
        assert view.opened([Path("/usr/bin"), Path("/usr/lib")], "no bwrap is asked") is None

    def test_a_root_that_may_not_mount_is_told(self, shut):
        """Whatever bubblewrap says."""
        with pytest.raises(OSError, match="bubblewrap could not make it"):
            view.opened([shut / "a"], "/usr/bin/false")


@pytest.mark.parametrize(
    ("mode", "is_open"),
    [(0o755, True), (0o711, False), (0o750, False), (0o700, False)],
    ids=["755", "711", "750", "700"],
)
def test_a_folder_is_open_when_every_user_can_list_and_pass_it(tmp_path, mode, is_open):
    """Python lists the folders that it imports from."""
    tmp_path.chmod(mode)
    found = view.is_open(tmp_path)
    tmp_path.chmod(0o700)

    assert is_open is found


ASKS = """
import json
from autograder.sandbox import Workers, evaluate
from tests.sandbox.boxes import inside
with Workers("bubblewrap", ["autograder.worker.shim"]) as workers:
    said = inside(workers, "import sys, os; said = [sys.executable, sys.base_prefix, os.__file__, os.listdir('/code')]")
print(json.dumps(said))
"""


@as_root
@pytest.mark.slow
def test_an_environment_below_a_closed_folder_has_the_same_fence(shut):
    """A copied interpreter, its libraries and the warm process included; tracebacks name the paths as they are."""
    home = shut / "venv"
    venv.create(home, symlinks=False)
    libraries = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (libraries / "ours.pth").write_text(
        "\n".join([str(ROOT), *(p for p in sys.path if p.endswith("-packages"))])
    )
    command = [str(home / "bin/python"), "-c", ASKS]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == ran.returncode, ran.stderr[-2000:]
    executable, base, _, code = json.loads(ran.stdout)
    assert [str(home / "bin/python"), sys.base_prefix, ["part3_amp.py"]] == [executable, base, code]
