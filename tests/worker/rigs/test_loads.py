"""What came out of a loader, whatever it is made of; and the worker's end of a store."""

from __future__ import annotations

import os
import pickle
import socket
from collections import namedtuple
from multiprocessing import resource_sharer
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from autograder.protocol.digest import COMMITMENT_BYTES
from autograder.worker.rigs.loads import Store, epoch
from autograder.worker.rigs.returned import BadReturn

IMAGES, LABELS = torch.arange(24.0).reshape(4, 3, 2), torch.arange(4)
Batch = namedtuple("Batch", "images labels")  # noqa: PYI024 as students write it


def commitments(*batches) -> list[bytes]:
    data = epoch(list(batches))["commitments"].tobytes()
    return [data[at : at + COMMITMENT_BYTES] for at in range(0, len(data), COMMITMENT_BYTES)]


ALIKE = {
    "a tuple": (IMAGES, LABELS),
    "a list": [IMAGES, LABELS],
    "a named tuple": Batch(IMAGES, LABELS),
    "a dict": {"images": IMAGES, "labels": LABELS},
    "other strides": (IMAGES.transpose(1, 2).contiguous().transpose(1, 2), LABELS),
    "with words": (IMAGES, LABELS, ["a"] * 4),
}


@pytest.mark.parametrize("batch", ALIKE.values(), ids=ALIKE)
def test_the_same_samples_have_the_same_commitments(batch):
    """However a batch holds them, and however many are in one."""
    assert commitments((IMAGES[:1], LABELS[:1]), (IMAGES[1:], LABELS[1:])) == commitments(batch)


DIFFERENT = {
    "another label": (IMAGES, LABELS + 1),
    "the last bit": (IMAGES.nextafter(torch.tensor(99.0)), LABELS),
    "another dtype": (IMAGES.double(), LABELS),
    "no label": IMAGES,
}


@pytest.mark.parametrize("batch", DIFFERENT.values(), ids=DIFFERENT)
def test_other_samples_have_other_commitments(batch):
    assert not set(commitments((IMAGES, LABELS))) & set(commitments(batch))


def test_sizes_of_batches_are_told():
    assert [3, 3, 1] == epoch(DataLoader(range(7), 3))["sizes"].tolist()


BAD = {
    "no loader": (3, "return a DataLoader"),
    "numbers": ([1], "a batch is no tensor"),
    "a number in a tensor": ([torch.tensor(1.0)], "a batch is no tensor"),
    "an empty tuple": ([()], "a batch is no tensor"),
    "unequal lengths": ([(IMAGES, LABELS[:2])], "a batch is no tensor"),
}


@pytest.mark.parametrize(("loader", "words"), BAD.values(), ids=BAD)
def test_what_is_no_loader_is_said(loader, words):
    with pytest.raises(BadReturn, match=words):
        epoch(loader)


def test_a_store_is_asked_and_waited_for(monkeypatch):
    """The key is there after the third look."""
    fd = os.memfd_create("store")
    os.truncate(fd, 4 * 8)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    looks = []

    def look(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            os.pwrite(fd, np.uint64(77).tobytes(), 2 * 8)

    monkeypatch.setattr("autograder.worker.rigs.loads.sleep", look)
    store = Store(fd, theirs.detach())

    assert (4, 77, 77, 3) == (len(store), store[2], store[-2], len(looks))
    assert [2, 2] == [int.from_bytes(ours.recv(99), "little") for _ in range(2)]
    with pytest.raises(IndexError):
        store[4]
    os.close(fd)
    ours.close()
    store._asks.close()


def test_a_store_goes_along_to_a_process_that_is_started():
    """Workers need not be forked: the memory itself goes along, so what is written later is seen, and so does the socket."""
    fd = os.memfd_create("store")
    os.truncate(fd, 8)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    store = Store(fd, theirs.detach())
    there = pickle.loads(ForkingPickler.dumps(store))
    resource_sharer.stop(5)
    os.pwrite(fd, np.uint64(77).tobytes(), 0)

    assert (1, 77, 0) == (len(there), there[0], int.from_bytes(ours.recv(99), "little"))
    for one in (ours, store._asks, there._asks):
        one.close()
    for each in (store._fd, there._fd):
        os.close(each)
