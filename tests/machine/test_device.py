"""Which machine grades, and in which tier its bars are looked up."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.machine import device


def tier(name, kind):
    return f"{kind} {name}"


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.delenv(device.VISIBLE, raising=False)
    monkeypatch.setattr(device, "gpu_names", lambda: ["NVIDIA A", "NVIDIA B"])
    monkeypatch.setattr(device, "_ask_gpus", lambda question: ["GPU-1a", "GPU-2b"])


CHOICES = {
    "auto": ("NVIDIA A", "cuda:0"),
    "cuda": ("NVIDIA A", "cuda:0"),
    "cuda:1": ("NVIDIA B", "cuda:1"),
}


@pytest.mark.parametrize("wanted", CHOICES)
def test_a_gpu_is_found_by_its_number(two_gpus, wanted):
    """auto takes the first."""
    found, worker_device = device.find(wanted, tier)

    assert CHOICES[wanted] == (found.name, worker_device)
    assert f"cuda {found.name}" == found.tier


# What CUDA_VISIBLE_DEVICES says -> what auto finds, and what the second GPU is.
GIVEN = {
    "0,1": (("NVIDIA A", "cuda:0"), ("NVIDIA B", "cuda:1")),
    "1,0": (("NVIDIA B", "cuda:1"), ("NVIDIA A", "cuda:0")),
    "1": (
        ("NVIDIA B", "cuda:1"),
        "--device cuda:1: this machine has 1 NVIDIA GPU(s); use auto, cpu or cuda:N",
    ),
    "": (
        (device.cpu_name(), "cpu"),
        "--device cuda:1: this machine has 0 NVIDIA GPU(s); use auto, cpu or cuda:N",
    ),
    "GPU-2b, GPU-1a": (("NVIDIA B", "cuda:1"), ("NVIDIA A", "cuda:0")),
    "MIG-3": (
        "CUDA_VISIBLE_DEVICES=MIG-3: 'MIG-3' is neither the number nor the UUID of a GPU here",
    )
    * 2,
    "2": ("CUDA_VISIBLE_DEVICES=2: '2' is neither the number nor the UUID of a GPU here",) * 2,
}


def found(wanted):
    try:
        record, worker_device = device.find(wanted, tier)
    except UserError as problem:
        return str(problem)
    return record.name, worker_device


@pytest.mark.parametrize("given", GIVEN)
def test_a_process_uses_the_gpus_that_it_was_given(two_gpus, monkeypatch, given):
    """A worker is told the driver's number, since its environment says nothing of others."""
    monkeypatch.setenv(device.VISIBLE, given)

    assert GIVEN[given] == (found("auto"), found("cuda:1"))


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
