"""Which machine grades, and in which tier its bars are looked up."""

from __future__ import annotations

import pytest

from autograder import device
from autograder.errors import UserError


def tier(name, kind):
    return f"{kind} {name}"


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(device, "gpu_names", lambda: ["NVIDIA A", "NVIDIA B"])


CHOICES = {"auto": ("NVIDIA A", "cuda:0"), "cuda": ("NVIDIA A", "cuda:0"), "cuda:1": ("NVIDIA B", "cuda:1")}


@pytest.mark.parametrize("wanted", CHOICES)
def test_a_gpu_is_found_by_its_number(two_gpus, wanted):
    """auto takes the first."""
    found, worker_device = device.find(wanted, tier)

    assert CHOICES[wanted] == (found.name, worker_device)
    assert f"cuda {found.name}" == found.tier


def test_without_a_gpu_the_processor_grades(monkeypatch):
    """And its name is recorded, with the versions that a verdict may depend on."""
    monkeypatch.setattr(device, "gpu_names", list)
    found, worker_device = device.find("auto", tier)

    assert ("cpu", "cpu") == (found.kind, worker_device)
    assert {"python", "perflab", "torch", "torchvision", "numpy"} == set(found.versions)


MISTAKES = {
    "tpu": "--device tpu: not a device; use auto, cpu or cuda:N",
    "cuda:x": "--device cuda:x: not a device; use auto, cpu or cuda:N",
    "cuda:2": "--device cuda:2: this machine has 2 NVIDIA GPU(s); use auto, cpu or cuda:N",
}


@pytest.mark.parametrize("wanted", MISTAKES)
def test_a_device_that_is_not_there_is_said(two_gpus, wanted):
    """One line, with what may be asked for."""
    with pytest.raises(UserError) as caught:
        device.find(wanted, tier)

    assert MISTAKES[wanted] == str(caught.value)


def test_a_package_that_is_not_there_is_recorded_as_such(monkeypatch):
    """Versions never fail a grading run."""

    def missing(name):
        raise device.importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(device.importlib.metadata, "version", missing)

    assert "not installed" == device.versions()["torch"]
