"""What a device can do at most is measured with torch, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from autograder.course import calibrate
from autograder.model import Device
from autograder.traces import ceilings


def test_this_cpu_computes_and_copies():
    """Rates are of a product and a copy: positive, and no endless ones."""
    command = [sys.executable, "-m", "autograder.worker.measured_ceilings", "cpu"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert {"4", "2"} == set(said["rates"])
    assert all(1e8 < rate < 1e15 for rate in said["rates"].values())
    assert 1e8 < said["bandwidth"] < 1e13


class Said:
    """What the process prints."""

    stdout = '{"rates": {"4": 5e13, "2": 6e14}, "bandwidth": 2.5e12, "torch": "2.15.0"}'


def test_calibrate_keeps_the_ceilings_of_a_gpu_and_none_of_a_cpu(tmp_path, monkeypatch):
    table = tmp_path / "ceilings.csv"
    monkeypatch.setattr(ceilings, "TABLE", table)
    monkeypatch.setattr(ceilings.keep, "__defaults__", (table,))
    gpu, cpu = Device("H1", "cuda", "hopper"), Device("Xeon", "cpu", "cpu")
    wrote = calibrate.ceilings(gpu, "2027-01-20", run=lambda *_, **__: Said)
    left = calibrate.ceilings(cpu, "2027-01-20", run=lambda *_, **__: Said)
    kept = ceilings.read(table)

    assert "the ceilings of H1, for rooflines" in wrote
    assert left == "no ceilings for rooflines are measured: a profile does not name a CPU"
    assert [("H1", 4, 5e13), ("H1", 2, 6e14)] == [(it.device, it.bytes, it.rate) for it in kept]
    assert {"2027-01-20, torch 2.15.0"} == {it.measured for it in kept}
