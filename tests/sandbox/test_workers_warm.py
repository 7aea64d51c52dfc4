"""The warm process that workers are forked from: how it starts, is replaced, and is kept as it began."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from statistics import median

import pytest

from autograder.errors import WorkerLostError
from autograder.sandbox import Workers
from tests.sandbox.amp_job import job

pytestmark = pytest.mark.slow


def test_a_lost_zygote_is_replaced():
    """The warm process is started again, once, and the job is run."""
    with Workers(preload=["torch", "autograder.worker.shim"]) as own:
        own.warm()
        own._process.kill()
        own._process.wait()

        assert "raised" == own(job("1 / 0")).ended


def test_a_warm_process_that_is_late_is_not_asked(monkeypatch):
    """On a machine with no time to spare the next job would wait for it, and its own time would run out."""
    monkeypatch.setattr("autograder.sandbox.workers.START_SECONDS", 0.001)
    with Workers(preload=["torch"]) as own:
        with pytest.raises(WorkerLostError, match="the warm process did not start"):
            own(job("1 / 0"))

        assert own._process is None


def test_a_warm_process_that_takes_long_is_said_to_import_torch(monkeypatch, caplog):
    """A silent minute looks like a grader that hangs."""
    monkeypatch.setattr("autograder.sandbox.workers.QUIET_SECONDS", 0.001)
    with Workers(preload=["torch"]) as own, caplog.at_level(logging.INFO):
        own.warm()
        own.warm()

    assert ["torch is being imported, which takes long from a cold disk"] == caplog.messages


def test_a_worker_is_ready_at_once(workers):
    """Forked from the warm process: the median of nine starts takes 50 ms, or as long as Python takes to start five times."""
    times, bare = [], []
    for _ in range(9):
        workers(job("1 / 0"))
        times.append(workers.ready_seconds)
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-IS", "-c", ""], check=True)
        bare.append(time.perf_counter() - begun)

    assert median(times) <= max(0.050, 5 * median(bare))


def test_a_long_session_goes_on_as_it_began(monkeypatch):
    """Its warm process is gathered into huge pages; a worker's memory counts from there."""
    monkeypatch.setattr("autograder.sandbox.workers.LONG_SESSION", 2)
    with Workers() as workers:
        seen = [workers(job("held = bytearray(b'x' * (64 << 20))")) for _ in range(3)]

    assert len({one.ended for one in seen}) == 1
    assert all(64 << 20 < one.peak_bytes < 192 << 20 for one in seen)


def test_two_sides_that_are_timed_are_forked_from_the_same_process(workers, monkeypatch):
    """Between them nothing is prepared, however long the session was, and whoever compiles."""
    workers.warm()
    monkeypatch.setattr("autograder.sandbox.workers.LONG_SESSION", workers._ran + 1)
    monkeypatch.setattr(workers, "_ask", lambda **_: pytest.fail("prepared between two sides"))

    with (
        workers.worker(job("torch.compile")) as first,
        workers.worker(job("torch.compile")) as second,
    ):
        assert first is not second


def test_who_compiles_finds_the_compiler_there():
    """It is imported once, ahead of the first of them; whoever does not compile does not wait for it."""
    there = "import sys; print('torch._inductor.compile_fx' in sys.modules)"
    with Workers() as workers:
        seen = [
            workers(job(source)).log.split()
            for source in (there, f"{there}  # torch.compile", there)
        ]

    assert [["False"], ["True"], ["True"]] == seen
