"""What is missing is named with how to mend it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.cli import doctor
from autograder.sandbox import BoxError


def test_a_fence_that_does_not_come_up_is_explained(monkeypatch):
    """What was seen, and what mends it."""

    def no_box(*_):
        raise BoxError("bubblewrap is not installed", "apt-get install bubblewrap")

    monkeypatch.setattr(doctor, "try_out", no_box)
    found = doctor._fence()

    assert (False, "bubblewrap is not installed", "apt-get install bubblewrap") == (
        found.ok,
        found.state,
        found.mend,
    )


def test_a_missing_package_says_how_to_get_it():
    """pip install."""
    found = doctor._package("no-such-package-at-all", "everything")()

    assert (False, "pip install no-such-package-at-all") == (found.ok, found.mend)


def test_every_finding_that_is_not_ok_says_how_to_mend_it():
    """On this machine, whatever it is."""
    assert [f.name for f in doctor.examine() if not f.ok and not f.mend] == []


@pytest.mark.parametrize(("load", "ok"), [(1.1, True), (2.3, False)])
def test_a_busy_machine_is_told_before_the_clock_refuses_it(monkeypatch, load, ok):
    """With one of two cores taken the clock still decides."""
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 2)

    assert (doctor._quiet().ok, doctor._quiet().state) == (ok, f"load {load} on 2 cores")


@pytest.mark.parametrize(("free", "ok"), [(5.1e9, True), (0.3e9, False)])
def test_a_disk_that_is_nearly_full_is_told_before_a_class_fills_it(monkeypatch, free, ok):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    found = doctor._room()

    assert (ok, ok) == (found.ok, not found.mend)
    assert f"{free / 1e9:.1f} GB here, " in found.state
