"""Part 4 of distributed judged whole: right work passes in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.labs.distributed.part4_steps import judges, part
from autograder.model import Failed, Limits, Observation, Pair
from tests.labs.bench import Bench, failing

# Its processes are forked from one that has not trained yet.
bench = Bench("distributed", part, without=part.checks)
CLOCK = "loading_is_faster"


def test_the_part_declares_nothing_unknown():
    assert [] == part.problems()


@pytest.mark.slow
def test_the_reference_passes_in_real_workers(workers):
    probes = [name for name, probe in part.probes.items() if not probe.timed]
    seen = {name: bench.in_workers(workers, name, Limits(40)) for name in probes}
    answers = {
        name: each if part.probes[name].pair else each.student for name, each in seen.items()
    }
    verdicts = {
        name: check.judge(**{each: answers[each] for each in check.reads})
        for name, check in part.checks.items()
        if name != CLOCK
    }

    assert {} == failing(verdicts)


@pytest.fixture
def right():
    """An epoch as one process trains it, said by both ranks."""
    return bench.answer("short_groups", 1, "baseline")


def answered(right, **figures):
    """The same answer with other figures of rank 1."""
    ranks = {
        case: [first, {**second, **figures}]
        for case, (first, second) in right.values["ranks"].items()
    }
    return Pair(replace(right, values={"ranks": ranks}), right)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"loss": None}, "rank 1: loss is no finite number"),
        ({"steps": 7.0}, "a short group, rank 1: steps is 7, and 3 is right"),
        ({"skipped": 1.0}, "rank 1: skipped is 1, and 0 is right"),
    ],
)
def test_a_figure_of_one_rank_is_named(right, figures, words):
    verdict = judges.figures(answered(right, **figures), "", judges.FIGURES)

    assert isinstance(verdict, Failed)
    assert words in verdict.measured


@pytest.mark.parametrize(
    ("sent", "words"), [(0, "in another thread, or not at all"), (7 * 720, "7 times in 3 steps")]
)
def test_what_is_sent_is_counted_in_gradients(right, sent, words):
    pair = answered(right, sent=sent, gradients=720)
    first = {**pair.student.values["ranks"]["a short group"][0], "sent": 3 * 720, "gradients": 720}
    pair.student.values["ranks"]["a short group"][0] = first
    verdict = judges.sent_once(pair, "")

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


SHARES = {
    "divided": ([[0, 1, 2, 1], [2, 0, 0, 1]], ""),
    "alike": ([[0, 1, 0, 2], [0, 1, 0, 2]], "all ranks read the same samples"),
    "too few": ([[0, 1], [2, 0]], "each process has 2 samples"),
    "the same order": ([[0, 1, 0, 1], [2, 0, 2, 0]], "every epoch has the same order"),
}


@pytest.mark.parametrize("name", SHARES)
def test_shares_are_judged_epoch_by_epoch(name):
    read, words = SHARES[name]
    shares = {"samples": 3, "read": read, "reseeded": [1, 2, 0, 1], "sizes": [2] * 6}
    _, why = judges.division(shares, batch=2)

    assert words in why
    assert bool(words) == bool(why)


def test_two_right_accuracies_are_no_slip():
    rank = {"accuracy": 0.5, "training": True, "slips": {"padded": 0.5, "own0": 0.25}}
    seen = Observation("evaluated", "ok", {"cases": {"4 samples": [rank, rank]}})

    assert {} == failing({"": judges.accuracy(Pair(seen, seen), "")})
