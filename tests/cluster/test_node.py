"""A worker on a node: a process of its own grades for it, on the GPU that is its own."""

from __future__ import annotations

import os
import sys

import pytest

from autograder.cluster import node

# Answers with its process and its GPU, unless a job tells it to end, or to be silent.
GRADER = """
import json, os, signal, sys, time
for line in sys.stdin:
    match line.strip():
        case "deadly": os.kill(os.getpid(), signal.SIGKILL)
        case "fault": sys.exit(3)
        case "silent": time.sleep(60)
        case job: print(json.dumps({"result": job, "pid": os.getpid(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}), flush=True)
"""


@pytest.fixture
def waits():
    """Seconds that a worker waited, which nobody waits here."""
    return []


@pytest.fixture(autouse=True)
def worker(monkeypatch, waits):
    """Be the second worker of a node."""
    monkeypatch.setattr(node, "COMMAND", [sys.executable, "-c", GRADER])
    monkeypatch.setattr(node, "_grader", None)
    monkeypatch.setattr(node.time, "sleep", waits.append)
    monkeypatch.setenv(node.RANK, "1")
    monkeypatch.setenv(node.VISIBLE, "4,5")
    yield
    if node._grader is not None:
        node._end(node._grader)


def test_one_process_grades_one_job_after_the_other():
    """It stays warm, and has the GPU of its worker."""
    first, second = node.grade("a.json", 2, 60.0), node.grade("b.json", 2, 60.0)

    assert ("a.json", "b.json", "5") == (first["result"], second["result"], second["gpu"])
    assert first["pid"] == second["pid"] != os.getpid()


def test_a_loss_is_told_only_by_a_worker_that_was_not_killed_as_well(waits):
    """A pilot that is killed may lose the grader first; that must not count against the submission."""
    node.grade("a.json", 2, 60.0)
    assert [] == waits

    node.grade("deadly", 2, 60.0)
    assert [node.GRACE_SECONDS] == waits


LOST = {
    "deadly": "its grader was killed by SIGKILL",
    "fault": "its grader ended with 3",
    "silent": "its grader was killed by SIGKILL",
}


@pytest.mark.parametrize("job", LOST)
def test_what_takes_its_grader_down_is_lost_and_the_next_one_is_graded(job):
    """So is what is not answered in time."""
    seconds = 0.2 if job == "silent" else 60.0

    assert {"lost": LOST[job]} == node.grade(job, 2, seconds)
    assert "b.json" == node.grade("b.json", 2, 60.0)["result"]


# GPUs that the site file says, what the job was given -> what the second worker gets.
PINNED = {
    "what Slurm gave": (2, "4,5", "5"),
    "the first ones of a node that gives none": (2, None, "1"),
    "all, if the site file names workers only": (0, "4,5", "4,5"),
    "too few": (
        2,
        "4",
        "CUDA_VISIBLE_DEVICES is '4', but the site file says gpus: 2; let its options ask for as many",
    ),
    "none": (
        2,
        "",
        "CUDA_VISIBLE_DEVICES is '', but the site file says gpus: 2; let its options ask for as many",
    ),
}


@pytest.mark.parametrize(("gpus", "given", "expected"), PINNED.values(), ids=PINNED)
def test_each_worker_has_a_gpu_of_its_own(gpus, given, expected):
    """Counted among those that its job was given, whatever their numbers."""
    environ = {node.RANK: "1", **({} if given is None else {node.VISIBLE: given})}
    try:
        found = node.pinned(environ, gpus).get(node.VISIBLE)
    except ValueError as problem:
        found = str(problem)

    assert expected == found


def test_a_node_with_too_few_gpus_stops_the_class(monkeypatch):
    """It is named; nothing is started there."""
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv(node.VISIBLE, "4")
    said = node.grade("a.json", 2, 60.0)

    assert said["stop"].startswith("node n7: CUDA_VISIBLE_DEVICES is '4', but")
    assert node._grader is None
