"""Several processes from one: what they say is gathered, and what goes wrong in one of them is said once, in time."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import torch.distributed as dist

from autograder.worker.rigs import ranks
from autograder.worker.rigs.ranks import WORLD, Ranks
from autograder.worker.rigs.returned import BadReturn


@pytest.fixture
def training(tmp_path):
    return Ranks(np.random.default_rng(1), 5, tmp_path)


def idle(model, dataset, criterion, make_optimizer, batch_size, epochs, seed, folder):
    """Reads a sample, and says who it is."""
    dataset[int(os.environ["RANK"])]
    return {"losses": [float(os.environ["RANK"])] * epochs}


def fails_as_one(*_, **__):
    if os.environ["RANK"] == "1":
        raise ValueError("no such thing")
    signal.pause()


def is_not_written(*_, **__):
    raise NotImplementedError


def waits(*_, **__):
    signal.pause()


def leaves(*_, **__):
    os._exit(0)


def test_each_process_answers_for_itself(training):
    seen = training.together(idle)

    assert [[0], [1]] == [rank["asked"] for rank in seen["ranks"]]
    assert [0.0] * 3 + [1.0] * 3 == [*seen["losses0"], *seen["losses1"]]
    assert [[], []] == [rank["files"] for rank in seen["ranks"]]
    assert not np.array_equal(seen["weights0"], seen["weights1"])


def test_the_answer_of_one_process_has_the_form_of_several(training):
    alone = training.alone()

    assert {
        "samples",
        "ranks",
        "names",
        "start",
        "start1",
        "saved",
        "weights0",
        "weights1",
        "losses0",
        "losses1",
        *(f"kept_{name}" for name in ranks.KEPT),
    } == set(alone)
    assert 1 == training.samples % WORLD
    assert alone["losses0"][0] > alone["losses0"][-1]
    assert np.array_equal(alone["saved"], alone["weights1"])


def test_one_process_keeps_the_first_order_beside_it(training):
    seen = training.alone()

    assert seen["losses0"][0] == seen["kept_losses0"][0]
    assert not np.array_equal(seen["weights0"], seen["kept_weights0"])


@pytest.mark.parametrize("put_away", [True, False])
def test_a_group_that_an_exception_leaves_open_is_seen(training, put_away):
    def trains(model, dataset, criterion, *_, **__):
        dist.init_process_group("gloo")
        try:
            criterion(model(dataset[0][0]), dataset[0][1])
        finally:
            if put_away:
                dist.destroy_process_group()

    assert training.left_open(trains) is not put_away


def children():
    """The processes of this one; other tests may have left theirs."""
    return {*Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()}


PROBLEMS = {
    "one fails, and the other waits for it": (
        fails_as_one,
        "in the process of rank 1: ValueError: no such thing",
    ),
    "not written": (is_not_written, "is_not_written is not written yet"),
    "both wait": (waits, "ranks 0 and 1 did not end within 0.3 s: a loop without an end"),
    "one leaves": (leaves, "rank [01] left: its process ended with status 0"),
}


@pytest.mark.parametrize(("does", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_goes_wrong_is_said_and_nobody_is_left(training, monkeypatch, does, words):
    monkeypatch.setattr(ranks, "SECONDS", 0.3 if does is waits else 15.0)

    before = children()
    with pytest.raises(BadReturn, match=words):
        training.together(does)
    assert before == children()


def test_a_file_that_cannot_be_read_holds_nothing(tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"no weights")

    assert [{}, {}] == [ranks._saved(tmp_path / name) for name in ("weights.pt", "missing.pt")]
