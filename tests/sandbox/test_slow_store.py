"""A store answers late and never early, whatever it is asked; with a clock that is moved by hand."""

from __future__ import annotations

import mmap
import os
import socket

import numpy as np
import pytest

from autograder.sandbox.slow_store import IDLE_SECONDS, LANES, ROUND_TRIP, Store

KEYS, SECONDS = np.arange(10, 30, dtype=np.uint64), np.full(20, 2.0)


class Clock:
    time = 100.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    made = Store(20, clock)
    made.fill(KEYS, SECONDS)
    yield made
    made.close()


def seen(store) -> list[int]:
    """What the worker sees."""
    with mmap.mmap(store.descriptors[0], 0, access=mmap.ACCESS_READ) as data:
        return np.frombuffer(bytes(data), np.uint64).tolist()


def ask(store, *indices: int, processes: int = 1) -> None:
    """Each process asks for one sample after the other, and waits for none."""
    for index in indices:
        store.note_request(index.to_bytes(8, "little"), 100 + index % processes)


def test_nothing_is_there_unasked(store, clock):
    clock.time += 1000
    store.serve()

    assert [0] * 20 == seen(store)


def test_a_sample_is_there_when_its_seconds_are_over(store, clock):
    ask(store, 3)
    clock.time += 1.5
    early = store.serve(), seen(store)[3]
    clock.time += 0.5
    store.serve()

    assert (IDLE_SECONDS, 0, 13) == (*early, seen(store)[3])


def test_the_next_answer_says_when_it_wants_to_be_served(store, clock):
    ask(store, 0)
    clock.time += 1.995

    assert pytest.approx(0.005) == store.serve()


def test_as_many_processes_as_there_are_lanes_read_at_once(store, clock):
    """One more waits until a lane is free, and then takes its own seconds."""
    ask(store, *range(LANES + 1), processes=20)
    counts = []
    for _ in range(2):
        clock.time += 2
        store.serve()
        counts.append(20 - seen(store).count(0))

    assert [LANES, LANES + 1] == counts


def test_a_process_has_one_read_at_a_time(store, clock):
    """Who asks for everything at once is answered as late as who asks for one sample after the other, way included."""
    ask(store, *range(6), processes=2)
    counts = []
    for _ in range(3):
        clock.time += 2 + ROUND_TRIP
        store.serve()
        counts.append(20 - seen(store).count(0))

    assert [2, 4, 6] == counts


@pytest.mark.parametrize("processes", [1, 2])
def test_the_kernel_says_who_asks(processes, clock, store):
    """Not the request: two requests of one process wait for each other, those of two processes do not."""
    worker = socket.socket(fileno=os.dup(store.descriptors[1]))
    with worker:
        for index in range(2):
            if index < processes - 1:
                if (child := os.fork()) == 0:
                    worker.send(index.to_bytes(8, "little"))
                    os._exit(0)
                os.waitpid(child, 0)
            else:
                worker.send(index.to_bytes(8, "little"))
            store.hear()
    clock.time += 2
    store.serve()

    assert processes == 20 - seen(store).count(0)


def test_asking_twice_is_not_answered_sooner(store, clock):
    ask(store, 5)
    clock.time += 1
    ask(store, *[5] * 50)
    clock.time += 1
    store.serve()

    assert 15 == seen(store)[5]


@pytest.mark.parametrize(
    "request_", [b"", b"1", bytes(9), (20).to_bytes(8, "little"), b"\xff" * 8], ids=["empty", "short", "long", "beyond", "far beyond"]
)  # fmt: skip
def test_what_is_no_request_is_left_unanswered(store, clock, request_):
    store.note_request(request_, 1)
    clock.time += 1000
    store.serve()

    assert [0] * 20 == seen(store)


def test_fresh_samples_take_the_place_of_all_others(store, clock):
    """What was asked for before is forgotten, and read again it takes its time again."""
    ask(store, 0, 1)
    clock.time += 2
    store.serve()
    ask(store, 2)
    store.fill(KEYS + 100, SECONDS)
    clock.time += 2
    store.serve()
    forgotten = seen(store)
    ask(store, 0)
    clock.time += 2
    store.serve()

    assert ([0] * 20, 110) == (forgotten, seen(store)[0])


def test_a_worker_cannot_write_its_own_answers(store):
    with pytest.raises(PermissionError):
        mmap.mmap(store.descriptors[0], 0, access=mmap.ACCESS_WRITE)
