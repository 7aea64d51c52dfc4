"""The fence: what exercises use works in it, and where no box comes up it says so."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import pytest

from autograder.errors import UserError, WorkerLostError
from autograder.grading.session import fence_for
from autograder.machine import device
from autograder.sandbox import BoxError, Workers, box, gpu, seccomp, try_out
from tests.sandbox.boxes import ROOT, boxed, inside, job


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
        pytest.raises(WorkerLostError, match="the sandbox could not be entered: setns"),
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
            "no sandbox: bwrap: No permissions to create new namespace; the container forbids namespaces: "
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
            match=r"no sandbox: CUDA does not start in the sandbox: OSError: libcuda\.so\.1: .*gpu",
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
