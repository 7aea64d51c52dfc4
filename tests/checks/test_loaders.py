"""What came out of a loader, and how it was made: each mistake is said in words of its own."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks import loaders
from autograder.model import Failed, Observation, Pair, Passed
from autograder.protocol.digest import commitment

STORED = list(range(12))
MIXED, OTHER = [3, 9, 0, 6, 11, 1, 8, 4, 10, 2, 7, 5], [5, 0, 10, 3, 8, 1, 6, 11, 2, 9, 4, 7]


def seen(first, second, sizes=(4, 4, 4)):
    arrays = {}
    for name, samples in (("first", first), ("second", second)):
        data = b"".join(commitment(np.array([sample])) for sample in samples)
        arrays |= {
            f"{name}_commitments": np.frombuffer(data, np.uint8),
            f"{name}_sizes": np.array(sizes),
        }
    return Observation("epochs", "ok", {"raised": ""}, arrays)


def pair(first, second, sizes=(4, 4, 4)):
    return Pair(seen(first, second, sizes), seen(STORED, STORED))


DELIVERED = {
    "right": (pair(MIXED, OTHER), Passed, "12 samples in each of two epochs"),
    "one less": (
        pair(MIXED[:-1], OTHER),
        Failed,
        "in the first epoch: 11 samples came out of the loader",
    ),
    "one twice": (pair(MIXED, [*OTHER[:-1], 5]), Failed, "in the second epoch: 1 of 12 samples"),
    "other batches": (
        pair(MIXED, OTHER, sizes=(6, 6)),
        Failed,
        "your loader gives batches of 6, 6 samples",
    ),
    "none": (
        Pair(
            Observation("epochs", "ok", {"raised": "raised ValueError: no"}), seen(STORED, STORED)
        ),
        Failed,
        "no loader was made",
    ),
}


@pytest.mark.parametrize(("epochs", "kind", "words"), DELIVERED.values(), ids=DELIVERED)
def test_two_epochs_deliver_every_sample_once(epochs, kind, words):
    found = loaders.delivered(epochs, try_="")

    assert isinstance(found, kind)
    assert words in found.measured


MIXED_UP = {
    "one twice": (pair([*MIXED[:-1], 3], OTHER), "usually the sampler draws with replacement"),
    "one more": (pair([*MIXED, 3], OTHER), "some samples come twice"),
    "another": (
        pair([*MIXED[:-1], 99], OTHER),
        "samples were changed or mixed up on their way into a batch",
    ),
}


@pytest.mark.parametrize(("epochs", "words"), MIXED_UP.values(), ids=MIXED_UP)
def test_samples_that_come_twice_are_no_others(epochs, words):
    found = loaders.delivered(epochs, try_="")

    assert isinstance(found, Failed)
    assert words == found.why


SHUFFLED = {
    "right": (pair(MIXED, OTHER), Passed, "2 epochs, each in an order of its own"),
    "not at all": (pair(STORED, MIXED), Failed, "the order is the data set's"),
    "backwards": (pair(STORED[::-1], MIXED), Failed, "the order is the data set's"),
    "once": (pair(MIXED, MIXED), Failed, "the order is drawn once, and not for each epoch"),
    "nothing known": (pair([99], [98]), Failed, "the order is drawn once, and not for each epoch"),
}


@pytest.mark.parametrize(("epochs", "kind", "words"), SHUFFLED.values(), ids=SHUFFLED)
def test_each_epoch_has_an_order_of_its_own(epochs, kind, words):
    found = loaders.shuffled({2: epochs}, try_="")

    assert isinstance(found, kind)
    assert words in f"{found.measured} {getattr(found, 'why', '')}"


def made(at=None, **changed):
    found = []
    for device, workers in loaders.KINDS:
        options = {
            "num_workers": workers,
            "pin_memory": device == "cuda",
            "persistent_workers": workers > 0,
            "pickles": True,
        }
        kind = {"device": device, "workers": workers, "raised": False}
        found.append({**kind, "options": options})
    if at is not None:
        found[at]["options"] |= changed
    return found


OPTIONS = {
    "right": (made(), ""),
    "one less": (made()[1:], "4 loaders were noted"),
    "none": (
        [{"device": "cpu", "workers": 0, "options": None, "raised": False}] * len(loaders.KINDS),
        "for cpu with 0 workers no DataLoader was made",
    ),
    "none where another check says so": (
        [{**it, "options": None, "raised": True} if not it["workers"] else it for it in made()],
        "",
    ),
    "others": (made(1, num_workers=4), "for cpu with 3 workers num_workers is 4, and 3 is right"),
    "not pinned": (
        made(2, pin_memory=False),
        "for cuda with 0 workers pin_memory is False, and True is right",
    ),
    "one leaves": (
        made(4, persistent_workers=False),
        "for cpu with 1 worker persistent_workers is False, and True is right",
    ),
    "leave": (
        made(3, persistent_workers=False),
        "persistent_workers is False, and True is right; workers that do not persist",
    ),
}


@pytest.mark.parametrize(("loaders_made", "words"), OPTIONS.values(), ids=OPTIONS)
def test_loaders_have_the_options_that_help(loaders_made, words):
    found = loaders.options(loaders_made, try_="")

    assert isinstance(found, Failed if words else Passed)
    assert words in f"{found.measured}; {getattr(found, 'why', '')}"


def test_a_collation_of_spawned_workers_can_be_pickled():
    unnamed = made(0, pickles=False)

    assert isinstance(loaders.options(unnamed, try_=""), Passed)
    assert "cannot be pickled" in loaders.options(unnamed, try_="", spawned=True).measured


MOVES = {
    "all": ((6, 6, 0), Passed, "12 copies, none of which waits"),
    "labels stay": ((6, 0, 0), Failed, "6 images and 0 labels were moved in 6 batches"),
    "blocking": ((6, 6, 3), Failed, "of 12 copies of images and labels 3 wait"),
}


@pytest.mark.parametrize(("counts", "kind", "words"), MOVES.values(), ids=MOVES)
def test_each_batch_is_copied_without_a_wait(counts, kind, words):
    values = dict(zip(loaders.MOVES, (*counts, 6), strict=True))
    found = loaders.each_copied(Observation("moves", "ok", values))

    assert isinstance(found, kind)
    assert words in found.measured


def seeded(first, alike, another):
    one, two, stored = seen(first, alike), seen(another, another), seen(STORED, STORED)
    names = {"first": (one, "first"), "alike": (one, "second"), "another": (two, "first")}
    arrays = {
        f"{name}_{kind}": found.arrays[f"{place}_{kind}"]
        for name, (found, place) in names.items()
        for kind in ("commitments", "sizes")
    }
    return Pair(Observation("epochs", "ok", arrays=arrays), stored)


SEEDED = {
    "right": (seeded(MIXED, MIXED, OTHER), Passed, "the same order from the same seed"),
    "not by the seed": (seeded(MIXED, OTHER, STORED), Failed, "with 2 workers the first epochs"),
    "by no seed": (seeded(MIXED, MIXED, MIXED), Failed, "another seed, the same order"),
}


@pytest.mark.parametrize(("epochs", "kind", "words"), SEEDED.values(), ids=SEEDED)
def test_the_order_is_the_seeds(epochs, kind, words):
    found = loaders.seeded({2: epochs}, try_="")

    assert isinstance(found, kind)
    assert words in found.measured


DRAWN = {
    "right": (STORED, Passed, "12 different samples of each of torch"),
    "one less": (STORED[:-1], Failed, "two epochs gave 11 samples, and 12 are right"),
    "one again": (
        [*STORED[:-1], 0],
        Failed,
        "12 samples of two epochs hold 11 different numbers of torch, and 12 are right",
    ),
}


@pytest.mark.parametrize(("samples", "kind", "words"), DRAWN.values(), ids=DRAWN)
def test_random_numbers_are_drawn_afresh(samples, kind, words):
    commitments = seen(samples, samples).arrays["first_commitments"]
    dice = Observation("dice", "ok", arrays={"torch": commitments})
    found = loaders.drawn_afresh(dice, samples=12)

    assert isinstance(found, kind)
    assert words in found.measured


def test_a_copy_that_is_waited_for_is_told():
    assert isinstance(loaders.copied(6, 0), Passed)
    assert "of 6 copies of images and labels 1 wait" in loaders.copied(6, 1).measured
