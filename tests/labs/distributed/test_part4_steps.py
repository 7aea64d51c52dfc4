"""Part 4 of distributed judged whole: right work passes in real workers; mistakes are entries of the corpus."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.labs.distributed.part4_steps import judges, part
from autograder.model import Limits, Observation, Pair
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


SHARES = {
    "divided": ([[0, 1, 2, 1], [2, 0, 0, 1]], [2] * 6, ""),
    "alike": ([[0, 1, 0, 2], [0, 1, 0, 2]], [2] * 6, "all ranks read the same samples"),
    "too few": ([[0, 1], [2, 0]], [2] * 6, "each process must read 2 samples"),
    "the same order": ([[0, 1, 0, 1], [2, 0, 2, 0]], [2] * 6, "your sampler does not shuffle"),
    "one by one": ([[0, 1, 2, 1], [2, 0, 0, 1]], [1] * 12, "batches have 2 samples"),
}


@pytest.mark.parametrize("name", SHARES)
def test_shares_are_judged_epoch_by_epoch(monkeypatch, name):
    monkeypatch.setattr(judges, "BATCH", 2)
    read, sizes, words = SHARES[name]
    _, why = judges.division({"samples": 3, "read": [*read, [1, 2, 0, 1]], "sizes": sizes})

    assert words in why
    assert bool(words) == bool(why)


@pytest.mark.parametrize(
    ("count", "outside", "why"),
    [
        pytest.param(0, [], "no exchange is seen", id="none"),
        pytest.param(3, [], "in several batches of one group", id="each batch"),
        pytest.param(3, ["full groups"], "forward stands outside", id="forward outside"),
    ],
)
def test_no_exchange_is_told_from_too_many(count, outside, why):
    case = {"case": f"full groups, rank 0: {judges.SENT}", "shape": [], "dtype": "int"}
    values = {"cases": [case], "outside": outside, "slips": {}}
    sides = (Observation("ranks", "ok", values, {"numbers": np.array([it])}) for it in (count, 1.0))

    assert why in judges.facts(Pair(*sides), "", judges.SENT).why


@pytest.mark.parametrize(
    ("check", "case", "past", "weights", "why"),
    [
        pytest.param("equals_one_process", "accumulation 1", True, (1.5, 2.5), judges.PAST, id="past"),
        pytest.param("equals_one_process", "accumulation 1", True, (0.0, 0.0), "did not change", id="nothing"),
        pytest.param("equals_one_process", "accumulation 1", False, (np.nan, np.nan), judges.OTHERS, id="others"),
        pytest.param("clips_true_gradients", "with a scaler", False, (np.nan, np.nan), "are clipped", id="clipped"),
    ],
)  # fmt: skip
def test_a_training_is_told_by_what_only_that_mistake_makes(check, case, past, weights, why):
    right, slips = np.ones(4), np.full(4 * len(judges.SLIPS), 9.0)
    trusted = {"start": 0 * right, "weights0": right, "weights1": right, "slips": slips}
    own = {f"weights{rank}": it * right for rank, it in enumerate(weights)}
    sides = (
        Observation("it", "ok", {"past": [case] * past}, {f"{case}: {name}": it for name, it in arrays.items()})
        for arrays in (own, trusted)
    )  # fmt: skip

    judged = part.checks[check].judge(**{part.checks[check].reads[0]: Pair(*sides)})

    assert why in judged.why
    assert ("given optimizer" in judged.try_) == (why == "did not change")
