"""What a window of loading asks, and what it refuses to believe; with a worker that is a few lines here."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.protocol.digest import commitment
from autograder.protocol.wire import Message
from autograder.sandbox.load import Load


class FakeTalk:
    """A loader in batches of four that hands out its keys, or does as it is told."""

    def __init__(self, store, load=list):
        self.store, self.load = store, load
        self.asked: list[str] = []

    def say(self, kind, body, descriptors=()):  # noqa: ARG002 a store was handed over before
        self.asked.append(kind)

    def hear(self, kind, body, arrays):  # noqa: ARG002 a worker that lies has no form to keep
        keys = self.load(self.store._hidden[: self.store.samples])
        sizes = [len(keys[at : at + 4]) for at in range(0, len(keys), 4)]
        said = b"".join(commitment(np.array([key])) for key in keys)
        return Message(
            kind, {}, {"commitments": np.frombuffer(said, np.uint8), "sizes": np.array(sizes)}
        )


@pytest.fixture
def load():
    """Make loads whose stores are closed in the end."""
    made, ticks = [], iter(range(1000))

    def make(**options) -> Load:
        made.append(Load(10, 1, now=lambda: next(ticks), **options))
        return made[-1]

    yield make
    for work in made:
        for store in work._stores.values():
            store.close()


def timed(work: Load, student=list, turns: int = 1) -> str:
    """Return what was wrong first."""
    talks = {
        "baseline": FakeTalk(work.store("baseline")),
        "student": FakeTalk(work.store("student"), student),
    }
    for turn in range(turns):
        for side, talk in talks.items():
            work.window(talk, side, turn)
            if problem := work.agree(turn):
                return problem
    return ""


def test_both_sides_load_the_same_samples_and_never_twice(load):
    seen = []

    def note(keys):
        seen.append(tuple(keys))
        return keys

    assert ("", 3) == (timed(load(), note, turns=3), len(set(seen)))
    assert ("", {}) == (load().settle(None), load()._loaded)


def test_the_clock_runs_from_the_question_to_the_commitments(load):
    work = load()
    talk = FakeTalk(work.store("student"))

    assert (1, ["GO"]) == (work.window(talk, "student", 0), talk.asked)


def test_a_canary_loads_half_of_the_samples(load):
    assert "" == timed(load(fewer=5), turns=3)


past: list = []
REFUSED = {
    "in another order": (lambda keys: keys[::-1], ""),
    "one left out": (lambda keys: keys[1:], "9 samples came out of the loader in an epoch of 10"),
    "one twice": (lambda keys: [*keys[:-1], keys[0]], "1 of 10 samples were none of this epoch's"),
    "none": (lambda keys: keys[:0], "0 samples came out of the loader in an epoch of 10"),
    "the epoch before": (lambda keys: past.append(keys) or past[max(0, len(past) - 2)], "10 of 10 samples were none"),
}  # fmt: skip


@pytest.mark.parametrize(("student", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_epoch_is_refused(load, student, words):
    assert words == timed(load(), student, turns=2)[: len(words) or None]


@pytest.mark.parametrize("fewer", [0, 5])
def test_a_store_is_as_long_as_the_data_set(load, fewer):
    assert [10, fewer or 10] == [
        load(fewer=fewer).store(side).samples for side in ("baseline", "student")
    ]


def test_the_size_of_a_sample_is_known_before(load):
    assert 8 == load().bytes_of_one()
