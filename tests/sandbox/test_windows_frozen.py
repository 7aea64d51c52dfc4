"""Timed work attacked: what works on while its side is stopped is seen."""

from __future__ import annotations

import os
import platform
import signal
import time

import pytest

from autograder.clock.pairs import alternating
from autograder.errors import MovedError, SpoiltError
from autograder.probe import Close
from autograder.sandbox import tree
from autograder.sandbox.calls import Calls
from autograder.sandbox.windows import TimedWorker
from tests import timed_toy
from tests.sandbox.timed_pair import CALLS, DEFINES, job, pair
from tests.timed_toy import TWICE_AS_FAST

pytestmark = pytest.mark.slow


BUSY = """
def work():
    while True: pass

threading.Thread(target=work, daemon=True).start()
for _ in range(2):
    if os.fork() == 0:
        work()

def total(x): return honest(x)
"""


def test_what_works_on_while_its_side_is_frozen_does_not(fenced):
    """A thread and two processes that never rest: none of them is given a core while the other side is timed."""
    work = Calls(timed_toy.draw, CALLS, 1, Close())
    arm = TimedWorker("student", job(DEFINES + BUSY), fenced, work, 10)
    try:
        arm.start(1)
        arm.freeze()
        before = arm.turns()
        time.sleep(0.1)
        assert before == arm.turns()
        assert len(before) >= 4
        arm.thaw()
        time.sleep(0.1)
        assert before != arm.turns()
    finally:
        arm.end()


WOKEN = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
if os.fork() == 0:
    signal.sigwait({signal.SIGCONT})
    os._exit(0)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCONT})

def total(x): return honest(x)
"""


def test_a_process_that_is_woken_works_and_ends_has_moved(fenced):
    """A signal of its own making would do; whatever CPU time it used is gone with it."""
    work = Calls(timed_toy.draw, CALLS, 1, Close())
    arm = TimedWorker("student", job(DEFINES + WOKEN), fenced, work, 10)
    try:
        arm.start(1)
        arm.freeze()
        before, deadline = arm.turns(), time.monotonic() + 5
        [child] = (pid for pid in arm._watched.processes() if not tree.children(pid))
        tree.signal_all([child], signal.SIGCONT)
        while set(before) == set(arm.turns()) and time.monotonic() < deadline:
            time.sleep(0.005)
        assert set(before) > set(arm.turns())
    finally:
        arm.end()


UNSTOPPABLE = """
import ctypes
libc = ctypes.CDLL(None)

def total(x):
    if not built:
        built.append(threading.Thread(target=hold, daemon=True).start())
        time.sleep(0.1)
    return honest(x)

def hold():  # the parent of a child by vfork waits for its end, deaf to whatever stops others
    libc.syscall(56, 0x4100 | 17, 0, 0, 0, 0) or libc.pause()

built = []
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of clone is that of x86_64")
def test_a_thread_that_cannot_be_stopped_is_its_sides_doing(fenced, monkeypatch):
    """Where the kernel lets a thread wait so that no signal stops it."""
    monkeypatch.setattr("autograder.sandbox.windows.FREEZE_SECONDS", 0.3)
    with pytest.raises(MovedError, match="processes of the student could not be stopped"):
        pair(fenced, DEFINES + UNSTOPPABLE)


@pytest.mark.parametrize("which", [0, 1], ids=["the first process", "the sleeper"])
def test_the_boxs_own_processes_rest_on_the_timed_core(fenced, which):
    """One that is made to go on has moved, whoever did it and whatever ran in it."""
    if fenced.isolation != "bubblewrap":
        pytest.skip("there is no box")
    arm = TimedWorker(
        "student", job(TWICE_AS_FAST), fenced, Calls(timed_toy.draw, CALLS, 1, Close()), 10
    )
    try:
        arm.start(1)
        arm.freeze()
        box = arm._watched.box
        cores = [os.sched_getaffinity(pid) for pid in box.own]
        assert ([{tree.timed_core()}] * 2, False) == (cores, box.stirred())
        tree.signal_all([box.own[which]], signal.SIGCONT)
        with pytest.raises(
            MovedError, match="processes of the student ran while they were stopped"
        ):
            seen_within(5, arm)
    finally:
        arm.end()


def seen_within(seconds: float, arm: TimedWorker) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        arm.turns()
        time.sleep(0.005)


def test_a_side_that_moves_while_it_is_frozen_spoils_the_pair(fenced):
    """Were there a way to go on, the pair would be dropped."""
    work = Calls(timed_toy.draw, CALLS, 1, Close())
    arms = [
        TimedWorker(side, job(DEFINES + BUSY, side), fenced, work, 10)
        for side in ("baseline", "student")
    ]
    arms[1].freeze = lambda: None

    with pytest.raises(SpoiltError, match="processes of the student ran while they were stopped"):
        alternating(*arms, 1)
