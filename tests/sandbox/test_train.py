"""What a window of training asks, and what it refuses to believe; with a worker that is a few lines here."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.probe import Tolerance
from autograder.protocol.digest import projection
from autograder.protocol.revealed import unseal
from autograder.protocol.wire import Message
from autograder.sandbox.train import BATCH, Train, Trained, differing
from autograder.sandbox.watch import Stopped


class FakeTalk:
    """A trainer whose loss is the mean of a batch, and whose weights are the mean pictures of all batches so far."""

    def __init__(
        self, losses=lambda x: x, weights=lambda x: x, projects=lambda x: x, worth=lambda w: w.sum()
    ):
        self.losses, self.weights, self.projects, self.worth = losses, weights, projects, worth
        self.asked: list[str] = []
        self.batches = 0

    def say(self, kind, body, descriptors=()):
        self.asked.append(kind)
        self.body = body
        self.data = unseal(descriptors[0], body)[0] if descriptors else None

    def hear(self, kind, body, arrays):  # noqa: ARG002 a worker that lies has no form to keep
        if kind == "ANSWER":
            images = self.data["images"].copy().reshape(-1, self.body["batch"], 3 * 64)
            self.batches = len(images)
            self.trained = self.weights(images.mean(axis=(0, 1)))
            return Message(
                kind, {}, {"losses": self.losses(images.mean(axis=(1, 2)).astype(np.float64))}
            )
        if kind == "PROJECTION":
            return Message(
                kind,
                {"projection": projection(self.projects(self.trained), self.body["challenge"])},
            )
        if kind == "WEIGHTS":
            return Message(kind, {}, {"weights": self.trained})
        if kind == "WORTH":
            return Message(kind, {}, {"loss": np.array([self.worth(self.data["weights"])])})
        return Message(kind, {})


def train(count=8, seed=1, **options) -> Train:
    ticks = iter(range(1000))
    return Train(count, seed, Tolerance(1e-3, 1e-3), now=lambda: next(ticks), **options)


def timed(work: Train, student: FakeTalk, baseline: FakeTalk, turns: int = 1) -> None:
    for turn in range(turns):
        for side, talk in (("baseline", baseline), ("student", student)):
            work.window(talk, side, turn)
            if problem := work.agree(turn):
                raise Stopped("refused", problem)


def test_a_window_begins_fresh_and_ends_with_the_projection():
    """The clock runs from GO to PROJECTION."""
    talk = FakeTalk()

    assert 1 == train().window(talk, "student", 0)
    assert ["RESET", "GO", "CHALLENGE", "SHOW"] == talk.asked
    assert 8 == talk.batches


def test_both_sides_train_on_the_same_batches_and_never_twice():
    work, losses = train(), []
    for turn in range(3):
        for side in ("baseline", "student"):
            talk = FakeTalk()
            work.window(talk, side, turn)
            losses.append(talk.trained.tobytes())

    assert losses[::2] == losses[1::2]
    assert 3 == len(set(losses))


def test_a_canary_trains_on_the_first_half():
    """Its losses are compared as far as they go, its weights not at all."""
    student, baseline = FakeTalk(), FakeTalk()
    work = train(fewer=4)
    timed(work, student, baseline, turns=3)

    assert (4, 8) == (student.batches, baseline.batches)
    assert "" == work.settle(FakeTalk())


SHIFT = np.float32(0.1)
REFUSED = {
    "losses from elsewhere": (FakeTalk(losses=lambda x: x[::-1]), "the loss of batch 1 is "),
    "losses that are not finite": (FakeTalk(losses=lambda x: x * np.nan), "the loss of batch 1 is nan, the baseline's is "),
    "losses in place of some": (FakeTalk(losses=lambda x: np.append(x[:-1], 0.9)), "the loss of batch 8 is 0.90000"),
    "a loss too few": (FakeTalk(losses=lambda x: x[1:]), "7 losses were returned for 8 batches"),
    "other weights": (FakeTalk(weights=lambda x: x + SHIFT), "of their norm away from the baseline's"),
    "weights that are not finite": (FakeTalk(weights=lambda x: x * np.float32("nan")), "the weights are nan of their norm"),
    "more weights": (FakeTalk(weights=lambda x: np.append(x, x)), "384 weights were shown, the baseline has 192"),
    "weights that came later": (
        FakeTalk(projects=lambda x: x + SHIFT),
        "showed different weights from while the clock ran",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("student", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_training_is_refused(student, words):
    with pytest.raises(Stopped) as stopped:
        timed(train(), student, FakeTalk())

    assert words in stopped.value.words


def test_weights_that_are_worth_less_on_other_batches_are_refused():
    """Where weights may differ much, as in mixed precision, this decides; the last window is always among those tried."""
    work, worth = train(), iter([0.5, 0.4])
    timed(work, FakeTalk(), FakeTalk())

    expected = "the weights after a window have a loss of 0.5000 on other batches, not 0.4000"
    assert expected == work.settle(FakeTalk(worth=lambda w: next(worth)))


def test_some_windows_are_tried_on_other_batches_and_the_rest_forgotten():
    """The last one always; which others is the seed's secret."""
    tried = []
    for seed in range(20):
        work, talk = train(seed=seed), FakeTalk()
        timed(work, FakeTalk(), FakeTalk(), turns=14)
        assert 13 in work._trained
        assert "" == work.settle(talk)
        tried.append(len(talk.asked) // 2)

    assert (1, True) == (min(tried), 2 < sum(tried) / 20 < 6)


def test_the_size_of_a_batch_is_known_before():
    assert BATCH * (3 * 64 * 4 + 8) == train().bytes_of_one()


def test_equal_trainings_do_not_differ():
    one = Trained(np.ones(3), np.ones(3, np.float32))

    assert "" == differing(one, one, Tolerance(0.0, 0.0))
