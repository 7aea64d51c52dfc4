"""A class graded by Parsl on one machine: the same grades; whatever is killed, it goes on or says how to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.cluster.classes import command, hand_in, named, start, until, verdicts

pytest.importorskip("parsl", reason="parsl is an extra: pip install 'perflab[cluster]'")

SITE = """\
provider: LocalProvider
workers: 2
options: {max_blocks: 1}
executor: {address: 127.0.0.1, heartbeat_period: 1, heartbeat_threshold: 5}
"""
MARK = "PERFLAB_TEST"


def answered(outcome):
    """What a lane is told of a job that ended so."""
    from autograder.cluster import engine

    future = Future()
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return engine.answer(lambda job: future, "job.json")


def test_what_parsl_loses_is_nobodys_doing_and_what_it_refuses_stops_the_class():
    """In one line each, whatever Parsl says."""
    from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost

    assert {"result": "x"} == answered({"result": "x"})
    assert {"cut off": "the node that graded it on n1 was lost"} == answered(
        ManagerLost(b"0", "n1")
    )
    assert {"cut off": "the worker that graded it on n1 was lost"} == answered(WorkerLost(0, "n1"))
    assert {"stop": "the cluster: ValueError: two lines"} == answered(ValueError("two\n lines"))


@pytest.fixture
def marked(tmp_path):
    """An environment by which everything is found that a run starts; nothing of it is left after a test."""
    yield {**os.environ, MARK: str(tmp_path)}
    for pid in alive(tmp_path):
        os.kill(pid, signal.SIGKILL)


def alive(mark, words=""):
    """Find processes of a run, those whose command has *words* in it."""
    found = []
    for home in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}\0".encode() in (home / "environ").read_bytes():
                found += (
                    [int(home.name)]
                    if words in (home / "cmdline").read_text().replace("\0", " ")
                    else []
                )
        except OSError:
            continue
    return found


def gone(mark, seconds=30.0):
    """Wait until nothing of a run is left."""
    end = time.monotonic() + seconds
    while (left := alive(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    return not left


def two_graders(mark, seconds=20.0):
    """Wait until each worker has its own."""
    end = time.monotonic() + seconds
    while len(found := alive(mark, "grade-one -")) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.slow
def test_graders_that_are_killed_are_replaced_and_grades_are_those_of_one_machine(marked, tmp_path):
    """The submissions they were at are graded once more."""
    (tmp_path / "site.yaml").write_text(SITE)
    many = hand_in(tmp_path / "in", 40)
    with start(
        marked, many, tmp_path / "out", "--site", tmp_path / "site.yaml", "--seed", 5
    ) as run:
        events = until(run, lambda seen: named(seen, "graded"))
        graders = two_graders(tmp_path)
        for pid in graders:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)  # a moment in which whichever had nothing to do gets something
        for pid in graders:
            os.kill(pid, signal.SIGKILL)
        events += until(run, lambda _: False)
    subprocess.run(command(many, tmp_path / "here", "--seed", 5), check=True, capture_output=True)

    assert (0, len(list(many.iterdir()))) == (run.returncode, len(named(events, "graded")))
    assert named(events, "lost")
    assert verdicts(tmp_path / "here") == verdicts(tmp_path / "out")
    assert gone(tmp_path)


@pytest.mark.slow
def test_ctrl_c_ends_all_of_it_and_says_how_to_go_on(marked, tmp_path):
    """With the site file; no process is left, and no attempt counts against anybody."""
    (tmp_path / "site.yaml").write_text(SITE)
    with start(
        marked, hand_in(tmp_path / "in", 30), tmp_path / "out", "--site", tmp_path / "site.yaml"
    ) as run:
        until(run, lambda seen: named(seen, "graded"))
        os.killpg(run.pid, signal.SIGINT)
        _, errors = run.communicate(timeout=60)

    assert 130 == run.returncode
    assert f"--site {tmp_path}/site.yaml --resume" in errors
    assert "Traceback" not in errors
    assert gone(tmp_path)


@pytest.mark.slow
def test_without_its_engine_a_run_ends_in_one_line(marked, tmp_path):
    """Which says where to look; workers that nobody hears end by themselves."""
    (tmp_path / "site.yaml").write_text(SITE)
    with start(
        marked, hand_in(tmp_path / "in", 30), tmp_path / "out", "--site", tmp_path / "site.yaml"
    ) as run:
        until(run, lambda seen: named(seen, "graded"))
        [engine] = alive(tmp_path, "autograder.cluster.engine")
        os.kill(engine, signal.SIGKILL)
        _, errors = run.communicate(timeout=60)

    assert (2, 2) == (run.returncode, len(errors.splitlines()))
    assert (
        f"the engine of the cluster is gone; {tmp_path}/out/.cluster/engine.log says why; mend that"
        in errors
    )
    assert gone(tmp_path)
