"""Part 4 of distributed judged whole: right work passes in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

import pytest

from autograder.labs.distributed.part4_steps import judges, part
from autograder.model import Failed, Limits, Observation, Passed
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


def reported(times):
    """A rank whose gradients were sent so many times in three steps, after one that sent them in each."""
    right = {"times": 3.0, "calls": 3, "steps": 3, "dtypes": {}}
    reports = {"a short group": [right, {**right, "times": times, "calls": 7}]}
    return Observation("short_groups", "ok", {"reports": reports})


@pytest.mark.parametrize(
    ("times", "words"),
    [(0.0, "in another thread, or not at all"), (7.0, "rank 1: gradients were sent 7 times")],
)
def test_what_is_sent_is_counted_in_gradients(times, words):
    verdict = judges.sent_once(reported(times), "")

    assert isinstance(verdict, Failed)
    assert words in f"{verdict.measured} {verdict.why}"


def test_a_loss_that_is_summed_in_each_batch_is_no_gradient():
    assert isinstance(judges.sent_once(reported(3.2), ""), Passed)


SHARES = {
    "divided": ([[0, 1, 2, 1], [2, 0, 0, 1]], [2] * 6, ""),
    "alike": ([[0, 1, 0, 2], [0, 1, 0, 2]], [2] * 6, "all ranks read the same samples"),
    "too few": ([[0, 1], [2, 0]], [2] * 6, "each process has 2 samples"),
    "the same order": ([[0, 1, 0, 1], [2, 0, 2, 0]], [2] * 6, "every epoch has the same order"),
    "one by one": ([[0, 1, 2, 1], [2, 0, 0, 1]], [1] * 12, "batches have 2 samples"),
}


@pytest.mark.parametrize("name", SHARES)
def test_shares_are_judged_epoch_by_epoch(monkeypatch, name):
    monkeypatch.setattr(judges, "BATCH", 2)
    read, sizes, words = SHARES[name]
    _, why = judges.division({"samples": 3, "read": [*read, [1, 2, 0, 1]], "sizes": sizes})

    assert words in why
    assert bool(words) == bool(why)
