"""What is missing is named with how to mend it."""

from __future__ import annotations

import subprocess

import pytest

from autograder import doctor

SAID = {
    "AppArmor": ("bwrap: setting up uid map: Permission denied", doctor.APPARMOR),
    "loopback": ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", doctor.APPARMOR),
    "a container": (
        "bwrap: No permissions to create new namespace, likely because ...",
        "the container forbids namespaces: run it with seccomp unconfined",
    ),
    "masked proc": (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        "the container masks /proc: run it with procMount Unmasked",
    ),
    "anything else": ("bwrap: moon in the wrong phase", "run `bwrap --ro-bind / / true` and read what it says"),
    "silence": ("", "run `bwrap --ro-bind / / true` and read what it says"),
}


@pytest.mark.parametrize(("said", "advice"), SAID.values(), ids=SAID)
def test_a_fence_that_does_not_come_up_is_explained(monkeypatch, said, advice):
    """Each message that bubblewrap is known for has its own advice."""
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "/usr/bin/bwrap")
    monkeypatch.setattr(doctor.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1, "", said))

    assert (False, advice) == (doctor._bubblewrap().ok, doctor._bubblewrap().mend)


def test_a_missing_package_says_how_to_get_it():
    """pip install."""
    found = doctor._package("no-such-package-at-all", "everything")()

    assert (False, "pip install no-such-package-at-all") == (found.ok, found.mend)


def test_every_finding_that_is_not_ok_says_how_to_mend_it():
    """On this machine, whatever it is."""
    assert [f.name for f in doctor.examine() if not f.ok and not f.mend] == []
