"""What a worker held of a GPU, from what NVML showed of it at each look."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograder.errors import OwedError
from autograder.sandbox.card import Gauge


class Card:
    """Answers with what is used, and with what it shows of the worker's processes, look by look."""

    def __init__(self, *looks):
        self.looks, self.asked = [(100, 0), *looks], -1

    def memory(self):
        self.asked += 1
        used = self.looks[self.asked][0]
        if used == "gone":
            raise OwedError("the driver is gone")
        return SimpleNamespace(used=used)

    def held_by(self, pids):
        assert [7, 8] * bool(self.asked) == list(pids)
        return self.looks[self.asked][1]


SEEN = {
    "by process": (Card((500, 350), (700, 600), (150, 20)), 600, ""),
    "by process, whatever others take beside it": (Card((3000, 0), (3000, 600)), 600, ""),
    "of the card, where no process is named": (Card((500, 0), (700, 0), (150, 0)), 600, ""),
    "of the card, where others gave back": (Card((50, 0)), 0, ""),
    "nothing": (Card(), 0, ""),
    "a driver that was lost": (
        Card((500, 400), ("gone", 400), (900, 800)),
        None,
        "the driver is gone",
    ),
}


@pytest.mark.parametrize(("card", "peak", "unseen"), SEEN.values(), ids=SEEN)
def test_the_most_of_all_looks_is_what_a_worker_held(card, peak, unseen):
    """As NVML names it by process; else what the card held more than before there was a worker."""
    assert (peak, unseen) == looked_at(card)


def test_a_card_that_cannot_be_asked_before_has_no_figure():
    """Whatever it says later."""
    card = Card((500, 400))
    card.looks[0] = ("gone", 0)

    assert (None, "the driver is gone") == looked_at(card)


def looked_at(card):
    gauge = Gauge(card)
    gauge.look()
    for _ in card.looks[1:]:
        gauge.look([7, 8])
    return gauge.peak_bytes, gauge.unseen
