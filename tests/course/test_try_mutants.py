"""Entries that are made of the reference, as `perflab course check` runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.course import try_mutants
from autograder.lab import Lab
from tests.claims import exercises
from tests.claims.written import REFERENCE, SLOW
from tests.toy import FakeWorkers, toy_kit, toy_session, toy_submission

NAME = "batched_products"


@pytest.fixture
def kit():
    lab = Lab("toy", (exercises.products.part,))
    return replace(toy_kit(), lab=lab, baseline={f"{NAME}.py": SLOW[NAME].encode()})


@pytest.fixture
def reference():
    return replace(toy_submission(), files={f"{NAME}.py": REFERENCE[NAME].encode()})


def test_an_entry_is_the_reference_with_something_around_it(kit, reference):
    """What it is called tells who has to fail it; the slow version comes from the template's baseline."""
    made = {it.name: it for it in try_mutants.entries_of(kit, reference)}
    zeros = made[f"automatic: {NAME}, zeros -> same_results"]
    slow = made[f"automatic: {NAME}, the_baseline -> operations_do_not_grow"]

    assert zeros.submission.files[f"{NAME}.py"].decode().startswith(REFERENCE[NAME])
    assert SLOW[NAME] == slow.submission.files[f"{NAME}.py"].decode()
    assert zeros.submission.sha256 != slow.submission.sha256


OUTCOMES = {
    "its owner failed it": ({"same_results": "failed"}, []),
    "what is owed here is settled elsewhere": ({"same_results": "unavailable"}, []),
    "it got through": ({"same_results": "passed"}, ["a hole: same_results: passed: measured why"]),
    "what its owner needs failed it": ({"before": "failed", "same_results": "skipped"}, []),
    "a wrapper that does not run proves nothing": (
        {"same_results": "raised"},
        ["a hole: same_results: failed"],
    ),
    "a fault of ours is no verdict": (
        {"same_results": "error"},
        ["same_results gave no verdict: measured why"],
    ),
}


def ended(outcome):
    return {"outcome": "failed", "cause": "raised"} if outcome == "raised" else {"outcome": outcome}


@pytest.mark.parametrize(("outcomes", "said"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_no_claim_catches_is_told(kit, reference, outcomes, said):
    made = next(try_mutants.entries_of(kit, reference))
    result = try_mutants.run(
        toy_session(FakeWorkers({})),
        toy_kit(),
        replace(made, part="part1_toy", entry=replace(made.entry, owner="positive")),
        1,
    )
    checks = tuple(
        replace(result.parts[0].checks[0], id=name, measured="measured", why="why", **ended(it))
        for name, it in outcomes.items()
    )
    result = replace(result, parts=(replace(result.parts[0], checks=checks),))

    found = try_mutants.holes(made, result)
    assert len(said) == len(found)
    assert all(it.startswith(words) for it, words in zip(found, said, strict=True))
