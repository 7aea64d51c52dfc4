"""Whatever a worker says while the clock runs: the supervisor never hangs, never crashes, never believes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import struct

import numpy as np
import pytest

from autograder.model import Limits
from autograder.protocol.wire import Message, encode
from autograder.sandbox.watch import Stopped, Watched
from autograder.sandbox.windows import Talk

FORM = {"commitments": ("uint8", (64,))}
GOOD = encode(Message("ANSWER", {}, {"commitments": np.zeros(64, np.uint8)}))
SECONDS = 0.1


@contextlib.contextmanager
def conversation():
    """Our side of a talk, and what a worker would have: its end of the channel, and a keeper to tell how it ended."""
    ours, theirs = socket.socketpair()
    output, printed = os.pipe()
    status, keeper = os.pipe()
    watched = Watched(ours, output, status, Limits(SECONDS))
    try:
        yield watched, theirs, keeper
    finally:
        theirs.close()
        os.close(printed)
        os.close(keeper)
        watched.finish()


def heard(said: bytes, *, hangs_up: bool = False) -> Message:
    with conversation() as (watched, theirs, keeper):
        theirs.sendall(said)
        if hangs_up:
            theirs.close()
            os.write(keeper, b'{"status": 0}\n')
        return Talk(watched).hear("ANSWER", {}, FORM)


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "held open by an orphan"])
def test_an_answer_counts_that_was_whole_before_its_worker_ended(closes):
    """It is longer than one look, and the end was told before the first: a supervisor that had to wait for a core."""
    said = encode(Message("ANSWER", {}, {"commitments": np.ones(100_000, np.uint8)}))
    with conversation() as (watched, theirs, keeper):
        theirs.sendall(said)
        if closes:
            theirs.close()
        os.write(keeper, b'{"status": 0}\n')

        assert said == watched.read(len(said))
        with pytest.raises(Stopped, match="ended itself with exit status 0 before it answered"):
            watched.read(1)


def header(**changes) -> bytes:
    said = {
        "kind": "ANSWER",
        "body": {},
        "arrays": [{"name": "commitments", "dtype": "uint8", "shape": [64]}],
    }
    return framed(json.dumps({**said, **changes}).encode()) + bytes(64)


def framed(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


def arrays(**changes) -> list:
    return [{"name": "commitments", "dtype": "uint8", "shape": [64], **changes}]


LIES = {
    "nothing": (b"", "timeout"),
    "half a length": (b"\0\0", "timeout"),
    "half an answer": (GOOD[:-1], "timeout"),
    "a length of 4 GB": (b"\xff" * 4, "refused"),
    "no JSON": (framed(b"pickle"), "refused"),
    "NaN": (framed(b'{"kind":"ANSWER","body":{"x":NaN},"arrays":[]}'), "refused"),
    "a number beyond all": (framed(b'{"kind":"ANSWER","body":{"x":1e999},"arrays":[]}'), "refused"),
    "a duplicate name": (
        framed(b'{"kind":"ANSWER","kind":"ANSWER","body":{},"arrays":[]}'),
        "refused",
    ),
    "deep nesting": (framed(b"[" * 30_000), "refused"),
    "an answer to something else": (header(kind="OUTPUT"), "refused"),
    "a verdict": (header(kind="PASS"), "refused"),
    "more than was asked": (header(body={"seconds": 0.001}), "refused"),
    "an array too few": (header(arrays=[]), "refused"),
    "an array too many": (header(arrays=[*arrays(), *arrays(name="x", shape=[0])]), "refused"),
    "another length": (header(arrays=arrays(shape=[63])), "refused"),
    "another dtype": (header(arrays=arrays(dtype="float32", shape=[16])), "refused"),
    "another number of dimensions": (header(arrays=arrays(shape=[8, 8])), "refused"),
    "a terabyte": (header(arrays=arrays(shape=[1 << 40])), "refused"),
    "a negative length": (header(arrays=arrays(shape=[-64])), "refused"),
    "an exception without words": (header(kind="RAISED"), "refused"),
    "an exception of no kind": (header(kind="RAISED", body={"error": "KeyError"}), "refused"),
    "an exception of a kind of its own": (
        header(kind="RAISED", body={"error": "KeyError", "kind": "our fault"}),
        "refused",
    ),
    "an exception": (header(kind="RAISED", body={"error": "KeyError", "kind": ""}), "raised"),
}


@pytest.mark.parametrize(("said", "ended"), LIES.values(), ids=LIES)
def test_each_wrong_answer_stops_the_comparison_with_a_reason(said, ended):
    with pytest.raises(Stopped) as stopped:
        heard(said)

    assert ended == stopped.value.ended
    assert stopped.value.words


def test_the_right_answer_is_heard():
    assert bytes(64) == heard(GOOD).arrays["commitments"].tobytes()


def test_hanging_up_is_no_answer():
    with pytest.raises(Stopped) as stopped:
        heard(GOOD[:-1], hangs_up=True)

    assert ("crash", "ended itself with exit status 0 before it answered") == (
        stopped.value.ended,
        stopped.value.words,
    )


def test_garbled_answers_are_refused_or_have_the_form_that_was_asked_for():
    """Three thousand answers with a few bytes changed, left out or put in."""
    dice = random.Random(5)
    for _ in range(3000):
        said = bytearray(GOOD)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(said))
            said[at : at + dice.randint(0, 2)] = dice.randbytes(dice.randint(0, 2))
        with contextlib.suppress(Stopped):
            assert (64,) == heard(bytes(said), hangs_up=True).arrays["commitments"].shape


@pytest.mark.parametrize("said", [GOOD, b"\0"], ids=["a whole answer", "its first byte"])
def test_an_answer_before_the_question_is_refused(said):
    """Nothing is sent to a worker that has already said something: what it says next could not be an answer."""
    with conversation() as (watched, theirs, _):
        theirs.sendall(said)
        with pytest.raises(Stopped, match=r"answered before it was asked \(GO\)"):
            Talk(watched).say("GO", {})


def test_a_second_answer_is_refused_at_the_next_question():
    with conversation() as (watched, theirs, _):
        theirs.sendall(GOOD + GOOD)
        talk = Talk(watched)
        talk.hear("ANSWER", {}, FORM)
        with pytest.raises(Stopped, match="answered before it was asked"):
            talk.say("SHOW", {})


def test_nobody_waits_for_a_worker_that_does_not_read():
    """The socket's buffer fills up, then the question cannot be asked."""

    def ask_and_ask(talk):
        for _ in range(10_000):
            talk.say("SHOW", {"call": 1})

    with (
        conversation() as (watched, *_),
        pytest.raises(Stopped, match="did not read what it was asked"),
    ):
        ask_and_ask(Talk(watched))


def test_a_store_is_asked_and_served_while_an_answer_is_waited_for():
    """What is said elsewhere is handed on datagram by datagram; the answer comes when the store has served."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    requests = []
    with conversation() as (watched, channel, _), ours, theirs:

        def serve() -> float:
            if requests == [b"1", b"2"]:
                channel.sendall(GOOD)
            return 0.0

        watched.attend(ours.fileno(), lambda: requests.append(ours.recv(8)), serve)
        theirs.send(b"1")
        theirs.send(b"2")
        Talk(watched).hear("ANSWER", {}, FORM)

    assert [b"1", b"2"] == requests
