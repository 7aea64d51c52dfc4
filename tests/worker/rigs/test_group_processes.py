"""A process of a group that hangs, dies, leaves or says nothing ends the group, and is named."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from autograder.worker.rigs import call_order, group_processes
from autograder.worker.rigs.returned import BadReturn

SECONDS = 20.0


def reduces(size=3):
    dist.all_reduce(torch.ones(size))


def grouped(first, second, *, before=1):
    """Join, reduce so many times, and then do what this process does."""

    def work(rank):
        faulthandler.disable()  # gloo aborts, and pytest would say at length where
        dist.init_process_group("gloo")
        for _ in range(before):
            reduces()
        (second if rank else first)()
        return {"rank": rank}

    return work


def joins_alone(rank):
    if rank == 0:
        dist.init_process_group("gloo")
    return {}


def destroys_and_computes():
    dist.destroy_process_group()
    signal.pause()


def returns_and_reduces():
    call_order.returns("f")
    reduces()


def returns_and_dies():
    call_order.returns("f")
    os.kill(os.getpid(), signal.SIGKILL)


def dies(number):
    return lambda: os.kill(os.getpid(), number)


def raises():
    raise ValueError("no such thing")


def torn():
    raise RuntimeError("Gloo connectFullMesh failed: Connection closed by peer")


ENDS = {
    "it returns while it is connected to": (
        grouped(torn, lambda: None),
        "rank 1 returned while rank 0 was at work with it",
    ),
    "it returns early": (
        grouped(reduces, lambda: None),
        "rank 1 returned, and rank 0 waits in a collective call, where it reduces 12 bytes",
    ),
    "it talks to nobody": (
        grouped(reduces, lambda: None, before=0),
        "rank 1 returned before it called any collective operation, and rank 0 waits in a collective call",
    ),
    "it never joins": (
        joins_alone,
        "rank 1 returned before it called any collective operation, and rank 0 waits for it in init_process_group",
    ),
    "it leaves": (
        grouped(reduces, lambda: os._exit(0)),
        "rank 1 left: its process ended with status 0",
    ),
    "it exits": (grouped(reduces, exit), "in the process of rank 1: called sys.exit"),
    "it is killed": (
        grouped(reduces, dies(signal.SIGKILL)),
        ("rank 1 died: SIGKILL ended its process, whose last collective call reduces 12 bytes"),
    ),
    "it is killed after its function": (
        grouped(signal.pause, returns_and_dies),
        "rank 1 died: SIGKILL ended its process, whose last collective call reduces 12 bytes",
    ),
    "it aborts": (
        grouped(lambda: None, os.abort),
        "rank 1 died: SIGABRT ended its process, .* what gloo or C.. said is in the log",
    ),
    "it raises": (grouped(reduces, raises), "in the process of rank 1: ValueError: no such thing"),
    "it reduces more": (
        grouped(lambda: reduces(84), lambda: reduces(106)),
        "rank 0 reduces 336 bytes where rank 1 reduces 424",
    ),
    "it makes another call": (
        grouped(dist.barrier, reduces),
        "rank 0 calls dist.barrier.. where rank 1 reduces 12 bytes",
    ),
    "its function returns": (
        grouped(reduces, returns_and_reduces),
        "rank 0 reduces 12 bytes where rank 1 has returned from f",
    ),
}


@pytest.mark.parametrize(("work", "words"), ENDS.values(), ids=ENDS)
def test_what_a_process_does_to_the_others_is_said(tmp_path, work, words):
    with pytest.raises(BadReturn, match=words) as ended:
        group_processes.together(2, lambda _: {}, work, tmp_path, SECONDS)

    early = "left early" if "returned" in words else "apart"
    assert ended.value.kind == ("" if "in the process of" in words else early)


HANGS = {  # and how many lines each process has written when time is up: that it joins, and its calls
    "one": (
        grouped(reduces, signal.pause),
        (3, 2),
        "rank 1 did not end within 20 s, and rank 0 waits in a collective call",
    ),
    "both": (
        grouped(signal.pause, signal.pause),
        (2, 2),
        "ranks 0 and 1 did not end within 20 s: a loop without an end",
    ),
    "one ends the group and goes on": (
        grouped(reduces, destroys_and_computes),
        (3, 2),
        "rank 1 did not end within 20 s|in the process of rank 0: .*onnection",
    ),
}


@pytest.mark.parametrize(("work", "lines", "words"), HANGS.values(), ids=HANGS)
def test_who_does_not_end_is_named(tmp_path, monkeypatch, work, lines, words):
    """Time is up as soon as both are where they hang."""

    def now():
        files = (next(iter(tmp_path.glob(f"*/order{rank}")), tmp_path) for rank in range(2))
        there = [file != tmp_path and len(call_order.read(file)) for file in files]
        return 100.0 if all(own >= most for own, most in zip(there, lines, strict=True)) else 0.0

    monkeypatch.setattr(group_processes, "_now", now)
    with pytest.raises(BadReturn, match=words):
        group_processes.together(2, lambda _: {}, work, tmp_path, SECONDS)


def test_who_is_late_to_end_takes_nobodys_connection(tmp_path):
    """The first to return waits until all have answered."""
    answers = group_processes.together(
        2, lambda _: {}, grouped(reduces, reduces), tmp_path, SECONDS
    )

    assert [{"rank": 0}, {"rank": 1}] == answers


def test_what_a_process_has_started_ends_with_the_group(tmp_path):
    def work(rank):
        return {"started": subprocess.Popen(["sleep", "60"]).pid}

    answers = group_processes.together(2, lambda _: {}, work, tmp_path, SECONDS)

    for own in answers:
        with contextlib.suppress(ProcessLookupError):  # it is gone already
            assert select.select([os.pidfd_open(own["started"])], [], [], SECONDS)[0]


def test_groups_within_the_group_have_an_order_of_their_own():
    def call(kind, size, *ranks):
        return {"kind": kind, "bytes": size, "ranks": list(ranks)}

    alike = [call("all_reduce", 8, 0, 1), call("all_reduce", 4, 0), call("gather", 4, 0, 1)]
    other = [call("all_reduce", 8, 0, 1), call("gather", 8, 0, 1)]

    assert "" == call_order.mismatch([alike, other])
    assert "rank 0 calls gather with 4 bytes where rank 1 broadcasts 8 bytes" == (
        call_order.mismatch([alike, [other[0], call("broadcast", 8, 0, 1)]])
    )
    assert "" == call_order.ahead([alike, other], 1)
    assert "rank 0 waits in a collective call, where it calls gather with 4 bytes" == (
        call_order.ahead([alike, other[:1]], 1)
    )


def test_an_error_is_told_where_the_search_path_is_empty(tmp_path):
    def work(rank):
        sys.path.clear()
        raise ValueError("no rows")

    with pytest.raises(BadReturn, match="in the process of rank 0: ValueError: no rows"):
        group_processes.together(2, lambda _: {}, work, tmp_path, SECONDS)
